/**
 * What a program does to move bytes in a way that a route names: the calls, and the variables that make a runtime take the mechanism.
 *
 * AMD's runtime reads HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA and HSA_XNACK when it starts: HSA_ENABLE_SDMA=0 makes every copy a kernel, HSA_ENABLE_PEER_SDMA=0 those between
 * gpus; 1, which is also what it does without, gives them to copy engines. With HSA_XNACK=1 kernels may touch memory that is not pinned. NVIDIA's runtime copies by copy engine, and a kernel
 * is the program's own.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_route_answer.h"

#define CALL_TEXT_SIZE 2048
#define CALL_VARIABLES 3

struct call_variable {
    const char *name, *value; /* static */
};

struct plan_call {
    char text[CALL_TEXT_SIZE];
    struct call_variable variable[CALL_VARIABLES];
    size_t variable_count;
    bool needs_restart; /* a variable is not what the runtime does by itself, and is read at its start */
};

/* shapes: how the GPU probe found that kernels are launched best (gpu_tune.h has the format); NULL not known. */
void plan_call_make(const struct graph *graph, const struct values *values, const char *shapes, const struct route_option *option, struct plan_call *ret);

/* The variables alone, with which one process makes all of these transfers in the way that they are priced; text is empty. Where some between gpus go by copy engine and some
 * by kernel no variable says so: those kernels are the program's own. */
void plan_call_variables(const struct graph *graph, const struct values *values, const struct move *const *move, size_t count, struct plan_call *ret);
