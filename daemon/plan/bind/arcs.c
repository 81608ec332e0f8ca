#include "plan/bind/arcs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bind/flow.h"
#include "plan/bind/start.h"

/* resources that are looked at of one transfer with the host: of more it is certain as well that
 * the first ones are used */
#define COMMON_MAX 16

/* Of what any arc puts on a resource. */
struct seen {
    /* bytes per second of one transfer of that kind while its bytes move; 0: none uses it */
    double fastest[TRANSFER_KINDS];
    double start_ns; /* the least that one takes beside that */
};

static void see(struct seen *seen, const struct load_lone *lone, double time_ns, double bytes)
{
    unsigned kind = transfer_kind_index(lone->kind);
    seen->start_ns = fmin(seen->start_ns, fmax(time_ns - lone->bytes_ns, 0));
    seen->fastest[kind] = fmax(seen->fastest[kind], bytes / fmax(lone->bytes_ns, 1e-3) * 1e9);
}

/* The most that goes through it in a second, whoever uses it. */
static double capacity_of(const struct bind_price *price, size_t resource, const struct seen *seen)
{
    const struct load_resource *found = plan_load_resource(price->table, resource);
    double fastest = 0, most = 0;
    for (unsigned kind = 0; kind < TRANSFER_KINDS; kind++) {
        fastest = fmax(fastest, seen->fastest[kind]);
        if (found->apart != NULL)
            /* so many of one kind are not limited */
            most = fmax(most, found->apart[kind] * seen->fastest[kind]);
    }
    /* nor are so few of any */
    most = fmax(most, found->step_count > 0 ? (found->step[0].flows - 1) * fastest : INFINITY);
    for (size_t i = 0; i < found->step_count; i++)
        most = fmax(most, found->step[i].bytes_per_s);
    return most;
}

static bool add_use(struct bind_price *price, uint16_t resource, double ns)
{
    if (price->use_count == price->use_room) {
        size_t room = price->use_room > 0 ? 2 * price->use_room : 256;
        struct search_use *use = realloc(price->use, room * sizeof *use);
        if (use == NULL)
            return false;
        price->use = use;
        price->use_room = room;
    }
    price->use[price->use_count++] = (struct search_use){resource, ns};
    return true;
}

/* Of several gpus of a task any may be the first, next to which its memory is: what is used
 * wherever that is, and the least that it takes. */
static bool make_host_arc(struct bind_price *price, const struct kind *kind, size_t slot,
                          struct seen *seen, struct search_arc *ret)
{
    struct search_use common[COMMON_MAX];
    size_t count = 0;
    bool is_first = true;
    *ret = (struct search_arc){.alone_ns = kind->is_unpriced         ? 0
                                           : price->request.may_lack ? price->lack_ns
                                                                     : UNKNOWN_NS,
                               .use = (uint32_t)price->use_count};
    for (size_t g = 0; g < price->request.gpu_count && !kind->is_unpriced; g++) {
        struct load_flow flow =
            plan_bind_flow_between(price, kind->outside, kind->bytes, slot, slot, price->memory[g]);
        if (!plan_bind_flow_is_known(price, &flow))
            continue;
        double alone_ns = plan_bind_start_alone_ns(price, kind, &flow);
        size_t used_count = 0;
        const uint16_t *used =
            flow.from != flow.to
                ? plan_load_used(price->table, flow.from, flow.to, flow.bytes, &used_count)
                : NULL;
        double launch_ns = plan_bind_start_launch_ns(price, kind, &flow);
        struct load_lone lone = plan_load_lone(price->table, flow.from, flow.to, flow.bytes);
        for (size_t u = 0; u < used_count; u++)
            see(&seen[used[u]], &lone, alone_ns + kind->least_turn * launch_ns, flow.bytes);
        size_t before = is_first ? used_count < COMMON_MAX ? used_count : COMMON_MAX : count,
               kept = 0;
        for (size_t i = 0; i < before; i++) {
            struct search_use use = is_first ? (struct search_use){used[i], flow.bytes} : common[i];
            if (used_count > 0 &&
                plan_load_uses(price->table, use.resource, flow.from, flow.to, flow.bytes))
                common[kept++] = use;
        }
        count = kept;
        ret->launch_ns = is_first ? launch_ns : fmin(ret->launch_ns, launch_ns);
        ret->alone_ns = fmin(ret->alone_ns, alone_ns);
        is_first = false;
    }
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = add_use(price, common[i].resource, common[i].ns);
    ret->use_count = (uint32_t)price->use_count - ret->use;
    return ok;
}

/* Alone, and what it uses; ns are bytes until it is known how fast the users of each resource are.
 */
static bool make_arc(struct bind_price *price, const struct kind *kind, size_t from, size_t to,
                     struct seen *seen, struct search_arc *ret)
{
    if (price->request.each > 1 &&
        (kind->outside == OUTSIDE_TO_HOST || kind->outside == OUTSIDE_FROM_HOST))
        return make_host_arc(price, kind, from, seen, ret);
    struct load_flow flow =
        plan_bind_flow_between(price, kind->outside, kind->bytes, from, to, NOWHERE);
    double unknown_ns =
        price->request.may_lack && kind->outside != OUTSIDE_NONE ? price->lack_ns : UNKNOWN_NS;
    struct search_arc arc = {.alone_ns = kind->is_unpriced ? 0 : unknown_ns,
                             .use = (uint32_t)price->use_count};
    if (plan_bind_flow_is_known(price, &flow)) {
        size_t used_count;
        const uint16_t *used =
            plan_load_used(price->table, flow.from, flow.to, flow.bytes, &used_count);
        struct load_lone lone = plan_load_lone(price->table, flow.from, flow.to, flow.bytes);
        arc.alone_ns = plan_bind_start_alone_ns(price, kind, &flow);
        arc.launch_ns = plan_bind_start_launch_ns(price, kind, &flow);
        for (size_t i = 0; i < used_count && flow.from != flow.to; i++) {
            if (!add_use(price, used[i], flow.bytes))
                return false;
            see(&seen[used[i]], &lone, arc.alone_ns + kind->least_turn * arc.launch_ns, flow.bytes);
        }
    }
    arc.use_count = (uint32_t)price->use_count - arc.use;
    *ret = arc;
    return true;
}

static bool is_as_apart(const struct load_resource *a, const struct load_resource *b)
{
    return a->apart == b->apart ||
           (a->apart != NULL && b->apart != NULL &&
            memcmp(a->apart, b->apart, TRANSFER_KINDS * sizeof *a->apart) == 0);
}

/* Resources with the same capacities, on which transfers start as soon, are of one sort. */
static void find_sorts(struct bind_price *price)
{
    size_t count = plan_load_resource_count(price->table);
    for (size_t r = 0; r < count; r++) {
        const struct load_resource *a = plan_load_resource(price->table, r);
        price->sort[r] = (uint16_t)r;
        for (size_t s = 0; s < r && price->sort[r] == r; s++) {
            const struct load_resource *b = plan_load_resource(price->table, s);
            bool same = a->step_count == b->step_count && is_as_apart(a, b) &&
                        price->start_ns[r] == price->start_ns[s] && a->is_nominal == b->is_nominal;
            for (size_t i = 0; i < a->step_count && same; i++)
                same = a->step[i].flows == b->step[i].flows &&
                       a->step[i].bytes_per_s == b->step[i].bytes_per_s;
            if (same)
                price->sort[r] = (uint16_t)s;
        }
    }
}

bool plan_bind_arcs(struct bind_price *price)
{
    size_t n = price->request.gpu_count, resources = plan_load_resource_count(price->table);
    struct seen *seen = calloc(resources + 1, sizeof *seen);
    price->arc = calloc(price->kind_count * n * n + 1, sizeof *price->arc);
    price->sort = calloc(resources + 1, sizeof *price->sort);
    price->start_ns = calloc(resources + 1, sizeof *price->start_ns);
    bool ok = seen != NULL && price->arc != NULL && price->sort != NULL && price->start_ns != NULL;
    for (size_t r = 0; ok && r < resources; r++)
        seen[r].start_ns = INFINITY;
    for (size_t k = 0; ok && k < price->kind_count; k++)
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; ok && to < n; to++)
                if (price->kind[k].outside == OUTSIDE_NONE || from == to)
                    ok = make_arc(price, &price->kind[k], from, to, seen,
                                  &price->arc[(k * n + from) * n + to]);
    for (size_t u = 0; ok && u < price->use_count; u++)
        price->use[u].ns *=
            1e9 / capacity_of(price, price->use[u].resource, &seen[price->use[u].resource]);
    for (size_t r = 0; ok && r < resources; r++)
        price->start_ns[r] = isinf(seen[r].start_ns) ? 0 : seen[r].start_ns;
    if (ok)
        find_sorts(price);
    free(seen);
    return ok;
}
