#include "reply.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The longest error: a detail and three texts with every byte escaped to six, and the names around them. */
    FIRST_BYTES = 6 * (sizeof(struct berth_err)) + 1024,
    KEPT_BYTES = 1024 * 1024, /* a buffer larger than this is given back before the next reply */
};

bool reply_init(struct reply *reply)
{
    *reply = (struct reply){.data = malloc(FIRST_BYTES), .size = FIRST_BYTES};
    return reply->data != NULL;
}

void reply_done(struct reply *reply)
{
    free(reply->data);
    *reply = (struct reply){0};
}

static void begin(struct reply *reply)
{
    reply->length = 0;
    if (reply->size <= KEPT_BYTES)
        return;
    char *smaller = realloc(reply->data, FIRST_BYTES);
    if (smaller != NULL) {
        reply->data = smaller;
        reply->size = FIRST_BYTES;
    }
}

static bool put(struct reply *reply, const char *bytes, size_t count)
{
    if (count > reply->size - reply->length) {
        size_t size = reply->size * 2;
        while (size - reply->length < count)
            size *= 2;
        char *larger = realloc(reply->data, size);
        if (larger == NULL)
            return false;
        reply->data = larger;
        reply->size = size;
    }
    memcpy(reply->data + reply->length, bytes, count);
    reply->length += count;
    return true;
}

static bool put_text(struct reply *reply, const char *text) { return put(reply, text, strlen(text)); }

/* The bytes of the character at c when it is well-formed UTF-8 beyond ASCII, else 0. */
static size_t utf8_length(const unsigned char *c)
{
    size_t length = c[0] >= 0xc2 && c[0] <= 0xdf ? 2 : c[0] >= 0xe0 && c[0] <= 0xef ? 3 : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f); /* surrogates; past U+10FFFF */
    return overlong || beyond ? 0 : length;
}

static bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

static bool put_string(struct reply *reply, const char *text)
{
    bool ok = put(reply, "\"", 1);
    const unsigned char *c = (const unsigned char *)text;
    while (ok && *c != '\0') {
        const unsigned char *begin = c;
        char escape[8];
        while (is_plain(*c))
            c++;
        ok = put(reply, (const char *)begin, (size_t)(c - begin));
        if (*c == '\0' || !ok)
            break;
        size_t length = *c < 0x80 ? 1 : utf8_length(c);
        if (*c == '"' || *c == '\\')
            ok = put(reply, (const char[]){'\\', (char)*c}, 2);
        else if (*c < 0x20)
            ok = put(reply, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *c));
        else
            ok = length > 0 ? put(reply, (const char *)c, length) : put(reply, "?", 1);
        c += length > 0 ? length : 1;
    }
    return ok && put(reply, "\"", 1);
}

static bool put_integer(struct reply *reply, int64_t value)
{
    char text[24], *c = text + sizeof text;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--c = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0)
        *--c = '-';
    return put(reply, c, (size_t)(text + sizeof text - c));
}

/* Fifteen digits are all that survive the way through any double, and print 96.2 as 96.2. A real keeps a mark of being one.
 * Most are whole numbers of bytes per second, which need no printf. */
static bool put_real(struct reply *reply, double value)
{
    if (fabs(value) < 1e15 && value == trunc(value))
        return put_integer(reply, (int64_t)value) && put(reply, ".0", 2);
    char text[40];
    int length = snprintf(text, sizeof text, "%.15g", value);
    return put(reply, text, (size_t)length) && (strpbrk(text, ".e") != NULL || put(reply, ".0", 2));
}

static bool put_value(struct reply *reply, const json_t *value);

static bool put_object(struct reply *reply, const json_t *object)
{
    bool ok = put(reply, "{", 1);
    const char *separator = "", *key;
    json_t *member;
    json_object_foreach((json_t *)object, key, member)
    {
        ok = ok && put_text(reply, separator) && put_string(reply, key) && put(reply, ":", 1) && put_value(reply, member);
        separator = ",";
    }
    return ok && put(reply, "}", 1);
}

static bool put_array(struct reply *reply, const json_t *array)
{
    bool ok = put(reply, "[", 1);
    for (size_t i = 0; ok && i < json_array_size(array); i++)
        ok = (i == 0 || put(reply, ",", 1)) && put_value(reply, json_array_get(array, i));
    return ok && put(reply, "]", 1);
}

/* jansson's own printing notes every container in a hash table, to find loops; ours cannot have any, and it costs half of a
 * reply. */
static bool put_value(struct reply *reply, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return put_object(reply, value);
    case JSON_ARRAY:
        return put_array(reply, value);
    case JSON_STRING:
        return put_string(reply, json_string_value(value));
    case JSON_INTEGER:
        return put_integer(reply, json_integer_value(value));
    case JSON_REAL:
        return put_real(reply, json_real_value(value));
    case JSON_TRUE:
        return put(reply, "true", 4);
    case JSON_FALSE:
        return put(reply, "false", 5);
    case JSON_NULL:
        break;
    }
    return put(reply, "null", 4);
}

bool reply_result(struct reply *reply, const json_t *parameters, bool continues)
{
    static const char head[] = "{\"parameters\":", last[] = "}", goes_on[] = ",\"continues\":true}";
    begin(reply);
    if (put(reply, head, sizeof head - 1) && put_value(reply, parameters) &&
        put(reply, continues ? goes_on : last, continues ? sizeof goes_on : sizeof last))
        return true;
    reply->length = 0;
    return false;
}

/* The rest fits what reply_init took. */
static void must(bool ok)
{
    assert(ok);
    (void)ok;
}

/* One "name:type" of the table's list. Type i prints the argument's number; a detail that says nothing is left out. */
static void put_parameter(struct reply *reply, const char *name, size_t length, char type, int *argument, bool *is_first,
                          const struct berth_err *err)
{
    char key[40];
    snprintf(key, sizeof key, "%s\"%.*s\":", *is_first ? "" : ",", (int)length, name);
    bool is_detail = length == 6 && memcmp(name, "detail", 6) == 0;
    if (is_detail && err->detail[0] == '\0')
        return;
    *is_first = false;
    must(put_text(reply, key));
    if (is_detail) {
        must(put_string(reply, err->detail));
        return;
    }
    assert(*argument < ERR_ARGS);
    if (type == 'i')
        must(put_integer(reply, err->arg[*argument].number));
    else
        must(put_string(reply, err->arg[*argument].text));
    ++*argument;
}

void reply_error(struct reply *reply, const char *interface, const struct berth_err *err)
{
    const struct err_info *info = err_info(err->code);
    begin(reply);
    must(put_text(reply, "{\"error\":\""));
    must(put_text(reply, info->scope == ERR_SERVICE ? "org.varlink.service" : interface));
    must(put_text(reply, "."));
    must(put_text(reply, info->wire));
    must(put_text(reply, "\",\"parameters\":{"));
    int argument = 0;
    bool is_first = true;
    for (const char *at = info->params; *at != '\0';) {
        size_t length = strcspn(at, ":");
        put_parameter(reply, at, length, at[length + 1], &argument, &is_first, err);
        at += length + 2;
        at += *at == ',';
    }
    must(put_text(reply, "}}"));
    must(put(reply, "", 1));
}
