#include "plan_split.h"

#include <math.h>
#include <string.h>

/* Newton's method: times are nearly straight lines over bytes where splitting is worth it. Ways end together to a thousandth of the time, or a hundredth in a rough estimate. */
#define STEPS        6
#define ENOUGH       0.001
#define ROUGH_STEPS  2
#define ROUGH_ENOUGH 0.01

/* Every set of what eight gpus have between two of them. */
#define WITHOUT_MAX 6
#define TRIES       64

#define MANY_BYTES   1073741824.0 /* where starting counts for nothing */

/* What goes by one of the ways. */
struct part {
    double rate, launch_ns; /* bytes per second of very many; of each piece */
    double behind_ns;       /* what each piece costs all: by so much begin those behind it later */
    double bytes, chunk;
    double before_ns;       /* until it begins */
    double end_ns;
};

static double pieces_of(const struct part *part) { return part->chunk > 0 ? ceil(part->bytes / part->chunk) : 1; }

/* The caller waits for the end of each way: a call's time for each that is not the first. */
static double waiting_ns(const struct way *way, size_t count)
{
    double ns = 0;
    for (size_t i = 1; i < count; i++) {
        const struct move *last = &way[i].hop[way[i].hop_count - 1];
        ns += isnan(last->t0_call_ns) ? 0 : last->t0_call_ns;
    }
    return ns;
}

/* Copies to other gpus that one gpu's engine makes over the same lane go one after the other, as they were started: those of the ways before, as far ahead as there are buffers for them. */
static double queued_before_ns(const struct way *way, const struct part *part, size_t index)
{
    const struct move *hop = &way[index].hop[0];
    double ns = 0;
    for (size_t i = 0; i < index && way[index].hop_count > 1; i++) {
        const struct move *other = &way[i].hop[0];
        bool meets = other->by == MOVE_COPY_ENGINE && hop->by == MOVE_COPY_ENGINE && other->driver == hop->driver && way[i].pair[0]->is_peer && way[index].pair[0]->is_peer &&
                     plan_lanes_meet(way[i].pair[0]->lanes, way[index].pair[0]->lanes);
        double ahead = part[i].chunk > 0 ? fmin(part[i].bytes, SPLIT_AHEAD * part[i].chunk) : part[i].bytes;
        ns += meets ? ahead / plan_way_hop_rate(&way[i].pair[0]->move) * 1e9 : 0;
    }
    return ns;
}

/* The end of each, and of the sum of their rates' shares. */
static double measure(const struct way *way, size_t count, double sum, struct part *part)
{
    double before_ns = 0, together_ns = 0;
    for (size_t i = 0; i < count; i++) {
        part[i].before_ns = fmax(before_ns, queued_before_ns(way, part, i));
        part[i].end_ns = part[i].before_ns + plan_way_time_ns(&way[i], plan_way_counted(&way[i], part[i].bytes), part[i].behind_ns, &part[i].chunk);
        before_ns += part[i].launch_ns * pieces_of(&part[i]);
        together_ns += part[i].end_ns * part[i].rate / sum;
    }
    return together_ns;
}

static void find_shares(const struct way *way, size_t count, double bytes, bool is_rough, struct part *part)
{
    double sum = 0, behind = 0;
    for (size_t i = count; i-- > 0;) {
        part[i].rate = plan_way_rate(&way[i]);
        part[i].launch_ns = plan_way_launch_ns(&way[i]);
        part[i].behind_ns = part[i].launch_ns * behind / part[i].rate;
        behind += part[i].rate;
    }
    sum = behind;
    for (size_t i = 0; i < count; i++)
        part[i].bytes = bytes * part[i].rate / sum;
    for (int step = 0; step < (is_rough ? ROUGH_STEPS : STEPS); step++) {
        double together_ns = measure(way, count, sum, part), apart_ns = 0, total = 0;
        for (size_t i = 0; i < count; i++)
            apart_ns = fmax(apart_ns, fabs(part[i].end_ns - together_ns));
        if (apart_ns < (is_rough ? ROUGH_ENOUGH : ENOUGH) * together_ns)
            return;
        for (size_t i = 0; i < count; i++) {
            part[i].bytes = fmax(part[i].bytes + (together_ns - part[i].end_ns) * 1e-9 * part[i].rate, 1);
            total += part[i].bytes;
        }
        for (size_t i = 0; i < count; i++)
            part[i].bytes *= bytes / total;
    }
    measure(way, count, sum, part);
}

struct prediction plan_split_time(const struct way *way, size_t count, double bytes, double *ret_share, double *ret_chunk)
{
    struct part part[SPLIT_WAYS_MAX] = {{.bytes = bytes}};
    struct prediction all = {0, 0, 0};
    double more_ns = waiting_ns(way, count);
    if (count > 1)
        find_shares(way, count, bytes, false, part);
    for (size_t i = 0; i < count; i++) {
        bool is_direct = count == 1 && way->hop_count == 1, is_known = way[i].pair[0] != NULL;
        double counted = is_direct || !is_known ? part[i].bytes : plan_way_counted(&way[i], part[i].bytes);
        struct prediction one = plan_way_time(&way[i], counted, part[i].behind_ns, &part[i].chunk);
        double before = part[i].before_ns + more_ns; /* as long as that is, as unsure it is */
        one = (struct prediction){one.time_ns + before, one.time_ns + before - hypot(one.time_ns - one.low_ns, before), one.time_ns + before + hypot(one.high_ns - one.time_ns, before)};
        all.time_ns = fmax(all.time_ns, one.time_ns);
        all.low_ns = one.low_ns > all.low_ns || isnan(one.low_ns) ? one.low_ns : all.low_ns; /* once unknown, it stays so */
        all.high_ns = one.high_ns > all.high_ns || isnan(one.high_ns) ? one.high_ns : all.high_ns;
        if (ret_share != NULL)
            ret_share[i] = part[i].bytes / bytes;
        if (ret_chunk != NULL)
            ret_chunk[i] = part[i].chunk;
    }
    return all;
}

double plan_split_time_ns(const struct way *way, size_t count, double bytes)
{
    struct part part[SPLIT_WAYS_MAX];
    double time_ns = 0;
    if (count == 1)
        return plan_way_time_ns(way, way->hop_count > 1 && way->pair[0] != NULL ? plan_way_counted(way, bytes) : bytes, 0, NULL);
    find_shares(way, count, bytes, true, part);
    for (size_t i = 0; i < count; i++)
        time_ns = fmax(time_ns, part[i].end_ns);
    return time_ns + waiting_ns(way, count);
}

/* Direct, through the host, one gpu and two: the fastest that finds room beside those before. Where as many bytes go the other way, only what was measured so. */
static bool find_next(const struct way_ends *ends, bool kernels, enum way_through longest, const struct way *way, size_t count, struct way *ret)
{
    struct way_room room;
    double best_ns = INFINITY;
    bool found = false;
    plan_share_room(ends, way, count, &room);
    if (!room.used.is_known)
        return false;
    for (int by = MOVE_COPY_ENGINE; by <= (kernels ? MOVE_KERNEL : MOVE_COPY_ENGINE); by++) {
        struct way next;
        bool may_be = plan_way_direct(ends, (enum move_by)by, &next) && plan_way_fits(&next, &room) && (!ends->both || plan_way_knows_both(&next));
        if (may_be && plan_way_time_ns(&next, ends->bytes, 0, NULL) < best_ns) {
            best_ns = plan_way_time_ns(&next, ends->bytes, 0, NULL);
            *ret = next;
            found = true;
        }
        for (int through = by == MOVE_COPY_ENGINE ? WAY_HOST : WAY_GPU; through <= (int)longest; through++) {
            if (!plan_way_through(ends, (enum way_through)through, (enum move_by)by, &room, best_ns, &next))
                continue;
            best_ns = plan_way_time_ns(&next, ends->bytes, 0, NULL);
            *ret = next;
            found = true;
        }
    }
    return found;
}

double plan_split_rate(const struct way *way, size_t count)
{
    double rate = 0;
    for (size_t i = 0; i < count; i++)
        rate += plan_way_rate(&way[i]);
    return rate;
}

/* Ways that are taken one after the other, and of these the best so far. */
struct chain {
    struct way_ends ends;          /* for very many bytes, without some gpus */
    place_id without[WITHOUT_MAX]; /* of ends */
    double bytes;                  /* asked for */
    bool kernels;
    double enough; /* the rate of what may lead */
    struct way first;
    struct way *best;
    size_t best_count;
    double best_ns;
    bool is_enough;
    const char *shared;
    unsigned tried; /* sets of gpus left out */
};

/* Whether they are the best so far: every share is large enough, and they take least of those that very many bytes get enough by. No bytes go faster than very many. */
static void weigh(struct chain *chain, const struct way *way, size_t count, const char *shared)
{
    struct part part[SPLIT_WAYS_MAX];
    double time_ns = waiting_ns(way, count), rate = plan_split_rate(way, count), end_ns = 0;
    bool is_enough = rate > chain->enough;
    if (is_enough < chain->is_enough || (is_enough == chain->is_enough && chain->bytes / rate * 1e9 + time_ns >= chain->best_ns))
        return;
    find_shares(way, count, chain->bytes, true, part);
    for (size_t i = 0; i < count; i++) {
        if (part[i].bytes < SPLIT_LEAST)
            return;
        end_ns = fmax(end_ns, part[i].end_ns);
    }
    time_ns += end_ns;
    if (is_enough == chain->is_enough && !(time_ns < chain->best_ns))
        return;
    chain->is_enough = is_enough;
    chain->best_ns = time_ns;
    chain->best_count = count;
    chain->shared = shared;
    memcpy(chain->best, way, count * sizeof *way);
}

/* Gpus; more than those between eight ways are not looked at. */
struct gpus {
    place_id gpu[2 * SPLIT_WAYS_MAX];
    size_t count;
};

static void add_gpu(struct gpus *gpus, place_id gpu)
{
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->gpu[i] == gpu)
            return;
    if (gpus->count < sizeof gpus->gpu / sizeof gpus->gpu[0])
        gpus->gpu[gpus->count++] = gpu;
}

static void add_between(const struct graph *graph, const struct way *way, struct gpus *gpus)
{
    for (size_t i = 1; i < way->hop_count; i++)
        if (graph_place(graph, way->hop[i].from)->kind == PLACE_GPU)
            add_gpu(gpus, way->hop[i].from);
}

/* Those through two gpus, which may use up what two others might have used, beside all others or after them. Whether there was one of them. ret_between: and the gpus that any lead through,
 * also the one that was too little to be taken and with which it ended. */
static bool follow(struct chain *chain, bool last, struct gpus *ret_between)
{
    struct way way[SPLIT_WAYS_MAX];
    double rate = plan_way_rate(&chain->first);
    enum way_through longest = last ? WAY_GPU : WAY_TWO_GPUS;
    bool any = false;
    way[0] = chain->first;
    for (size_t count = 2; count <= SPLIT_WAYS_MAX && chain->bytes >= (double)count * SPLIT_LEAST;) {
        const char *shared;
        bool is_found = find_next(&chain->ends, chain->kernels, longest, way, count - 1, &way[count - 1]);
        if (is_found)
            add_between(chain->ends.graph, &way[count - 1], ret_between);
        bool is_better = is_found && plan_share_ways(&chain->ends, way, count, &shared) && SPLIT_WORTH * plan_split_rate(way, count) > rate;
        if (!is_better && longest == WAY_TWO_GPUS)
            break;
        if (!is_better) {
            longest = WAY_TWO_GPUS;
            (void)plan_share_ways(&chain->ends, way, count - 1, &shared);
            continue;
        }
        rate = plan_split_rate(way, count);
        any = any || way[count - 1].hop_count == WAY_HOPS_MAX;
        weigh(chain, way, count++, shared);
    }
    return any;
}

/* With all gpus but those left out already; and then, in turn, without each of those that matter, but the kept ones. So every set of gpus is tried, each once: where one that does not
 * matter is missing the ways are the same. */
static void search(struct chain *chain, struct gpus kept)
{
    struct gpus between = kept;
    chain->tried++;
    if (follow(chain, false, &between))
        (void)follow(chain, true, &between);
    for (size_t i = kept.count; i < between.count && chain->tried < TRIES && chain->ends.without_count < WITHOUT_MAX; i++) {
        chain->without[chain->ends.without_count++] = between.gpu[i];
        search(chain, kept);
        chain->ends.without_count--;
        add_gpu(&kept, between.gpu[i]);
    }
}

size_t plan_split_find(const struct way_ends *ends, bool kernels, double least, struct way *way, const char **ret_shared)
{
    struct chain chain;
    chain.ends = *ends; /* places to be left out need not be anything yet */
    chain.ends.bytes = MANY_BYTES;
    chain.ends.without = chain.without;
    chain.bytes = ends->bytes;
    chain.kernels = kernels;
    chain.enough = least * plan_way_rate(way);
    chain.first = way[0];
    chain.best = way;
    chain.best_count = 1;
    chain.best_ns = INFINITY;
    chain.is_enough = false;
    chain.shared = NULL;
    chain.tried = 0;
    search(&chain, (struct gpus){.count = 0});
    if (chain.best_count > 1)
        *ret_shared = chain.shared;
    return chain.best_count;
}
