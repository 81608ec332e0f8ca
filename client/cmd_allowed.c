/* The part of the node that a request may use. */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MOST 4096 /* as many as the daemon numbers */
#define GPUS_MOST 4096

bool cmd_set_texts(json_t *object, const char *key, const struct berth_texts *texts)
{
    if (texts->item == NULL)
        return true;
    json_t *array = json_array();
    bool fine = json_object_set_new(object, key, array) == 0;
    for (size_t i = 0; fine && i < texts->count; i++)
        fine = json_array_append_new(array, json_string(texts->item[i])) == 0;
    return fine;
}

/* "5" or "0-3", numbers under most. */
static bool parse_range(const char *text, size_t length, long most, long *ret_first, long *ret_last)
{
    char first[16];
    if (length >= sizeof first)
        return false;
    memcpy(first, text, length);
    first[length] = '\0';
    char *dash = strchr(first, '-');
    if (dash != NULL)
        *dash = '\0';
    return cmd_parse_count(first, 0, most - 1, ret_first) && cmd_parse_count(dash == NULL ? first : dash + 1, *ret_first, most - 1, ret_last);
}

static bool is_cpu_list(const char *text)
{
    for (;;) {
        long first, last;
        size_t length = strcspn(text, ",");
        if (!parse_range(text, length, CPUS_MOST, &first, &last))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* "this node has gpu0 to gpu7", where the daemon can be asked. */
static void name_gpus(struct cmd *cmd, char *text, size_t size)
{
    char *reply = NULL;
    const char *first = NULL, *last = NULL;
    json_t *node = cmd->berth != NULL && berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &reply) >= 0 ? json_loads(reply, 0, NULL) : NULL;
    size_t i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *kind = json_string_value(json_object_get(place, "kind")), *name = json_string_value(json_object_get(place, "name"));
        last = kind != NULL && name != NULL && strcmp(kind, "gpu") == 0 ? name : last;
        first = first == NULL ? last : first;
    }
    if (node == NULL)
        snprintf(text, size, "berth topo shows which there are");
    else
        snprintf(text, size, "this node has %.40s%s%.40s", first != NULL ? first : "none", first != last ? " to " : "", first != last ? last : "");
    json_decref(node);
    free(reply);
}

/* Everything else than numbers is a name, a PCI address or a UUID. */
int cmd_parse_gpus(struct cmd *cmd, const char *text, json_t **ret_gpus)
{
    json_t *gpus = json_array(), *words = cmd_list(text);
    size_t i;
    const json_t *word;
    bool fine = gpus != NULL && words != NULL;
    if (fine && json_array_size(words) == 0) {
        json_decref(gpus);
        json_decref(words);
        char there[120];
        name_gpus(cmd, there, sizeof there);
        return cmd_usage(cmd, "--gpus takes a list such as 0-3,5, gpu1 or PCI addresses, not \"%.40s\": %s", text, there);
    }
    json_array_foreach(words, i, word)
    {
        const char *name = json_string_value(word);
        long first, last;
        if (strspn(name, "0123456789-") != strlen(name)) {
            fine = fine && json_array_append_new(gpus, json_string(name)) == 0;
            continue;
        }
        if (!parse_range(name, strlen(name), GPUS_MOST, &first, &last)) {
            json_decref(gpus);
            cmd_usage(cmd, "--gpus takes a list such as 0-3,5, gpu1 or PCI addresses, not %.40s", name);
            json_decref(words);
            return CMD_USAGE;
        }
        for (long n = first; fine && n <= last; n++)
            fine = json_array_append_new(gpus, json_sprintf("gpu%ld", n)) == 0;
    }
    json_decref(words);
    if (!fine) {
        json_decref(gpus);
        return cmd_fail_memory();
    }
    *ret_gpus = gpus;
    return CMD_DONE;
}

int cmd_check_cpus(const struct cmd *cmd, const char *cpus)
{
    if (cpus == NULL || is_cpu_list(cpus))
        return CMD_DONE;
    return cmd_usage(cmd, "--cpus takes a list such as 0-3,8 with numbers under %d, not \"%.60s\": berth topo shows which there are", CPUS_MOST, cpus); /* the daemon would speak of its parameter */
}

int cmd_set_allowed(struct cmd *cmd, json_t *object, bool with_gpus, const char *cpus, const char *gpus)
{
    int status = cmd_check_cpus(cmd, cpus);
    if (status == CMD_DONE)
        status = cmd_connect(cmd);
    if (status != CMD_DONE)
        return status;
    /* A recorded machine is another one: all of it may be used, and saying so with an empty object spares the daemon's warning. */
    json_t *array = NULL;
    if (gpus != NULL && (status = cmd_parse_gpus(cmd, gpus, &array)) != CMD_DONE)
        return status;
    struct berth_allowed *here = NULL, given = {.cpus = cpus};
    if (cmd->node == NULL && (status = berth_allowed_here(cmd->berth, with_gpus, &here)) < 0) {
        json_decref(array);
        return cmd_fail_daemon(cmd, status);
    }
    if (here != NULL) {
        given = *here;
        if (cpus != NULL)
            given.cpus = cpus;
        if (array != NULL)
            given.gpus.item = NULL;
    }
    json_t *allowed = json_object();
    bool fine = json_object_set_new(object, "allowed", allowed) == 0 &&
                (given.cpus == NULL || json_object_set_new(allowed, "cpus", json_string(given.cpus)) == 0) &&
                cmd_set_texts(allowed, "memory", &given.memory) && cmd_set_texts(allowed, "gpus", &given.gpus) &&
                (array == NULL || json_object_set(allowed, "gpus", array) == 0);
    json_decref(array);
    berth_allowed_free(here);
    return fine ? CMD_DONE : cmd_fail_memory();
}
