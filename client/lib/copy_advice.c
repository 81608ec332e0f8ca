#include "lib/copy_advice.h"
#include "lib/pages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PIECE_LEAST  65536 /* bytes */
#define PIECES_MOST  256   /* of a part */
#define SUM_MOST_OFF 1e-6  /* of the shares */

static const char *name_of(const struct lib_driver_names *names, lib_copy_place place,
                           char buffer[24])
{
    if (lib_copy_is_device(place))
        return names->gpu[place];
    snprintf(buffer, 24, "numa%d", -1 - place);
    return buffer;
}

/* ---- the answer, in which nothing is trusted ---- */

static bool find_place(const struct lib_driver_names *names, const char *name,
                       lib_copy_place *ret_place)
{
    int node = lib_pages_number(name);
    *ret_place = node >= 0 ? -1 - node : lib_driver_names_find(names, name);
    return node >= 0 || *ret_place >= 0;
}

/* Two memories of the host have no engine between them. */
static bool is_path(const struct lib_copy_part *part)
{
    for (int i = 0; i < part->hops; i++)
        for (int k = i + 1; k <= part->hops; k++)
            if (part->place[i] == part->place[k])
                return false;
    for (int i = 0; i < part->hops; i++)
        if (!lib_copy_is_device(part->place[i]) && !lib_copy_is_device(part->place[i + 1]))
            return false;
    return true;
}

static bool read_part(const struct lib_driver_names *names, const struct berth_segment *segment,
                      const struct lib_copy_advice *advice, struct lib_copy_part *part)
{
    int64_t bytes = segment->chunk_bytes;
    if ((segment->mechanism != BERTH_MECHANISM_COPY_ENGINE &&
         segment->mechanism != BERTH_MECHANISM_HOST) ||
        segment->via.count >= LIB_HOPS_MAX || !(segment->fraction > 0 && segment->fraction <= 1))
        return false;
    *part = (struct lib_copy_part){.hops = (int)segment->via.count + 1, .share = segment->fraction};
    part->place[0] = advice->from;
    part->place[part->hops] = advice->to;
    for (int i = 1; i < part->hops; i++)
        if (!find_place(names, segment->via.item[i - 1], &part->place[i]))
            return false;
    if (part->hops == 1)
        return is_path(part);
    part->piece = bytes < (int64_t)LIB_PIECE_MAX ? (size_t)bytes : LIB_PIECE_MAX;
    return bytes >= PIECE_LEAST && bytes >= ((int64_t)1 << advice->size_class) / PIECES_MOST &&
           is_path(part);
}

static bool read_parts(const struct lib_driver_names *names,
                       const struct berth_route_option *option, struct lib_copy_advice *advice)
{
    double sum = 0;
    if (option->segment_count < 1 || option->segment_count > LIB_PARTS_MAX)
        return false;
    for (size_t i = 0; i < option->segment_count; i++) {
        if (!read_part(names, &option->segments[i], advice, &advice->part[i]))
            return false;
        sum += advice->part[i].share;
    }
    advice->parts = (int)option->segment_count;
    return fabs(sum - 1) <= SUM_MOST_OFF;
}

/* The first option that a running program may take; NULL none. */
static const struct berth_route_option *choose(const struct berth_routes *routes)
{
    for (size_t i = 0; i < routes->option_count; i++)
        if (routes->options[i].may_lead == 1 && !routes->options[i].needs_restart)
            return &routes->options[i];
    return NULL;
}

static void describe(const struct lib_driver_names *names, struct lib_copy_advice *advice)
{
    size_t used = 0;
    char buffer[24];
    for (int i = 0; i < advice->parts; i++) {
        const struct lib_copy_part *part = &advice->part[i];
        char text[128]; /* room for the longest names and numbers */
        int length = snprintf(text, sizeof text, "%s%.1f %%", i > 0 ? ", " : "", 100 * part->share);
        for (int k = 1; k < part->hops; k++)
            length += snprintf(text + length, sizeof text - (size_t)length, " through %s",
                               name_of(names, part->place[k], buffer));
        if (part->hops > 1)
            length += snprintf(text + length, sizeof text - (size_t)length,
                               " in pieces of %zu bytes", part->piece);
        if (length > 0 && used + (size_t)length < sizeof advice->how) {
            memcpy(advice->how + used, text, (size_t)length + 1);
            used += (size_t)length;
        }
    }
}

static void read_answer(const struct lib_driver_names *names, const struct berth_routes *routes,
                        struct lib_copy_advice *advice)
{
    const struct berth_route_option *option = choose(routes);
    if (option == NULL || !read_parts(names, option, advice)) {
        advice->parts = 0;
        snprintf(advice->how, sizeof advice->how, "one copy: %s",
                 option == NULL ? "no advice that a running program may take"
                                : "the daemon's advice makes no sense");
    } else if (advice->parts == 1 && advice->part[0].hops == 1) {
        advice->parts = 0;
        snprintf(advice->how, sizeof advice->how, "one copy: nothing known is faster");
    } else
        describe(names, advice);
}

int lib_copy_ask(struct berth *berth, const struct lib_driver *driver,
                 const struct lib_driver_names *names, struct lib_copy_advice *advice)
{
    char buffer[2][24];
    const char *gpu[LIB_DEVICES_MAX];
    size_t count = 0;
    for (int d = 0; d < driver->count; d++)
        if (names->gpu[d][0] != '\0')
            gpu[count++] = names->gpu[d];
    /* No part leads through a gpu that this process does not see. */
    struct berth_allowed allowed = {.gpus = {.item = gpu, .count = count}};
    struct berth_route_request request = {.from = name_of(names, advice->from, buffer[0]),
                                          .to = name_of(names, advice->to, buffer[1]),
                                          .bytes = (int64_t)1 << advice->size_class,
                                          .overlap = 1,
                                          .allowed = &allowed};
    struct berth_routes *routes = NULL;
    advice->parts = 0;
    if (request.from[0] == '\0' || request.to[0] == '\0') {
        snprintf(advice->how, sizeof advice->how, "one copy: the daemon does not know the gpu");
        return BERTH_DONE;
    }
    int status = berth_route(berth, &request, &routes);
    if (status == BERTH_DONE)
        read_answer(names, routes, advice);
    berth_routes_free(routes);
    return status;
}
