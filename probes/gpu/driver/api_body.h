/**
 * The calls that CUDA and HIP have alike, and the table of all calls. Included by cuda.c and hip.c
 * alone, behind their own calls: RUNTIME(a, b) is then CUDA's name a or HIP's name b, and calls_of
 * gives the functions found in the library.
 */
static int init(const struct gpu_api *api) { return calls_of(api)->RUNTIME(cuInit, hipInit)(0); }

static int version(const struct gpu_api *api, int *ret_version)
{
    int value;
    int code = calls_of(api)->RUNTIME(cuDriverGetVersion, hipDriverGetVersion)(&value);
    if (code == 0)
        *ret_version = value;
    return code;
}

static int count(const struct gpu_api *api, int *ret_count)
{
    int value;
    int code = calls_of(api)->RUNTIME(cuDeviceGetCount, hipGetDeviceCount)(&value);
    if (code == 0)
        *ret_count = value;
    return code;
}

static int space(const struct gpu_api *api, size_t *ret_free, size_t *ret_total)
{
    size_t left, total;
    int code = calls_of(api)->RUNTIME(cuMemGetInfo_v2, hipMemGetInfo)(&left, &total);
    if (code == 0) {
        *ret_free = left;
        *ret_total = total;
    }
    return code;
}

static int host_free(const struct gpu_api *api, void *memory)
{
    return calls_of(api)->RUNTIME(cuMemFreeHost, hipHostFree)(memory);
}

static int host_unregister(const struct gpu_api *api, void *memory)
{
    return calls_of(api)->RUNTIME(cuMemHostUnregister, hipHostUnregister)(memory);
}

static int stream_new(const struct gpu_api *api, gpu_stream *ret_stream)
{
    gpu_stream stream;
    int code = calls_of(api)->RUNTIME(cuStreamCreate, hipStreamCreateWithFlags)(
        &stream, RUNTIME(CUDA_STREAM_NON_BLOCKING, HIP_STREAM_NON_BLOCKING));
    if (code == 0)
        *ret_stream = stream;
    return code;
}

static int stream_free(const struct gpu_api *api, gpu_stream stream)
{
    return calls_of(api)->RUNTIME(cuStreamDestroy_v2, hipStreamDestroy)(stream);
}

static int stream_wait(const struct gpu_api *api, gpu_stream stream)
{
    return calls_of(api)->RUNTIME(cuStreamSynchronize, hipStreamSynchronize)(stream);
}

static int stream_after(const struct gpu_api *api, gpu_stream stream, gpu_event event)
{
    return calls_of(api)->RUNTIME(cuStreamWaitEvent, hipStreamWaitEvent)(stream, event, 0);
}

static int stream_done(const struct gpu_api *api, gpu_stream stream, bool *ret_done)
{
    int code = calls_of(api)->RUNTIME(cuStreamQuery, hipStreamQuery)(stream);
    if (code != 0 && code != RUNTIME(CUDA_NOT_READY, HIP_NOT_READY))
        return code;
    *ret_done = code == 0;
    return 0;
}

static int event_with(const struct gpu_api *api, unsigned flags, gpu_event *ret_event)
{
    gpu_event event;
    int code = calls_of(api)->RUNTIME(cuEventCreate, hipEventCreateWithFlags)(&event, flags);
    if (code == 0)
        *ret_event = event;
    return code;
}

static int event_new(const struct gpu_api *api, gpu_event *ret_event)
{
    return event_with(api, 0, ret_event);
}

static int event_plain_new(const struct gpu_api *api, gpu_event *ret_event)
{
    enum { DISABLE_TIMING = 2 };
    return event_with(api, DISABLE_TIMING, ret_event);
}

static int event_free(const struct gpu_api *api, gpu_event event)
{
    return calls_of(api)->RUNTIME(cuEventDestroy_v2, hipEventDestroy)(event);
}

static int event_record(const struct gpu_api *api, gpu_event event, gpu_stream stream)
{
    return calls_of(api)->RUNTIME(cuEventRecord, hipEventRecord)(event, stream);
}

static int event_elapsed(const struct gpu_api *api, gpu_event from, gpu_event to, double *ret_ns)
{
    float ms;
    int code = calls_of(api)->RUNTIME(cuEventElapsedTime, hipEventElapsedTime)(&ms, from, to);
    if (code == 0)
        *ret_ns = (double)ms * 1e6;
    return code;
}

static int module_load(const struct gpu_api *api, const void *image, gpu_module *ret_module)
{
    gpu_module module;
    int code = calls_of(api)->RUNTIME(cuModuleLoadData, hipModuleLoadData)(&module, image);
    if (code == 0)
        *ret_module = module;
    return code;
}

static int module_unload(const struct gpu_api *api, gpu_module module)
{
    return calls_of(api)->RUNTIME(cuModuleUnload, hipModuleUnload)(module);
}

static int function_threads(const struct gpu_api *api, gpu_function function, int *ret_most)
{
    int most;
    if (calls_of(api)->RUNTIME(cuFuncGetAttribute, hipFuncGetAttribute) == NULL)
        return GPU_MISSING;
    int code = calls_of(api)->RUNTIME(cuFuncGetAttribute, hipFuncGetAttribute)(
        &most, RUNTIME(CUDA_BLOCK_THREADS, HIP_BLOCK_THREADS), function);
    if (code == 0)
        *ret_most = most;
    return code;
}

/* Opens the first of the libraries that is there, for an api of this name. */
static struct gpu_api *open_library(const char *name, const char *const *libraries,
                                    struct probe_why *why)
{
    static const struct gpu_api table = {
        .text = text,
        .init = init,
        .version = version,
        .count = count,
        .attribute = attribute,
        .device_name = device_name,
        .device_uuid = device_uuid,
        .device_pci = device_pci,
        .device_bytes = device_bytes,
        .open = open_context,
        .close = close_context,
        .enter = enter,
        .can_access = can_access,
        .access_peer = access_peer,
        .alloc = alloc,
        .free = free_memory,
        .space = space,
        .host_alloc = host_alloc,
        .host_free = host_free,
        .host_register = host_register,
        .host_unregister = host_unregister,
        .host_address = host_address,
        .managed_alloc = managed_alloc,
        .managed_advise = managed_advise,
        .managed_prefetch = managed_prefetch,
        .stream_new = stream_new,
        .stream_free = stream_free,
        .stream_wait = stream_wait,
        .stream_after = stream_after,
        .stream_done = stream_done,
        .event_new = event_new,
        .event_plain_new = event_plain_new,
        .event_free = event_free,
        .event_record = event_record,
        .event_elapsed = event_elapsed,
        .copy = copy,
        .copy_now = copy_now,
        .copy_peer = copy_peer,
        .fill = fill,
        .module_load = module_load,
        .module_unload = module_unload,
        .module_function = module_function,
        .function_threads = function_threads,
        .launch = launch,
    };
    void *calls = malloc(sizeof *calls_of(&table));
    struct gpu_api *api = malloc(sizeof *api);
    struct gpu_dl_found found;
    if (calls == NULL || api == NULL)
        probe_why_write(why, "out of memory");
    else if (gpu_dl_open(libraries, call_table, sizeof call_table / sizeof call_table[0], calls,
                         &found, why)) {
        *api = table;
        api->name = name;
        api->library = found.library;
        api->is_standin = gpu_dl_has(&found, "berth_standin");
        api->takes_cuda = RUNTIME(true, gpu_dl_has(&found, "berth_standin_takes_cuda"));
        api->calls = calls;
        return api;
    }
    free(calls);
    free(api);
    return NULL;
}
