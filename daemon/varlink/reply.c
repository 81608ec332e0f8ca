#include "varlink/reply.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* The longest error: a detail and three texts with every byte escaped to six, and the names
     * around them. */
    FIRST_BYTES = 6 * (sizeof(struct berth_err)) + 1024,
    KEPT_BYTES = 1024 * 1024, /* a larger buffer is freed before the next reply */
};

bool reply_init(struct print *reply) { return print_init(reply, FIRST_BYTES); }

static void begin(struct print *reply)
{
    print_clear(reply);
    if (reply->size <= KEPT_BYTES)
        return;
    char *smaller = realloc(reply->data, FIRST_BYTES);
    if (smaller != NULL) {
        reply->data = smaller;
        reply->size = FIRST_BYTES;
    }
}

void reply_begin(struct print *reply)
{
    static const char head[] = "{\"parameters\":";
    begin(reply);
    print_bytes(reply, head, sizeof head - 1);
}

bool reply_end(struct print *reply, bool continues)
{
    static const char last[] = "}", goes_on[] = ",\"continues\":true}";
    print_bytes(reply, continues ? goes_on : last, continues ? sizeof goes_on : sizeof last);
    if (reply->failed)
        reply->length = 0;
    return !reply->failed;
}

bool reply_result(struct print *reply, const json_t *parameters, bool continues)
{
    reply_begin(reply);
    print_json(reply, parameters);
    return reply_end(reply, continues);
}

/* Errors fit the memory of reply_init. */

/* Prints one "name:type" of the table's list. Type i prints the argument's number; an empty detail
 * is left out. */
static void print_parameter(struct print *reply, const char *name, size_t length, char type,
                            int *argument, const struct berth_err *err)
{
    char key[40];
    snprintf(key, sizeof key, "%.*s", (int)length, name);
    bool is_detail = strcmp(key, "detail") == 0;
    if (is_detail && err->detail[0] == '\0')
        return;
    print_key(reply, key);
    if (is_detail) {
        print_string(reply, err->detail);
        return;
    }
    assert(*argument < ERR_ARGS);
    if (type == 'i')
        print_integer(reply, err->arg[*argument].number);
    else
        print_string(reply, err->arg[*argument].text);
    ++*argument;
}

static void print_words(struct print *reply, const char *text)
{
    print_bytes(reply, text, strlen(text));
}

void reply_error(struct print *reply, const char *interface, const struct berth_err *err)
{
    const struct err_info *info = err_info(err->code);
    begin(reply);
    print_words(reply, "{\"error\":\"");
    print_words(reply, info->scope == ERR_SERVICE ? "org.varlink.service" : interface);
    print_words(reply, ".");
    print_words(reply, info->wire);
    print_words(reply, "\",\"parameters\":{");
    int argument = 0;
    for (const char *at = info->params; *at != '\0';) {
        size_t length = strcspn(at, ":");
        print_parameter(reply, at, length, at[length + 1], &argument, err);
        at += length + 2;
        at += *at == ',';
    }
    print_bytes(reply, "}}", sizeof "}}");
    assert(!reply->failed);
}
