#include "plan/bind/start.h"

#include <math.h>
#include <stdlib.h>

/* Those of one kind, as they are looked at. */
struct seen {
    bool knows, lacks;
    struct load_start least;
};

static void look(const struct bind_price *price, size_t from, size_t to, double bytes,
                 struct seen *seen)
{
    struct load_start start;
    if (from == NOWHERE || to == NOWHERE || from == to ||
        plan_load_known(price->table, from, to) == LOAD_NOTHING)
        return;
    if (!plan_load_start(price->table, from, to, bytes, &start)) {
        seen->lacks = true;
        return;
    }
    seen->least.start_ns =
        seen->knows ? fmin(seen->least.start_ns, start.start_ns) : start.start_ns;
    seen->least.launch_ns =
        seen->knows ? fmin(seen->least.launch_ns, start.launch_ns) : start.launch_ns;
    seen->knows = true;
}

/* Every pair that such a flow may be between: of several gpus of a task any may be the first, next
 * to which its memory is. */
static struct seen look_at_all(const struct bind_price *price, const struct kind *kind)
{
    size_t n = price->request.gpu_count;
    bool is_host = kind->outside == OUTSIDE_TO_HOST || kind->outside == OUTSIDE_FROM_HOST,
         is_out = kind->outside == OUTSIDE_TO_HOST || kind->outside == OUTSIDE_TO_NIC;
    struct seen seen = {0};
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            if (kind->outside != OUTSIDE_NONE && b != a && !(is_host && price->request.each > 1))
                continue;
            size_t other = kind->outside == OUTSIDE_NONE ? b
                           : is_host                     ? price->memory[b]
                                                         : price->nic[a];
            look(price, kind->outside == OUTSIDE_NONE || is_out ? a : other,
                 kind->outside == OUTSIDE_NONE || is_out ? other : a, kind->bytes, &seen);
        }
    return seen;
}

bool plan_bind_start_find(struct bind_price *price)
{
    bool are_mixed = false, has_all = plan_load_has_starts(price->table);
    for (size_t k = 0; k < price->kind_count && !has_all; k++) {
        struct seen seen = look_at_all(price, &price->kind[k]);
        are_mixed = are_mixed || (seen.knows && seen.lacks);
        price->kind[k].start = seen.knows && seen.lacks ? seen.least : (struct load_start){0, 0};
    }
    if (!are_mixed)
        return true;
    price->start = calloc(price->flow_count + 1, sizeof *price->start);
    for (size_t f = 0; price->start != NULL && f < price->flow_count; f++)
        price->start[f] = price->kind[price->flow[f].kind].start;
    return price->start != NULL;
}

double plan_bind_start_alone_ns(const struct bind_price *price, const struct kind *kind,
                                const struct load_flow *flow)
{
    struct load_start start;
    double alone_ns = plan_load_alone_ns(price->table, flow->from, flow->to, flow->bytes);
    return price->start == NULL || flow->from == flow->to ||
                   plan_load_start(price->table, flow->from, flow->to, flow->bytes, &start)
               ? alone_ns
               : alone_ns + kind->start.start_ns;
}

double plan_bind_start_launch_ns(const struct bind_price *price, const struct kind *kind,
                                 const struct load_flow *flow)
{
    struct load_start start;
    if (flow->from == flow->to)
        return 0;
    if (plan_load_start(price->table, flow->from, flow->to, flow->bytes, &start))
        return start.launch_ns;
    return price->start != NULL ? kind->start.launch_ns : 0;
}

struct load_time plan_bind_start_time(struct bind_price *price)
{
    return plan_load_time_from(price->table, price->load, price->flow_count, price->start,
                               price->scratch);
}

double plan_bind_start_most_ns(const struct bind_price *price)
{
    double most_ns = 0;
    for (size_t f = 0; price->start != NULL && f < price->flow_count; f++)
        most_ns = fmax(most_ns,
                       price->start[f].start_ns + price->load[f].turn * price->start[f].launch_ns);
    return most_ns;
}

bool plan_bind_start_lacks(const struct bind_price *price)
{
    bool lacks = false;
    struct load_start start;
    for (size_t f = 0; f < price->flow_count && !lacks; f++) {
        const struct load_flow *flow = &price->load[f];
        lacks = flow->from != flow->to && flow->bytes > 0 && flow->bytes < MOVE_LARGE_BYTES &&
                !plan_load_start(price->table, flow->from, flow->to, flow->bytes, &start);
    }
    return lacks;
}
