#include "plan/route/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cost/endpoints.h"
#include "node/gpu.h"
#include "node/tuning.h"

struct writer {
    const struct graph *graph;
    const char *shapes;
    struct plan_call *call;
    size_t used;
    unsigned kernels; /* that the gpu of this hop runs at once */
    bool has_stream;  /* the gpu of this hop has a stream already, of a hop before */
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    va_list args;
    size_t room = CALL_TEXT_SIZE - writer->used;
    va_start(args, format);
    int length = vsnprintf(writer->call->text + writer->used, room, format, args);
    va_end(args);
    writer->used += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static bool is_between_gpus(const struct graph *graph, const struct transfer *hop)
{
    return graph_are_gpus(graph, hop->from, hop->to);
}

static void put_shape(struct writer *writer, const struct transfer *hop)
{
    const struct place *driver = graph_place(writer->graph, hop->driver);
    struct tuning shape;
    if (!tuning_find(writer->shapes, driver->model,
                     is_between_gpus(writer->graph, hop) ? "peer-copy" : "host-copy", &shape))
        return;
    if (shape.grid > 0)
        put(writer, " of %u blocks of %u threads, %u accesses of 16 bytes each",
            writer->kernels > 1 ? shape.grid / writer->kernels : shape.grid, shape.block,
            shape.unroll);
    else
        put(writer, " of blocks of %u threads, as many as %u accesses of 16 bytes each need",
            shape.block, shape.unroll);
}

static void put_part(struct writer *writer)
{
    if (writer->kernels > 1)
        put(writer, " with 1/%u of the blocks that fill the gpu", writer->kernels);
}

static void put_hop(struct writer *writer, const struct transfer *hop)
{
    const struct graph *graph = writer->graph;
    enum gpu_vendor vendor = gpu_vendor(graph_place(graph, hop->driver));
    const char *prefix = vendor == VENDOR_AMD ? "hip" : "cuda",
               *driver = graph_place(graph, hop->driver)->name;
    bool between = is_between_gpus(graph, hop),
         is_copy = runtime_variables_copy(graph, &writer->call->variables, hop);
    if (vendor == VENDOR_UNKNOWN) {
        put(writer, "%s",
            hop->by == MECHANISM_COPY_ENGINE ? "a copy by the copy engine of " : "a copy kernel");
        if (hop->by == MECHANISM_KERNEL) {
            put_part(writer);
            put(writer, " on ");
        }
        put(writer, "%s", driver);
        return;
    }
    if (is_copy)
        put(writer, "%sMemcpy%sAsync on %s stream of %s", prefix, between ? "Peer" : "",
            writer->has_stream ? "another" : "a", driver);
    if (hop->by != MECHANISM_KERNEL)
        return;
    put(writer, is_copy ? ", or a copy kernel there" : "a copy kernel");
    put_shape(writer, hop);
    put_part(writer);
    if (!is_copy)
        put(writer, " on %s", driver);
    if (between)
        put(writer, ", after %sDeviceEnablePeerAccess", prefix);
    else
        put(writer, ", on pinned host memory");
}

static bool has_stream(const struct route_option *option, size_t part, size_t hop)
{
    for (size_t w = 0; w <= part; w++)
        for (size_t i = 0; i < (w < part ? option->part[w].hop_count : hop); i++)
            if (option->part[w].hop[i].driver == option->part[part].hop[hop].driver)
                return true;
    return false;
}

/* Adds the conditions of times in pieces: hops wait for each other on the device, and not for
 * the caller. */
static void put_pieces(struct writer *writer, const struct route_option *option)
{
    bool in_pieces = false;
    for (size_t w = 0; w < option->part_count; w++)
        in_pieces = in_pieces || (option->part[w].hop_count > 1 && option->part[w].chunk_bytes > 0);
    if (in_pieces)
        put(writer,
            "; each hop waits for an event without time that the hop before records behind its "
            "piece; memory for %d pieces lies between",
            ROUTE_PIECES_AHEAD);
}

/* Both runtimes must know the host's memory that one fills and the other empties. */
static void put_between_vendors(struct writer *writer, const struct route_option *option)
{
    const struct route_part *part = &option->part[0];
    const struct transfer *first = &part->hop[0], *last = &part->hop[part->hop_count - 1];
    if (part->hop_count < 2 || !graph_is(writer->graph, first->from, PLACE_GPU) ||
        !graph_is(writer->graph, last->to, PLACE_GPU) ||
        !endpoints_vendors_differ(writer->graph, first->from, last->to))
        return;
    put(writer,
        " once the program has waited for the first; memory of %s in between, pinned by both "
        "(cudaHostRegister, hipHostRegister)",
        graph_place(writer->graph, first->to)->name);
}

void plan_call_make(const struct graph *graph, const char *shapes,
                    const struct route_option *option, struct plan_call *ret)
{
    struct plan_call call;
    struct writer writer = {.graph = graph, .shapes = shapes, .call = &call};
    const struct transfer *hop[ROUTE_PARTS_MAX * ROUTE_HOPS_MAX];
    size_t hops = 0;
    bool shares = false;
    for (size_t w = 0; w < option->part_count; w++)
        for (size_t i = 0; i < option->part[w].hop_count; i++) {
            hop[hops++] = &option->part[w].hop[i];
            shares = shares || option->part[w].kernels[i] > 1;
        }
    call.text[0] = '\0';
    call.variables = runtime_variables_of(graph, hop, hops, shares);
    for (size_t w = 0; w < option->part_count; w++) {
        put(&writer, "%s", w > 0 ? "; at the same time " : "");
        for (size_t i = 0; i < option->part[w].hop_count; i++) {
            put(&writer, "%s", i > 0 ? ", then " : "");
            writer.kernels = option->part[w].kernels[i];
            writer.has_stream = has_stream(option, w, i);
            put_hop(&writer, &option->part[w].hop[i]);
        }
    }
    put_pieces(&writer, option);
    put_between_vendors(&writer, option);
    *ret = call;
}
