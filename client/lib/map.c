/* Map of a snapshot: two files from the daemon, checked once, then read without calls. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <map_layout.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/read.h"

#define METHOD "io.berth.Fabric.Map"

struct berth_map {
    const struct map_header *header; /* the mapping, of header->bytes */
    const struct map_place *place;
    const int32_t (*nearest)[MAP_KINDS];
    const uint32_t *pair;
    const struct map_piece *piece;
    const struct map_page *page; /* the other mapping */
    uint32_t places, memories;   /* counts, beside what every look-up reads */
    uint64_t generation;
};

/* ---- opening ---- */

/* Maps a file of the daemon for reading. Its seals keep its size, so no access fails later: with a
 * file system of another kind, or a hole, one might. NULL: it is none of these. */
static const void *map_file(int fd, int seals, uint64_t least, uint64_t most, uint64_t *ret_bytes)
{
    struct stat status;
    struct statfs system;
    int sealed = fcntl(fd, F_GET_SEALS);
    if (sealed < 0 || (sealed & seals) != seals || fstat(fd, &status) != 0 ||
        fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC ||
        (uint64_t)status.st_size < least || (uint64_t)status.st_size > most ||
        status.st_blocks * 512 < status.st_size)
        return NULL;
    void *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    *ret_bytes = (uint64_t)status.st_size;
    return file == MAP_FAILED ? NULL : file;
}

/* True for an array that lies in the file. */
static bool is_inside(const struct map_header *header, uint64_t at, uint64_t count, uint64_t size)
{
    return at % 8 == 0 && at <= header->bytes && count <= (header->bytes - at) / size;
}

static bool are_arrays_inside(const struct map_header *header)
{
    uint64_t places = header->place_count, memories = header->memory_count;
    return is_inside(header, header->places_at, places, sizeof(struct map_place)) &&
           is_inside(header, header->nearest_at, places, MAP_KINDS * sizeof(int32_t)) &&
           memories <= places &&
           is_inside(header, header->pairs_at, memories * memories + 1, sizeof(uint32_t)) &&
           is_inside(header, header->pieces_at, header->piece_count, sizeof(struct map_piece)) &&
           places <= INT32_MAX;
}

static bool are_numbers_inside(const struct berth_map *map)
{
    const struct map_header *header = map->header;
    uint64_t pairs = (uint64_t)map->memories * map->memories;
    for (uint32_t p = 0; p < map->places; p++) {
        if (memchr(map->place[p].name, '\0', sizeof map->place[p].name) == NULL ||
            map->place[p].memory < -1 || map->place[p].memory >= (int64_t)map->memories)
            return false;
        for (int kind = 0; kind < MAP_KINDS; kind++)
            if (map->nearest[p][kind] < -1 || map->nearest[p][kind] >= (int64_t)map->places)
                return false;
    }
    for (uint32_t i = 0; i < header->piece_count; i++)
        if (map->piece[i].from_bytes < 1)
            return false;
    for (uint64_t i = 0; i < pairs; i++)
        if (map->pair[i] > map->pair[i + 1])
            return false;
    return map->pair[pairs] <= header->piece_count;
}

/* Checks every number of a file that cannot change any more. Returns what is wrong; NULL nothing.
 */
static const char *check_map(struct berth_map *map, uint64_t bytes)
{
    const struct map_header *header = map->header;
    if (memcmp(header->magic, MAP_MAGIC, sizeof header->magic) != 0)
        return "is no map";
    if (header->layout != MAP_LAYOUT)
        return "has a layout that this library does not know";
    if (header->bytes != bytes || memchr(header->snapshot, '\0', sizeof header->snapshot) == NULL ||
        !are_arrays_inside(header))
        return "is not as long as it says";
    const char *begin = (const char *)header;
    map->place = (const struct map_place *)(begin + header->places_at);
    map->nearest = (const int32_t(*)[MAP_KINDS])(begin + header->nearest_at);
    map->pair = (const uint32_t *)(begin + header->pairs_at);
    map->piece = (const struct map_piece *)(begin + header->pieces_at);
    map->places = header->place_count;
    map->memories = header->memory_count;
    map->generation = header->generation;
    return are_numbers_inside(map) ? NULL : "names what it does not have";
}

static int refuse(struct berth *berth, struct berth_map *map, const char *file, const char *why)
{
    berth_map_close(map);
    return lib_fail(berth, BERTH_ERROR_PROTOCOL, "the daemon's %s %s", file, why);
}

static int open_map(struct berth *berth, const int fd[LIB_PASSED], int64_t map_at, int64_t page_at,
                    struct berth_map **ret_map)
{
    if (fd[0] < 0 || fd[1] < 0 || map_at < 0 || map_at > 1 || page_at != 1 - map_at)
        return lib_fail(berth, BERTH_ERROR_PROTOCOL,
                        "the daemon's reply to " METHOD " comes without its two files, or this "
                        "process has no free descriptors for them");
    struct berth_map *map = calloc(1, sizeof *map);
    if (map == NULL)
        return lib_fail_memory(berth);
    uint64_t bytes = 0, page_bytes = 0;
    map->header = map_file(fd[map_at], F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
                           sizeof *map->header, MAP_BYTES_MAX, &bytes);
    if (map->header == NULL)
        return refuse(berth, map, "map", "is no sealed file in memory");
    const char *wrong = check_map(map, bytes);
    if (wrong != NULL) {
        munmap((void *)(uintptr_t)map->header, bytes);
        map->header = NULL;
        return refuse(berth, map, "map", wrong);
    }
    map->page = map_file(fd[page_at], F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
                         MAP_PAGE_BYTES, MAP_PAGE_BYTES, &page_bytes);
    if (map->page == NULL || memcmp(map->page->magic, MAP_MAGIC, sizeof map->page->magic) != 0)
        return refuse(berth, map, "page", "is no sealed page of a map");
    *ret_map = map;
    return BERTH_DONE;
}

/* The reply to Map. */
struct asked {
    int64_t map_at, page_at;
    int fd[LIB_PASSED];
};

static void take_files(struct berth *berth, const struct lib_reply *reply, void *arg)
{
    struct asked *asked = arg;
    const json_t *map = json_object_get(reply->parameters, "map"),
                 *page = json_object_get(reply->parameters, "page");
    asked->map_at = json_is_integer(map) ? json_integer_value(map) : -1;
    asked->page_at = json_is_integer(page) ? json_integer_value(page) : -1;
    lib_passed_take(berth, asked->fd);
}

int berth_map(struct berth *berth, struct berth_map **ret_map)
{
    struct asked asked = {.map_at = -1, .page_at = -1, .fd = {-1, -1}};
    berth->takes_files = true;
    int status = lib_wait_reply(berth, METHOD, NULL, take_files, &asked);
    berth->takes_files = false;
    lib_passed_drop(berth);
    if (status == BERTH_DONE)
        status = open_map(berth, asked.fd, asked.map_at, asked.page_at, ret_map);
    for (size_t i = 0; i < LIB_PASSED; i++)
        if (asked.fd[i] >= 0)
            close(asked.fd[i]);
    return status;
}

void berth_map_close(struct berth_map *map)
{
    if (map == NULL)
        return;
    if (map->header != NULL)
        munmap((void *)(uintptr_t)map->header, map->header->bytes);
    if (map->page != NULL)
        munmap((void *)(uintptr_t)map->page, MAP_PAGE_BYTES);
    free(map);
}

/* ---- look-ups ---- */

int berth_map_is_current(const struct berth_map *map)
{
    uint32_t owner = __atomic_load_n(&map->page->owner, __ATOMIC_RELAXED);
    return __atomic_load_n(&map->page->generation, __ATOMIC_ACQUIRE) == map->generation &&
           (owner & MAP_PAGE_ENDED) == 0 && (owner & MAP_PAGE_OWNER) != 0;
}

const char *berth_map_snapshot(const struct berth_map *map) { return map->header->snapshot; }

int berth_map_place(const struct berth_map *map, const char *name)
{
    for (uint32_t p = 0; p < map->places; p++)
        if (strcmp(map->place[p].name, name) == 0)
            return (int)p;
    return -1;
}

const char *berth_map_place_name(const struct berth_map *map, int place)
{
    return (uint32_t)place < map->places ? map->place[place].name : NULL;
}

int berth_map_nearest_memory(const struct berth_map *map, int place, enum berth_memory_kind kind)
{
    uint32_t number = (uint32_t)kind - BERTH_KIND_SYSTEM;
    return (uint32_t)place < map->places && number < MAP_KINDS ? map->nearest[place][number] : -1;
}

/* Returns the piece of a transfer; NULL where nothing predicts it. A pair has few pieces. */
static const struct map_piece *find_piece(const struct berth_map *map, int from, int to,
                                          int64_t bytes)
{
    if ((uint32_t)from >= map->places || (uint32_t)to >= map->places)
        return NULL;
    int64_t f = map->place[from].memory, t = map->place[to].memory;
    if (f < 0 || t < 0)
        return NULL;
    const uint32_t *pair = &map->pair[f * map->memories + t];
    uint32_t low = pair[0], high = pair[1];
    while (low < high) { /* those before low begin at so many bytes or fewer, those from high on at
                            more */
        uint32_t middle = low + (high - low) / 2;
        if (map->piece[middle].from_bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low > pair[0] ? &map->piece[low - 1] : NULL;
}

double berth_map_transfer_ns(const struct berth_map *map, int from, int to, int64_t bytes)
{
    const struct map_piece *piece = find_piece(map, from, to, bytes);
    return piece != NULL ? piece->from_ns + (double)(bytes - piece->from_bytes) * piece->ns_per_byte
                         : NAN;
}

enum berth_mechanism berth_map_mechanism(const struct berth_map *map, int from, int to,
                                         int64_t bytes)
{
    const struct map_piece *piece = find_piece(map, from, to, bytes);
    return piece == NULL                         ? BERTH_MECHANISM_DEFAULT
           : piece->mechanism == MAP_COPY_ENGINE ? BERTH_MECHANISM_COPY_ENGINE
           : piece->mechanism == MAP_KERNEL      ? BERTH_MECHANISM_KERNEL
                                                 : BERTH_MECHANISM_DEFAULT;
}

enum berth_source berth_map_source(const struct berth_map *map, int from, int to, int64_t bytes)
{
    const struct map_piece *piece = find_piece(map, from, to, bytes);
    return piece != NULL && piece->source <= BERTH_SOURCE_LOWER_BOUND
               ? (enum berth_source)piece->source
               : BERTH_SOURCE_UNKNOWN;
}
