#include "discover/backend_replay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/counters.h"

#define NODE_JSON_MAX (1u << 20)
#define XML_MAX       (64u << 20)

static void free_text(char **text) { free(*text); }
static void free_names(char ***names) { files_names_free(*names); }
static void drop_json(json_t **json) { json_decref(*json); }

void backend_replay_done(struct replay *replay)
{
    free(replay->root);
    free(replay->name);
    free(replay->xml);
    free(replay->xml_name);
    free(replay->kfd);
    free(replay->facts);
    free(replay->counters);
    free(replay->measurements);
    json_decref(replay->software);
    *replay = (struct replay){0};
}

static enum berth_code copy(char **field, const char *text, struct berth_err *err)
{
    *field = strdup(text);
    return *field != NULL ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for a node folder");
}

/* Returns a text of node.json; NULL when it has no such key. */
static enum berth_code get_text(const json_t *node, const char *key, const char **ret_text,
                                struct berth_err *err)
{
    const json_t *value = json_object_get(node, key);
    if (value != NULL && (!json_is_string(value) || json_string_length(value) == 0 ||
                          strlen(json_string_value(value)) != json_string_length(value)))
        return err_set(err, BERTH_BAD_DATA, "node.json: %s is no text", key);
    *ret_text = json_string_value(value);
    return BERTH_OK;
}

/* Returns the path of a file that node.json names, with a slash in front; NULL when it names
 * none. */
static enum berth_code get_path(const json_t *node, const char *key, char **ret_path,
                                struct berth_err *err)
{
    const char *path = NULL;
    enum berth_code code = get_text(node, key, &path, err);
    if (code != BERTH_OK || path == NULL)
        return code;
    bool leaves = path[0] == '/';
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        leaves = leaves || (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'));
    }
    if (leaves || strlen(path) > PATH_MAX / 2)
        return err_set(err, BERTH_BAD_DATA, "node.json: %s leaves the folder: %.100s", key, path);
    char *joined = malloc(strlen(path) + 2);
    if (joined == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a node folder");
    joined[0] = '/';
    strcpy(joined + 1, path);
    *ret_path = joined;
    return BERTH_OK;
}

/* Reads a file that node.json names: it must exist. */
static enum berth_code read_named(const struct files *io, const json_t *node, const char *key,
                                  size_t max, char **ret_name, char **ret_text,
                                  struct berth_err *err)
{
    char *path = NULL;
    enum berth_code code = get_path(node, key, &path, err);
    if (code != BERTH_OK || path == NULL)
        return code;
    struct berth_err own = {0};
    code = files_read(io, path, max, ret_text, &own);
    if (code == BERTH_ABSENT)
        code = err_set(err, BERTH_BAD_DATA, "node.json names %s, which is not there", path + 1);
    else if (code != BERTH_OK)
        err_set(err, code, "%s", own.detail);
    else if (ret_name != NULL)
        code = copy(ret_name, path + 1, err);
    free(path);
    return code;
}

static enum berth_code worsen(const json_t *text, enum origin *origin, struct berth_err *err)
{
    enum origin one;
    if (!json_is_string(text) || !origin_parse(json_string_value(text), &one) || one == ORIGIN_LIVE)
        return err_set(err, BERTH_BAD_DATA,
                       "node.json: origin is not recorded, reconstructed or standin");
    *origin = one > *origin ? one : *origin;
    return BERTH_OK;
}

static enum berth_code read_origin(const json_t *node, enum origin *ret_origin,
                                   struct berth_err *err)
{
    json_t *given = json_object_get(node, "origin"), *value;
    const char *key;
    enum origin origin = ORIGIN_RECORDED;
    enum berth_code code = BERTH_OK;
    if (json_is_object(given)) {
        json_object_foreach(given, key, value)
        {
            if (code == BERTH_OK)
                code = worsen(value, &origin, err);
        }
    } else if (given != NULL) {
        code = worsen(given, &origin, err);
    }
    *ret_origin = origin;
    return code;
}

static enum berth_code read_node(const struct files *io, const json_t *node, struct replay *replay,
                                 struct berth_err *err)
{
    const char *name = NULL;
    enum berth_code code = get_text(node, "name", &name, err);
    if (code == BERTH_OK && name != NULL && (strlen(name) > 64 || strpbrk(name, "/\n") != NULL))
        code = err_set(err, BERTH_BAD_DATA,
                       "node.json: name has a slash, a line end or more than 64 characters");
    if (code == BERTH_OK && name != NULL) {
        free(replay->name);
        code = copy(&replay->name, name, err);
    }
    if (code == BERTH_OK)
        code = read_named(io, node, "hwloc", XML_MAX, &replay->xml_name, &replay->xml, err);
    if (code == BERTH_OK)
        code = read_named(io, node, "facts", RECORD_FILE_MAX, NULL, &replay->facts, err);
    if (code == BERTH_OK)
        code = read_named(io, node, "counters", COUNTERS_FILE_MAX, NULL, &replay->counters, err);
    if (code == BERTH_OK)
        code = get_path(node, "measurements", &replay->measurements, err);
    if (code == BERTH_OK && replay->measurements != NULL && !files_exists(io, replay->measurements))
        code = err_set(err, BERTH_BAD_DATA, "node.json names %s, which is not there",
                       replay->measurements + 1);
    if (code == BERTH_OK)
        code = get_path(node, "kfd", &replay->kfd, err);
    if (code == BERTH_OK)
        code = read_origin(node, &replay->origin, err);
    json_t *software = json_object_get(node, "software");
    if (code == BERTH_OK && software != NULL && !json_is_object(software))
        code = err_set(err, BERTH_BAD_DATA, "node.json: software is no object");
    if (code == BERTH_OK)
        replay->software = json_incref(software);
    if (code == BERTH_OK && replay->kfd != NULL) {
        char path[PATH_MAX];
        char **names __attribute__((cleanup(free_names))) = NULL;
        snprintf(path, sizeof path, "%s/topology/nodes", replay->kfd);
        struct berth_err own = {0};
        code = files_list(io, path, &names, &own);
        if (code == BERTH_ABSENT)
            code = err_set(err, BERTH_BAD_DATA, "node.json names %s, which has no topology/nodes",
                           replay->kfd + 1);
        else if (code != BERTH_OK)
            code = err_set(err, code, "%s", own.detail);
    }
    return code;
}

/* Reads a folder without node.json: one hwloc XML, and no other file. */
static enum berth_code find_xml(const struct files *io, struct replay *replay,
                                struct berth_err *err)
{
    char **names __attribute__((cleanup(free_names))) = NULL;
    enum berth_code code = files_list(io, "/", &names, err);
    for (size_t i = 0; code == BERTH_OK && names[i] != NULL; i++) {
        char path[NAME_MAX + 2];
        char *text = NULL;
        size_t length = strlen(names[i]);
        if (length < 5 || strcmp(names[i] + length - 4, ".xml") != 0)
            continue;
        snprintf(path, sizeof path, "/%s", names[i]);
        if (files_read(io, path, XML_MAX, &text, NULL) != BERTH_OK ||
            strstr(text, "<topology") == NULL) {
            free(text); /* XML of another format */
        } else if (replay->xml != NULL) {
            free(text);
            code = err_set(err, BERTH_BAD_DATA,
                           "%s has no node.json and more than one hwloc XML file, %s and %s among "
                           "them: node.json says which",
                           replay->name, replay->xml_name, names[i]);
        } else {
            replay->xml = text;
            code = copy(&replay->xml_name, names[i], err);
        }
    }
    if (code == BERTH_OK && replay->xml == NULL)
        code = err_set(err, BERTH_BAD_DATA,
                       "%s is no node folder: it has neither node.json nor an hwloc XML file",
                       replay->root);
    return code;
}

enum berth_code backend_replay_open(const char *folder, struct replay *ret_replay,
                                    struct berth_err *err)
{
    struct replay replay = {.origin = ORIGIN_RECORDED, .root = realpath(folder, NULL)};
    if (replay.root == NULL)
        return err_set_errno(err, errno == ENOENT || errno == ENOTDIR ? BERTH_ABSENT : BERTH_IO,
                             errno, "cannot open the node folder %.150s", folder);
    const struct files io = {replay.root};
    char *text __attribute__((cleanup(free_text))) = NULL;
    json_t *node __attribute__((cleanup(drop_json))) = NULL;
    enum berth_code code = copy(&replay.name, strrchr(replay.root, '/') + 1, err);
    struct berth_err own = {0};
    if (code == BERTH_OK)
        code = files_read(&io, "/node.json", NODE_JSON_MAX, &text, &own);
    if (code == BERTH_ABSENT) {
        code = find_xml(&io, &replay, err);
    } else if (code == BERTH_OK) {
        json_error_t where;
        node = json_loads(text, JSON_REJECT_DUPLICATES, &where);
        if (node == NULL && json_error_code(&where) == json_error_out_of_memory)
            code = err_set(err, BERTH_NO_MEMORY, "no memory for a node folder");
        else if (!json_is_object(node))
            code = err_set(err, BERTH_BAD_DATA, "node.json is no JSON object: line %d: %s",
                           where.line, node == NULL ? where.text : "another type");
        else
            code = read_node(&io, node, &replay, err);
    } else {
        err_set(err, code, "%s", own.detail);
    }
    if (code != BERTH_OK) {
        backend_replay_done(&replay);
        return code;
    }
    *ret_replay = replay;
    return BERTH_OK;
}
