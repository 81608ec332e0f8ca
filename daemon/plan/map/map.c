#include "plan/map/map.h"

#include <assert.h>
#include <map_layout.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cost/matrix.h"
#include "node/allowed.h"
#include "plan/alloc/alloc.h"
#include "plan/route/route.h"

#define SAME 1e-6 /* a piece goes on where its line errs by less */

_Static_assert((int)MAP_SYSTEM == (int)MEMKIND_SYSTEM && (int)MAP_PINNED == (int)MEMKIND_PINNED &&
                   (int)MAP_MANAGED == (int)MEMKIND_MANAGED &&
                   (int)MAP_DEVICE == (int)MEMKIND_DEVICE && (int)MAP_KINDS == (int)MEMKIND_COUNT,
               "kinds of the layout");

struct pieces {
    struct map_piece *item;
    size_t count, begin; /* begin: the first of the pair */
};

struct work {
    const struct snapshot *snap;
    const struct graph *graph;
    const place_id *memory;
    size_t memory_count;
    struct allowed all;
    int32_t *nearest;
    uint32_t *pair;
    struct pieces pieces;
};

/* ---- nearest memories ---- */

static enum berth_code find_nearest(const struct work *work, place_id place, int kind, int32_t *ret,
                                    struct berth_err *err)
{
    struct alloc_answer answer = {0};
    struct berth_err why = {0};
    struct alloc_access reads = {.by = place, .reads_bytes = MAP_ALLOCATED_BYTES};
    struct alloc_request request = {.bytes = MAP_ALLOCATED_BYTES,
                                    .access = &reads,
                                    .access_count = 1,
                                    .kinds = 1u << kind,
                                    .allowed = &work->all};
    enum berth_code code = plan_alloc(work->snap, &request, &answer, &why);
    *ret = code == BERTH_OK ? answer.option[0].place.memory : PLACE_NONE;
    plan_alloc_done(&answer);
    return code == BERTH_NO_MEMORY ? err_set(err, code, "%s", why.detail) : BERTH_OK;
}

/* A pu has the nearest memories of its core. */
static enum berth_code find_all_nearest(struct work *work, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t p = 0; p < work->graph->place_count * MAP_KINDS && code == BERTH_OK; p++)
        if (work->graph->places[p / MAP_KINDS].kind != PLACE_PU)
            code = find_nearest(work, (place_id)(p / MAP_KINDS), (int)(p % MAP_KINDS),
                                &work->nearest[p], err);
    for (place_id p = graph_next(work->graph, PLACE_PU, 0); p != PLACE_NONE && code == BERTH_OK;
         p = graph_next(work->graph, PLACE_PU, p + 1))
        memcpy(&work->nearest[p * MAP_KINDS],
               &work->nearest[graph_place(work->graph, p)->parent * MAP_KINDS],
               MAP_KINDS * sizeof *work->nearest);
    return code;
}

/* ---- times of transfers ---- */

static double line_ns(const struct map_piece *piece, int64_t bytes)
{
    return piece->from_ns + (double)(bytes - piece->from_bytes) * piece->ns_per_byte;
}

static bool is_near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * b; }

/* Adds a piece, unless the one before it goes on. */
static bool add_piece(struct pieces *pieces, const struct map_piece *piece, int64_t to_bytes)
{
    const struct map_piece *last =
        pieces->count > pieces->begin ? &pieces->item[pieces->count - 1] : NULL;
    bool goes_on = last != NULL && last->mechanism == piece->mechanism &&
                   last->source == piece->source &&
                   (isnan(last->from_ns) ||
                    (is_near(line_ns(last, piece->from_bytes), piece->from_ns, SAME) &&
                     is_near(line_ns(last, to_bytes), line_ns(piece, to_bytes), SAME)));
    if (goes_on)
        return true;
    if (!grow_by_one(&pieces->item, pieces->count, sizeof *piece))
        return false;
    pieces->item[pieces->count++] = *piece;
    return true;
}

/* Adds straight pieces that follow the transfer's time within MAP_TOLERANCE. A lower bound is no
 * time. */
static bool add_pieces(struct pieces *pieces, const struct transfer *transfer, enum source source,
                       int64_t from, int64_t to)
{
    double begin_ns =
               source == SOURCE_LOWER_BOUND ? NAN : transfer_called_ns(transfer, (double)from),
           end_ns = transfer_called_ns(transfer, (double)to);
    struct map_piece piece = {.from_bytes = from,
                              .from_ns = begin_ns,
                              .ns_per_byte = (end_ns - begin_ns) / (double)(to - from),
                              .mechanism = transfer->by == MECHANISM_COPY_ENGINE ? MAP_COPY_ENGINE
                                                                                 : MAP_KERNEL,
                              .source = (uint8_t)(source + 1)};
    int64_t quarter = (to - from) / 4;
    for (int i = 1; i < 4 && quarter > 0 && !isnan(begin_ns); i++) {
        int64_t at = from + i * quarter;
        if (!is_near(line_ns(&piece, at), transfer_called_ns(transfer, (double)at), MAP_TOLERANCE))
            return add_pieces(pieces, transfer, source, from, from + 2 * quarter) &&
                   add_pieces(pieces, transfer, source, from + 2 * quarter, to);
    }
    return add_piece(pieces, &piece, to);
}

/* Adds the pieces of a pair, up to the most bytes that fit; none where Route knows no direct path.
 * The last piece goes on. */
static enum berth_code add_pair(struct work *work, place_id from, place_id to,
                                struct berth_err *err)
{
    struct pieces *pieces = &work->pieces;
    pieces->begin = pieces->count;
    for (int size = 0; size < MAP_SIZES && from != to; size++) {
        int64_t bytes = INT64_C(1) << size;
        struct route_answer answer = {0};
        struct berth_err why = {0};
        struct route_request request = {
            .from = from, .to = to, .bytes = bytes, .direct = true, .allowed = &work->all};
        enum berth_code code = plan_route(work->snap, &request, &answer, &why);
        if (code == BERTH_NO_MEMORY)
            return err_set(err, code, "%s", why.detail);
        if (code != BERTH_OK)
            break;
        const struct route_option *option = &answer.option[0];
        bool ok =
            add_pieces(pieces, &option->part[0].hop[0], option->predicted.source, bytes, 2 * bytes);
        plan_route_done(&answer);
        if (!ok)
            return err_set(err, BERTH_NO_MEMORY, "no memory for a map");
    }
    if (pieces->count * sizeof *pieces->item > MAP_BYTES_MAX)
        return err_set(err, BERTH_UNAVAILABLE, "the map of this node is longer than %ju MiB",
                       (uintmax_t)(MAP_BYTES_MAX >> 20));
    return BERTH_OK;
}

static enum berth_code add_pairs(struct work *work, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    size_t pairs = work->memory_count * work->memory_count;
    for (size_t i = 0; i < pairs && code == BERTH_OK; i++) {
        code = add_pair(work, work->memory[i / work->memory_count],
                        work->memory[i % work->memory_count], err);
        work->pair[i + 1] = (uint32_t)work->pieces.count;
    }
    return code;
}

/* ---- the block ---- */

/* Reserves bytes of the block; returns their offset. */
static uint64_t reserve(uint64_t *bytes, size_t count, size_t size)
{
    uint64_t at = *bytes;
    *bytes += (count * size + 7) / 8 * 8;
    return at;
}

static void fill_places(const struct work *work, struct map_place *place)
{
    for (size_t p = 0; p < work->graph->place_count; p++) {
        _Static_assert(sizeof place->name > sizeof work->graph->places->name, "names fit");
        strcpy(place[p].name, work->graph->places[p].name);
        place[p].memory = -1;
    }
    for (size_t m = 0; m < work->memory_count; m++)
        place[work->memory[m]].memory = (int32_t)m;
}

static enum berth_code write_block(const struct work *work, char **ret_data, size_t *ret_size,
                                   struct berth_err *err)
{
    const struct snapshot *snap = work->snap;
    size_t places = work->graph->place_count, pairs = work->memory_count * work->memory_count + 1;
    uint64_t bytes = 0;
    reserve(&bytes, 1, sizeof(struct map_header));
    struct map_header header = {
        .layout = MAP_LAYOUT,
        .place_count = (uint32_t)places,
        .generation = snap->generation,
        .memory_count = (uint32_t)work->memory_count,
        .piece_count = (uint32_t)work->pieces.count,
        .places_at = reserve(&bytes, places, sizeof(struct map_place)),
        .nearest_at = reserve(&bytes, places * MAP_KINDS, sizeof *work->nearest),
        .pairs_at = reserve(&bytes, pairs, sizeof *work->pair),
        .pieces_at = reserve(&bytes, work->pieces.count, sizeof *work->pieces.item)};
    header.bytes = bytes;
    memcpy(header.magic, MAP_MAGIC, sizeof header.magic);
    _Static_assert(sizeof header.snapshot == sizeof snap->id, "the id fits");
    memcpy(header.snapshot, snap->id, sizeof header.snapshot);
    if (bytes > MAP_BYTES_MAX)
        return err_set(err, BERTH_UNAVAILABLE, "the map of this node is longer than %ju MiB",
                       (uintmax_t)(MAP_BYTES_MAX >> 20));
    char *data = calloc(1, bytes);
    if (data == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a map");
    memcpy(data, &header, sizeof header);
    fill_places(work, (struct map_place *)(data + header.places_at));
    memcpy(data + header.nearest_at, work->nearest, places * MAP_KINDS * sizeof *work->nearest);
    memcpy(data + header.pairs_at, work->pair, pairs * sizeof *work->pair);
    if (work->pieces.count > 0)
        memcpy(data + header.pieces_at, work->pieces.item,
               work->pieces.count * sizeof *work->pieces.item);
    *ret_data = data;
    *ret_size = bytes;
    return BERTH_OK;
}

enum berth_code plan_map(const struct snapshot *snap, char **ret_data, size_t *ret_size,
                         struct berth_err *err)
{
    struct work work = {.snap = snap, .graph = snap->graph, .all.given = true};
    work.memory_count = matrix_memories(snap->derived.matrix, &work.memory);
    work.nearest = calloc(snap->graph->place_count * MAP_KINDS, sizeof *work.nearest);
    work.pair = calloc(work.memory_count * work.memory_count + 1, sizeof *work.pair);
    enum berth_code code = BERTH_NO_MEMORY;
    if (work.nearest == NULL || work.pair == NULL) {
        err_set(err, code, "no memory for a map");
    } else {
        code = find_all_nearest(&work, err);
        if (code == BERTH_OK)
            code = add_pairs(&work, err);
        if (code == BERTH_OK)
            code = write_block(&work, ret_data, ret_size, err);
    }
    free(work.nearest);
    free(work.pair);
    free(work.pieces.item);
    return code;
}
