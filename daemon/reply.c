#include "reply.h"

#include <assert.h>
#include <inttypes.h>
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

/* json_dump_callback's form: 0 is success. */
static int put(const char *bytes, size_t count, void *arg)
{
    struct reply *reply = arg;
    if (count > reply->size - reply->length) {
        size_t size = reply->size * 2;
        while (size - reply->length < count)
            size *= 2;
        char *larger = realloc(reply->data, size);
        if (larger == NULL)
            return -1;
        reply->data = larger;
        reply->size = size;
    }
    memcpy(reply->data + reply->length, bytes, count);
    reply->length += count;
    return 0;
}

bool reply_result(struct reply *reply, const json_t *parameters, bool continues)
{
    static const char head[] = "{\"parameters\":", last[] = "}", goes_on[] = ",\"continues\":true}";
    begin(reply);
    /* Fifteen digits are all that survive the way through any double, and print 96.2 as 96.2. */
    if (put(head, sizeof head - 1, reply) == 0 &&
        json_dump_callback(parameters, put, reply, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0 &&
        put(continues ? goes_on : last, continues ? sizeof goes_on : sizeof last, reply) == 0)
        return true;
    reply->length = 0;
    return false;
}

/* The rest of an error reply fits what reply_init took. */
static void put_text(struct reply *reply, const char *text)
{
    int failed = put(text, strlen(text), reply);
    assert(failed == 0);
    (void)failed;
}

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

static void put_string(struct reply *reply, const char *text)
{
    put_text(reply, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        char piece[8] = {(char)*c};
        size_t length = 1;
        if (*c == '"' || *c == '\\')
            snprintf(piece, sizeof piece, "\\%c", *c);
        else if (*c < 0x20)
            snprintf(piece, sizeof piece, "\\u%04x", *c);
        else if (*c >= 0x80 && (length = utf8_length(c)) > 0)
            memcpy(piece, c, length);
        else if (*c >= 0x80)
            snprintf(piece, sizeof piece, "?");
        put_text(reply, piece);
        c += length > 0 ? length : 1;
    }
    put_text(reply, "\"");
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
    put_text(reply, key);
    if (is_detail) {
        put_string(reply, err->detail);
        return;
    }
    assert(*argument < ERR_ARGS);
    if (type == 'i') {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, err->arg[*argument].number);
        put_text(reply, number);
    } else {
        put_string(reply, err->arg[*argument].text);
    }
    ++*argument;
}

void reply_error(struct reply *reply, const char *interface, const struct berth_err *err)
{
    const struct err_info *info = err_info(err->code);
    begin(reply);
    put_text(reply, "{\"error\":\"");
    put_text(reply, info->scope == ERR_SERVICE ? "org.varlink.service" : interface);
    put_text(reply, ".");
    put_text(reply, info->wire);
    put_text(reply, "\",\"parameters\":{");
    int argument = 0;
    bool is_first = true;
    for (const char *at = info->params; *at != '\0';) {
        size_t length = strcspn(at, ":");
        put_parameter(reply, at, length, at[length + 1], &argument, &is_first, err);
        at += length + 2;
        at += *at == ',';
    }
    put_text(reply, "}}");
    put("", 1, reply);
}
