#include "slurm/gres.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/task/slurm_list.h"

#define FILE_MOST  (1 << 20)
#define DEPTH_MOST 8 /* depth of nested includes */

/* One line of gres.conf. */
struct line {
    char *name, *node, *file, *automatic; /* NULL: absent */
    bool is_one_device;                   /* MultipleFiles: all files belong to one device */
};

/* Reads the next word of the form key=value, without its quotes; false at the end. Cuts the text.
 */
static bool next_setting(char **text, char **ret_key, char **ret_value)
{
    char *key = *text + strspn(*text, " \t\r");
    char *value = key + strcspn(key, "= \t\r");
    if (*value != '=')
        return false;
    *value++ = '\0';
    char *end = value + strcspn(value, " \t\r");
    if (*value == '"') {
        value++;
        end = value + strcspn(value, "\"");
    }
    *text = *end != '\0' ? end + 1 : end;
    *end = '\0';
    *ret_key = key;
    *ret_value = value;
    return true;
}

static struct line read_line(char *text)
{
    struct line line = {.name = NULL};
    char *key, *value;
    while (next_setting(&text, &key, &value)) {
        if (strcasecmp(key, "Name") == 0)
            line.name = value;
        else if (strcasecmp(key, "NodeName") == 0)
            line.node = value;
        else if (strcasecmp(key, "AutoDetect") == 0)
            line.automatic = value;
        else if (strcasecmp(key, "File") == 0 || strcasecmp(key, "MultipleFiles") == 0) {
            line.file = value;
            line.is_one_device = strcasecmp(key, "MultipleFiles") == 0;
        }
    }
    return line;
}

static bool is_for(const struct line *line, const char *node)
{
    bool is_there = false;
    return line->node == NULL ||
           (node != NULL && slurm_list_has(line->node, node, &is_there) && is_there);
}

struct adding {
    struct slurm_gres *gres;
    const struct line *line;
    int begun; /* devices before this line */
};

static bool add_device(void *arg, const char *file)
{
    struct adding *adding = arg;
    struct slurm_gres *gres = adding->gres;
    if (adding->line->is_one_device && gres->count > adding->begun)
        return true;
    if (gres->count == SLURM_GPUS_MOST || strlen(file) >= sizeof gres->file[0])
        return false;
    strcpy(gres->file[gres->count++], file);
    return true;
}

static void take_line(struct slurm_gres *gres, char *text, const char *node)
{
    struct line line = read_line(text);
    struct adding adding = {.gres = gres, .line = &line, .begun = gres->count};
    if (!is_for(&line, node))
        return;
    if (line.automatic != NULL)
        gres->is_automatic = strcasecmp(line.automatic, "off") != 0;
    if (line.name == NULL || strcasecmp(line.name, "gpu") != 0 || line.file == NULL)
        return;
    if (!slurm_list_names(line.file, add_device, &adding))
        gres->count = adding.begun;
}

/* Files read one inside the other. */
struct reading {
    struct slurm_gres *gres;
    const char *node, *folder; /* folder of included files; NULL: nothing is included */
    int depth;
    char *why;
    size_t size;
};

static bool fail(const struct reading *reading, const char *path, const char *reason)
{
    snprintf(reading->why, reading->size, "%.200s cannot be read: %s", path, reason);
    return false;
}

static bool take_file(struct reading *reading, const char *path);

/* File of an "Include FILE" line, relative to the including file unless its path is absolute. NULL
 * for another line. Cuts the text. */
static const char *included(char *line)
{
    line += strspn(line, " \t\r");
    if (strncasecmp(line, "Include", 7) != 0 || strspn(line + 7, " \t") == 0)
        return NULL;
    char *path = line + 7 + strspn(line + 7, " \t");
    path[strcspn(path, " \t\r")] = '\0';
    return *path != '\0' ? path : NULL;
}

static bool take_included(struct reading *reading, const char *name)
{
    char path[4096];
    if (reading->folder == NULL)
        return true;
    if (strchr(name, '%') != NULL)
        return fail(reading, name, "what stands for % in it is not known here");
    if (reading->depth == DEPTH_MOST)
        return fail(reading, name, "files include each other");
    snprintf(path, sizeof path, "%s%s", *name != '/' ? reading->folder : "", name);
    reading->depth++;
    bool fine = take_file(reading, path);
    reading->depth--;
    return fine;
}

static bool take_text(struct reading *reading, char *text)
{
    char *next = text;
    bool fine = true;
    while (fine && next != NULL && *next != '\0') {
        char *line = next, *end = line;
        for (end += strcspn(end, "\n"); *end == '\n' && end > line && end[-1] == '\\';
             end += strcspn(end, "\n"))
            end[-1] = end[0] = ' '; /* the line continues */
        next = *end != '\0' ? end + 1 : NULL;
        *end = '\0';
        line[strcspn(line, "#")] = '\0';
        const char *name = included(line);
        if (name != NULL)
            fine = take_included(reading, name);
        else
            take_line(reading->gres, line, reading->node);
    }
    return fine;
}

/* Text of a file, which the caller frees; NULL with errno. */
static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    char *text = malloc(FILE_MOST + 1);
    size_t length = text != NULL ? fread(text, 1, FILE_MOST, file) : 0;
    int number = text == NULL ? ENOMEM : ferror(file) ? errno : length == FILE_MOST ? EFBIG : 0;
    fclose(file);
    if (number != 0) {
        free(text);
        errno = number;
        return NULL;
    }
    text[length] = '\0';
    return text;
}

static bool take_file(struct reading *reading, const char *path)
{
    char *text = read_whole(path);
    if (text == NULL)
        return fail(reading, path, strerror(errno));
    bool fine = take_text(reading, text);
    free(text);
    return fine;
}

bool slurm_gres_read(const char *text, const char *node, struct slurm_gres *ret)
{
    char why[8], *copy = strdup(text);
    struct reading reading = {.gres = ret, .node = node, .why = why, .size = sizeof why};
    ret->count = 0;
    ret->is_automatic = false;
    bool fine = copy != NULL && take_text(&reading, copy);
    free(copy);
    return fine;
}

/* Looks where Slurm looks. An unreadable file ends the search: another one would not be Slurm's. */
static bool find_file(char *path, size_t size)
{
    const char *conf = getenv("SLURM_CONF");
    snprintf(path, size, "%.*sgres.conf",
             conf != NULL && strrchr(conf, '/') != NULL ? (int)(strrchr(conf, '/') + 1 - conf) : 0,
             conf != NULL ? conf : "");
    if (conf != NULL && (access(path, F_OK) == 0 || errno != ENOENT))
        return true;
    snprintf(path, size, "/run/slurm/conf/gres.conf");
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return true;
    snprintf(path, size, "/etc/slurm/gres.conf");
    return access(path, F_OK) == 0 || errno != ENOENT;
}

bool slurm_gres_load(const char *path, struct slurm_gres *ret, char *why, size_t size)
{
    char found[4096], folder[4096] = "";
    ret->count = 0;
    ret->is_automatic = false;
    if (path == NULL && !find_file(found, sizeof found))
        return true;
    path = path != NULL ? path : found;
    if (strrchr(path, '/') != NULL)
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') + 1 - path), path);
    struct reading reading = {
        .gres = ret, .node = getenv("SLURMD_NODENAME"), .folder = folder, .why = why, .size = size};
    return take_file(&reading, path);
}

static bool is_gpu(const json_t *place)
{
    const char *kind = json_string_value(json_object_get(place, "kind"));
    return kind != NULL && strcmp(kind, "gpu") == 0;
}

/* Finds the gpu of a device node: by its path, else by the device's minor number (/dev/nvidia3, and
 * files that a site has made itself). */
static const char *find_by_file(const json_t *node, const char *file)
{
    struct stat status;
    size_t i;
    const json_t *place;
    const char *name = NULL;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *render_node = json_string_value(json_object_get(place, "render_node"));
        if (is_gpu(place) && render_node != NULL && strcmp(render_node, file) == 0)
            return json_string_value(json_object_get(place, "name"));
    }
    if (stat(file, &status) != 0 || !S_ISCHR(status.st_mode))
        return NULL;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const json_t *number = json_object_get(place, "minor");
        if (!is_gpu(place) || !json_is_integer(number) ||
            json_integer_value(number) != (json_int_t)minor(status.st_rdev))
            continue;
        if (name != NULL) /* slices of one gpu share its minor number */
            return NULL;
        name = json_string_value(json_object_get(place, "name"));
    }
    return name;
}

static bool is_device(const struct slurm_gres *gres, const json_t *node, const char *name)
{
    for (int i = 0; i < gres->count; i++) {
        const char *found = find_by_file(node, gres->file[i]);
        if (found != NULL && strcmp(found, name) == 0)
            return true;
    }
    return gres->count == 0;
}

/* berth numbers gpus by PCI address, and GetNode lists them in that order. gres.conf may leave out
 * some of the gpus that Slurm finds itself. */
static const char *find_by_index(const struct slurm_gres *gres, const json_t *node, int index)
{
    size_t i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *name = json_string_value(json_object_get(place, "name"));
        if (is_gpu(place) && name != NULL && is_device(gres, node, name) && index-- == 0)
            return name;
    }
    return NULL;
}

static const char *find(const struct slurm_gres *gres, const json_t *node, int number)
{
    if (gres->is_automatic || gres->count == 0)
        return find_by_index(gres, node, number);
    return number < gres->count ? find_by_file(node, gres->file[number]) : NULL;
}

int slurm_gres_names(const struct slurm_gres *gres, const json_t *node, const char *numbers,
                     const char *ret_names[SLURM_GPUS_MOST], char *why, size_t size)
{
    int number[SLURM_GPUS_MOST], count = slurm_list_numbers(numbers, SLURM_GPUS_MOST, number);
    const char *names[SLURM_GPUS_MOST];
    if (count < 0) {
        snprintf(why, size, "\"%.60s\" is no list of gpus", numbers);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        names[i] = find(gres, node, number[i]);
        if (names[i] != NULL)
            continue;
        if (number[i] < gres->count && !gres->is_automatic)
            snprintf(why, size,
                     "%.110s, Slurm's gpu number %d, is no device of a gpu that berthd knows",
                     gres->file[number[i]], number[i]);
        else
            snprintf(why, size,
                     "which gpu has Slurm's number %d cannot be told: there is none at that place "
                     "in its list",
                     number[i]);
        return -1;
    }
    memcpy(ret_names, names, (size_t)count * sizeof names[0]);
    return count;
}
