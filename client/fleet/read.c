/* Finds the nodes behind paths, and reads them on several threads. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/inner.h"

#define THREADS_MAX 64
#define DEPTH_MAX   4
#define BLOCK       512

static const char *const file_name[FLEET_FILES] = {
    [FLEET_NODE] = "node.json",
    [FLEET_MEASUREMENTS] = "measurements.jsonl",
    [FLEET_FACTS] = "facts.jsonl",
    [FLEET_TOPOLOGY] = "topology.xml",
};

/* A node to be read: a folder, a baseline file, or a folder in an archive. */
struct source {
    char *path;
    size_t archive;                      /* of a part: index in the archives */
    struct fleet_part part[FLEET_FILES]; /* of an archive: fd 0 present, -1 absent */
    enum { IS_FOLDER, IS_BASELINE, IS_PART } kind;
};

struct sources {
    struct fleet *fleet;
    struct source *item;
    size_t count, room;
    char **archive; /* paths; thousands are not kept open */
    size_t archives;
    atomic_size_t next;
    bool is_full;
};

static void close_parts(struct fleet_part part[FLEET_FILES])
{
    for (size_t i = 0; i < FLEET_FILES; i++)
        if (part[i].fd >= 0)
            close(part[i].fd);
}

/* Opens a regular file below a folder; a pipe or a device must not block. */
static struct fleet_part open_part(int folder, const char *name)
{
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return (struct fleet_part){-1, 0, 0};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        errno = EINVAL;
        return (struct fleet_part){-1, 0, 0};
    }
    return (struct fleet_part){fd, 0, status.st_size};
}

static struct source *add(struct sources *sources, const char *path, int kind)
{
    if (sources->count == FLEET_NODES_MAX) {
        if (!sources->is_full)
            fleet_leave_out(sources->fleet, path,
                            "more than 100,000 nodes; it and others are not "
                            "read");
        sources->is_full = true;
        return NULL;
    }
    if (sources->count == sources->room) {
        size_t room = 2 * sources->room + 64;
        struct source *more = realloc(sources->item, room * sizeof *more);
        if (more == NULL) {
            sources->fleet->failed = true;
            return NULL;
        }
        sources->item = more;
        sources->room = room;
    }
    struct source *source = &sources->item[sources->count];
    *source = (struct source){.path = strdup(path), .archive = sources->archives, .kind = kind};
    for (size_t i = 0; i < FLEET_FILES; i++)
        source->part[i].fd = -1;
    if (source->path == NULL) {
        sources->fleet->failed = true;
        return NULL;
    }
    sources->count++;
    return source;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), of_end = strlen(end);
    return length > of_end && strcmp(path + length - of_end, end) == 0;
}

/* ---- archives: POSIX ustar, GNU's long names and pax paths ---- */

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static bool is_valid(const struct header *header)
{
    const unsigned char *byte = (const unsigned char *)header;
    unsigned long sum = 0;
    char digits[9] = "";
    memcpy(digits, header->sum, 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum +=
            i >= offsetof(struct header, sum) && i < offsetof(struct header, type) ? ' ' : byte[i];
    return header->size[0] >= '0' && header->size[0] <= '7' && strtoul(digits, NULL, 8) == sum;
}

/* Reads the name that an entry of a type L or x gives to the next one. */
static void read_name(int fd, int64_t at, int64_t size, char type, char name[1024])
{
    char text[2048] = "";
    ssize_t got = pread(fd, text, size < 2047 ? (size_t)size : 2047, at);
    const char *begin = text;
    text[got > 0 ? got : 0] = '\0';
    if (type == 'x') { /* lines of LENGTH KEY=VALUE */
        const char *found = strstr(text, " path=");
        begin = found != NULL ? found + 6 : "";
    }
    snprintf(name, 1024, "%.*s", (int)strcspn(begin, "\n"), begin);
}

/* Notes a file of the archive with its folder's node. last: the node of the file before. */
static struct source *take(struct sources *sources, const char *archive, struct source *last,
                           const char *entry, struct fleet_part part)
{
    char path[2300];
    const char *slash = strrchr(entry, '/'), *base = slash == NULL ? entry : slash + 1;
    size_t which = 0;
    while (which < FLEET_FILES && strcmp(base, file_name[which]) != 0)
        which++;
    snprintf(path, sizeof path, "%.1200s:%.*s", archive, slash == NULL ? 0 : (int)(slash - entry),
             entry);
    if (ends_with(entry, ".baseline")) {
        snprintf(path, sizeof path, "%.1200s:%.1000s", archive, entry);
        struct source *source = add(sources, path, IS_PART);
        if (source != NULL)
            source->part[FLEET_FACTS] = part; /* without node.json: a baseline */
        return NULL;
    }
    if (which == FLEET_FILES)
        return last;
    if (last == NULL || strcmp(last->path, path) != 0)
        last = add(sources, path, IS_PART);
    if (last != NULL)
        last->part[which] = part;
    return last;
}

static void list_archive(struct sources *sources, const char *path, struct fleet_part whole)
{
    struct header header;
    char name[1024] = "", digits[13] = "";
    struct source *last = NULL;
    size_t before = sources->count, found = 0;
    for (int64_t at = 0; at < whole.size && !sources->is_full;) {
        if (pread(whole.fd, &header, BLOCK, at) != BLOCK || !is_valid(&header)) {
            if (at + BLOCK > whole.size || header.name[0] != '\0')
                fleet_leave_out(sources->fleet, path, "it is no tar archive from byte %lld on",
                                (long long)at);
            break;
        }
        memcpy(digits, header.size, 12);
        int64_t size = (int64_t)strtoll(digits, NULL, 8);
        at += BLOCK;
        if (size > whole.size - at) {
            fleet_leave_out(sources->fleet, path, "it is cut off: an entry has %lld bytes more",
                            (long long)(size - (whole.size - at)));
            size = whole.size - at;
        }
        if (header.type == 'L' || header.type == 'x') {
            read_name(whole.fd, at, size, header.type, name);
        } else {
            if (name[0] == '\0')
                snprintf(name, sizeof name, "%.*s%s%.100s", (int)strnlen(header.prefix, 155),
                         header.prefix, header.prefix[0] != '\0' ? "/" : "", header.name);
            if (header.type == '0' || header.type == '\0')
                last = take(sources, path, last, name, (struct fleet_part){0, at, size});
            found += header.type == '0' || header.type == '\0';
            name[0] = '\0';
        }
        at += (size + BLOCK - 1) / BLOCK * BLOCK;
    }
    if (found > 0 && sources->count == before && !sources->is_full)
        fleet_leave_out(sources->fleet, path, "there is no node in it");
}

static void add_archive(struct sources *sources, const char *path)
{
    struct fleet_part whole = open_part(AT_FDCWD, path);
    if (whole.fd < 0) {
        fleet_leave_out(sources->fleet, path, "%s", strerror(errno));
        return;
    }
    char *copy = strdup(path);
    char **more = realloc(sources->archive, (sources->archives + 1) * sizeof *more);
    if (more != NULL)
        sources->archive = more;
    if (more != NULL && copy != NULL) {
        list_archive(sources, path, whole);
        sources->archive[sources->archives++] = copy;
    } else {
        free(copy);
        sources->fleet->failed = true;
    }
    close(whole.fd);
}

/* ---- folders ---- */

static void add_path(struct sources *sources, const char *path, int depth);

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds a node's folder, or all nodes in a folder. Other files in it are passed over. */
static void add_folder(struct sources *sources, const char *path, int depth)
{
    char inner[4096];
    struct dirent **entry;
    snprintf(inner, sizeof inner, "%s/node.json", path);
    if (access(inner, F_OK) == 0) {
        add(sources, path, IS_FOLDER);
        return;
    }
    int count = depth >= DEPTH_MAX ? 0 : scandir(path, &entry, NULL, alphasort);
    if (count < 0)
        fleet_leave_out(sources->fleet, path, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat status;
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entry[i]->d_name);
        bool is_wanted =
            entry[i]->d_name[0] != '.' && length < (int)sizeof inner &&
            lstat(inner, &status) == 0 && !S_ISLNK(status.st_mode) &&
            (S_ISDIR(status.st_mode) || ends_with(inner, ".tar") || ends_with(inner, ".baseline"));
        if (is_wanted && !sources->is_full)
            add_path(sources, inner, depth + 1);
        free(entry[i]);
    }
    if (count >= 0 && depth < DEPTH_MAX)
        free(entry);
}

static void add_path(struct sources *sources, const char *path, int depth)
{
    struct stat status;
    if (stat(path, &status) != 0)
        fleet_leave_out(sources->fleet, path, "%s", strerror(errno));
    else if (S_ISDIR(status.st_mode))
        add_folder(sources, path, depth);
    else if (ends_with(path, ".baseline"))
        add(sources, path, IS_BASELINE);
    else if (ends_with(path, ".tar"))
        add_archive(sources, path);
    else
        fleet_leave_out(sources->fleet, path,
                        "it is no folder, no .tar and no .baseline; berth record writes a folder");
}

/* ---- reading ---- */

static void read_folder(struct fleet *fleet, struct fleet_known *known, const char *path)
{
    struct fleet_part part[FLEET_FILES];
    const char *slash = strrchr(path, '/');
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < FLEET_FILES; i++)
        part[i] = folder < 0 ? (struct fleet_part){-1, 0, 0} : open_part(folder, file_name[i]);
    fleet_parse_node(fleet, known, part, slash != NULL && slash[1] != '\0' ? slash + 1 : path,
                     path);
    close_parts(part);
    if (folder >= 0)
        close(folder);
}

static void read_baseline(struct fleet *fleet, struct fleet_known *known, const char *path)
{
    struct fleet_part part = open_part(AT_FDCWD, path);
    if (part.fd < 0) {
        fleet_leave_out(fleet, path, "%s", strerror(errno));
        return;
    }
    fleet_parse_baseline(fleet, known, &part, path);
    close(part.fd);
}

/* Reads a node or a baseline of an archive. */
static void read_part(struct fleet *fleet, struct fleet_known *known, const char *archive,
                      struct source *source)
{
    struct fleet_part *part = source->part, whole = open_part(AT_FDCWD, archive);
    const char *slash = strrchr(source->path, '/'), *colon = strrchr(source->path, ':');
    const char *name = slash > colon ? slash + 1 : colon != NULL ? colon + 1 : source->path;
    if (whole.fd < 0) {
        fleet_leave_out(fleet, source->path, "%s", strerror(errno));
        return;
    }
    for (size_t i = 0; i < FLEET_FILES; i++)
        part[i].fd = part[i].fd < 0 ? -1 : whole.fd;
    if (part[FLEET_NODE].fd >= 0)
        fleet_parse_node(fleet, known, part, name, source->path);
    else if (ends_with(source->path, ".baseline"))
        fleet_parse_baseline(fleet, known, &part[FLEET_FACTS], source->path);
    else
        fleet_leave_out(fleet, source->path, "there is no node.json beside");
    close(whole.fd);
}

static void *read_some(void *arg)
{
    struct sources *sources = arg;
    struct fleet_known *known = fleet_known_new();
    size_t i;
    while (known != NULL && (i = atomic_fetch_add(&sources->next, 1)) < sources->count) {
        struct source *source = &sources->item[i];
        if (source->kind == IS_FOLDER)
            read_folder(sources->fleet, known, source->path);
        else if (source->kind == IS_BASELINE)
            read_baseline(sources->fleet, known, source->path);
        else
            read_part(sources->fleet, known, sources->archive[source->archive], source);
    }
    if (known == NULL) {
        pthread_mutex_lock(&sources->fleet->lock);
        sources->fleet->failed = true;
        pthread_mutex_unlock(&sources->fleet->lock);
    }
    fleet_known_free(known);
    return NULL;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct fleet_node *const *one = a, *const *other = b;
    int order = strcmp((*one)->fingerprint, (*other)->fingerprint);
    if (order == 0 && (*one)->fingerprint[0] == '\0')
        order = strcmp((*one)->models, (*other)->models);
    if (order == 0)
        order = strcmp((*one)->name, (*other)->name);
    if (order == 0)
        order = ((*one)->at_s < (*other)->at_s) - ((*one)->at_s > (*other)->at_s);
    return order != 0 ? order : strcmp((*one)->path, (*other)->path);
}

static bool is_same_node(const struct fleet_node *one, const struct fleet_node *other)
{
    return strcmp(one->fingerprint, other->fingerprint) == 0 && strcmp(one->name, other->name) == 0;
}

static bool is_same_record(const struct fleet_node *one, const struct fleet_node *other)
{
    return is_same_node(one, other) && one->at_s == other->at_s && one->count == other->count &&
           memcmp(one->value, other->value, one->count * sizeof *one->value) == 0;
}

/* Drops copies of a record. A copy has all its values, so it hides nothing. */
static void drop_copies(struct fleet *fleet)
{
    size_t kept = 0;
    for (size_t i = 0; i < fleet->count; i++) {
        struct fleet_node *node = fleet->node[i];
        if (kept == 0 || !is_same_record(fleet->node[kept - 1], node)) {
            fleet->node[kept++] = node;
            continue;
        }
        fleet_leave_out(fleet, node->path, "it is a copy of %s and is left out",
                        fleet->node[kept - 1]->path);
        fleet->values -= node->count;
        fleet_node_free(node);
    }
    fleet->count = kept;
}

/* Adds its path to the name of a node that was recorded more than once. A later record, which may
 * be a foreign one, thus hides no slow node. */
static void name_records(struct fleet *fleet)
{
    for (size_t first = 0, next; first < fleet->count; first = next) {
        for (next = first + 1;
             next < fleet->count && is_same_node(fleet->node[first], fleet->node[next]);)
            next++;
        if (next - first < 2)
            continue;
        fleet_leave_out(fleet, fleet->node[first]->name,
                        "the node has %zu records; each is compared under its path", next - first);
        for (size_t i = first; i < next; i++) {
            struct fleet_node *node = fleet->node[i];
            char *name = NULL;
            if (asprintf(&name, "%s (%s)", node->name, node->path) < 0) {
                fleet->failed = true;
                return;
            }
            free(node->name);
            node->name = name;
        }
    }
}

bool fleet_read(struct fleet *fleet, const char *const *path, size_t count)
{
    struct sources sources = {.fleet = fleet};
    pthread_t thread[THREADS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long threads = 0, wanted = cores > THREADS_MAX ? THREADS_MAX : cores;
    for (size_t i = 0; i < count && !sources.is_full; i++)
        add_path(&sources, path[i], 0);
    while (threads < wanted && pthread_create(&thread[threads], NULL, read_some, &sources) == 0)
        threads++;
    if (threads == 0)
        read_some(&sources);
    while (threads > 0)
        pthread_join(thread[--threads], NULL);
    for (size_t i = 0; i < sources.count; i++)
        free(sources.item[i].path);
    for (size_t i = 0; i < sources.archives; i++)
        free(sources.archive[i]);
    free(sources.item);
    free(sources.archive);
    if (fleet->count > 0)
        qsort(fleet->node, fleet->count, sizeof *fleet->node, compare_nodes);
    if (fleet->settings.lines == NULL && !fleet->failed) {
        drop_copies(fleet);
        name_records(fleet);
    }
    if (fleet->left_out_count <= FLEET_LEFT_OUT_MAX) /* the same order at any number of threads */
        qsort(fleet->left_out, fleet->left_out_count, sizeof *fleet->left_out, compare_texts);
    return !fleet->failed;
}
