#include "gpu/facts/nvml.h"

#include <dlfcn.h>

#define LIBRARY "libnvidia-ml.so.1"
#define NO_GPUS 1u /* starting without a GPU is no failure */

static const char *no_text(int code)
{
    (void)code;
    return "an error of NVML";
}

/* A function and a data pointer have the same form wherever this library exists; ISO C has no cast
 * for it. */
static void find(void *library, const char *name, void *ret_function)
{
    *(void **)ret_function = dlsym(library, name);
}

bool gpu_nvml_open(const char *path, struct gpu_nvml *ret_nvml, int *ret_code,
                   struct probe_why *why)
{
    struct gpu_nvml nvml = {.library =
                                dlopen(path != NULL ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    *ret_code = NVML_OK;
    if (nvml.library == NULL)
        return probe_why_set(why, "there is no " LIBRARY);
    find(nvml.library, "nvmlErrorString", &nvml.text);
    if (nvml.text == NULL)
        nvml.text = no_text;
#define X(member, name, parameters) find(nvml.library, #name, &nvml.member);
    NVML_CALLS(X)
#undef X
    bool can_start = nvml.init_flags != NULL || nvml.init != NULL;
    if (!can_start || nvml.shutdown == NULL || nvml.count == NULL || nvml.by_index == NULL ||
        nvml.pci == NULL) {
        dlclose(nvml.library);
        return probe_why_set(why, LIBRARY " is too old");
    }
    int code = nvml.init_flags != NULL ? nvml.init_flags(NO_GPUS) : nvml.init();
    if (code != NVML_OK) {
        probe_why_write(why, LIBRARY " does not start: %s", nvml.text(code));
        *ret_code = code;
        dlclose(nvml.library);
        return false;
    }
    *ret_nvml = nvml;
    return true;
}

void gpu_nvml_close(struct gpu_nvml *nvml)
{
    nvml->shutdown();
    dlclose(nvml->library);
}

int64_t gpu_nvml_field(const struct nvml_field *field)
{
    if (field->code != NVML_OK)
        return -1;
    switch (field->type) {
    case NVML_DOUBLE:
        return field->value.real >= 0 && field->value.real < 1e18 ? (int64_t)field->value.real : -1;
    case NVML_UINT:
        return field->value.uint32;
    case NVML_ULONG:
    case NVML_ULONGLONG:
        return field->value.uint64 <= INT64_MAX ? (int64_t)field->value.uint64 : -1;
    case NVML_SLONGLONG:
        return field->value.int64;
    case NVML_SINT:
        return field->value.int32;
    case NVML_USHORT:
        return field->value.uint16;
    default:
        return -1;
    }
}
