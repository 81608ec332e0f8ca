#include "varlink/idl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Memory: no part of a tree is freed alone, so it lives in a few chunks. */
struct idl_chunk {
    struct idl_chunk *next;
    size_t used, size;
    max_align_t data[];
};

enum { CHUNK_BYTES = 8000 };

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_COLON,
    TOKEN_ARROW,
    TOKEN_MAYBE,
    TOKEN_ARRAY,
    TOKEN_MAP
};

static const char *const token_names[] = {
    [TOKEN_END] = "the end", [TOKEN_WORD] = "a name",  [TOKEN_OPEN] = "(",   [TOKEN_CLOSE] = ")",
    [TOKEN_COMMA] = ",",     [TOKEN_COLON] = ":",      [TOKEN_ARROW] = "->", [TOKEN_MAYBE] = "?",
    [TOKEN_ARRAY] = "[]",    [TOKEN_MAP] = "[string]",
};

struct token {
    enum token_kind kind;
    const char *text;
    size_t length;
    unsigned line, column; /* from 1; columns are bytes */
};

/* A use of a type's name, resolved after all members are parsed. */
struct reference {
    struct idl_type *type;
    const char *name;
    struct token token;
    struct reference *next;
};

struct parser {
    const char *at, *end, *line_start;
    unsigned line;
    unsigned depth;
    struct token token; /* the one not consumed yet */
    struct reference *references;
    struct idl *idl;
    struct berth_err *err;
    enum berth_code code;
};

static void *allocate(struct parser *p, size_t size)
{
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct idl_chunk *chunk = p->idl->memory;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        chunk = calloc(1, sizeof *chunk + room);
        if (chunk == NULL) {
            p->code = err_set(p->err, BERTH_NO_MEMORY, "no memory for an interface description");
            return NULL;
        }
        chunk->size = room;
        chunk->next = p->idl->memory;
        p->idl->memory = chunk;
    }
    void *memory = (char *)chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

static const char *copy_text(struct parser *p, const struct token *token)
{
    char *text = allocate(p, token->length + 1);
    if (text != NULL)
        memcpy(text, token->text, token->length);
    return text;
}

static bool fail_at(struct parser *p, const struct token *token, const char *problem)
{
    int shown = token->length > 40 ? 40 : (int)token->length;
    p->code = err_set(p->err, BERTH_BAD_DATA, "line %u, column %u: %s, found %s%.*s", token->line,
                      token->column, problem, token->kind == TOKEN_END ? "the end" : "", shown,
                      token->text);
    return false;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_alnum(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

static void skip_space(struct parser *p)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        if (p->at == p->end)
            return;
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        } else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r') {
            return;
        }
    }
}

/* Reads the next token into p->token. A word consists of all characters that any name may hold; the
 * code that expects a name checks its form. */
static bool advance(struct parser *p)
{
    static const struct {
        const char *text;
        enum token_kind kind;
    } marks[] = {{"->", TOKEN_ARROW}, {"[]", TOKEN_ARRAY}, {"[string]", TOKEN_MAP},
                 {"(", TOKEN_OPEN},   {")", TOKEN_CLOSE},  {",", TOKEN_COMMA},
                 {":", TOKEN_COLON},  {"?", TOKEN_MAYBE}};
    skip_space(p);
    p->token = (struct token){.kind = TOKEN_END,
                              .text = p->at,
                              .line = p->line,
                              .column = (unsigned)(p->at - p->line_start) + 1};
    size_t left = (size_t)(p->end - p->at);
    if (left == 0)
        return true;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i].text);
        if (length <= left && memcmp(p->at, marks[i].text, length) == 0) {
            p->token.kind = marks[i].kind;
            p->token.length = length;
            p->at += length;
            return true;
        }
    }
    p->token.kind = TOKEN_WORD;
    while (p->at < p->end && (is_alnum(*p->at) || *p->at == '_' || *p->at == '.' ||
                              (*p->at == '-' && p->end - p->at > 1 && p->at[1] != '>')))
        p->at++;
    p->token.length = (size_t)(p->at - p->token.text);
    if (p->token.length == 0) {
        p->token.length = 1;
        return fail_at(p, &p->token, "expected a name or one of ( ) , : ? -> [] [string]");
    }
    return true;
}

static bool expect(struct parser *p, enum token_kind kind)
{
    if (p->token.kind == kind)
        return advance(p);
    char problem[40] = "expected ";
    strcat(problem, token_names[kind]);
    return fail_at(p, &p->token, problem);
}

static bool is_word(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && strlen(word) == token->length &&
           memcmp(token->text, word, token->length) == 0;
}

/* Names of types, methods and errors: letters and digits, a capital first. */
static bool is_member_name(const struct token *token)
{
    if (token->kind != TOKEN_WORD || !is_upper(token->text[0]))
        return false;
    for (size_t i = 1; i < token->length; i++)
        if (!is_alnum(token->text[i]))
            return false;
    return true;
}

/* Names of fields and values: a letter, then letters and digits, with single underscores between
 * them. */
static bool is_field_name(const struct token *token)
{
    if (token->kind != TOKEN_WORD || !is_letter(token->text[0]))
        return false;
    for (size_t i = 1; i < token->length; i++) {
        bool underscore = token->text[i] == '_';
        if (!is_alnum(token->text[i]) &&
            !(underscore && i + 1 < token->length && token->text[i + 1] != '_'))
            return false;
    }
    return true;
}

/* Reverse-domain: at least two parts, dashes only within a part, a letter first. */
static bool is_interface_name(const struct token *token)
{
    if (token->kind != TOKEN_WORD || !is_letter(token->text[0]))
        return false;
    bool dots = false;
    for (size_t i = 1; i < token->length; i++) {
        char c = token->text[i], before = token->text[i - 1];
        char after = i + 1 < token->length ? token->text[i + 1] : '.';
        if (c == '.' && is_alnum(before) && is_alnum(after))
            dots = true;
        else if (!is_alnum(c) && !(c == '-' && before != '.' && after != '.'))
            return false;
    }
    return dots;
}

static bool parse_type(struct parser *p, struct idl_type **ret_type);

/* "(" was consumed. A colon after the first name makes it a struct, anything else an enum. */
static bool parse_names(struct parser *p, struct idl_type *type)
{
    const struct idl_name **end = &type->names;
    type->kind = IDL_STRUCT;
    if (p->token.kind == TOKEN_CLOSE)
        return advance(p);
    for (unsigned count = 1;; count++) {
        if (!is_field_name(&p->token))
            return fail_at(p, &p->token, "expected the name of a field or value");
        if (count > IDL_NAMES_MAX)
            return fail_at(p, &p->token, "too many names in one type");
        struct token token = p->token;
        struct idl_name *name = allocate(p, sizeof *name);
        const char *text = name != NULL ? copy_text(p, &token) : NULL;
        if (text == NULL || !advance(p))
            return false;
        for (const struct idl_name *other = type->names; other != NULL; other = other->next)
            if (strcmp(other->name, text) == 0)
                return fail_at(p, &token, "the same name twice");
        name->name = text;
        *end = name;
        end = &name->next;
        if (count == 1 && p->token.kind != TOKEN_COLON)
            type->kind = IDL_ENUM;
        if (type->kind == IDL_STRUCT) {
            struct idl_type *of = NULL;
            if (!expect(p, TOKEN_COLON) || !parse_type(p, &of))
                return false;
            name->type = of;
        }
        if (p->token.kind != TOKEN_COMMA)
            return expect(p, TOKEN_CLOSE);
        if (!advance(p))
            return false;
    }
}

static bool parse_word_type(struct parser *p, struct idl_type *type)
{
    static const struct {
        const char *word;
        enum idl_kind kind;
    } builtin[] = {{"bool", IDL_BOOL},
                   {"int", IDL_INT},
                   {"float", IDL_FLOAT},
                   {"string", IDL_STRING},
                   {"object", IDL_OBJECT}};
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
        if (is_word(&p->token, builtin[i].word)) {
            type->kind = builtin[i].kind;
            return advance(p);
        }
    if (!is_member_name(&p->token))
        return fail_at(p, &p->token, "expected a type");
    struct reference *reference = allocate(p, sizeof *reference);
    if (reference == NULL)
        return false;
    *reference = (struct reference){
        .type = type, .name = copy_text(p, &p->token), .token = p->token, .next = p->references};
    if (reference->name == NULL)
        return false;
    p->references = reference;
    type->kind = IDL_NAMED;
    return advance(p);
}

static bool parse_type_within(struct parser *p, struct idl_type *type)
{
    if (p->token.kind == TOKEN_MAYBE) {
        type->nullable = true;
        if (!advance(p))
            return false;
    }
    if (p->token.kind == TOKEN_ARRAY || p->token.kind == TOKEN_MAP) {
        type->kind = p->token.kind == TOKEN_ARRAY ? IDL_ARRAY : IDL_MAP;
        struct idl_type *element = NULL;
        if (!advance(p) || !parse_type(p, &element))
            return false;
        type->element = element;
        return true;
    }
    if (p->token.kind == TOKEN_OPEN)
        return advance(p) && parse_names(p, type);
    return parse_word_type(p, type);
}

static bool parse_type(struct parser *p, struct idl_type **ret_type)
{
    if (p->depth == IDL_DEPTH_MAX)
        return fail_at(p, &p->token, "types nested too deeply");
    struct idl_type *type = allocate(p, sizeof *type);
    if (type == NULL)
        return false;
    p->depth++;
    bool ok = parse_type_within(p, type);
    p->depth--;
    if (ok)
        *ret_type = type;
    return ok;
}

/* Parses the places of the grammar that allow only a struct (for a type: a struct or an enum). */
static bool parse_parens(struct parser *p, bool or_enum, const struct idl_type **ret_type)
{
    struct token open = p->token;
    if (open.kind != TOKEN_OPEN)
        return expect(p, TOKEN_OPEN);
    struct idl_type *type = NULL;
    if (!parse_type(p, &type))
        return false;
    assert(type != NULL);
    if (type->kind != IDL_STRUCT && !or_enum)
        return fail_at(p, &open, "expected fields with types");
    *ret_type = type;
    return true;
}

static bool parse_member(struct parser *p, struct idl_member *member)
{
    if (is_word(&p->token, "type"))
        member->kind = IDL_TYPE;
    else if (is_word(&p->token, "method"))
        member->kind = IDL_METHOD;
    else if (is_word(&p->token, "error"))
        member->kind = IDL_ERROR;
    else
        return fail_at(p, &p->token, "expected type, method or error");
    if (!advance(p))
        return false;
    struct token name = p->token;
    if (!is_member_name(&name))
        return fail_at(p, &name, "expected a name that begins with a capital");
    for (const struct idl_member *other = p->idl->members; other != NULL; other = other->next)
        if (is_word(&name, other->name))
            return fail_at(p, &name, "the same name twice");
    member->name = copy_text(p, &name);
    if (member->name == NULL || !advance(p) ||
        !parse_parens(p, member->kind == IDL_TYPE, &member->in))
        return false;
    return member->kind != IDL_METHOD ||
           (expect(p, TOKEN_ARROW) && parse_parens(p, false, &member->out));
}

static bool resolve(struct parser *p)
{
    for (struct reference *r = p->references; r != NULL; r = r->next) {
        const struct idl_member *member = idl_find(p->idl, IDL_TYPE, r->name);
        if (member == NULL)
            return fail_at(p, &r->token, "expected a type of this interface");
        r->type->element = member->in;
    }
    return true;
}

static bool parse_interface(struct parser *p)
{
    if (!advance(p))
        return false;
    if (!is_word(&p->token, "interface"))
        return fail_at(p, &p->token, "expected interface");
    if (!advance(p))
        return false;
    if (!is_interface_name(&p->token))
        return fail_at(p, &p->token, "expected an interface name such as org.example.Name");
    p->idl->name = copy_text(p, &p->token);
    if (p->idl->name == NULL || !advance(p))
        return false;
    const struct idl_member **end = &p->idl->members;
    for (unsigned count = 1; p->token.kind != TOKEN_END; count++) {
        if (count > IDL_NAMES_MAX)
            return fail_at(p, &p->token, "too many members");
        struct idl_member *member = allocate(p, sizeof *member);
        if (member == NULL || !parse_member(p, member))
            return false;
        *end = member;
        end = &member->next;
    }
    return resolve(p);
}

enum berth_code idl_parse(const char *text, size_t length, struct idl **ret_idl,
                          struct berth_err *err)
{
    if (length > IDL_TEXT_MAX)
        return err_set(
            err, BERTH_BAD_DATA,
            "line 1, column 1: an interface description of %zu bytes, at most %d are read", length,
            IDL_TEXT_MAX);
    struct idl *idl = calloc(1, sizeof *idl);
    if (idl == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for an interface description");
    struct parser parser = {
        .at = text, .end = text + length, .line_start = text, .line = 1, .idl = idl, .err = err};
    if (!parse_interface(&parser)) {
        idl_free(idl);
        assert(parser.code != BERTH_OK);
        return parser.code;
    }
    *ret_idl = idl;
    return BERTH_OK;
}

void idl_free(struct idl *idl)
{
    if (idl == NULL)
        return;
    while (idl->memory != NULL) {
        struct idl_chunk *next = idl->memory->next;
        free(idl->memory);
        idl->memory = next;
    }
    free(idl);
}

const struct idl_member *idl_find(const struct idl *idl, enum idl_member_kind kind,
                                  const char *name)
{
    for (const struct idl_member *member = idl->members; member != NULL; member = member->next)
        if (member->kind == kind && strcmp(member->name, name) == 0)
            return member;
    return NULL;
}
