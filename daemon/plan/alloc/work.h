/**
 * What the parts of Allocate share while an answer is made: who uses the buffer, and what that
 * costs in each option.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/alloc/alloc.h"

/* What the cores that use the buffer pay for one memory, whatever the kind of allocation. */
struct alloc_cores_price {
    place_id numa; /* PLACE_NONE: nothing was priced yet */
    struct memtime sum;
    bool at_least;     /* as of struct alloc_option */
    bool lacks_access; /* as of struct memrate_basis */
    unsigned floor;
    const double *part;    /* of the option it was priced for */
    size_t why, why_count; /* of the evidence */
};

/* Where the buffer is used most, by bytes. */
struct alloc_most {
    place_id at; /* PLACE_NONE: nobody is anywhere */
    double bytes;
    bool is_shared; /* another place uses as much of it, and is behind by its number */
};

struct alloc_work {
    const struct snapshot *snap;
    const struct alloc_request *request;
    struct memuse *use;
    size_t use_count;
    bool has_cores; /* one of them is cores */
    bool has_gpus;  /* one of them is a gpu */
    /* the gpu whose runtime gives pinned and managed memory of the host; PLACE_NONE none */
    place_id allocator;
    struct alloc_most most;
    struct alloc_cores_price cores;
    struct gpurate_memo memo;
    /* of the answer's parts, by use: the least time of any memory that is known; INFINITY none */
    double *least;
    /* options with a known price of getting them, and without one */
    size_t with_setup, without_setup;
    struct alloc_answer answer;
};

/* Prices every option of the answer. at: where the buffer is used most. NO_MEMORY. */
enum berth_code plan_alloc_price(struct alloc_work *work, place_id at, struct berth_err *err);
