#include "plan/bind/bound.h"

#include <math.h>
#include <stdlib.h>

#include "plan/bind/price_inner.h"

static bool is_host(const struct traffic_flow *flow)
{
    return flow->from == TRAFFIC_HOST || flow->to == TRAFFIC_HOST;
}

/* The slowest transfer with the host, each with what suits it best. */
static double host_ns(const struct bind_price *price)
{
    size_t n = price->request.gpu_count;
    double most_ns = 0;
    for (size_t k = 0; k < price->kind_count; k++) {
        const struct kind *kind = &price->kind[k];
        double least_ns = INFINITY;
        for (size_t g = 0;
             g < n && (kind->outside == OUTSIDE_TO_HOST || kind->outside == OUTSIDE_FROM_HOST); g++)
            for (size_t memory = n; memory < price->place_count; memory++) {
                size_t from = kind->outside == OUTSIDE_TO_HOST ? g : memory,
                       to = kind->outside == OUTSIDE_TO_HOST ? memory : g;
                if (graph_place(price->snap->graph, price->place[memory])->kind == PLACE_NUMA &&
                    plan_load_known(price->table, from, to) != LOAD_NOTHING)
                    least_ns =
                        fmin(least_ns, plan_load_alone_ns(price->table, from, to, kind->bytes));
            }
        most_ns = isinf(least_ns) ? most_ns : fmax(most_ns, least_ns);
    }
    return most_ns;
}

/* The best choice for what else moves. */
static enum berth_code find(const struct bind_price *price, const struct traffic *traffic,
                            enum load_by by, bool in_order, double *ret_ns, struct berth_err *err)
{
    struct bind_price_request request = price->request;
    size_t n = request.gpu_count, berths = request.tasks * request.each;
    uint16_t *slot = calloc(berths, sizeof *slot);
    double *far = calloc(n, sizeof *far), *apart = calloc(n * n, sizeof *apart);
    struct bind_price_choice choice = {
        .share = (berths + n - 1) / n, .in_order = in_order, .far = far, .apart = apart};
    struct bind_price *others = NULL;
    struct search_result found = {0};
    request.traffic = traffic;
    request.by = by;
    enum berth_code code = slot != NULL && far != NULL && apart != NULL
                               ? plan_bind_price_new(price->snap, &request, &others, err)
                               : err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    if (code == BERTH_OK)
        code = plan_bind_price_search(others, &choice, slot, &found, err);
    *ret_ns = code == BERTH_OK && found.bound_ns > 0 ? found.bound_ns : 0;
    plan_bind_price_free(others);
    free(slot);
    free(far);
    free(apart);
    return code;
}

enum berth_code plan_bind_bound(const struct bind_price *price, enum load_by by, bool in_order,
                                double *ret_ns, struct berth_err *err)
{
    const struct traffic *all = price->request.traffic;
    enum berth_code code = BERTH_OK;
    *ret_ns = 0;
    if (price->request.gpu_count > SEARCH_EXACT_SLOTS || price->request.may_lack ||
        price->is_rounded)
        return BERTH_OK;
    struct traffic rest = {.flow = calloc(all->count + 1, sizeof *rest.flow)};
    if (rest.flow == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for flows");
    for (size_t f = 0; f < all->count; f++)
        if (!is_host(&all->flow[f]))
            rest.flow[rest.count++] = all->flow[f];
    if (rest.count > 0)
        code = find(price, &rest, by, in_order, ret_ns, err);
    *ret_ns = fmax(*ret_ns, host_ns(price));
    free(rest.flow);
    return code;
}
