#include "plan/bind/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "node/reasons.h"

#define LINES_MAX   3 /* about what is shared; the rest is counted */
#define SAME_MAX    3 /* others of which the same is said, by name */
#define TEXT_SIZE   160
#define WAITS_SHARE 0.1 /* of a step: less is not worth a line */

/* ---- names ---- */

/* "the host port of module2", and where that is: "module2". */
static void name_resource(const char *name, char *text, char *where)
{
    static const struct {
        const char *suffix, *before, *after;
    } known[] = {
        {":host-port:out", "the host port of ", " towards the host"},
        {":host-port:in", "the host port of ", " from the host"},
        {":host-port", "the host port of ", ""},
        {":gpu-port:out", "the host port of the gpus at ", " towards the host"},
        {":gpu-port:in", "the host port of the gpus at ", " from the host"},
        {":gpu-port", "the host port of the gpus at ", ""},
        {":pcie-port:out", "the PCIe port of ", " towards the host"},
        {":pcie-port:in", "the PCIe port of ", " from the host"},
        {":pcie-port", "the PCIe port of ", ""},
        {":pcie-port2:out", "the second PCIe port of ", " towards the host"},
        {":pcie-port2:in", "the second PCIe port of ", " from the host"},
        {":pcie-port2", "the second PCIe port of ", ""},
        {":pcie-port3:out", "the third PCIe port of ", " towards the host"},
        {":pcie-port3:in", "the third PCIe port of ", " from the host"},
        {":pcie-port3", "the third PCIe port of ", ""},
        {":host-link:out", "the host link of ", " towards the host"},
        {":host-link:in", "the host link of ", " from the host"},
        {":host-link", "the host link of ", ""},
        {":hive:out", "the path to the host of the hive of ", " towards the host"},
        {":hive:in", "the path to the host of the hive of ", " from the host"},
        {":hive", "the path to the host of the hive of ", ""},
        {":switch-port:out", "the links from ", " to switches"},
        {":switch-port:in", "the links to ", " from switches"},
        {":port", "the port of ", ""},
        {":link", "the link ", ""},
        {":both", "both directions of ", ""},
        {":memory:read", "the read bandwidth of ", ""},
        {":memory:write", "the write bandwidth of ", ""},
        {":memory", "the bandwidth of ", ""},
    };
    size_t length = strlen(name), first = strcspn(name, "-");
    if (length > 9 &&
        (strcmp(name + length - 9, ":link:out") == 0 ||
         strcmp(name + length - 8, ":link:in") == 0) &&
        first < length - 9) {
        bool out = name[length - 1] == 't';
        const char *second = name + first + 1;
        size_t rest = strcspn(second, ":");
        snprintf(where, TEXT_SIZE, "%.*s to %.*s", (int)(out ? first : rest), out ? name : second,
                 (int)(out ? rest : first), out ? second : name);
        snprintf(text, TEXT_SIZE, "the link from %.100s", where);
        return;
    }
    snprintf(where, TEXT_SIZE, "%s", name);
    snprintf(text, TEXT_SIZE, "%s", name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t suffix = strlen(known[i].suffix);
        if (length <= suffix || strcmp(name + length - suffix, known[i].suffix) != 0)
            continue;
        snprintf(where, TEXT_SIZE, "%.*s", (int)(length - suffix), name);
        snprintf(text, TEXT_SIZE, "%s%.*s%s", known[i].before, (int)(length - suffix), name,
                 known[i].after);
        return;
    }
}

/* "gpu0 and gpu1", "2 transfers of gpu0", "8 transfers of gpu0, gpu1, gpu2 and 1 more". */
static void name_users(const struct graph *graph, const struct bind_sharing *sharing, char *text)
{
    size_t used = 0,
           named = sharing->gpu_count < BIND_SHARING_GPUS ? sharing->gpu_count : BIND_SHARING_GPUS,
           more = sharing->gpu_count - named;
    if (sharing->users != sharing->gpu_count)
        used += (size_t)snprintf(text, TEXT_SIZE, "%zu transfers of ", sharing->users);
    for (size_t i = 0; i < named; i++)
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%s",
                                 i == 0                        ? ""
                                 : i + 1 == named && more == 0 ? " and "
                                                               : ", ",
                                 graph_place(graph, sharing->gpu[i])->name);
    if (more > 0)
        snprintf(text + used, TEXT_SIZE - used, " and %zu more", more);
}

/* ---- what is shared ---- */

/* Whether the same is to be said of both, but for the names. */
static bool is_alike(const struct bind_sharing *a, const struct bind_sharing *b)
{
    const char *x = strchr(a->resource->name, ':'), *y = strchr(b->resource->name, ':');
    /* a link has two directions */
    bool same =
        x != NULL && y != NULL &&
        (strcmp(x, y) == 0 || (strncmp(x, ":link:", 6) == 0 && strncmp(y, ":link:", 6) == 0));
    return same && a->users == b->users && a->gpu_count == b->gpu_count &&
           a->resource->is_nominal == b->resource->is_nominal &&
           fabs(a->together_bytes_per_s / b->together_bytes_per_s - 1) < PRICE_WORTH &&
           fabs(a->alone_bytes_per_s / b->alone_bytes_per_s - 1) < PRICE_WORTH &&
           fabs(a->most_bytes_per_s / b->most_bytes_per_s - 1) < PRICE_WORTH &&
           a->is_by_size == b->is_by_size;
}

/* "; so do those of module1, module2 and 1 more" */
static void name_same(const struct bind_priced *priced, size_t first, bool *said, char *text)
{
    size_t same = 0, used = 0;
    char what[TEXT_SIZE], where[TEXT_SIZE];
    text[0] = '\0';
    for (size_t i = first + 1; i < priced->sharing_count; i++) {
        if (said[i] || !is_alike(&priced->sharing[first], &priced->sharing[i]))
            continue;
        said[i] = true;
        name_resource(priced->sharing[i].resource->name, what, where);
        if (same++ < SAME_MAX && used < TEXT_SIZE)
            used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%s",
                                     same == 1 ? "; the same: " : ", ", where);
    }
    if (same > SAME_MAX && used < TEXT_SIZE)
        snprintf(text + used, TEXT_SIZE - used, " and %zu more", same - SAME_MAX);
}

/* "gpu4 and gpu5 share the host port of module2: 28.1 GB/s together, 28.3 alone" */
static void say_sharing(const struct graph *graph, const struct bind_priced *priced,
                        const char *prefix, struct reasons *lines)
{
    bool said[BIND_SHARINGS_MAX] = {false};
    size_t count = 0, unsaid = 0;
    for (size_t i = 0; i < priced->sharing_count; i++) {
        const struct bind_sharing *sharing = &priced->sharing[i];
        char users[TEXT_SIZE], what[TEXT_SIZE], where[TEXT_SIZE], same[TEXT_SIZE];
        if (said[i])
            continue;
        if (count == LINES_MAX) {
            unsaid++;
            continue;
        }
        name_users(graph, sharing, users);
        name_resource(sharing->resource->name, what, where);
        name_same(priced, i, said, same);
        char most[24] = "";
        if (sharing->most_bytes_per_s > sharing->alone_bytes_per_s * (1 + PRICE_WORTH))
            snprintf(most, sizeof most, " to %.1f", sharing->most_bytes_per_s / 1e9);
        reasons_note(lines, "%s%s share %s: %.1f GB/s together, %.1f%s alone%s%s%s", prefix, users,
                     what, sharing->together_bytes_per_s / 1e9, sharing->alone_bytes_per_s / 1e9,
                     most, sharing->is_by_size ? " at that size" : "",
                     sharing->resource->is_nominal ? " (not measured)" : "", same);
        count++;
    }
    if (unsaid > 0)
        reasons_note(lines, "%s%zu more links, ports or memories are shared", prefix, unsaid);
}

/* "28.1 GB/s", "2.12 GB/s", "120 MB/s": enough of it that bytes over rate is the time. */
static const char *name_rate(double bytes_per_s, char text[QUANTITY_SIZE])
{
    if (!(bytes_per_s >= 1e10))
        return quantity_rate(bytes_per_s, text);
    snprintf(text, QUANTITY_SIZE, "%.1f GB/s", bytes_per_s / 1e9);
    return text;
}

/* "after 14.1 us: 6.5 us while its task starts 1 other, 7.51 us to start it, 0.1 us for its bytes
 * (0.05 us alone)": the parts that add up to the whole. */
static void name_parts(const struct bind_priced *priced, char *text, size_t size)
{
    char whole[QUANTITY_SIZE], waits[QUANTITY_SIZE], starts[QUANTITY_SIZE], moves[QUANTITY_SIZE],
        alone[QUANTITY_SIZE], others[96] = "", bytes[96] = "nearly nothing for its bytes",
                              all[40] = "";
    double alone_ns = fmax(priced->slowest_bytes_ns, priced->slowest_queue_ns),
           moves_ns = priced->slowest_ns - priced->slowest_waits_ns - priced->slowest_starts_ns;
    if (priced->slowest_waits_ns > 0)
        snprintf(others, sizeof others, "%s while its task starts %zu other%s, ",
                 quantity_time(priced->slowest_waits_ns, waits), priced->slowest_turn,
                 priced->slowest_turn == 1 ? "" : "s");
    if (priced->slowest_queue > 1)
        snprintf(all, sizeof all, " for all %zu", priced->slowest_queue);
    if (moves_ns > PRICE_WORTH * priced->slowest_ns && moves_ns > alone_ns * (1 + PRICE_WORTH))
        snprintf(bytes, sizeof bytes, "%s for its bytes (%s%s alone)",
                 quantity_time(moves_ns, moves), quantity_time(alone_ns, alone), all);
    else if (moves_ns > PRICE_WORTH * priced->slowest_ns)
        snprintf(bytes, sizeof bytes, "%s for its bytes", quantity_time(moves_ns, moves));
    snprintf(text, size, "after %s: %s%s to start it, %s", quantity_time(priced->slowest_ns, whole),
             others, quantity_time(priced->slowest_starts_ns, starts), bytes);
}

static void say_slowest(const struct graph *graph, const struct bind_priced *priced,
                        const char *prefix, struct reasons *lines)
{
    const struct move *move = priced->slowest;
    char size[QUANTITY_SIZE], alone[80] = "", number[QUANTITY_SIZE], how[256];
    if (move == NULL)
        return;
    double starts_ns = priced->slowest_waits_ns + priced->slowest_starts_ns;
    double rate = priced->slowest_bytes / priced->slowest_ns,
           rate_alone = priced->slowest_bytes / fmax(priced->slowest_alone_ns, 1e-3);
    if (priced->narrow != NULL) {
        char what[TEXT_SIZE], where[TEXT_SIZE];
        name_resource(priced->narrow->name, what, where);
        snprintf(alone, sizeof alone, ", as much as %.40s carries", what);
    } else if (priced->slowest_ns - starts_ns > priced->slowest_bytes_ns * (1 + PRICE_WORTH)) {
        snprintf(alone, sizeof alone, ", %s alone%s", name_rate(1e9 * rate_alone, number),
                 move->bytes_per_s > 1e9 * rate_alone * (1 + PRICE_WORTH) ? " at that size" : "");
    }
    const char *from = graph_place(graph, move->from)->name,
               *to = graph_place(graph, move->to)->name;
    bool is_copy = graph_place(graph, move->from)->kind != PLACE_NIC &&
                   graph_place(graph, move->to)->kind != PLACE_NIC;
    if (starts_ns > PRICE_STARTS * priced->slowest_ns)
        name_parts(priced, how, sizeof how);
    else
        snprintf(how, sizeof how, "at %s%s%s",
                 plan_move_lacks_start(move, priced->slowest_bytes) ? "no more than " : "",
                 name_rate(1e9 * rate, number), alone);
    const char *mark =
        move->rate != NULL && move->rate->source == VALUE_MEASURED ? "" : " (not measured)";
    reasons_note(lines, "%sthe last transfer to end is %s from %s to %s%s%s %s%s", prefix,
                 quantity_size(priced->slowest_bytes, size), from, to,
                 !is_copy                  ? ""
                 : move->by == MOVE_KERNEL ? " by kernel"
                                           : " by copy engine",
                 starts_ns > PRICE_STARTS * priced->slowest_ns ? "," : "", how, mark);
}

/* What tasks on one gpu, or several flows of one task, move between the same two places. */
static void say_queue(const struct graph *graph, const struct bind_priced *priced,
                      const char *prefix, struct reasons *lines)
{
    if (priced->slowest_queue > 1)
        reasons_note(lines,
                     "%s%zu transfers from %s to %s count as queued one behind the other: they "
                     "take as long as one of all their bytes",
                     prefix, priced->slowest_queue, graph_place(graph, priced->slowest->from)->name,
                     graph_place(graph, priced->slowest->to)->name);
}

/* What decides when the last ends, where no sharing explains it. */
static void say_seen(const struct bind_priced *priced, const char *prefix, struct reasons *lines)
{
    if (priced->seen != NULL)
        reasons_note(
            lines,
            "%sthat is what it gets among %zu such transfers measured together (evidence): "
            "those that get least are no faster once the others have ended",
            prefix, priced->seen->flow_count);
}

/* Where nothing carries notably less than all that goes through it would get alone, each with what
 * starts it. The few bytes of the last may take longer all the same, while others' move. */
static void say_slowing(const struct bind_priced *priced, struct reasons *lines)
{
    double moves_ns = priced->slowest_ns - priced->slowest_waits_ns - priced->slowest_starts_ns,
           alone_ns = fmax(priced->slowest_bytes_ns, priced->slowest_queue_ns);
    if (priced->narrow != NULL && priced->narrow->step_count > 0)
        alone_ns =
            fmax(alone_ns, priced->slowest_bytes / priced->narrow->step[0].bytes_per_s * 1e9);
    if (priced->slowest != NULL && moves_ns > alone_ns * (1 + PRICE_WORTH) &&
        moves_ns > PRICE_WORTH * priced->slowest_ns) {
        char what[TEXT_SIZE] = "", where[TEXT_SIZE];
        if (priced->narrow == NULL && *priced->bottleneck != '\0')
            name_resource(priced->bottleneck, what, where);
        if (priced->seen == NULL)
            reasons_note(lines, "its bytes take %.0f %% longer than alone, beside others%s%s",
                         fmax(100 * (moves_ns / alone_ns - 1), 1),
                         *what != '\0' ? " that use " : "", what);
    } else if (priced->slowest_queue > 1 || !priced->is_explained || priced->untried.is_any) {
        /* they slow each other, which is said; or what they get together is not explained or not
         * known, as is said */
        return;
    } else if (*priced->bottleneck == '\0' || priced->narrow != NULL) {
        reasons_note(lines, "no transfer slows another");
    } else {
        reasons_note(lines, "transfers slow each other by less than %g %%", 100 * PRICE_WORTH);
    }
}

void plan_bind_say(const struct graph *graph, const struct bind_priced *ours,
                   const struct bind_priced *order, struct bind_answer *answer)
{
    say_slowest(graph, ours, "", &answer->reasons);
    say_queue(graph, ours, "", &answer->reasons);
    say_seen(ours, "", &answer->reasons);
    if (ours->sharing_count == 0)
        say_slowing(ours, &answer->reasons);
    say_sharing(graph, ours, "", &answer->warnings);
    char waits[QUANTITY_SIZE];
    if (ours->waits_ns > WAITS_SHARE * ours->step.time_ns)
        reasons_note(
            &answer->warnings,
            "tasks are taken to start their transfers without waiting for each other; threads of "
            "one process were seen on H200 to wait, here for up to %s: the interval has that",
            quantity_time(ours->waits_ns, waits));
    if (order == NULL)
        return;
    say_slowest(graph, order, "in order, ", &answer->reasons);
    say_queue(graph, order, "in order, ", &answer->reasons);
    say_seen(order, "in order, ", &answer->reasons);
    say_sharing(graph, order, "in order, ", &answer->reasons);
}
