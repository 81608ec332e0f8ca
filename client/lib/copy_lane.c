#include "lib/copy_lane.h"
#include "lib/pages.h"

#include <stdlib.h>

#define LANES_MAX 32
#define SLOTS     4 /* pieces that lie between two hops */
#define ALIGN     4096

enum { NON_BLOCKING = 1, NO_TIME = 2, HOST_PORTABLE_MAPPED = 3 };

struct hop {
    int device; /* whose stream it is */
    void *stream;
    void *full[SLOTS], *emptied[SLOTS]; /* events of this stream: slot behind, slot before */
    void *end;
};

/* Memory for the pieces behind a hop. */
struct slots {
    char *data;
    size_t bytes; /* of all slots */
};

struct lane {
    struct lib_copy_part path; /* places and hops */
    struct hop hop[LIB_HOPS_MAX];
    struct slots slots[LIB_HOPS_MAX - 1];
    size_t piece; /* largest one that the slots hold */
};

struct lib_copy_lanes {
    struct lib_driver *driver;
    struct lane *lane[LANES_MAX];
    int count;
    void *begin[LIB_DEVICES_MAX]; /* event in the caller's stream, by its device */
};

struct lib_copy_lanes *lib_copy_lanes_new(struct lib_driver *driver)
{
    struct lib_copy_lanes *lanes = calloc(1, sizeof *lanes);
    if (lanes != NULL)
        lanes->driver = driver;
    return lanes;
}

/* A gpu that is the source drives a copy, else the gpu that is the target. */
static int driver_of(const struct lib_copy_part *path, int hop)
{
    return lib_copy_is_device(path->place[hop]) ? path->place[hop] : path->place[hop + 1];
}

/* ---- making and ending ---- */

static void free_slots(const struct lib_driver *driver, lib_copy_place place, struct slots *slots)
{
    if (slots->data == NULL)
        return;
    if (lib_copy_is_device(place))
        driver->free(slots->data);
    else {
        driver->host_unregister(slots->data);
        lib_pages_free(slots->data, slots->bytes);
    }
    *slots = (struct slots){0};
}

static int make_slots(const struct lib_driver *driver, lib_copy_place place, size_t bytes,
                      struct slots *ret_slots)
{
    void *data = NULL;
    int code;
    if (lib_copy_is_device(place))
        code = driver->alloc(&data, bytes);
    else {
        data = lib_pages_new(-1 - place, bytes);
        code = data == NULL ? LIB_DRIVER_BAD_VALUE
                            : driver->host_register(data, bytes, HOST_PORTABLE_MAPPED);
        if (code != 0)
            lib_pages_free(data, bytes);
    }
    if (code == 0)
        *ret_slots = (struct slots){.data = data, .bytes = bytes};
    return code;
}

static void wait_for(struct lib_driver *driver, const struct lane *lane)
{
    for (int i = 0; i < lane->path.hops; i++)
        if (lane->hop[i].stream != NULL && lib_driver_enter(driver, lane->hop[i].device) == 0)
            driver->stream_wait(lane->hop[i].stream);
}

static void free_event(const struct lib_driver *driver, void *event)
{
    if (event != NULL)
        driver->event_free(event);
}

static void free_lane(struct lib_driver *driver, struct lane *lane)
{
    wait_for(driver, lane);
    for (int i = 0; i < lane->path.hops; i++) {
        struct hop *hop = &lane->hop[i];
        if (lib_driver_enter(driver, hop->device) != 0)
            continue;
        for (int s = 0; s < SLOTS; s++) {
            free_event(driver, hop->full[s]);
            free_event(driver, hop->emptied[s]);
        }
        free_event(driver, hop->end);
        if (hop->stream != NULL)
            driver->stream_free(hop->stream);
    }
    for (int i = 0; i + 1 < lane->path.hops; i++) {
        lib_copy_place place = lane->path.place[i + 1];
        if (lib_driver_enter(driver, lib_copy_is_device(place) ? place : lane->hop[i].device) == 0)
            free_slots(driver, place, &lane->slots[i]);
    }
    free(lane);
}

void lib_copy_lanes_free(struct lib_copy_lanes *lanes)
{
    struct lib_driver_place before;
    if (lanes == NULL)
        return;
    int code = lib_driver_save(lanes->driver, &before);
    for (int i = 0; i < lanes->count; i++)
        free_lane(lanes->driver, lanes->lane[i]);
    for (int d = 0; d < LIB_DEVICES_MAX; d++)
        if (lanes->begin[d] != NULL && lib_driver_enter(lanes->driver, d) == 0)
            lanes->driver->event_free(lanes->begin[d]);
    if (code == 0)
        lib_driver_leave(lanes->driver, &before);
    free(lanes);
}

static int make_hop(struct lib_driver *driver, const struct lib_copy_part *path, int i,
                    struct hop *hop)
{
    lib_copy_place from = path->place[i], to = path->place[i + 1];
    hop->device = driver_of(path, i);
    int code = lib_copy_is_device(from) && lib_copy_is_device(to)
                   ? lib_driver_access(driver, hop->device, hop->device == from ? to : from)
                   : lib_driver_enter(driver, hop->device);
    if (code == 0)
        code = driver->stream_new(&hop->stream, NON_BLOCKING);
    for (int s = 0; s < SLOTS && code == 0; s++) {
        code = driver->event_new(&hop->full[s], NO_TIME);
        if (code == 0)
            code = driver->event_new(&hop->emptied[s], NO_TIME);
    }
    return code != 0 ? code : driver->event_new(&hop->end, NO_TIME);
}

static bool is_same_path(const struct lib_copy_part *a, const struct lib_copy_part *b)
{
    bool is_same = a->hops == b->hops;
    for (int i = 0; is_same && i <= a->hops; i++)
        is_same = a->place[i] == b->place[i];
    return is_same;
}

static struct lane *find_lane(const struct lib_copy_lanes *lanes, const struct lib_copy_part *path)
{
    for (int i = 0; i < lanes->count; i++)
        if (is_same_path(&lanes->lane[i]->path, path))
            return lanes->lane[i];
    return NULL;
}

static int make_lane(struct lib_copy_lanes *lanes, const struct lib_copy_part *path,
                     struct lane **ret_lane)
{
    struct lane *lane = lanes->count < LANES_MAX ? calloc(1, sizeof *lane) : NULL;
    int code = lane == NULL ? -1 : 0;
    if (lane == NULL)
        return code;
    lane->path = *path;
    for (int i = 0; i < path->hops; i++)
        lane->hop[i].device = driver_of(path, i);
    for (int i = 0; i < path->hops && code == 0; i++)
        code = make_hop(lanes->driver, path, i, &lane->hop[i]);
    if (code != 0)
        free_lane(lanes->driver, lane);
    else
        *ret_lane = lanes->lane[lanes->count++] = lane;
    return code;
}

/* Gives a lane room for pieces of so many bytes. */
static int widen(struct lib_driver *driver, struct lane *lane, size_t piece)
{
    int code = 0;
    if (lane->piece >= piece)
        return 0;
    wait_for(driver, lane);
    lane->piece = 0;
    for (int i = 0; i + 1 < lane->path.hops && code == 0; i++) {
        lib_copy_place place = lane->path.place[i + 1];
        code = lib_driver_enter(driver, lib_copy_is_device(place) ? place : lane->hop[i].device);
        if (code != 0)
            break;
        free_slots(driver, place, &lane->slots[i]);
        code = make_slots(driver, place, SLOTS * piece, &lane->slots[i]);
    }
    if (code == 0)
        lane->piece = piece;
    return code;
}

/* A part of one hop goes into the caller's stream, and needs no lane. */
static bool needs_lane(const struct lib_copy_part *part) { return part->hops > 1; }

int lib_copy_prepare(struct lib_copy_lanes *lanes, const struct lib_copy_advice *advice, int device,
                     const char **ret_what)
{
    struct lib_driver *driver = lanes->driver;
    int code = 0;
    *ret_what = "an event";
    if (lanes->begin[device] == NULL) {
        code = lib_driver_enter(driver, device);
        if (code == 0)
            code = driver->event_new(&lanes->begin[device], NO_TIME);
    }
    for (int i = 0; i < advice->parts && code == 0; i++) {
        const struct lib_copy_part *part = &advice->part[i];
        if (!needs_lane(part))
            continue;
        struct lane *lane = find_lane(lanes, part);
        *ret_what = "streams and access to a peer";
        if (lane == NULL)
            code = make_lane(lanes, part, &lane);
        *ret_what = "memory for pieces";
        if (code == 0)
            code = widen(driver, lane, part->piece);
    }
    return code;
}

/* ---- carrying out ---- */

/* A piece goes on when the hop before has brought it. A slot is used again when the hop behind has
 * emptied it, be it for the copy before. */
static int start_piece(const struct lib_copy_lanes *lanes, const struct lane *lane,
                       const struct lib_copy_job *job, size_t slot, size_t room)
{
    struct lib_driver *driver = lanes->driver;
    int last = lane->path.hops - 1, code = 0;
    for (int i = 0; i <= last && code == 0; i++) {
        const struct hop *hop = &lane->hop[i];
        if (i > 0 && hop->device != lane->hop[i - 1].device)
            code = lib_driver_enter(driver, hop->device);
        if (code == 0 && i > 0)
            code = driver->stream_after(hop->stream, lane->hop[i - 1].full[slot], 0);
        if (code == 0 && i < last)
            code = driver->stream_after(hop->stream, lane->hop[i + 1].emptied[slot], 0);
        if (code == 0)
            code = lib_driver_copy(driver, i == last ? job->to : lane->slots[i].data + slot * room,
                                   i == 0 ? job->from : lane->slots[i - 1].data + slot * room,
                                   job->bytes, hop->stream);
        if (code == 0 && i < last)
            code = driver->event_record(hop->full[slot], hop->stream);
        if (code == 0 && i > 0)
            code = driver->event_record(hop->emptied[slot], hop->stream);
    }
    return code;
}

static int start_lane(const struct lib_copy_lanes *lanes, const struct lane *lane, size_t piece,
                      const struct lib_copy_job *job)
{
    struct lib_driver *driver = lanes->driver;
    int code = 0;
    for (size_t done = 0, count = 0; done < job->bytes && code == 0; done += piece, count++) {
        struct lib_copy_job own = *job;
        own.to += done;
        own.from += done;
        own.bytes = job->bytes - done < piece ? job->bytes - done : piece;
        if (count == 0 || lane->hop[0].device != lane->hop[lane->path.hops - 1].device)
            code = lib_driver_enter(driver, lane->hop[0].device);
        if (code == 0 && count == 0)
            code = driver->stream_after(lane->hop[0].stream, lanes->begin[job->device], 0);
        if (code == 0)
            code = start_piece(lanes, lane, &own, count % SLOTS, lane->piece);
    }
    return code;
}

/* Later work in the caller's stream waits for the hops. A lane's last hop waits for all others,
 * unless a failure came between. Where the driver takes no event, the caller waits. */
static int join(const struct lib_copy_lanes *lanes, const struct lane *lane, bool has_failed,
                const struct lib_copy_job *job)
{
    struct lib_driver *driver = lanes->driver;
    int code = 0;
    for (int i = has_failed ? 0 : lane->path.hops - 1; i < lane->path.hops; i++) {
        const struct hop *hop = &lane->hop[i];
        int own = lib_driver_enter(driver, hop->device);
        if (own == 0)
            own = driver->event_record(hop->end, hop->stream);
        if (own == 0)
            own = lib_driver_enter(driver, job->device); /* of which the NULL stream may be */
        if (own == 0)
            own = driver->stream_after(job->stream, hop->end, 0);
        if (own != 0)
            driver->stream_wait(hop->stream);
        code = code != 0 ? code : own;
    }
    return code;
}

/* Splits the bytes; the last part has what is left. */
static void divide(const struct lib_copy_advice *advice, size_t bytes, size_t ret[LIB_PARTS_MAX])
{
    size_t left = bytes;
    for (int i = 0; i < advice->parts; i++) {
        size_t own = (size_t)((double)bytes * advice->part[i].share) / ALIGN * ALIGN;
        ret[i] = i + 1 == advice->parts || own > left ? left : own;
        left -= ret[i];
    }
}

int lib_copy_start(struct lib_copy_lanes *lanes, const struct lib_copy_advice *advice,
                   const struct lib_copy_job *job)
{
    struct lib_driver *driver = lanes->driver;
    size_t bytes[LIB_PARTS_MAX], at = 0;
    int code = lib_driver_enter(driver, job->device), begun = 0;
    divide(advice, job->bytes, bytes);
    if (code == 0)
        code = driver->event_record(lanes->begin[job->device], job->stream);
    if (code != 0)
        return code;
    for (; begun < advice->parts && code == 0; begun++) {
        const struct lib_copy_part *part = &advice->part[begun];
        struct lib_copy_job own = *job;
        own.to += at;
        own.from += at;
        own.bytes = bytes[begun];
        at += bytes[begun];
        if (own.bytes == 0)
            continue;
        if (needs_lane(part))
            code = start_lane(lanes, find_lane(lanes, part), part->piece, &own);
        else if ((code = lib_driver_enter(driver, job->device)) == 0)
            code = lib_driver_copy(driver, own.to, own.from, own.bytes, job->stream);
    }
    for (int i = 0; i < begun; i++)
        if (bytes[i] > 0 && needs_lane(&advice->part[i])) {
            int own = join(lanes, find_lane(lanes, &advice->part[i]), code != 0, job);
            code = code != 0 ? code : own;
        }
    return code;
}
