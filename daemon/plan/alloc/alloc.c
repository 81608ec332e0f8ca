#include "plan/alloc/alloc.h"

#include <math.h>
#include <stdlib.h>

#include "node/locality.h"
#include "plan/alloc/work.h"

/* Options are told apart by a time, or by where the heaviest user is. */
static enum berth_code check_known(const struct alloc_work *work, struct berth_err *err)
{
    const struct alloc_option *option = work->answer.option;
    place_id by = work->request->access_count > 0 ? work->request->access[0].by : PLACE_NONE;
    place_id most = work->heaviest;
    bool by_gpu = work->user[0].who.gpu != PLACE_NONE,
         is_known = work->answer.count == 1 ||
                    (most != PLACE_NONE &&
                     (locality_numa(work->snap->graph, most) != PLACE_NONE ||
                      locality_above(work->snap->graph, most, PLACE_PACKAGE) != PLACE_NONE));
    for (size_t i = 0; i < work->answer.count && !is_known; i++)
        is_known = !isnan(option[i].predicted.time_ns) || option[i].distance < 0;
    if (is_known)
        return BERTH_OK;
    err_text(err, 0, metric_info(by_gpu ? METRIC_HOST_GPU_KERNEL : METRIC_MEMORY_BANDWIDTH)->name);
    err_text(err, 1, plan_alloc_name(work, by != PLACE_NONE ? by : 0));
    err_text(err, 2, plan_alloc_name(work, option[0].place.memory));
    return err_set(err, BERTH_NOT_MEASURED,
                   "neither measurements nor structure tell this node's memories apart");
}

static enum berth_code answer(struct alloc_work *work, struct berth_err *err)
{
    if (work->request->bytes <= 0)
        return err_invalid(err, "bytes", "an allocation has at least one");
    if (!work->request->allowed->given)
        reasons_add(&work->answer.warnings, REASON_ALLOWED_UNSTATED, NO_SUBJECTS, NO_NUMBERS);
    enum berth_code code = plan_alloc_users(work, err);
    if (code == BERTH_OK)
        code = plan_alloc_options(work, err);
    if (code == BERTH_OK)
        code = plan_alloc_price(work, err);
    if (code == BERTH_OK)
        code = check_known(work, err);
    if (code != BERTH_OK)
        return code;
    plan_alloc_order(work);
    plan_alloc_explain(work);
    return BERTH_OK;
}

enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request,
                           struct alloc_answer *ret, struct berth_err *err)
{
    struct alloc_work work = {.snap = snap, .request = request};
    enum berth_code code = answer(&work, err);
    plan_alloc_users_done(&work);
    if (code == BERTH_OK)
        *ret = work.answer;
    else
        plan_alloc_done(&work.answer);
    return code;
}

void plan_alloc_done(struct alloc_answer *answer)
{
    free(answer->option);
    free(answer->part);
    evidence_done(&answer->evidence);
    answer->option = NULL;
    answer->part = NULL;
    answer->count = 0;
}
