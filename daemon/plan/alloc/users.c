/* The users of a buffer: checks of the accesses. */
#include "plan/alloc/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/endpoints.h"
#include "node/gpu.h"

#define BYTES_MAX 0x1p60 /* that one access reads, or writes */

static enum berth_code gpu_init(const struct alloc_work *work, const struct alloc_access *access,
                                struct alloc_user *user, struct berth_err *err)
{
    if (access->cores > 0)
        return err_invalid(err, "accesses", "%s is a gpu: cores are a processor's",
                           plan_alloc_name(work, access->by));
    enum berth_code code = endpoints_check_end(work->snap, work->request->allowed, access->by, err);
    if (code == BERTH_OK)
        user->who = memuser_of_gpu(work->snap, access->by);
    return code;
}

static enum berth_code cores_init(const struct alloc_work *work, const struct alloc_access *access,
                                  struct alloc_user *user, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct place *by = access->by != PLACE_NONE ? graph_place(graph, access->by) : NULL;
    if (by != NULL && (by->cpus == NULL || by->kind > PLACE_PU))
        return err_invalid(
            err, "accesses",
            "%s has no cores and is no gpu: a core, pu, llc, NUMA node, package or gpu uses memory",
            by->name);
    struct memuser *cores = &user->who;
    enum berth_code code =
        memuser_of_cores(graph, by != NULL ? by->cpus : &work->request->allowed->cpus, cores, err);
    if (code != BERTH_OK)
        return code;
    if (cores->in_all == 0 && by != NULL)
        return err_invalid(err, "accesses", "%s has no cores and is no gpu", by->name);
    if (cores->in_all == 0 && graph_count(graph, PLACE_CORE) == 0)
        return err_set(err, BERTH_UNAVAILABLE,
                       "the cores of this node are not known: say who uses the memory (accesses)");
    if (cores->in_all == 0) {
        err_text(err, 0, "allowed.cpus");
        return err_set(err, BERTH_NOTHING_ALLOWED, "no core is allowed (allowed.cpus)");
    }
    if (access->cores > cores->in_all)
        return err_not_enough(err, "cores", access->cores, cores->in_all,
                              "%" PRId64 " cores are to use the memory; %s has %u", access->cores,
                              by != NULL ? by->name : "the allowed part of the node",
                              cores->in_all);
    if (access->cores > 0)
        cores->cores = (unsigned)access->cores;
    return BERTH_OK;
}

static enum berth_code user_init(const struct alloc_work *work, const struct alloc_access *access,
                                 struct alloc_user *user, struct berth_err *err)
{
    char text[QUANTITY_SIZE];
    double most = fmax((double)access->reads_bytes, (double)access->writes_bytes);
    if (!(most > 0))
        return err_invalid(err, "accesses",
                           "an access reads or writes at least a byte (reads_bytes, writes_bytes)");
    if (work->request->access_count > 0 && most > BYTES_MAX)
        return err_invalid(err, "accesses",
                           "%s by one user of the buffer; at most 1 EiB is weighed",
                           quantity_size(most, text));
    user->read_bytes = (double)access->reads_bytes;
    user->write_bytes = (double)access->writes_bytes;
    user->random = access->random;
    bool is_gpu = graph_is(work->snap->graph, access->by, PLACE_GPU);
    return is_gpu ? gpu_init(work, access, user, err) : cores_init(work, access, user, err);
}

enum berth_code plan_alloc_users(struct alloc_work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    struct alloc_access once = {.by = PLACE_NONE, .reads_bytes = request->bytes};
    const struct alloc_access *access = request->access_count > 0 ? request->access : &once;
    size_t count = request->access_count > 0 ? request->access_count : 1;
    work->user = calloc(count, sizeof *work->user);
    if (work->user == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for accesses");
    for (size_t i = 0; i < count; i++) {
        struct alloc_user *user = &work->user[work->user_count++];
        enum berth_code code = user_init(work, &access[i], user, err);
        if (code != BERTH_OK) {
            if (request->access_count > 0)
                err_in_item(err, "accesses", i);
            return code;
        }
        *(user->who.gpu == PLACE_NONE ? &work->has_cores : &work->has_gpus) = true;
    }
    return BERTH_OK;
}

void plan_alloc_users_done(struct alloc_work *work)
{
    for (size_t i = 0; i < work->user_count; i++)
        memuser_done(&work->user[i].who);
    free(work->user);
}

double plan_alloc_bytes_at(const struct alloc_work *work, place_id at)
{
    double bytes = 0;
    for (size_t i = 0; i < work->user_count; i++) {
        const struct alloc_user *user = &work->user[i];
        double share = user->who.gpu != PLACE_NONE
                           ? user->who.gpu == at
                           : (double)user->who.inside[at] / user->who.in_all;
        bytes += share * (user->read_bytes + user->write_bytes);
    }
    return bytes;
}
