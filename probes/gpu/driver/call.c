#include "gpu/driver/call.h"

bool gpu_call_check(const struct gpu_node *node, int device, int code, const char *what,
                    enum gpu_fault *ret_fault, struct probe_why *why)
{
    if (code == 0)
        return true;
    if (ret_fault != NULL)
        *ret_fault = gpu_api_fault(code);
    return probe_why_set(why, "%s: %s: %.120s", node->device[device].name, what,
                         node->api->text(node->api, code));
}

bool gpu_call_enter(const struct gpu_node *node, int device, enum gpu_fault *ret_fault,
                    struct probe_why *why)
{
    const struct gpu_device *the = &node->device[device];
    return gpu_call_check(node, device, node->api->enter(node->api, the->api_device, the->context),
                          "enter", ret_fault, why);
}
