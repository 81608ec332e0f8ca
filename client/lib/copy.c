/* Copies as Route advises. The advice of each pair of places and class of sizes is asked for once.
 */
#include "lib/copy_lane.h"
#include "lib/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE_MAX  256
#define LEAST_CLASS 22   /* below 1 << 22 bytes finding the places costs more than a split gains */
#define ASK_MS      2000 /* longest time of one question */

struct berth_copier {
    struct berth *berth; /* borrowed */
    struct lib_driver *driver;
    struct lib_copy_lanes *lanes;
    struct lib_driver_names names;
    bool has_names, is_silent; /* is_silent: no more questions */
    struct lib_copy_advice *advice;
    size_t count, room;
    char how[160];
};

int berth_copier_new(struct berth *berth, struct berth_copier **ret_copier)
{
    char why[128];
    struct berth_copier *copier = calloc(1, sizeof *copier);
    if (copier == NULL)
        return lib_fail_memory(berth);
    copier->berth = berth;
    copier->driver = lib_driver_open(why, sizeof why);
    if (copier->driver != NULL)
        copier->lanes = lib_copy_lanes_new(copier->driver);
    if (copier->lanes != NULL) {
        *ret_copier = copier;
        return BERTH_DONE;
    }
    int status = copier->driver == NULL ? lib_fail(berth, BERTH_ERROR_SYSTEM, "%s", why)
                                        : lib_fail_memory(berth);
    berth_copier_free(copier);
    return status;
}

void berth_copier_free(struct berth_copier *copier)
{
    if (copier == NULL)
        return;
    lib_copy_lanes_free(copier->lanes);
    lib_driver_free(copier->driver);
    free(copier->advice);
    free(copier);
}

const char *berth_copy_how(const struct berth_copier *copier) { return copier->how; }

static void say(struct berth_copier *copier, const char *how)
{
    snprintf(copier->how, sizeof copier->how, "%s", how);
}

/* ---- advice ---- */

/* Asks within a bound, whatever the handle's own is. A daemon that fails once is not asked again:
 * no copy waits for it a second time. */
static void ask(struct berth_copier *copier, struct lib_copy_advice *advice)
{
    struct berth *berth = copier->berth;
    int timeout_ms = berth->timeout_ms, status = BERTH_DONE;
    if (timeout_ms < 0 || timeout_ms > ASK_MS)
        berth->timeout_ms = ASK_MS;
    if (!copier->has_names)
        status = lib_driver_names_ask(berth, copier->driver, &copier->names);
    copier->has_names = copier->has_names || status == BERTH_DONE;
    if (status == BERTH_DONE)
        status = lib_copy_ask(berth, copier->driver, &copier->names, advice);
    berth->timeout_ms = timeout_ms;
    if (status == BERTH_DONE)
        return;
    copier->is_silent = status > BERTH_ERROR_INVALID_PARAMETER; /* found by the library */
    advice->parts = 0;
    snprintf(advice->how, sizeof advice->how, "one copy: %.140s", berth->error_detail);
}

/* The kept advice, or a new one; NULL when there is none and none may be asked for. */
static struct lib_copy_advice *find_advice(struct berth_copier *copier, lib_copy_place from,
                                           lib_copy_place to, int size_class)
{
    for (size_t i = 0; i < copier->count; i++) {
        struct lib_copy_advice *kept = &copier->advice[i];
        if (kept->from == from && kept->to == to && kept->size_class == size_class)
            return kept;
    }
    if (copier->is_silent || copier->count == ADVICE_MAX)
        return NULL;
    if (copier->count == copier->room) {
        size_t room = copier->room == 0 ? 8 : 2 * copier->room;
        struct lib_copy_advice *more = realloc(copier->advice, room * sizeof *more);
        if (more == NULL)
            return NULL;
        copier->advice = more;
        copier->room = room;
    }
    struct lib_copy_advice *advice = &copier->advice[copier->count++];
    *advice = (struct lib_copy_advice){.from = from, .to = to, .size_class = size_class};
    ask(copier, advice);
    return advice;
}

/* Finds a place. device: of device memory, else unchanged. */
static bool find_place(struct lib_driver *driver, const void *memory, lib_copy_place *ret_place)
{
    int device = -1, node;
    switch (lib_driver_memory(driver, memory, &device)) {
    case LIB_MEMORY_DEVICE:
        *ret_place = device;
        return true;
    case LIB_MEMORY_PINNED:
        node = lib_pages_node(memory);
        *ret_place = -1 - node;
        return node >= 0;
    case LIB_MEMORY_OTHER:
        break;
    }
    return false;
}

static int class_of(size_t bytes)
{
    int size_class = 0;
    while (size_class < 62 && bytes >> (size_class + 1) != 0)
        size_class++;
    return size_class;
}

static bool is_capturing(const struct lib_driver *driver, void *stream)
{
    int status = 0;
    return driver->is_capturing != NULL && driver->is_capturing(stream, &status) == 0 &&
           status != 0;
}

/* The advice to carry out and the device of the stream; NULL for one copy, which how explains. */
static struct lib_copy_advice *choose(struct berth_copier *copier, const struct lib_copy_job *job,
                                      int *ret_device)
{
    struct lib_driver *driver = copier->driver;
    lib_copy_place from, to;
    int device = -1;
    if (job->bytes >> LEAST_CLASS == 0)
        return say(copier, "one copy: too small to gain"), NULL;
    if (driver->count < 2)
        return say(copier, "one copy: one gpu has no other path"), NULL;
    if (!find_place(driver, job->from, &from) || !find_place(driver, job->to, &to))
        return say(copier, "one copy: no pinned or device memory at an end"), NULL;
    if (lib_copy_is_device(from) && lib_driver_has_stream(driver, from, job->stream))
        device = from;
    else if (lib_copy_is_device(to) && lib_driver_has_stream(driver, to, job->stream))
        device = to;
    if (from == to || device < 0)
        return say(copier, from == to ? "one copy: both ends lie in one memory"
                                      : "one copy: the stream is of neither end's gpu"),
               NULL;
    if (is_capturing(driver, job->stream))
        return say(copier, "one copy: the stream is captured into a graph"), NULL;
    struct lib_copy_advice *advice = find_advice(copier, from, to, class_of(job->bytes));
    say(copier, advice != NULL ? advice->how : "one copy: the daemon is not asked again");
    *ret_device = device;
    return advice != NULL && advice->parts > 0 ? advice : NULL;
}

/* ---- the copy ---- */

static int check(struct berth_copier *copier, int code)
{
    return code == 0 ? BERTH_DONE
                     : lib_fail(copier->berth, BERTH_ERROR_SYSTEM, "the copy: %s",
                                lib_driver_text(copier->driver, code));
}

/* True for a driver's errors when a path cannot be taken, though the copy itself can be made. */
static bool is_refusal(int code)
{
    return code == LIB_DRIVER_REFUSED || code == LIB_DRIVER_NO_PEER || code == LIB_DRIVER_BAD_VALUE;
}

/* Prepares and starts the parts. False when one copy has to do it: then the advice is that, too. */
static bool carry_out(struct berth_copier *copier, struct lib_copy_advice *advice,
                      const struct lib_copy_job *job, int *ret_code)
{
    struct lib_driver_place before;
    const char *what = "a part";
    int code = lib_driver_save(copier->driver, &before);
    *ret_code = code;
    if (code != 0)
        return true;
    code = lib_copy_prepare(copier->lanes, advice, job->device, &what);
    bool is_prepared = code == 0;
    if (is_prepared)
        code = lib_copy_start(copier->lanes, advice, job);
    lib_driver_leave(copier->driver, &before);
    *ret_code = code;
    if (is_prepared && (code == 0 || !is_refusal(code)))
        return true;
    advice->parts = 0;
    snprintf(advice->how, sizeof advice->how, "one copy: %s: %.100s", is_prepared ? "a part" : what,
             code < 0 ? "too many paths" : lib_driver_text(copier->driver, code));
    say(copier, advice->how);
    return false;
}

int berth_copy(struct berth_copier *copier, void *to, const void *from, size_t bytes, void *stream)
{
    struct lib_copy_job job = {.to = to, .from = from, .bytes = bytes, .stream = stream};
    int code = 0;
    struct lib_copy_advice *advice = choose(copier, &job, &job.device);
    if (advice != NULL && carry_out(copier, advice, &job, &code))
        return check(copier, code);
    return check(copier, lib_driver_copy(copier->driver, to, from, bytes, stream));
}
