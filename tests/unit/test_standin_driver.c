/* The stand-in drivers by their calls: times to the nanosecond, bytes, faults, and the host's side of them. Each test has a virtual node of its own and therefore a
 * process of its own, since a process has one; what that process says is compared with what was computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those before. */
#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu_cuda.h"
#include "gpu_hip.h"
#include "gpu_kernels.h"

#define MIB (UINT64_C(1) << 20)

/* Three devices on one link to the host and one between each two; every call is free, so that times are those of the operations alone. */
static const char node_text[] = "name test\n"
                                "api %s\n"
                                "driver 13000\n"
                                "numa 0 8589934592 1073741824\n"
                                "numa 5 8589934592 1073741824\n"
                                "devices model=Test_GPU bytes=1073741824 major=9 minor=0 multiprocessors=10 threads=2048 khz=1000000 l2=1048576 engines=2 managed=1\n"
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

static void must(int code)
{
    if (code != 0) {
        fprintf(stderr, "a call gave %d\n", code);
        _exit(3);
    }
}

static void begin(struct setting *setting, const char *name)
{
    char path[512];
    bool cuda = strcmp(name, "cuda") == 0;
    snprintf(path, sizeof path, "%s/%s/%s", STANDIN_DIR, name, cuda ? "libcuda.so.1" : "libamdhip64.so.5");
    setting->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct probe_why why = {0};
    setting->api = cuda ? gpu_cuda_new(&why) : gpu_hip_new(&why);
    if (setting->handle == NULL || setting->api == NULL) {
        fprintf(stderr, "%s: %s\n", path, why.text);
        _exit(4);
    }
    must(setting->api->init(setting->api));
}

static void open_all(struct setting *setting)
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

static void enter(const struct setting *setting, int device) { must(setting->api->enter(setting->api, device, setting->context[device])); }

typedef void (*scene_run)(struct setting *setting);

/* Runs the scene in a process of its own on the node with these lines more. ret_text is what it printed; the result is its wait status. */
static int play(const char *name, const char *more, scene_run scene, char *ret_text, size_t size)
{
    char path[] = "/tmp/berth-standin-XXXXXX";
    int fd = mkstemp(path), pipes[2];
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

static void expect(const char *more, scene_run scene, const char *wanted)
{
    static const char *const names[] = {"cuda", "hip"};
    for (int i = 0; i < 2; i++) {
        char text[2048];
        int status = play(names[i], more, scene, text, sizeof text);
        assert_string_equal(text, wanted);
        assert_int_equal(status, 0);
    }
}

/* ---- helpers of scenes ---- */

struct timed {
    gpu_event start, stop;
};

static struct timed timed_begin(const struct setting *setting, int device)
{
    struct timed timed;
    must(setting->api->event_new(setting->api, &timed.start));
    must(setting->api->event_new(setting->api, &timed.stop));
    must(setting->api->event_record(setting->api, timed.start, setting->stream[device]));
    return timed;
}

static double timed_end(const struct setting *setting, int device, struct timed timed)
{
    double ns = -1;
    must(setting->api->event_record(setting->api, timed.stop, setting->stream[device]));
    must(setting->api->stream_wait(setting->api, setting->stream[device]));
    must(setting->api->event_elapsed(setting->api, timed.start, timed.stop, &ns));
    return ns;
}

static gpu_address device_memory(const struct setting *setting, int device, size_t bytes)
{
    gpu_address address = 0;
    enter(setting, device);
    must(setting->api->alloc(setting->api, bytes, &address));
    return address;
}

static char *host_memory(const struct setting *setting, size_t bytes)
{
    void *memory = NULL;
    must(setting->api->host_alloc(setting->api, bytes, GPU_HOST_PINNED, &memory));
    return memory;
}

static gpu_function kernel(const struct setting *setting, const char *name)
{
    gpu_module module;
    gpu_function function = NULL;
    must(setting->api->module_load(setting->api, "any image", &module));
    must(setting->api->module_function(setting->api, module, name, &function));
    return function;
}

static int64_t now_ns(const struct setting *setting)
{
    struct timespec now;
    int (*look)(clockid_t, struct timespec *);
    void *symbol = dlsym(setting->handle, "clock_gettime");
    memcpy(&look, &symbol, sizeof look);
    look(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int copy(const struct setting *setting, int device, gpu_address to, gpu_address from, size_t bytes)
{
    enter(setting, device);
    return setting->api->copy(setting->api, to, from, bytes, setting->stream[device]);
}

/* ---- scenes ---- */

static void scene_devices(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    char name[64], uuid[64], pci[32];
    int count, value;
    uint64_t bytes;
    must(api->count(api, &count));
    must(api->device_name(api, 2, name, sizeof name));
    must(api->device_pci(api, 2, pci, sizeof pci));
    must(api->device_bytes(api, 2, &bytes));
    must(api->attribute(api, 2, GPU_ATTRIBUTE_MULTIPROCESSORS, &value));
    must(api->device_uuid(api, strcmp(api->name, "cuda") == 0 ? 0 : 2, uuid, sizeof uuid));
    fprintf(setting->out, "%d %s %s %llu %d %d %d\n", count, name, pci, (unsigned long long)bytes, value, api->is_standin,
            strcmp(uuid, strcmp(api->name, "cuda") == 0 ? "GPU-00112233-4455-6677-8899-aabbccddeeff" : "GPU-0000000000000002"));
}

static void test_devices(void **state)
{
    (void)state;
    expect("", scene_devices, "3 Test GPU 0000:0c:00.0 1073741824 10 1 0\n");
}

/* One copy is its latency and its bytes at its rate: 40e6 bytes take 1 ms to the host, over the single link 0.8 of 50 GB/s. */
static void scene_copies(struct setting *setting)
{
    open_all(setting);
    gpu_address own = device_memory(setting, 0, 64 * MIB), peer = device_memory(setting, 1, 64 * MIB), far = device_memory(setting, 2, 64 * MIB);
    gpu_address host = (gpu_address)(uintptr_t)host_memory(setting, 64 * MIB);
    const struct {
        gpu_address to, from;
    } pairs[] = {{own, host}, {host, own}, {peer, own}, {far, own}};
    for (size_t i = 0; i < 4; i++) {
        enter(setting, 0);
        struct timed timed = timed_begin(setting, 0);
        must(copy(setting, 0, pairs[i].to, pairs[i].from, 40000000));
        must(copy(setting, 0, pairs[i].to, pairs[i].from, 40000000));
        fprintf(setting->out, "%.0f ", timed_end(setting, 0, timed));
    }
    struct timed timed = timed_begin(setting, 0);
    must(setting->api->copy_peer(setting->api, peer, 1, setting->context[1], own, 0, setting->context[0], 16, setting->stream[0]));
    fprintf(setting->out, "%.1f\n", timed_end(setting, 0, timed));
}

static void test_copies(void **state)
{
    (void)state;
    expect("", scene_copies, "2002000 2002000 1337333 2004000 2000.3\n");
}

/* Behind a gate all begin at once. 0 and 1 share a port of 40 GB/s: 80e6 and 40e6 bytes at 20 each, 40e6 are done after 2 ms, the other's rest at 40. */
static void scene_shared(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address memory[3];
    for (int i = 0; i < 3; i++)
        memory[i] = device_memory(setting, i, 96 * MIB);
    char *host = host_memory(setting, 96 * MIB);
    _Atomic uint32_t *word = (_Atomic uint32_t *)(void *)host_memory(setting, 64);
    int count = getenv("SCENE_THREE") != NULL ? 3 : 2;
    struct timed timed[3];
    for (int i = 0; i < count; i++) {
        enter(setting, i);
        struct gpu_gate_args gate = {.flag = (uintptr_t)word, .value = 1, .limit_ns = UINT64_C(10000000000)};
        must(api->launch(api, kernel(setting, "berth_gate"), 1, 1, setting->stream[i], &gate, sizeof gate));
        timed[i] = timed_begin(setting, i);
        must(copy(setting, i, memory[i], (gpu_address)(uintptr_t)host, i == 0 ? 80000000 : 40000000));
        must(api->event_record(api, timed[i].stop, setting->stream[i]));
    }
    bool done = true;
    now_ns(setting);
    must(api->stream_done(api, setting->stream[0], &done));
    fprintf(setting->out, "%d", done);
    atomic_store(word, 1);
    for (int i = 0; i < count; i++) {
        double ns;
        must(api->stream_wait(api, setting->stream[i]));
        must(api->event_elapsed(api, timed[i].start, timed[i].stop, &ns));
        fprintf(setting->out, " %.0f", ns);
    }
    fprintf(setting->out, "\n");
}

static void test_shared(void **state)
{
    (void)state;
    expect("", scene_shared, "0 3001000 2001000\n");
    expect("discipline proportional\n", scene_shared, "0 3001000 2001000\n");
    /* device 0 goes on with 2/3: 80e6 are 3 ms, and then 40e6 are through with 40e6 */
    expect("discipline unfair\n", scene_shared, "0 3001000 3001000\n");
}

/* Three flows: the host's memory gives 60 in all to three, 80 to two. 20 each until two of 40e6 are done at 2 ms; then 40 for the other. */
static void test_steps(void **state)
{
    (void)state;
    setenv("SCENE_THREE", "1", 1);
    expect("", scene_shared, "0 3001000 2001000 2001000\n");
    unsetenv("SCENE_THREE");
}

/* A gate that nobody opens ends by its limit, on the virtual clock, in no time of this machine. */
static void scene_limit(struct setting *setting)
{
    open_all(setting);
    enter(setting, 0);
    char *word = host_memory(setting, 64);
    struct gpu_gate_args gate = {.flag = (uintptr_t)word, .value = 1, .limit_ns = UINT64_C(7000000000)};
    int64_t start = now_ns(setting);
    must(setting->api->launch(setting->api, kernel(setting, "berth_gate"), 1, 1, setting->stream[0], &gate, sizeof gate));
    must(setting->api->stream_wait(setting->api, setting->stream[0]));
    fprintf(setting->out, "%lld\n", (long long)(now_ns(setting) - start));
}

/* What the host's clock shows is what calls cost. */
static void scene_clock(struct setting *setting)
{
    open_all(setting);
    gpu_address own = device_memory(setting, 0, MIB);
    char *host = host_memory(setting, MIB);
    enter(setting, 0);
    int64_t start = now_ns(setting);
    int64_t looked = now_ns(setting);
    must(setting->api->copy(setting->api, own, (gpu_address)(uintptr_t)host, 400000, setting->stream[0]));
    must(setting->api->stream_wait(setting->api, setting->stream[0]));
    fprintf(setting->out, "%lld %lld\n", (long long)(looked - start), (long long)(now_ns(setting) - looked));
}

static void test_clock(void **state)
{
    (void)state;
    expect("", scene_limit, "7000000000\n");
    /* The copy's call takes 1300 before it begins, the copy 1000 + 10000, its wait 200 at the same time and 2500 after it, the look 20. */
    expect("call copy 1300\ncall sync 2500\ncall query 200\ncall clock 20\n", scene_clock, "20 14820\n");
}

/* Kernels: own memory at 1000 GB/s, what a copy reads and writes counted twice; peers by the link; few threads get less. */
static void scene_kernels(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address from = device_memory(setting, 0, 64 * MIB), to = device_memory(setting, 0, 64 * MIB), peer = device_memory(setting, 1, 64 * MIB);
    enter(setting, 0);
    const struct {
        const char *name;
        struct gpu_stream_args args;
        unsigned grid;
    } launches[] = {{"berth_read_u8", {.from = from, .bytes = 50000000}, 80},
                    {"berth_copy_u8", {.from = from, .to = to, .bytes = 50000000}, 80},
                    {"berth_write_u8", {.to = peer, .bytes = 45000000}, 80},
                    {"berth_read_u1", {.from = peer, .bytes = 160000}, 1}};
    for (size_t i = 0; i < 4; i++) {
        struct timed timed = timed_begin(setting, 0);
        must(api->launch(api, kernel(setting, launches[i].name), launches[i].grid, i == 3 ? 100 : 256, setting->stream[0], &launches[i].args,
                         sizeof launches[i].args));
        fprintf(setting->out, "%.0f ", timed_end(setting, 0, timed));
    }
    fprintf(setting->out, "\n");
}

static void test_kernels(void **state)
{
    (void)state;
    /* 100 threads with 16 bytes each under way, 900 ns long, are 1.78 GB/s: 160000 bytes take 90 us */
    expect("", scene_kernels, "53000 103000 505000 95000 \n");
}

/* A cycle within 64 KiB takes 100 ns a load, one of 1 MiB 200, one in the peer's memory 900; the last pointer is on the cycle. */
static void scene_chase(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address own = device_memory(setting, 0, MIB), peer = device_memory(setting, 1, MIB);
    gpu_u64 *result = (gpu_u64 *)(void *)host_memory(setting, 64);
    const struct {
        gpu_address address;
        gpu_u64 slots;
    } cycles[] = {{own, 256}, {own, 4096}, {peer, 4096}};
    for (size_t i = 0; i < 3; i++) {
        struct gpu_chase_build_args build = {cycles[i].address, cycles[i].slots, GPU_CHASE_STRIDE, 64, 7};
        struct gpu_chase_args chase = {cycles[i].address, cycles[i].slots, (uintptr_t)result};
        enter(setting, 0);
        must(api->launch(api, kernel(setting, "berth_chase_build"), 10, 256, setting->stream[0], &build, sizeof build));
        struct timed timed = timed_begin(setting, 0);
        must(api->launch(api, kernel(setting, "berth_chase"), 1, 1, setting->stream[0], &chase, sizeof chase));
        double ns = timed_end(setting, 0, timed);
        fprintf(setting->out, "%.0f %llu %d ", ns / (double)cycles[i].slots, result[1], result[0] == cycles[i].address);
    }
    fprintf(setting->out, "\n");
}

static void test_chase(void **state)
{
    (void)state;
    expect("", scene_chase, "112 25600 1 201 819200 1 901 3686400 1 \n");
}

/* Two kernels that pass flags take the pair's time for a round; a thread of this process and one take the host's. */
static void scene_pingpong(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address flags = device_memory(setting, 1, 256);
    gpu_u64 *results = (gpu_u64 *)(void *)host_memory(setting, 128);
    _Atomic uint32_t *host = (_Atomic uint32_t *)(void *)host_memory(setting, 256);
    for (int i = 0; i < 2; i++) {
        struct gpu_pingpong_args args = {.mine = flags + (unsigned)i * 128, .theirs = flags + (unsigned)(1 - i) * 128, .rounds = 300, .skip = 100, .first = i == 0,
                                         .result = (uintptr_t)(results + 8 * i), .limit_ns = 1000000000};
        enter(setting, i);
        must(api->launch(api, kernel(setting, "berth_pingpong"), 1, 1, setting->stream[i], &args, sizeof args));
    }
    for (int i = 0; i < 2; i++)
        must(api->stream_wait(api, setting->stream[i]));
    fprintf(setting->out, "%llu %llu %llu ", results[0], results[1], results[9]);
    struct gpu_pingpong_args args = {.mine = (uintptr_t)host, .theirs = (uintptr_t)(host + 32), .rounds = 50, .result = (uintptr_t)results, .limit_ns = 1000000000};
    enter(setting, 0);
    must(api->launch(api, kernel(setting, "berth_pingpong"), 1, 1, setting->stream[0], &args, sizeof args));
    int64_t start = now_ns(setting);
    for (uint32_t i = 1; i <= 50; i++) {
        atomic_store(host, i);
        while (atomic_load(host + 32) != i)
            ;
    }
    int64_t ns = now_ns(setting) - start;
    must(api->stream_wait(api, setting->stream[0]));
    fprintf(setting->out, "%lld %llu\n", (long long)ns, results[0]);
}

static void test_pingpong(void **state)
{
    (void)state;
    expect("", scene_pingpong, "300 360000 360000 150000 50\n");
}

/* Bytes really go, by engine and kernel, and the check kernel finds what a path broke. */
static void scene_bytes(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address own = device_memory(setting, 0, MIB), peer = device_memory(setting, 1, MIB);
    char *host = host_memory(setting, MIB);
    gpu_u64 *result = (gpu_u64 *)(void *)host_memory(setting, 64);
    struct gpu_pattern_args fill = {own, 4096, 11, 0}, check = {peer, 4096, 11, (uintptr_t)result};
    enter(setting, 0);
    must(api->launch(api, kernel(setting, "berth_fill"), 10, 256, setting->stream[0], &fill, sizeof fill));
    must(copy(setting, 0, peer, own, 4096));
    must(copy(setting, 0, (gpu_address)(uintptr_t)host, own, 4096));
    must(api->stream_wait(api, setting->stream[0]));
    result[0] = 0;
    result[1] = UINT64_MAX;
    enter(setting, 1);
    must(api->launch(api, kernel(setting, "berth_check"), 10, 256, setting->stream[1], &check, sizeof check));
    must(api->stream_wait(api, setting->stream[1]));
    gpu_u64 word;
    memcpy(&word, host + 8 * 100, 8);
    fprintf(setting->out, "%llu %d %d\n", result[0], result[0] > 0 && result[1] == 0, word == gpu_pattern(11, 100));
}

static void test_bytes(void **state)
{
    (void)state;
    expect("", scene_bytes, "0 0 1\n");
    expect("path engine * 0 1 wrong\n", scene_bytes, "2 1 1\n");
}

/* The same seed makes the same noise, another one another; it is as large as it says. */
static void scene_noise(struct setting *setting)
{
    open_all(setting);
    gpu_address own = device_memory(setting, 0, 64 * MIB);
    gpu_address host = (gpu_address)(uintptr_t)host_memory(setting, 64 * MIB);
    double sum = 0, squares = 0, first = 0;
    for (int i = 0; i < 400; i++) {
        enter(setting, 0);
        struct timed timed = timed_begin(setting, 0);
        must(copy(setting, 0, own, host, 40000000));
        double ns = timed_end(setting, 0, timed);
        first = i == 0 ? ns : first;
        sum += ns;
        squares += ns * ns;
    }
    double mean = sum / 400, deviation = sqrt(squares / 400 - mean * mean);
    fprintf(setting->out, "%.0f %d %d", first, fabs(mean / 1001000 - 1) < 0.006, fabs(deviation / mean / 0.02 - 1) < 0.25);
}

static void test_noise(void **state)
{
    (void)state;
    char one[128], same[128], other[128];
    assert_int_equal(play("cuda", "noise 0.02 5\n", scene_noise, one, sizeof one), 0);
    assert_int_equal(play("cuda", "noise 0.02 5\n", scene_noise, same, sizeof same), 0);
    assert_int_equal(play("cuda", "noise 0.02 6\n", scene_noise, other, sizeof other), 0);
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    assert_non_null(strstr(one, " 1 1"));
}

static void scene_faults(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address memory[2], more;
    enter(setting, 0);
    for (int i = 0; i < 2; i++)
        must(api->alloc(api, 16 * MIB, &memory[i]));
    int third = api->alloc(api, 16 * MIB, &more), fourth = api->alloc(api, 16 * MIB, &more), large = api->alloc(api, 2048 * MIB, &more);
    fprintf(setting->out, "%d %d %d|", gpu_api_fault(third) == GPU_FAULT_MEMORY, fourth, gpu_api_fault(large) == GPU_FAULT_MEMORY);
    int first = copy(setting, 0, memory[0], memory[1], 64), second = copy(setting, 0, memory[0], memory[1], 64);
    enter(setting, 1);
    int other = api->alloc(api, 64, &more);
    fprintf(setting->out, "%d %d %d\n", first, gpu_api_fault(second) == GPU_FAULT_LOST, other);
}

static void test_faults(void **state)
{
    (void)state;
    static const char *const kinds[] = {"lost", "sticky"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            char more[256], text[256];
            snprintf(more, sizeof more, "fault %s 3 0 memory\nfault %s 2 0 %s\n", k == 0 ? "cuMemAlloc_v2" : "hipMalloc", k == 0 ? "cuMemcpyAsync" : "hipMemcpyAsync",
                     kinds[i]);
            assert_int_equal(play(k == 0 ? "cuda" : "hip", more, scene_faults, text, sizeof text), 0);
            assert_string_equal(text, "1 0 1|0 1 0\n");
        }
}

/* After an access to nowhere nothing works on that device until it is closed; then it does. */
static void scene_sticky(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address memory = 0;
    struct gpu_stream_args args = {.from = UINT64_C(0x123456789000), .bytes = 4096};
    enter(setting, 0);
    must(api->launch(api, kernel(setting, "berth_read_u1"), 1, 32, setting->stream[0], &args, sizeof args));
    int wait = api->stream_wait(api, setting->stream[0]), later = api->alloc(api, 64, &memory);
    must(api->close(api, 0, setting->context[0]));
    must(api->open(api, 0, &setting->context[0]));
    fprintf(setting->out, "%d %d %d\n", gpu_api_fault(wait) == GPU_FAULT_LOST, gpu_api_fault(later) == GPU_FAULT_LOST, api->alloc(api, 64, &memory));
}

static void scene_peer(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    bool can[2] = {true, false};
    for (int i = 0; i < 3; i++)
        must(api->open(api, i, &setting->context[i]));
    enter(setting, 0);
    must(api->can_access(api, 0, 1, &can[0]));
    must(api->can_access(api, 1, 0, &can[1]));
    int code = api->access_peer(api, 1, setting->context[1]);
    fprintf(setting->out, "%d %d %d %d\n", can[0], can[1], gpu_api_fault(code) == GPU_FAULT_PEER, api->access_peer(api, 2, setting->context[2]));
}

static void test_sticky_peer(void **state)
{
    (void)state;
    expect("", scene_sticky, "1 1 0\n");
    expect("nopeer 0 1\n", scene_peer, "0 1 1 0\n");
}

/* A call that hangs is only ended by a kill; a copy that never ends leaves the device asked and not done, however often. */
static void scene_hang(struct setting *setting)
{
    open_all(setting);
    gpu_address own = device_memory(setting, 0, MIB);
    must(copy(setting, 0, own, own + 4096, 64));
    fprintf(setting->out, "before ");
    fflush(setting->out);
    alarm(1); /* ends this process */
    must(copy(setting, 0, own, own + 4096, 64));
    bool done = true;
    for (int i = 0; i < 1000; i++)
        must(setting->api->stream_done(setting->api, setting->stream[0], &done));
    fprintf(setting->out, "%d ", done);
    fflush(setting->out);
    must(setting->api->stream_wait(setting->api, setting->stream[0]));
    fprintf(setting->out, "after");
}

static void test_hang(void **state)
{
    (void)state;
    char text[128];
    int status = play("cuda", "fault cuMemcpyAsync 2 0 hang\n", scene_hang, text, sizeof text);
    assert_string_equal(text, "before ");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    status = play("hip", "fault hipMemcpyAsync 2 0 stuck\n", scene_hang, text, sizeof text);
    assert_string_equal(text, "before 0 ");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* A description that is wrong is refused with the line and the reason. */
static void scene_nothing(struct setting *setting) { fprintf(setting->out, "works"); }
static void test_descriptions(void **state)
{
    (void)state;
    static const char *const wrong[] = {"path engine * host gpu uses=nowhere\n", "path engine * host moon rate=1e9\n", "resource hbm0 5\n", "device 9 pci=x\n",
                                        "fault x 1 0 strange\n", "discipline strange\n", "strange\n", "include /nowhere\n", "resource empty 0\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[128];
        int status = play("cuda", wrong[i], scene_nothing, text, sizeof text);
        assert_string_equal(text, "");
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 71);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),     cmocka_unit_test(test_copies), cmocka_unit_test(test_shared),       cmocka_unit_test(test_steps),
        cmocka_unit_test(test_clock),       cmocka_unit_test(test_kernels), cmocka_unit_test(test_chase),       cmocka_unit_test(test_pingpong),
        cmocka_unit_test(test_bytes),       cmocka_unit_test(test_noise),  cmocka_unit_test(test_faults),       cmocka_unit_test(test_sticky_peer),
        cmocka_unit_test(test_hang),        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
