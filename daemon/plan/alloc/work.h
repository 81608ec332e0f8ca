/**
 * State of an answer of Allocate while it is made. Pure; any thread.
 */
#pragma once
#include "cost/memuser.h"
#include "plan/alloc/alloc.h"

/* Cores or a gpu that use the buffer. */
struct alloc_user {
    struct memuser who; /* owned */
    double read_bytes, write_bytes;
    bool random;
};

struct alloc_work {
    const struct snapshot *snap;
    const struct alloc_request *request;
    struct alloc_user *user;
    size_t user_count;
    bool has_cores, has_gpus; /* among the users */
    /* the gpu whose runtime gives pinned and managed memory of the host; PLACE_NONE none */
    place_id allocator;
    /* the NUMA node or gpu that uses the buffer most, the first of equals; PLACE_NONE none */
    place_id heaviest;
    double nearest; /* the least distance of an option */
    struct alloc_answer answer;
};

/* Checks the accesses and makes the users. Errors as of plan_alloc. */
enum berth_code plan_alloc_users(struct alloc_work *work, struct berth_err *err);
void plan_alloc_users_done(struct alloc_work *work);

/* Returns the bytes that a gpu, or the cores of a NUMA node, read and write. Cores of several NUMA
 * nodes do alike. */
double plan_alloc_bytes_at(const struct alloc_work *work, place_id at);

/* Lists the options of the answer, without prices. NOT_ENOUGH, NOTHING_ALLOWED, NO_MEMORY. */
enum berth_code plan_alloc_options(struct alloc_work *work, struct berth_err *err);

/* Prices all options of the answer. NO_MEMORY. */
enum berth_code plan_alloc_price(struct alloc_work *work, struct berth_err *err);

/* Puts the priced options in order. */
void plan_alloc_order(struct alloc_work *work);

/* Adds the warnings and reasons of the options in order. */
void plan_alloc_explain(struct alloc_work *work);

static inline const char *plan_alloc_name(const struct alloc_work *work, place_id id)
{
    return graph_place(work->snap->graph, id)->name;
}
