/* What calls of a GPU runtime return, in words: which device, what was tried, and what the runtime
 * says. */
#pragma once
#include <stdbool.h>

#include "gpu/driver/node.h"

/* True for code 0. Else false, with what kind of failure it is and why. ret_fault and why may be
 * NULL. */
bool gpu_call_check(const struct gpu_node *node, int device, int code, const char *what,
                    enum gpu_fault *ret_fault, struct probe_why *why);

/* Makes the device current for the calling thread. */
bool gpu_call_enter(const struct gpu_node *node, int device, enum gpu_fault *ret_fault,
                    struct probe_why *why);
