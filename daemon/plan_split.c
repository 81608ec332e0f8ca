#include "plan_split.h"

#include <math.h>

/* Newton's method: times are nearly straight lines over bytes where splitting is worth it. Ways end together to a thousandth of the time, or a hundredth in a rough estimate. */
#define STEPS        6
#define ENOUGH       0.001
#define ROUGH_STEPS  2
#define ROUGH_ENOUGH 0.01

/* One thread starts all: what goes by way[index] begins when the first piece of each way before it was started. */
static double before_ns(const struct way *way, size_t index)
{
    double ns = 0;
    for (size_t i = 0; i < index; i++)
        ns += plan_way_launch_ns(&way[i]);
    return ns;
}

static void find_shares(const struct way *way, size_t count, double bytes, bool is_rough, double *ret_bytes)
{
    double rate[SPLIT_WAYS_MAX], sum = 0;
    for (size_t i = 0; i < count; i++) {
        rate[i] = plan_way_rate(&way[i]);
        sum += rate[i];
    }
    for (size_t i = 0; i < count; i++)
        ret_bytes[i] = bytes * rate[i] / sum;
    for (int step = 0; step < (is_rough ? ROUGH_STEPS : STEPS) && count > 1; step++) {
        double time_ns[SPLIT_WAYS_MAX], together_ns = 0, total = 0;
        for (size_t i = 0; i < count; i++) {
            time_ns[i] = before_ns(way, i) + plan_way_time_ns(&way[i], ret_bytes[i]);
            together_ns += time_ns[i] * rate[i] / sum;
        }
        double apart_ns = 0;
        for (size_t i = 0; i < count; i++)
            apart_ns = fmax(apart_ns, fabs(time_ns[i] - together_ns));
        if (apart_ns < (is_rough ? ROUGH_ENOUGH : ENOUGH) * together_ns)
            break;
        for (size_t i = 0; i < count; i++) {
            ret_bytes[i] = fmax(ret_bytes[i] + (together_ns - time_ns[i]) * 1e-9 * rate[i], 1);
            total += ret_bytes[i];
        }
        for (size_t i = 0; i < count; i++)
            ret_bytes[i] *= bytes / total;
    }
}

/* Not before all pieces are started. */
struct prediction plan_split_time(const struct way *way, size_t count, double bytes, double *ret_share, double *ret_chunk)
{
    double share[SPLIT_WAYS_MAX];
    struct prediction all = {0, 0, 0};
    double launches_ns = 0;
    find_shares(way, count, bytes, false, share);
    for (size_t i = 0; i < count; i++) {
        double chunk;
        struct prediction one = plan_way_time(&way[i], share[i], &chunk);
        double before = before_ns(way, i);
        one = (struct prediction){one.time_ns + before, one.low_ns + before, one.high_ns + before};
        launches_ns += plan_way_launch_ns(&way[i]) * (chunk > 0 ? ceil(share[i] / chunk) : 1);
        all.time_ns = fmax(all.time_ns, one.time_ns);
        all.low_ns = one.low_ns > all.low_ns || isnan(one.low_ns) ? one.low_ns : all.low_ns; /* once unknown, it stays so */
        all.high_ns = one.high_ns > all.high_ns || isnan(one.high_ns) ? one.high_ns : all.high_ns;
        if (ret_share != NULL)
            ret_share[i] = share[i] / bytes;
        if (ret_chunk != NULL)
            ret_chunk[i] = chunk;
    }
    if (count > 1 && launches_ns > all.time_ns)
        all = (struct prediction){launches_ns, launches_ns > all.low_ns ? launches_ns : all.low_ns, launches_ns > all.high_ns ? launches_ns : all.high_ns};
    return all;
}

double plan_split_time_ns(const struct way *way, size_t count, double bytes)
{
    double share[SPLIT_WAYS_MAX], time_ns = 0;
    if (count == 1)
        return plan_way_time_ns(way, bytes);
    find_shares(way, count, bytes, true, share);
    for (size_t i = 0; i < count; i++)
        time_ns = fmax(time_ns, before_ns(way, i) + plan_way_time_ns(&way[i], share[i]));
    return time_ns;
}

/* Every share is large enough, and its time known. */
static bool is_sound(const struct way *way, size_t count, double bytes)
{
    double share[SPLIT_WAYS_MAX];
    find_shares(way, count, bytes, true, share);
    for (size_t i = 0; i < count; i++)
        if (share[i] < SPLIT_LEAST || !plan_way_knows(&way[i], share[i]))
            return false;
    return true;
}

/* Direct, through the host, one gpu and two: the fastest that shares nothing with those before. Where as many bytes go the other way, only what was measured so. */
static bool find_next(const struct way_ends *ends, bool kernels, const struct way *way, size_t count, struct way *ret)
{
    double best_ns = INFINITY;
    bool found = false;
    for (int by = MOVE_COPY_ENGINE; by <= (kernels ? MOVE_KERNEL : MOVE_COPY_ENGINE); by++) {
        struct way next;
        bool is_apart = plan_way_direct(ends, (enum move_by)by, &next);
        for (size_t i = 0; i < count && is_apart; i++)
            is_apart = !plan_way_meets(&way[i], &next);
        is_apart = is_apart && (!ends->both || plan_way_knows_both(&next));
        if (is_apart && plan_way_time_ns(&next, ends->bytes) < best_ns) {
            best_ns = plan_way_time_ns(&next, ends->bytes);
            *ret = next;
            found = true;
        }
        for (int through = by == MOVE_COPY_ENGINE ? WAY_HOST : WAY_GPU; through <= WAY_TWO_GPUS; through++) {
            if (!plan_way_through(ends, (enum way_through)through, (enum move_by)by, way, count, best_ns, &next))
                continue;
            best_ns = plan_way_time_ns(&next, ends->bytes);
            *ret = next;
            found = true;
        }
    }
    return found;
}

size_t plan_split_find(const struct way_ends *ends, bool kernels, struct way *way)
{
    size_t count = 1;
    double time_ns = plan_way_time_ns(way, ends->bytes);
    while (count < SPLIT_WAYS_MAX && ends->bytes >= 2.0 * SPLIT_LEAST && find_next(ends, kernels, way, count, &way[count])) {
        double with_ns = plan_split_time_ns(way, count + 1, ends->bytes);
        if (!(with_ns < SPLIT_WORTH * time_ns) || !is_sound(way, count + 1, ends->bytes))
            break;
        time_ns = with_ns;
        count++;
    }
    return count;
}
