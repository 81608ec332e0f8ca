/* Error texts for calls of a GPU runtime: the device, the attempted call, and the runtime's
 * message. */
#pragma once
#include <stdbool.h>

#include "gpu/driver/node.h"

/* True for code 0. Else false, with the kind of failure and why. ret_fault and why may be NULL. */
bool gpu_call_check(const struct gpu_node *node, int device, int code, const char *what,
                    enum gpu_fault *ret_fault, struct probe_why *why);

/* Makes the device current for the calling thread. */
bool gpu_call_enter(const struct gpu_node *node, int device, enum gpu_fault *ret_fault,
                    struct probe_why *why);
