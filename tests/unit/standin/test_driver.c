/* The stand-in drivers by their calls: times to the nanosecond, and bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those before. */
#include <cmocka.h>
#include <math.h>
#include <stdatomic.h>

#include "standin_scene.h"

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
    fprintf(setting->out, "%d %s %s %llu %d %d %d\n", count, name, pci, (unsigned long long)bytes,
            value, api->is_standin,
            strcmp(uuid, strcmp(api->name, "cuda") == 0 ? "GPU-00112233-4455-6677-8899-aabbccddeeff"
                                                        : "GPU-0000000000000002"));
}

static void test_devices(void **state)
{
    (void)state;
    expect("", scene_devices, "3 Test GPU 0000:0c:00.0 1073741824 10 1 0\n");
}

/* One copy is its latency and its bytes at its rate: 40e6 bytes take 1 ms to the host, over the
 * single link 0.8 of 50 GB/s. */
static void scene_copies(struct setting *setting)
{
    open_all(setting);
    gpu_address own = device_memory(setting, 0, 64 * MIB),
                peer = device_memory(setting, 1, 64 * MIB),
                far = device_memory(setting, 2, 64 * MIB);
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
    must(setting->api->copy_peer(setting->api, &(struct gpu_peer_end){peer, 1, setting->context[1]},
                                 &(struct gpu_peer_end){own, 0, setting->context[0]}, 16,
                                 setting->stream[0]));
    fprintf(setting->out, "%.1f\n", timed_end(setting, 0, timed));
}

static void test_copies(void **state)
{
    (void)state;
    expect("", scene_copies, "2002000 2002000 1337333 2004000 2000.3\n");
}

/* Behind a gate all begin at once. 0 and 1 share a port of 40 GB/s: 80e6 and 40e6 bytes at 20 each,
 * 40e6 are done after 2 ms, the other's rest at 40. */
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
        struct gpu_gate_args gate = {
            .flag = (uintptr_t)word, .value = 1, .limit_ns = UINT64_C(10000000000)};
        must(api->launch(api, kernel(setting, "berth_gate"), 1, 1, setting->stream[i], &gate,
                         sizeof gate));
        timed[i] = timed_begin(setting, i);
        must(copy(setting, i, memory[i], (gpu_address)(uintptr_t)host,
                  i == 0 ? 80000000 : 40000000));
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

/* Three flows: the host's memory gives 60 in all to three, 80 to two. 20 each until two of 40e6 are
 * done at 2 ms; then 40 for the other. */
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
    struct gpu_gate_args gate = {
        .flag = (uintptr_t)word, .value = 1, .limit_ns = UINT64_C(7000000000)};
    int64_t start = now_ns(setting);
    must(setting->api->launch(setting->api, kernel(setting, "berth_gate"), 1, 1, setting->stream[0],
                              &gate, sizeof gate));
    must(setting->api->stream_wait(setting->api, setting->stream[0]));
    fprintf(setting->out, "%lld\n", (long long)(now_ns(setting) - start));
}

/* The host's clock shows the cost of calls. */
static void scene_clock(struct setting *setting)
{
    open_all(setting);
    gpu_address own = device_memory(setting, 0, MIB);
    char *host = host_memory(setting, MIB);
    enter(setting, 0);
    int64_t start = now_ns(setting);
    int64_t looked = now_ns(setting);
    must(setting->api->copy(setting->api, own, (gpu_address)(uintptr_t)host, 400000,
                            setting->stream[0]));
    must(setting->api->stream_wait(setting->api, setting->stream[0]));
    fprintf(setting->out, "%lld %lld\n", (long long)(looked - start),
            (long long)(now_ns(setting) - looked));
}

static void test_clock(void **state)
{
    (void)state;
    expect("", scene_limit, "7000000000\n");
    /* The copy's call takes 1300 before it begins, the copy 1000 + 10000, its wait 200 at the same
     * time and 2500 after it, the look 20. */
    expect("call copy 1300\ncall sync 2500\ncall query 200\ncall clock 20\n", scene_clock,
           "20 14820\n");
}

/* Kernels: own memory at 1000 GB/s, with the bytes of a copy counted twice; peers by the link; few
 * threads get less. */
static void scene_kernels(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address from = device_memory(setting, 0, 64 * MIB),
                to = device_memory(setting, 0, 64 * MIB),
                peer = device_memory(setting, 1, 64 * MIB);
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
        must(api->launch(api, kernel(setting, launches[i].name), launches[i].grid,
                         i == 3 ? 100 : 256, setting->stream[0], &launches[i].args,
                         sizeof launches[i].args));
        fprintf(setting->out, "%.0f ", timed_end(setting, 0, timed));
    }
    fprintf(setting->out, "\n");
}

static void test_kernels(void **state)
{
    (void)state;
    /* 100 threads with 16 bytes each under way, 900 ns long, are 1.78 GB/s: 160000 bytes take 90 us
     */
    expect("", scene_kernels, "53000 103000 505000 95000 \n");
}

/* A cycle within 64 KiB takes 100 ns a load, one of 1 MiB 200, one in the peer's memory 900; the
 * last pointer is on the cycle. */
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
        struct gpu_chase_build_args build = {cycles[i].address, cycles[i].slots, GPU_CHASE_STRIDE,
                                             64, 7};
        struct gpu_chase_args chase = {cycles[i].address, cycles[i].slots, (uintptr_t)result};
        enter(setting, 0);
        must(api->launch(api, kernel(setting, "berth_chase_build"), 10, 256, setting->stream[0],
                         &build, sizeof build));
        struct timed timed = timed_begin(setting, 0);
        must(api->launch(api, kernel(setting, "berth_chase"), 1, 1, setting->stream[0], &chase,
                         sizeof chase));
        double ns = timed_end(setting, 0, timed);
        fprintf(setting->out, "%.0f %llu %d ", ns / (double)cycles[i].slots, result[1],
                result[0] == cycles[i].address);
    }
    fprintf(setting->out, "\n");
}

static void test_chase(void **state)
{
    (void)state;
    expect("", scene_chase, "112 25600 1 201 819200 1 901 3686400 1 \n");
}

/* Two kernels that pass flags take the pair's time for a round; a thread of this process and one
 * take the host's. */
static void scene_pingpong(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address flags = device_memory(setting, 1, 256);
    gpu_u64 *results = (gpu_u64 *)(void *)host_memory(setting, 128);
    _Atomic uint32_t *host = (_Atomic uint32_t *)(void *)host_memory(setting, 256);
    for (int i = 0; i < 2; i++) {
        struct gpu_pingpong_args args = {.mine = flags + (unsigned)i * 128,
                                         .theirs = flags + (unsigned)(1 - i) * 128,
                                         .rounds = 300,
                                         .skip = 100,
                                         .first = i == 0,
                                         .result = (uintptr_t)(results + 8 * i),
                                         .limit_ns = 1000000000};
        enter(setting, i);
        must(api->launch(api, kernel(setting, "berth_pingpong"), 1, 1, setting->stream[i], &args,
                         sizeof args));
    }
    for (int i = 0; i < 2; i++)
        must(api->stream_wait(api, setting->stream[i]));
    fprintf(setting->out, "%llu %llu %llu ", results[0], results[1], results[9]);
    struct gpu_pingpong_args args = {.mine = (uintptr_t)host,
                                     .theirs = (uintptr_t)(host + 32),
                                     .rounds = 50,
                                     .result = (uintptr_t)results,
                                     .limit_ns = 1000000000};
    enter(setting, 0);
    must(api->launch(api, kernel(setting, "berth_pingpong"), 1, 1, setting->stream[0], &args,
                     sizeof args));
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

/* Bytes are really copied, by engine and kernel, and the check kernel detects a faulty path. */
static void scene_bytes(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address own = device_memory(setting, 0, MIB), peer = device_memory(setting, 1, MIB);
    char *host = host_memory(setting, MIB);
    gpu_u64 *result = (gpu_u64 *)(void *)host_memory(setting, 64);
    struct gpu_pattern_args fill = {own, 4096, 11, 0}, check = {peer, 4096, 11, (uintptr_t)result};
    enter(setting, 0);
    must(api->launch(api, kernel(setting, "berth_fill"), 10, 256, setting->stream[0], &fill,
                     sizeof fill));
    must(copy(setting, 0, peer, own, 4096));
    must(copy(setting, 0, (gpu_address)(uintptr_t)host, own, 4096));
    must(api->stream_wait(api, setting->stream[0]));
    result[0] = 0;
    result[1] = UINT64_MAX;
    enter(setting, 1);
    must(api->launch(api, kernel(setting, "berth_check"), 10, 256, setting->stream[1], &check,
                     sizeof check));
    must(api->stream_wait(api, setting->stream[1]));
    gpu_u64 word;
    memcpy(&word, host + 8 * 100, 8);
    fprintf(setting->out, "%llu %d %d\n", result[0], result[0] > 0 && result[1] == 0,
            word == gpu_pattern(11, 100));
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
    fprintf(setting->out, "%.0f %d %d", first, fabs(mean / 1001000 - 1) < 0.006,
            fabs(deviation / mean / 0.02 - 1) < 0.25);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_shared),  cmocka_unit_test(test_steps),
        cmocka_unit_test(test_clock),   cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_chase),   cmocka_unit_test(test_pingpong),
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
