/**
 * The calls of a program that moves bytes by the path and mechanism that a route names. Pure; any
 * thread.
 */
#pragma once
#include "cost/runtime_variables.h"
#include "plan/route/route.h"

#define CALL_TEXT_SIZE 2048

struct plan_call {
    char text[CALL_TEXT_SIZE];
    struct runtime_variables variables;
};

/* shapes: how the GPU probe found that kernels are launched best (probes/gpu/timing/launch_shapes.h
 * has the format); NULL not known. */
void plan_call_make(const struct graph *graph, const char *shapes,
                    const struct route_option *option, struct plan_call *ret);
