/* The stand-in drivers by their calls: every fault that can be planned, and descriptions that are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those before. */
#include <cmocka.h>
#include <signal.h>

#include "standin_scene.h"

static void scene_faults(struct setting *setting)
{
    const struct gpu_api *api = setting->api;
    open_all(setting);
    gpu_address memory[2], more;
    enter(setting, 0);
    for (int i = 0; i < 2; i++)
        must(api->alloc(api, 16 * MIB, &memory[i]));
    int third = api->alloc(api, 16 * MIB, &more), fourth = api->alloc(api, 16 * MIB, &more),
        large = api->alloc(api, 2048 * MIB, &more);
    fprintf(setting->out, "%d %d %d|", gpu_api_fault(third) == GPU_FAULT_MEMORY, fourth,
            gpu_api_fault(large) == GPU_FAULT_MEMORY);
    int first = copy(setting, 0, memory[0], memory[1], 64),
        second = copy(setting, 0, memory[0], memory[1], 64);
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
            snprintf(more, sizeof more, "fault %s 3 0 memory\nfault %s 2 0 %s\n",
                     k == 0 ? "cuMemAlloc_v2" : "hipMalloc",
                     k == 0 ? "cuMemcpyAsync" : "hipMemcpyAsync", kinds[i]);
            assert_int_equal(play(k == 0 ? "cuda" : "hip", more, scene_faults, text, sizeof text),
                             0);
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
    must(api->launch(api, kernel(setting, "berth_read_u1"), 1, 32, setting->stream[0], &args,
                     sizeof args));
    int wait = api->stream_wait(api, setting->stream[0]), later = api->alloc(api, 64, &memory);
    must(api->close(api, 0, setting->context[0]));
    must(api->open(api, 0, &setting->context[0]));
    fprintf(setting->out, "%d %d %d\n", gpu_api_fault(wait) == GPU_FAULT_LOST,
            gpu_api_fault(later) == GPU_FAULT_LOST, api->alloc(api, 64, &memory));
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
    fprintf(setting->out, "%d %d %d %d\n", can[0], can[1], gpu_api_fault(code) == GPU_FAULT_PEER,
            api->access_peer(api, 2, setting->context[2]));
}

static void test_sticky_peer(void **state)
{
    (void)state;
    expect("", scene_sticky, "1 1 0\n");
    expect("nopeer 0 1\n", scene_peer, "0 1 1 0\n");
}

/* A call that hangs is only ended by a kill; a copy that never ends leaves the device asked and not
 * done, however often. */
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
    static const char *const wrong[] = {"path engine * host gpu uses=nowhere\n",
                                        "path engine * host moon rate=1e9\n",
                                        "resource hbm0 5\n",
                                        "device 9 pci=x\n",
                                        "fault x 1 0 strange\n",
                                        "discipline strange\n",
                                        "strange\n",
                                        "include /nowhere\n",
                                        "resource empty 0\n"};
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
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_sticky_peer),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
