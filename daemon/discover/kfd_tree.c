#include "discover/kfd_tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX  65536
#define NODES_MAX 1024
#define LINKS_MAX 1024

const char *const kfd_lists[3] = {"io_links", "p2p_links", "mem_banks"};
enum { LIST_IO_LINKS, LIST_P2P_LINKS, LIST_MEM_BANKS };

static void free_text(char **text) { free(*text); }
static void free_names(char ***names) { files_names_free(*names); }

struct property {
    const char *key;
    uint64_t *value;
};

/* Parses lines of "key number"; other keys are skipped, and missing ones leave their value. */
static enum berth_code parse_properties(const char *text, const char *path,
                                        const struct property *properties, size_t count,
                                        struct berth_err *err)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), key = strcspn(text, " \n");
        for (size_t i = 0; i < count; i++) {
            if (strlen(properties[i].key) != key || memcmp(properties[i].key, text, key) != 0)
                continue;
            char *end;
            errno = 0;
            const char *digits = text + key + (key < length);
            unsigned long long value = strtoull(digits, &end, 10);
            if (errno != 0 || end == digits || *digits < '0' || *digits > '9' ||
                end != text + length)
                return err_set(err, BERTH_BAD_DATA, "%s: %s is no number", path, properties[i].key);
            *properties[i].value = value;
        }
        text += length + (text[length] == '\n');
    }
    return BERTH_OK;
}

static enum berth_code read_properties(const struct files *io, const char *path,
                                       const struct property *properties, size_t count,
                                       struct berth_err *err)
{
    char *text __attribute__((cleanup(free_text))) = NULL;
    enum berth_code code = files_read(io, path, FILE_MAX, &text, err);
    return code == BERTH_OK ? parse_properties(text, path, properties, count, err) : code;
}

static enum berth_code read_link(const struct files *io, const char *path, struct kfd_link *link,
                                 struct berth_err *err)
{
    const struct property properties[] = {
        {"type", &link->type},
        {"node_from", &link->from},
        {"node_to", &link->to},
        {"weight", &link->weight},
        {"min_bandwidth", &link->min_megabytes_per_s},
        {"max_bandwidth", &link->max_megabytes_per_s},
    };
    *link = (struct kfd_link){.from = UINT64_MAX, .to = UINT64_MAX};
    return read_properties(io, path, properties, sizeof properties / sizeof properties[0], err);
}

static enum berth_code add_bank(const struct files *io, const char *path, struct kfd_node *node,
                                struct berth_err *err)
{
    uint64_t heap = UINT64_MAX, bytes = 0;
    const struct property properties[] = {{"heap_type", &heap}, {"size_in_bytes", &bytes}};
    enum berth_code code = read_properties(io, path, properties, 2, err);
    /* Heaps: 0 system memory, 1 and 2 the gpu's memory that the host can and cannot access; others
     * are no memory. */
    if (code == BERTH_OK && heap <= 2 && bytes < INT64_MAX / 64)
        node->memory_bytes = (node->memory_bytes < 0 ? 0 : node->memory_bytes) + (int64_t)bytes;
    return code;
}

static enum berth_code read_list(const struct files *io, const char *directory, int list,
                                 struct kfd_node *node, struct berth_err *err)
{
    char path[PATH_MAX];
    char **names __attribute__((cleanup(free_names))) = NULL;
    snprintf(path, sizeof path, "%s/%s", directory, kfd_lists[list]);
    if (!files_exists(io, path))
        return BERTH_OK;
    enum berth_code code = files_list(io, path, &names, err);
    for (size_t i = 0; code == BERTH_OK && names[i] != NULL; i++) {
        struct kfd_link link;
        if (++node->present[list] > LINKS_MAX)
            return err_set(err, BERTH_BAD_DATA, "%s has more than %d entries", path, LINKS_MAX);
        if (snprintf(path, sizeof path, "%s/%s/%s/properties", directory, kfd_lists[list],
                     names[i]) >= (int)sizeof path)
            return err_set(err, BERTH_BAD_DATA, "%s: the name of an entry is too long", directory);
        if (list == LIST_MEM_BANKS)
            code = add_bank(io, path, node, err);
        else
            code = read_link(io, path, &link, err);
        if (code != BERTH_OK || list == LIST_MEM_BANKS)
            continue;
        if (list == LIST_P2P_LINKS) {
            node->peer_count++;
            continue;
        }
        struct kfd_link *more = realloc(node->links, (node->link_count + 1) * sizeof *more);
        if (more == NULL)
            return err_set(err, BERTH_NO_MEMORY, "no memory for kfd links");
        node->links = more;
        node->links[node->link_count++] = link;
    }
    return code;
}

/* Reads small files that not every kernel has. */
static enum berth_code read_optional(const struct files *io, const char *directory,
                                     struct kfd_node *node, struct berth_err *err)
{
    char path[PATH_MAX];
    char *text __attribute__((cleanup(free_text))) = NULL;
    snprintf(path, sizeof path, "%s/gpu_id", directory);
    enum berth_code code =
        files_exists(io, path) ? files_read(io, path, FILE_MAX, &text, err) : BERTH_OK;
    if (code != BERTH_OK)
        return code;
    node->gpu_id = text == NULL ? 0 : strtoull(text, NULL, 10);
    free(text);
    text = NULL;
    snprintf(path, sizeof path, "%s/name", directory);
    code = files_exists(io, path) ? files_read(io, path, FILE_MAX, &text, err) : BERTH_OK;
    if (code == BERTH_OK && text != NULL)
        snprintf(node->name, sizeof node->name, "%.*s", (int)strcspn(text, "\n"), text);
    return code;
}

static enum berth_code read_node(const struct files *io, const char *directory,
                                 struct kfd_node *node, struct berth_err *err)
{
    uint64_t local = 0;
    const struct property properties[] = {
        {"cpu_cores_count", &node->cpu_count}, /* logical cpus */
        {"simd_count", &node->simd_count},
        {"simd_per_cu", &node->simd_per_cu},
        {"gfx_target_version", &node->gfx_version},
        {"device_id", &node->device_id},
        {"domain", &node->domain},
        {"location_id", &node->location},
        {"drm_render_minor", &node->render_minor},
        {"hive_id", &node->hive},
        {"unique_id", &node->unique},
        {"num_xcc", &node->xcc_count},
        {"local_mem_size", &local},
        {"io_links_count", &node->counted[LIST_IO_LINKS]},
        {"p2p_links_count", &node->counted[LIST_P2P_LINKS]},
        {"mem_banks_count", &node->counted[LIST_MEM_BANKS]},
    };
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/properties", directory);
    enum berth_code code =
        read_properties(io, path, properties, sizeof properties / sizeof properties[0], err);
    for (int list = 0; code == BERTH_OK && list < 3; list++)
        code = read_list(io, directory, list, node, err);
    if (code == BERTH_OK && node->memory_bytes < 0 && local > 0 && local < INT64_MAX)
        node->memory_bytes = (int64_t)local;
    return code == BERTH_OK ? read_optional(io, directory, node, err) : code;
}

enum berth_code kfd_read(const struct files *io, const char *path, struct kfd_tree *ret_tree,
                         struct berth_err *err)
{
    char directory[PATH_MAX];
    char **names __attribute__((cleanup(free_names))) = NULL;
    struct kfd_tree tree = {0};
    if (snprintf(directory, sizeof directory, "%s/topology/nodes", path) >=
        (int)sizeof directory - 300)
        return err_set(err, BERTH_BAD_DATA, "the path of the kfd tree is too long");
    if (!files_exists(io, directory))
        return err_set(err, BERTH_ABSENT, "there is no %s", directory);
    enum berth_code code = files_list(io, directory, &names, err);
    size_t base = strlen(directory), gpus = 0;
    for (size_t i = 0; code == BERTH_OK && names[i] != NULL; i++) {
        char *end;
        long number = strtol(names[i], &end, 10);
        if (*end != '\0' || end == names[i] || number < 0 || number >= NODES_MAX) {
            code = err_set(err, BERTH_BAD_DATA, "%s/%.40s is no node number under %d", directory,
                           names[i], NODES_MAX);
            break;
        }
        struct kfd_node *more = realloc(tree.nodes, (tree.count + 1) * sizeof *more);
        if (more == NULL) {
            code = err_set(err, BERTH_NO_MEMORY, "no memory for kfd nodes");
            break;
        }
        tree.nodes = more;
        struct kfd_node *node = &tree.nodes[tree.count++];
        *node = (struct kfd_node){.number = (int32_t)number, .memory_bytes = -1};
        snprintf(directory + base, sizeof directory - base, "/%s", names[i]);
        struct berth_err own = {0};
        code = read_node(io, directory, node, &own);
        directory[base] = '\0';
        if (code == BERTH_ABSENT || code == BERTH_IO) { /* no access */
            free(tree.nodes[--tree.count].links);
            code = BERTH_OK;
        } else if (code != BERTH_OK) {
            err_set(err, code, "%s", own.detail);
        } else {
            gpus += node->simd_count > 0;
        }
    }
    if (code == BERTH_OK && gpus == 0)
        code = err_set(err, BERTH_ABSENT, "the kfd tree shows no gpu");
    if (code != BERTH_OK) {
        kfd_done(&tree);
        return code;
    }
    *ret_tree = tree;
    return BERTH_OK;
}

void kfd_done(struct kfd_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->nodes[i].links);
    free(tree->nodes);
    *tree = (struct kfd_tree){0};
}

const struct kfd_node *kfd_find(const struct kfd_tree *tree, uint64_t number)
{
    for (size_t i = 0; i < tree->count; i++)
        if ((uint64_t)tree->nodes[i].number == number)
            return &tree->nodes[i];
    return NULL;
}
