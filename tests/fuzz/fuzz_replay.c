/*
 * libFuzzer target: any bytes as a node folder. The bytes are the folder's files one after the
 * other, each under a line
 * "#file NAME"; NAME is a path that node.json may name. What is served of it is whole: every
 * reference of the graph leads somewhere, and every value is a number or says why it is none.
 */
#include <ftw.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "discover/discover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARK            "#file "
#define NAME_MAX_LENGTH 80

static char folder[40];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    return where->level > 0 ? remove(path) : 0;
}

static void remove_folder(void) { rmdir(folder); }

static void make_folder(void)
{
    strcpy(folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-node-XXXXXX" : "/tmp/fuzz-node-XXXXXX");
    if (mkdtemp(folder) == NULL)
        abort();
    atexit(remove_folder);
}

/* Whether it is a path that stays below the folder. */
static bool is_file_name(const char *name)
{
    return name[0] != '\0' && name[0] != '/' && strstr(name, "..") == NULL &&
           strstr(name, "//") == NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_./-") == strlen(name);
}

/* What cannot be written, because a file stands where a folder should, is left out. */
static void write_file(const char *name, const char *text, size_t length)
{
    char path[sizeof folder + NAME_MAX_LENGTH + 2];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    fwrite(text, 1, length, file);
    fclose(file);
}

static void write_folder(const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        if (line_end == NULL)
            return;
        char name[NAME_MAX_LENGTH];
        size_t skip = strlen(MARK), length = (size_t)(line_end - text);
        bool is_named =
            length > skip && length - skip < sizeof name && memcmp(text, MARK, skip) == 0;
        if (is_named) {
            memcpy(name, text + skip, length - skip);
            name[length - skip] = '\0';
        }
        const char *begin = line_end + 1;
        const char *next = memmem(line_end, (size_t)(end - line_end), "\n" MARK, strlen("\n" MARK));
        text = next != NULL ? next + 1 : end;
        if (is_named && is_file_name(name))
            write_file(name, begin, begin < text ? (size_t)(text - begin) : 0);
    }
}

static void check(const struct discovery *found)
{
    const struct graph *graph = found->graph;
    if (strlen(graph->fingerprint) != 32 || graph->place_count == 0)
        abort();
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        if (graph_find(graph, place->name) != (place_id)i ||
            (i > 0 && place->parent >= (place_id)graph->place_count))
            abort();
    }
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph->links[i].from >= graph->links[i].to ||
            (size_t)graph->links[i].to >= graph->place_count)
            abort();
    for (size_t i = 0; i < found->values->count; i++) {
        const struct value *value = &found->values->item[i];
        if (isnan(value->value) != (value->why_not != NULL) ||
            (size_t)value->from >= graph->place_count || (size_t)value->to >= graph->place_count)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (folder[0] == '\0')
        make_folder();
    write_folder((const char *)data, size);
    struct berth_err err = {0};
    struct discovery found = {0};
    enum berth_code code = discover_folder(folder, &found, &err);
    if (code == BERTH_OK) {
        check(&found);
        discovery_done(&found);
    } else if (code != BERTH_BAD_DATA || err.detail[0] == '\0' ||
               strchr(err.detail, '\n') != NULL) {
        abort();
    }
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
