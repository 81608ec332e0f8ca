#include "gpu/driver/sampling.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/driver/dl.h"
#include "gpu/driver/image.h"

#define FETCHES_MOST 100000 /* a kernel has hundreds of instructions */

/* One call takes one structure: its size, a pointer that is NULL, and the context. */
struct params {
    size_t size;
    void *none;
    gpu_context context;
};

struct count_params {
    struct params head;
    size_t *count;
};

struct names_params {
    struct params head;
    size_t count;
    uint32_t *index;
    char **name;
};

struct stall {
    uint32_t reason, samples;
};

/* The samples of one instruction. CUDA before 12.4 lacks the last member; so only one of them is
 * asked for at a time, never an array. */
struct instruction {
    size_t size;
    uint64_t cubin, offset;
    uint32_t function, unused;
    char *name;
    size_t stall_count;
    struct stall *stall;
    uint32_t launch;
};

struct data {
    size_t size, most;
    uint64_t samples, dropped;
    size_t count, remaining;
    uint64_t range;
    struct instruction *instruction;
    uint64_t other_samples;
    uint8_t is_full;
};

struct data_params {
    struct params head;
    struct data *data;
};

enum attribute { STALL_REASONS = 2, MODE = 5, START_AND_STOP = 6, FORMAT = 7, BUFFER = 8 };
enum { CONTINUOUS = 1, PARSED = 1 };

struct setting {
    uint32_t attribute;
    int status;
    union {
        uint64_t room[3];
        uint32_t number;
        void *pointer;
        struct {
            size_t count;
            uint32_t *index;
        } reasons;
    } value;
};

struct settings_params {
    struct params head;
    size_t count;
    struct setting *setting;
};

/* Results of CUPTI. */
enum {
    OUT_OF_MEMORY = 8, /* of GetData: samples came faster than they were fetched */
    NOT_SUPPORTED = 27,
    NO_PRIVILEGE = 35,
    NO_PRIVILEGE_VIRTUAL = 40
};

struct calls {
    int (*text)(int code, const char **text);
    int (*enable)(struct params *params);
    int (*disable)(struct params *params);
    int (*start)(struct params *params);
    int (*stop)(struct params *params);
    int (*count)(struct count_params *params);
    int (*names)(struct names_params *params);
    int (*set)(struct settings_params *params);
    int (*get)(struct data_params *params);
};

struct gpu_sampling {
    struct gpu_node *node;
    int device;
    const char *library;
    struct calls calls;
    bool is_enabled;
    size_t reason_count;
    uint32_t index[GPU_STALLS_MAX];
    char name[GPU_STALLS_MAX][GPU_STALL_NAME];
    struct stall stall[GPU_STALLS_MAX];
    struct instruction instruction;
    struct data data;
};

static struct params head_of(const struct gpu_sampling *sampling, size_t size)
{
    return (struct params){.size = size,
                           .context = sampling->node->device[sampling->device].context};
}

static bool check(const struct gpu_sampling *sampling, int code, const char *what,
                  struct probe_why *why)
{
    const char *text = NULL;
    if (code == 0)
        return true;
    if (code == NO_PRIVILEGE || code == NO_PRIVILEGE_VIRTUAL)
        return probe_why_set(why,
                             "%s needs a right: root's, or for everybody the option "
                             "NVreg_RestrictProfilingToAdminUsers=0 of the module nvidia",
                             what);
    if (code == NOT_SUPPORTED)
        return probe_why_set(why, "%s: this device or driver cannot", what);
    if (sampling->calls.text(code, &text) != 0 || text == NULL)
        text = "unknown";
    return probe_why_set(why, "%s: %s, error %d (%.80s)", what, sampling->library, code, text);
}

static bool find(const struct gpu_api *api, struct gpu_sampling *sampling, struct probe_why *why)
{
    static const struct gpu_dl_call calls[] = {
        {"cuptiGetResultString", offsetof(struct calls, text), true},
        {"cuptiPCSamplingEnable", offsetof(struct calls, enable), true},
        {"cuptiPCSamplingDisable", offsetof(struct calls, disable), true},
        {"cuptiPCSamplingStart", offsetof(struct calls, start), true},
        {"cuptiPCSamplingStop", offsetof(struct calls, stop), true},
        {"cuptiPCSamplingGetNumStallReasons", offsetof(struct calls, count), true},
        {"cuptiPCSamplingGetStallReasons", offsetof(struct calls, names), true},
        {"cuptiPCSamplingSetConfigurationAttribute", offsetof(struct calls, set), true},
        {"cuptiPCSamplingGetData", offsetof(struct calls, get), true}};
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    struct gpu_dl_found found;
    if (strcmp(api->name, "cuda") != 0)
        return probe_why_set(why, "stall reasons are read of NVIDIA's GPUs alone, by CUPTI");
    if (!gpu_dl_open(names, calls, sizeof calls / sizeof *calls, &sampling->calls, &found, why))
        return false;
    if (gpu_dl_has(&found, "berth_standin") != api->is_standin)
        return probe_why_set(why, "%s and %s: one is a stand-in for tests, the other is not",
                             found.library, api->library);
    sampling->library = found.library;
    return true;
}

static bool list_reasons(struct gpu_sampling *sampling, struct probe_why *why)
{
    size_t count = 0;
    char *names[GPU_STALLS_MAX];
    struct count_params counted = {.head = head_of(sampling, sizeof counted), .count = &count};
    if (!check(sampling, sampling->calls.count(&counted), "counting stall reasons", why))
        return false;
    if (count == 0 || count > GPU_STALLS_MAX)
        return probe_why_set(why, "%s has %zu stall reasons", sampling->library, count);
    for (size_t i = 0; i < count; i++)
        names[i] = sampling->name[i];
    struct names_params named = {.head = head_of(sampling, sizeof named),
                                 .count = count,
                                 .index = sampling->index,
                                 .name = names};
    sampling->reason_count = count;
    return check(sampling, sampling->calls.names(&named), "naming stall reasons", why);
}

static bool configure(struct gpu_sampling *sampling, struct probe_why *why)
{
    struct setting settings[] = {
        {.attribute = STALL_REASONS, .value.reasons = {sampling->reason_count, sampling->index}},
        {.attribute = MODE, .value.number = CONTINUOUS},
        {.attribute = START_AND_STOP, .value.number = 1},
        {.attribute = FORMAT, .value.number = PARSED},
        {.attribute = BUFFER, .value.pointer = &sampling->data}};
    struct settings_params params = {.head = head_of(sampling, sizeof params),
                                     .count = sizeof settings / sizeof *settings,
                                     .setting = settings};
    sampling->instruction =
        (struct instruction){.size = sizeof sampling->instruction, .stall = sampling->stall};
    sampling->data = (struct data){
        .size = sizeof sampling->data, .most = 1, .instruction = &sampling->instruction};
    return check(sampling, sampling->calls.set(&params), "configuring PC sampling", why);
}

/* Loads the built-in kernels again. Kernels compiled at run time stay as they are. */
static bool load_again(struct gpu_sampling *sampling, struct probe_why *why)
{
    const struct gpu_api *api = sampling->node->api;
    struct gpu_device *device = &sampling->node->device[sampling->device];
    const void *image = gpu_image_built(api, NULL);
    if (image == NULL || sampling->node->compiler != NULL)
        return true;
    gpu_module before = device->module;
    if (!gpu_node_load(api, image, device, why))
        return false;
    api->module_unload(api, before);
    return true;
}

bool gpu_sampling_new(struct gpu_node *node, int device, struct gpu_sampling **ret_sampling,
                      struct probe_why *why)
{
    struct gpu_sampling *sampling = calloc(1, sizeof *sampling);
    struct gpu_err err;
    if (sampling == NULL)
        return probe_why_set(why, "out of memory");
    sampling->node = node;
    sampling->device = device;
    bool ok = find(node->api, sampling, why) &&
              (gpu_node_enter(node, device, &err) || probe_why_set(why, "%.199s", err.why.text));
    if (ok) {
        struct params params = head_of(sampling, sizeof params);
        ok = sampling->is_enabled =
            check(sampling, sampling->calls.enable(&params), "PC sampling", why);
    }
    ok = ok && list_reasons(sampling, why) && configure(sampling, why) && load_again(sampling, why);
    if (!ok) {
        gpu_sampling_free(sampling);
        return false;
    }
    *ret_sampling = sampling;
    return true;
}

void gpu_sampling_free(struct gpu_sampling *sampling)
{
    if (sampling != NULL && sampling->is_enabled) {
        struct params params = head_of(sampling, sizeof params);
        sampling->calls.disable(&params);
    }
    free(sampling);
}

const char *gpu_sampling_library(const struct gpu_sampling *sampling) { return sampling->library; }

bool gpu_sampling_begin(struct gpu_sampling *sampling, struct probe_why *why)
{
    struct params params = head_of(sampling, sizeof params);
    return check(sampling, sampling->calls.start(&params), "beginning PC sampling", why);
}

/* "smsp__pcsamp_warps_issue_stalled_long_scoreboard" is "long_scoreboard". */
static const char *short_name(const char *name)
{
    static const char beginning[] = "smsp__pcsamp_warps_issue_stalled_";
    return strncmp(name, beginning, sizeof beginning - 1) == 0 ? name + sizeof beginning - 1 : name;
}

/* True for a count of those samples of another reason in which the scheduler issued nothing. */
static bool is_part(const char *name)
{
    static const char ending[] = "_not_issued";
    size_t length = strlen(name);
    return length >= sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

static void add(const struct gpu_sampling *sampling, const struct stall *stall,
                struct gpu_stalls *stalls)
{
    size_t known = 0, i = 0;
    while (known < sampling->reason_count && sampling->index[known] != stall->reason)
        known++;
    if (known == sampling->reason_count || stall->samples == 0 || is_part(sampling->name[known]))
        return;
    const char *name = short_name(sampling->name[known]);
    while (i < stalls->count && strcmp(stalls->reason[i].name, name) != 0)
        i++;
    if (i == stalls->count) {
        stalls->count++;
        strcpy(stalls->reason[i].name, name);
    }
    stalls->reason[i].samples += stall->samples;
    stalls->samples += stall->samples;
}

bool gpu_sampling_end(struct gpu_sampling *sampling, struct gpu_stalls *ret, struct probe_why *why)
{
    struct params params = head_of(sampling, sizeof params);
    struct data_params fetch = {.head = head_of(sampling, sizeof fetch), .data = &sampling->data};
    *ret = (struct gpu_stalls){0};
    if (!check(sampling, sampling->calls.stop(&params), "ending PC sampling", why))
        return false;
    for (int fetches = 0; fetches == 0 || sampling->data.count > 0 || sampling->data.remaining > 0;
         fetches++) {
        if (fetches == FETCHES_MOST)
            return probe_why_set(why, "fetching samples does not end");
        sampling->instruction.stall_count = 0;
        sampling->data.count = sampling->data.remaining = 0;
        sampling->data.dropped = 0;
        int code = sampling->calls.get(&fetch);
        if (code == OUT_OF_MEMORY)
            return probe_why_set(why, "the buffer of samples was full");
        if (!check(sampling, code, "fetching samples", why))
            return false;
        ret->dropped += sampling->data.dropped;
        for (size_t i = 0; sampling->data.count > 0 && i < sampling->instruction.stall_count &&
                           i < GPU_STALLS_MAX;
             i++)
            add(sampling, &sampling->stall[i], ret);
    }
    return true;
}
