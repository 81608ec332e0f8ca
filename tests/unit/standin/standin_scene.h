/* Scenes on a virtual node, for the tests of the stand-in drivers. A process has one node, so each
 * scene has a process of its own. Its output is compared with results computed by hand. */
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/driver/api.h"
#include "gpu/driver/gpu_kernels.h"

#define MIB (UINT64_C(1) << 20)

/* Three devices on one link to the host and one between each two. Every call is free, so that times
 * are those of the operations alone. */
static const char node_text[] =
    "name test\n"
    "api %s\n"
    "driver 13000\n"
    "numa 0 8589934592 1073741824\n"
    "numa 5 8589934592 1073741824\n"
    "devices model=Test_GPU bytes=1073741824 major=9 minor=0 multiprocessors=10 threads=2048 "
    "khz=1000000 l2=1048576 engines=2 managed=1\n"
    "device 0 pci=0000:0a:00.0 uuid=GPU-00112233-4455-6677-8899-aabbccddeeff module=0 numa=0\n"
    "device 1 pci=0000:0b:00.0 uuid=GPU-0000000000000001 module=0 numa=0\n"
    "device 2 pci=0000:0c:00.0 uuid=GPU-0000000000000002 module=1 numa=5\n"
    "link 0 1 100e9\nlink 1 2 50e9\nroute 0 1 2\n"
    "resource hbm{0-2} 1000e9\nresource port{0-1} 40e9\nresource host 80e9 3:60e9\n"
    "path engine * host gpu rate=40e9 ns=1000 uses=port{module},host\n"
    "path engine * gpu host rate=40e9 ns=1000 uses=port{module},host\n"
    "path engine * gpu own rate=400e9 ns=500 uses=hbm{device}*2\n"
    "path engine * gpu peer rate=60e9 share=0.8 ns=2000 uses=links\n"
    "path kernel * gpu own rate=1000e9 ns=3000 uses=hbm{device}\n"
    "path kernel * gpu host rate=20e9 ns=4000 uses=port{module},host\n"
    "path kernel * gpu peer share=0.9 ns=5000 uses=links\n"
    "chase gpu own 65536:100 200\nchase gpu peer 900\nchase gpu host 1500\n"
    "pingpong gpu peer 2000 1800 1500\npingpong host gpu 3000 3100 2900\n"
    "%s";

struct setting {
    struct gpu_api *api;
    void *handle;
    gpu_context context[3];
    gpu_stream stream[3];
    FILE *out;
};

static inline void must(int code)
{
    if (code != 0) {
        fprintf(stderr, "a call gave %d\n", code);
        _exit(3);
    }
}

static inline void begin(struct setting *setting, const char *name)
{
    char path[512];
    bool cuda = strcmp(name, "cuda") == 0;
    snprintf(path, sizeof path, "%s/%s/%s", STANDIN_DIR, name,
             cuda ? "libcuda.so.1" : "libamdhip64.so.5");
    setting->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct probe_why why = {0};
    setting->api = cuda ? gpu_cuda_new(&why) : gpu_hip_new(&why);
    if (setting->handle == NULL || setting->api == NULL) {
        fprintf(stderr, "%s: %s\n", path, why.text);
        _exit(4);
    }
    must(setting->api->init(setting->api));
}

static inline void open_all(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    for (int i = 0; i < 3; i++) {
        must(api->open(api, i, &setting->context[i]));
        must(api->stream_new(api, &setting->stream[i]));
    }
    for (int i = 0; i < 3; i++) {
        must(api->enter(api, i, setting->context[i]));
        for (int k = 0; k < 3; k++)
            if (i != k)
                must(api->access_peer(api, k, setting->context[k]));
    }
}

static inline void enter(const struct setting *setting, int device)
{
    must(setting->api->enter(setting->api, device, setting->context[device]));
}

typedef void (*scene_run)(struct setting *setting);

/* Runs the scene in a process of its own on the node with these lines added. ret_text is its
 * output. Returns its wait status. */
static inline int play(const char *name, const char *more, scene_run scene, char *ret_text,
                       size_t size)
{
    char path[] = "/tmp/berth-standin-XXXXXX";
    int fd = mkstemp(path), pipes[2] = {-1, -1};
    assert_true(fd >= 0 && pipe(pipes) == 0);
    dprintf(fd, node_text, name, more);
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        struct setting setting = {.out = fdopen(pipes[1], "w")};
        close(pipes[0]);
        setenv("BERTH_STANDIN", path, 1);
        alarm(30);
        begin(&setting, name);
        scene(&setting);
        fflush(setting.out);
        _exit(0);
    }
    close(pipes[1]);
    size_t used = 0;
    ssize_t got;
    while (used < size - 1 && (got = read(pipes[0], ret_text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    ret_text[used] = '\0';
    close(pipes[0]);
    int status = -1;
    waitpid(child, &status, 0);
    unlink(path);
    return status;
}

static inline void expect(const char *more, scene_run scene, const char *selection)
{
    static const char *const names[] = {"cuda", "hip"};
    for (int i = 0; i < 2; i++) {
        char text[2048];
        int status = play(names[i], more, scene, text, sizeof text);
        assert_string_equal(text, selection);
        assert_int_equal(status, 0);
    }
}

/* ---- helpers of scenes ---- */

struct timed {
    gpu_event start, stop;
};

static inline struct timed timed_begin(const struct setting *setting, int device)
{
    struct timed timed = {0};
    must(setting->api->event_new(setting->api, &timed.start));
    must(setting->api->event_new(setting->api, &timed.stop));
    must(setting->api->event_record(setting->api, timed.start, setting->stream[device]));
    return timed;
}

static inline double timed_end(const struct setting *setting, int device, struct timed timed)
{
    double ns = -1;
    must(setting->api->event_record(setting->api, timed.stop, setting->stream[device]));
    must(setting->api->stream_wait(setting->api, setting->stream[device]));
    must(setting->api->event_elapsed(setting->api, timed.start, timed.stop, &ns));
    return ns;
}

static inline gpu_address device_memory(const struct setting *setting, int device, size_t bytes)
{
    gpu_address address = 0;
    enter(setting, device);
    must(setting->api->alloc(setting->api, bytes, &address));
    return address;
}

static inline char *host_memory(const struct setting *setting, size_t bytes)
{
    void *memory = NULL;
    must(setting->api->host_alloc(setting->api, bytes, GPU_HOST_PINNED, &memory));
    return memory;
}

static inline gpu_function kernel(const struct setting *setting, const char *name)
{
    gpu_module module = NULL;
    gpu_function function = NULL;
    must(setting->api->module_load(setting->api, "any image", &module));
    must(setting->api->module_function(setting->api, module, name, &function));
    return function;
}

static inline int64_t now_ns(const struct setting *setting)
{
    struct timespec now = {0};
    int (*look)(clockid_t, struct timespec *);
    void *symbol = dlsym(setting->handle, "clock_gettime");
    memcpy(&look, &symbol, sizeof look);
    look(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int copy(const struct setting *setting, int device, gpu_address to, gpu_address from,
                       size_t bytes)
{
    enter(setting, device);
    return setting->api->copy(setting->api, to, from, bytes, setting->stream[device]);
}
