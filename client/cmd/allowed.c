/* Part of the node that a request may use. */
#include "cmd/cmd.h"
#include "lib/cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MOST 4096 /* most cpus that the daemon numbers */
#define GPUS_MOST 4096

/* Writes the names as a list, none when item is NULL. False when out of memory. */
static bool set_texts(json_t *object, const char *key, const struct berth_texts *texts)
{
    if (texts->item == NULL)
        return true;
    json_t *array = json_array();
    bool fine = json_object_set_new(object, key, array) == 0;
    for (size_t i = 0; fine && i < texts->count; i++)
        fine = json_array_append_new(array, json_string(texts->item[i])) == 0;
    return fine;
}

/* Parses "5" or "0-3", numbers under most. */
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
    return lib_parse_count(first, 0, most - 1, ret_first) &&
           lib_parse_count(dash == NULL ? first : dash + 1, *ret_first, most - 1, ret_last);
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

/* Writes "this node has gpu0 to gpu7", where the daemon can be asked. */
static void name_gpus(struct cmd *cmd, char *text, size_t size)
{
    char *reply = NULL;
    const char *first = NULL, *last = NULL;
    json_t *node =
        cmd->berth != NULL && berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &reply) >= 0
            ? json_loads(reply, 0, NULL)
            : NULL;
    size_t i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *kind = json_string_value(json_object_get(place, "kind")),
                   *name = json_string_value(json_object_get(place, "name"));
        last = kind != NULL && name != NULL && strcmp(kind, "gpu") == 0 ? name : last;
        first = first == NULL ? last : first;
    }
    if (node == NULL)
        snprintf(text, size, "berth topo shows which there are");
    else
        snprintf(text, size, "this node has %.40s%s%.40s", first != NULL ? first : "none",
                 first != last ? " to " : "", first != last ? last : "");
    json_decref(node);
    free(reply);
}

/* First repeated name, or NULL. */
static const char *first_twice(const json_t *names)
{
    for (size_t i = 1; i < json_array_size(names); i++)
        for (size_t k = 0; k < i; k++)
            if (json_equal(json_array_get(names, i), json_array_get(names, k)))
                return json_string_value(json_array_get(names, i));
    return NULL;
}

/* Any word other than a number is a name, a PCI address or a UUID. */
int cmd_parse_gpus(struct cmd *cmd, const char *text, json_t **ret_gpus)
{
    json_t *gpus = json_array(), *words = cmd_list(text);
    size_t i;
    int status;
    const json_t *word;
    bool fine = gpus != NULL && words != NULL;
    if (fine && json_array_size(words) == 0) {
        json_decref(gpus);
        json_decref(words);
        char there[120];
        name_gpus(cmd, there, sizeof there);
        return cmd_usage(
            cmd, "--gpus takes a list such as 0-3,5, gpu1 or PCI addresses, not \"%.40s\": %s",
            text, there);
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
            cmd_usage(cmd, "--gpus takes a list such as 0-3,5, gpu1 or PCI addresses, not %.40s",
                      name);
            json_decref(words);
            return CMD_USAGE;
        }
        for (long n = first; fine && n <= last; n++)
            fine = json_array_append_new(gpus, json_sprintf("gpu%ld", n)) == 0;
    }
    json_decref(words);
    const char *twice = fine ? first_twice(gpus) : NULL;
    status = !fine           ? cmd_fail_memory()
             : twice != NULL ? cmd_usage(cmd, "--gpus has %.60s twice", twice)
                             : CMD_DONE;
    if (status != CMD_DONE) {
        json_decref(gpus);
        return status;
    }
    *ret_gpus = gpus;
    return CMD_DONE;
}

int cmd_check_cpus(const struct cmd *cmd, const char *cpus)
{
    if (cpus == NULL || is_cpu_list(cpus))
        return CMD_DONE;
    /* the daemon's message would name its parameter */
    return cmd_usage(cmd,
                     "--cpus takes a list such as 0-3,8 with numbers under %d, not \"%.60s\": "
                     "berth topo shows which there are",
                     CPUS_MOST, cpus);
}

/* First cpu of a list that the other list lacks; -1 none, or one of them is no list. */
static long first_beyond(const char *list, const char *of)
{
    struct lib_cpus *sets = calloc(2, sizeof *sets);
    long first = -1;
    if (sets != NULL && lib_cpus_parse(list, &sets[0]) && lib_cpus_parse(of, &sets[1]))
        for (unsigned n = 0; first < 0 && n < CPUS_MOST; n++)
            first = lib_cpus_has(&sets[0], n) && !lib_cpus_has(&sets[1], n) ? (long)n : -1;
    free(sets);
    return first;
}

int cmd_check_cpus_there(struct cmd *cmd, const char *cpus)
{
    char *reply = NULL;
    if (cpus == NULL)
        return CMD_DONE;
    if (berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &reply) < 0)
        return CMD_DONE; /* the next call reports the error */
    json_t *node = json_loads(reply, 0, NULL);
    /* cpus of the machine */
    const char *there = json_string_value(
        json_object_get(json_array_get(json_object_get(node, "places"), 0), "cpus"));
    long beyond = there != NULL ? first_beyond(cpus, there) : -1;
    int status = beyond < 0 ? CMD_DONE
                            : cmd_usage(cmd, "--cpus: this node has no cpu %ld; it has %.80s",
                                        beyond, there);
    json_decref(node);
    free(reply);
    return status;
}

int cmd_set_allowed(struct cmd *cmd, json_t *object, bool with_gpus, const char *cpus,
                    const char *gpus)
{
    int status = cmd_check_cpus(cmd, cpus);
    if (status == CMD_DONE)
        status = cmd_connect(cmd);
    if (status == CMD_DONE)
        status = cmd_check_cpus_there(cmd, cpus);
    if (status != CMD_DONE)
        return status;
    /* A recorded node is another machine: all of it may be used. An empty object states that and
     * prevents the daemon's warning. */
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
                (given.cpus == NULL ||
                 json_object_set_new(allowed, "cpus", json_string(given.cpus)) == 0) &&
                set_texts(allowed, "memory", &given.memory) &&
                set_texts(allowed, "gpus", &given.gpus) &&
                (array == NULL || json_object_set(allowed, "gpus", array) == 0);
    json_decref(array);
    berth_allowed_free(here);
    return fine ? CMD_DONE : cmd_fail_memory();
}
