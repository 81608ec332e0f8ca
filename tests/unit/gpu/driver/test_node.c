/* Devices listed, chosen and opened, over a runtime that is a few lines of this file. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/driver/image.h"
#include "gpu/driver/node.h"
#include "unit/base/tree.h"

#define DEVICES 4
#define NOBODY  65534

/* State of the runtime, with its open objects. Threads of the node under test count
 * concurrently. */
struct fake {
    const char *pci[DEVICES];
    int count, init_code, open_code[DEVICES], load_code;
    int contexts, streams, modules;
    bool reaches[DEVICES][DEVICES], reached[DEVICES][DEVICES];
};
static _Thread_local int entered;

static struct fake *fake_of(const struct gpu_api *api) { return api->calls; }
static void add(int *counter, int step) { __atomic_add_fetch(counter, step, __ATOMIC_RELAXED); }

static const char *fake_text(const struct gpu_api *api, int code)
{
    (void)api;
    return code == 2     ? "out of memory"
           : code == 46  ? "device busy"
           : code == 209 ? "no image for the device"
                         : "some error";
}
static int fake_init(const struct gpu_api *api) { return fake_of(api)->init_code; }
static int fake_count(const struct gpu_api *api, int *ret_count)
{
    if (fake_of(api)->count < 0)
        return -fake_of(api)->count;
    *ret_count = fake_of(api)->count;
    return 0;
}
static int fake_attribute(const struct gpu_api *api, int device, enum gpu_attribute attribute,
                          int *ret_value)
{
    (void)api;
    if (attribute == GPU_ATTRIBUTE_MEMORY_NUMA && device == 1) {
        *ret_value = 9;
        return 0;
    }
    if (attribute != GPU_ATTRIBUTE_MULTIPROCESSORS)
        return GPU_MISSING;
    *ret_value = 100 + device;
    return 0;
}
static int fake_name(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    (void)api;
    (void)device;
    snprintf(buffer, size, "Model");
    return 0;
}
static int fake_uuid(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    (void)api;
    snprintf(buffer, size, "GPU-%c", 'a' + device);
    return 0;
}
static int fake_pci(const struct gpu_api *api, int device, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", fake_of(api)->pci[device]);
    return 0;
}
static int fake_bytes(const struct gpu_api *api, int device, uint64_t *ret_bytes)
{
    (void)api;
    (void)device;
    *ret_bytes = 1 << 20;
    return 0;
}
static int fake_open(const struct gpu_api *api, int device, gpu_context *ret_context)
{
    int code = fake_of(api)->open_code[device];
    if (code != 0)
        return code;
    add(&fake_of(api)->contexts, 1);
    entered = device;
    *ret_context = (gpu_context)((uintptr_t)device + 1);
    return 0;
}
static int fake_close(const struct gpu_api *api, int device, gpu_context context)
{
    assert_ptr_equal(context, (gpu_context)((uintptr_t)device + 1));
    add(&fake_of(api)->contexts, -1);
    return 0;
}
static int fake_enter(const struct gpu_api *api, int device, gpu_context context)
{
    (void)api;
    entered = device;
    return context == NULL ? 201 : 0;
}
static int fake_can_access(const struct gpu_api *api, int device, int peer, bool *ret_can)
{
    *ret_can = fake_of(api)->reaches[device][peer];
    return 0;
}
static int fake_access_peer(const struct gpu_api *api, int peer, gpu_context context)
{
    (void)context;
    fake_of(api)->reached[entered][peer] = true;
    return 0;
}
static int fake_stream_new(const struct gpu_api *api, gpu_stream *ret_stream)
{
    add(&fake_of(api)->streams, 1);
    *ret_stream = (gpu_stream)api;
    return 0;
}
static int fake_stream_free(const struct gpu_api *api, gpu_stream stream)
{
    (void)stream;
    add(&fake_of(api)->streams, -1);
    return 0;
}
static int fake_module_load(const struct gpu_api *api, const void *image, gpu_module *ret_module)
{
    (void)image;
    if (fake_of(api)->load_code != 0)
        return fake_of(api)->load_code;
    add(&fake_of(api)->modules, 1);
    *ret_module = (gpu_module)api;
    return 0;
}
static int fake_module_unload(const struct gpu_api *api, gpu_module module)
{
    (void)module;
    add(&fake_of(api)->modules, -1);
    return 0;
}
static int fake_module_function(const struct gpu_api *api, gpu_module module, const char *name,
                                gpu_function *ret_function)
{
    (void)api;
    (void)module;
    if (strcmp(name, "berth_product") == 0)
        return 500;
    *ret_function = (gpu_function)name;
    if (strcmp(name, "berth_copy_u12") == 0)
        *ret_function = (gpu_function)(uintptr_t)12;
    return 0;
}

/* More accesses of a thread take more registers; of one kernel nothing is said. */
static int fake_function_threads(const struct gpu_api *api, gpu_function function, int *ret_most)
{
    (void)api;
    if ((uintptr_t)function == 12)
        return 500;
    *ret_most = strcmp((const char *)function, "berth_copy_u16") == 0 ? 512 : 1024;
    return 0;
}

struct world {
    struct fake fake;
    struct gpu_api api;
    struct gpu_node node;
    struct probe_why why;
};

/* Not in the order of their addresses; all reach all, but 0 and 1 each other. */
static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->fake = (struct fake){
        .pci = {"0000:c1:00.0", "0000:41:00.0", "10000:01:00.0", "0000:81:00.0"}, .count = DEVICES};
    for (int i = 0; i < DEVICES; i++)
        for (int j = 0; j < DEVICES; j++)
            world->fake.reaches[i][j] = i + j != 1;
    world->api = (struct gpu_api){
        .name = "fake",
        .library = "libfake.so",
        .takes_cuda = true,
        .is_standin = true,
        .calls = &world->fake,
        .text = fake_text,
        .init = fake_init,
        .count = fake_count,
        .attribute = fake_attribute,
        .device_name = fake_name,
        .device_uuid = fake_uuid,
        .device_pci = fake_pci,
        .device_bytes = fake_bytes,
        .open = fake_open,
        .close = fake_close,
        .enter = fake_enter,
        .can_access = fake_can_access,
        .access_peer = fake_access_peer,
        .stream_new = fake_stream_new,
        .stream_free = fake_stream_free,
        .module_load = fake_module_load,
        .module_unload = fake_module_unload,
        .module_function = fake_module_function,
        .function_threads = fake_function_threads,
    };
    *state = world;
    return 0;
}
static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void assert_nothing_left(struct world *world)
{
    gpu_node_close(&world->node);
    assert_int_equal(world->fake.contexts, 0);
    assert_int_equal(world->fake.streams, 0);
    assert_int_equal(world->fake.modules, 0);
}

static void test_all_in_order(void **state)
{
    struct world *world = *state;
    struct gpu_node *node = &world->node;
    assert_true(gpu_node_open(&world->api, "", NULL, NULL, node, &world->why));
    static const char *const names[] = {"0000:41:00.0", "0000:81:00.0", "0000:c1:00.0",
                                        "10000:01:00.0"};
    static const int numbers[] = {1, 3, 0, 2};
    assert_int_equal(node->device_count, DEVICES);
    for (int i = 0; i < DEVICES; i++) {
        assert_true(node->device[i].usable);
        assert_string_equal(node->device[i].name, names[i]);
        assert_int_equal(node->device[i].api_device, numbers[i]);
        assert_int_equal(node->device[i].attribute[GPU_ATTRIBUTE_MULTIPROCESSORS],
                         100 + numbers[i]);
        assert_int_equal(node->device[i].attribute[GPU_ATTRIBUTE_L2_BYTES], 0);
        assert_int_equal(node->device[i].attribute[GPU_ATTRIBUTE_HOST_NUMA], -1);
        for (int j = 0; j < DEVICES; j++) {
            bool expected = i != j && numbers[i] + numbers[j] != 1;
            assert_int_equal(node->device[i].access[j], expected);
            assert_int_equal(world->fake.reached[numbers[i]][numbers[j]], expected);
        }
    }
    assert_int_equal(world->fake.contexts, DEVICES);
    assert_int_equal(world->fake.streams, DEVICES * GPU_STREAMS);
    assert_true(node->numa_count > 0);
    assert_true(gpu_node_enter(node, 3, NULL));
    assert_int_equal(entered, 2);
    assert_nothing_left(world);
}

static void test_one_that_does_not_open_is_kept(void **state)
{
    struct world *world = *state;
    world->fake.open_code[3] = 46;
    assert_true(gpu_node_open(&world->api, "", NULL, NULL, &world->node, &world->why));
    assert_int_equal(world->node.device_count, DEVICES);
    assert_false(world->node.device[1].usable);
    assert_string_equal(world->node.device[1].why.text, "opening it: device busy");
    for (int i = 0; i < DEVICES; i++)
        assert_false(world->node.device[i].access[1]);
    assert_int_equal(world->fake.contexts, DEVICES - 1);
    assert_nothing_left(world);
}

static void test_only_the_wanted_are_opened(void **state)
{
    struct world *world = *state;
    static const char *const wanted[] = {"GPU-C", "00000000:81:00.0", "0000:07:00.0", NULL};
    assert_true(gpu_node_open(&world->api, "", wanted, NULL, &world->node, &world->why));
    assert_int_equal(world->node.device_count, 3);
    assert_string_equal(world->node.device[0].name, "0000:07:00.0");
    assert_false(world->node.device[0].usable);
    assert_string_equal(world->node.device[0].why.text, "the driver does not list it");
    assert_int_equal(world->node.device[1].api_device, 3);
    assert_int_equal(world->node.device[2].api_device, 2);
    assert_int_equal(world->fake.contexts, 2);
    assert_true(world->node.device[1].access[2]);
    assert_nothing_left(world);
    static const char *const nobody[] = {"GPU-x", NULL};
    world->node.device_count = -7;
    assert_false(gpu_node_open(&world->api, "", nobody, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text, "the driver has no GPU \"GPU-x\"");
    assert_int_equal(world->node.device_count, -7);
}

static void test_those_left_out_are_not_touched(void **state)
{
    struct world *world = *state;
    static const char *const without[] = {"GPU-C", "0000:41:00.0", NULL};
    assert_true(gpu_node_open(&world->api, "", NULL, without, &world->node, &world->why));
    assert_int_equal(world->node.device_count, DEVICES - 2);
    for (int i = 0; i < world->node.device_count; i++)
        assert_string_not_equal(world->node.device[i].name, "0000:41:00.0");
    assert_int_equal(world->fake.contexts, DEVICES - 2);
    assert_nothing_left(world);
    static const char *const all[] = {"0000:41:00.0", "0000:81:00.0", "0000:c1:00.0",
                                      "10000:01:00.0", NULL};
    assert_false(gpu_node_open(&world->api, "", NULL, all, &world->node, &world->why));
    assert_string_equal(world->why.text, "every GPU is to be left out");
}

static void test_partitions_with_one_address(void **state)
{
    struct world *world = *state;
    world->fake.pci[3] = "0000:41:00.0";
    assert_true(gpu_node_open(&world->api, "", NULL, NULL, &world->node, &world->why));
    assert_true(world->node.device[0].usable);
    assert_int_equal(world->node.device[0].api_device, 1);
    assert_false(world->node.device[1].usable);
    assert_string_equal(world->node.device[1].why.text,
                        "another device has its PCI address, as partitions of a GPU may");
    assert_nothing_left(world);
}

static void test_kernels(void **state)
{
    struct world *world = *state;
    if (gpu_image_built(&world->api, NULL) == NULL)
        skip();
    assert_true(gpu_node_open(&world->api, "", NULL, NULL, &world->node, &world->why));
    const struct gpu_device *device = &world->node.device[0];
    assert_string_equal(world->node.kernels_why.text, "");
    assert_non_null(device->kernel[GPU_KERNEL_GATE]);
    assert_null(device->kernel[GPU_KERNEL_PRODUCT]); /* its image has none */
    assert_ptr_equal(gpu_node_stream_kernel(device, GPU_KERNEL_COPY, 12),
                     (gpu_function)(uintptr_t)12);
    assert_null(gpu_node_stream_kernel(device, GPU_KERNEL_COPY, 3));
    static const struct gpu_shape wide = {1024, 1, 16}, half = {512, 1, 16}, few = {1024, 1, 8},
                                  unknown = {1024, 1, 12}, none = {32, 1, 3};
    assert_false(gpu_node_stream_fits(device, GPU_KERNEL_COPY, &wide));
    assert_true(gpu_node_stream_fits(device, GPU_KERNEL_COPY, &half));
    assert_true(gpu_node_stream_fits(device, GPU_KERNEL_READ, &wide)); /* the limit is the copy's */
    assert_true(gpu_node_stream_fits(device, GPU_KERNEL_COPY, &few));
    /* nothing is said of it */
    assert_true(gpu_node_stream_fits(device, GPU_KERNEL_COPY, &unknown));
    assert_false(gpu_node_stream_fits(device, GPU_KERNEL_COPY, &none));
    assert_nothing_left(world);
}

/* No image fits and nothing compiles one, for this architecture is 0.0: devices can be used all the
 * same. */
static void test_no_kernels(void **state)
{
    struct world *world = *state;
    world->fake.load_code = 209;
    assert_true(gpu_node_open(&world->api, "", NULL, NULL, &world->node, &world->why));
    for (int i = 0; i < DEVICES; i++) {
        assert_true(world->node.device[i].usable);
        assert_null(world->node.device[i].kernel[GPU_KERNEL_GATE]);
    }
    assert_memory_equal(world->node.kernels_why.text, "0000:41:00.0: ", 14);
    assert_null(world->node.compiler);
    if (gpu_image_built(&world->api, NULL) != NULL)
        assert_non_null(strstr(world->node.kernels_why.text, "no image for the device"));
    assert_nothing_left(world);
}

static void test_runtimes_that_do_not_start(void **state)
{
    struct world *world = *state;
    world->fake.init_code = 2;
    assert_false(gpu_node_open(&world->api, "/nonexistent", NULL, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text, "libfake.so: out of memory");
    world->fake.init_code = 100;
    assert_false(gpu_node_open(&world->api, "/nonexistent", NULL, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text, "libfake.so: there is no GPU");
    world->fake.init_code = 0;
    world->fake.count = 0;
    assert_false(gpu_node_open(&world->api, "/nonexistent", NULL, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text, "libfake.so: there is no GPU");
    world->fake.count = -100; /* as HIP says it */
    assert_false(gpu_node_open(&world->api, "/nonexistent", NULL, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text, "libfake.so: there is no GPU");
    world->fake.count = -2;
    assert_false(gpu_node_open(&world->api, "/nonexistent", NULL, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text, "libfake.so does not count its devices: out of memory");
    world->fake.init_code = 802;
    assert_false(gpu_node_open(&world->api, "/nonexistent", NULL, NULL, &world->node, &world->why));
    assert_string_equal(world->why.text,
                        "libfake.so: some error: is nvidia-fabricmanager running?");
}

static void test_numa_nodes(void **state)
{
    struct world *world = *state;
    char root[TREE_SIZE], command[128];
    int numbers[GPU_NUMAS_MAX];
    tree_make(root);
    assert_int_equal(gpu_numa_list(root, numbers, GPU_NUMAS_MAX), 1);
    assert_int_equal(numbers[0], 0);
    tree_put(root, "/sys/devices/system/node/has_memory", "0-3,8-9\n");
    tree_put(root, "/sys/bus/pci/devices/0000:41:00.0/numa_node", "2\n");
    tree_put(root, "/sys/bus/pci/devices/0000:81:00.0/numa_node", "-1\n");
    assert_int_equal(gpu_numa_list(root, numbers, GPU_NUMAS_MAX), 6);
    assert_int_equal(gpu_numa_list(root, numbers, 3), 3);
    tree_put(root, "/proc/self/status",
             "Name:\tx\nMems_allowed:\t00000302\nMems_allowed_list:\t1,8-9\nThreads:\t1\n");
    assert_int_equal(gpu_numa_list(root, numbers, GPU_NUMAS_MAX), 3);
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[2], 9);
    /* The host's memory is not where a device says that its own is. */
    assert_true(gpu_node_open(&world->api, root, NULL, NULL, &world->node, &world->why));
    assert_int_equal(world->node.numa_count, 2);
    assert_int_equal(world->node.numa[1], 8);
    assert_int_equal(world->node.device[0].attribute[GPU_ATTRIBUTE_HOST_NUMA], 2);
    assert_int_equal(world->node.device[1].attribute[GPU_ATTRIBUTE_HOST_NUMA], -1);
    assert_string_equal(world->node.closed.text, "");
    assert_nothing_left(world);
    /* One GPU is closed to us, so the driver does not list it. */
    tree_put(root, "/dev/dri/renderD135", "");
    snprintf(command, sizeof command, "chmod -R a+rX %s && chmod 0 %s/dev/dri/renderD135", root,
             root);
    /* NOLINTNEXTLINE(cert-env33-c): of a folder that this test made */
    assert_int_equal(system(command), 0);
    bool is_root = geteuid() == 0;
    world->api.name = "hip";
    assert_int_equal(is_root ? seteuid(NOBODY) : 0, 0);
    bool is_open = gpu_node_open(&world->api, root, NULL, NULL, &world->node, &world->why);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    assert_true(is_open);
    assert_memory_equal(world->node.closed.text, "/dev/dri/renderD135 is closed to this process",
                        45);
    assert_nothing_left(world);
    tree_remove(root);
}

/* One CPU of each core, of those that this process may run on. */
static void test_numa_cores(void **state)
{
    char root[TREE_SIZE], text[64];
    int allowed[2] = {-1, -1}, cpus[8], count = 0;
    cpu_set_t set;
    (void)state;
    tree_make(root);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET(i, &set))
            allowed[count++] = i;
    assert_int_equal(gpu_numa_cores(root, 3, cpus, 8), 0);
    snprintf(text, sizeof text, "%d-%d,4000\n", allowed[0], allowed[count - 1]);
    tree_put(root, "/sys/devices/system/node/node3/cpulist", text);
    assert_int_equal(gpu_numa_cores(root, 2, cpus, 8), 0);
    assert_int_equal(gpu_numa_cores(root, 3, cpus, 8), count);
    assert_int_equal(gpu_numa_cores(root, 3, cpus, 1), 1);
    assert_int_equal(cpus[0], allowed[0]);
    assert_true(count == 1 || cpus[count - 1] == allowed[1]);
    char name[96];
    snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             allowed[0]);
    tree_put(root, name, text);
    assert_int_equal(gpu_numa_cores(root, 3, cpus, 8), 1);
    tree_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_does_not_open_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_the_wanted_are_opened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_those_left_out_are_not_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_partitions_with_one_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kernels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_kernels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_runtimes_that_do_not_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numa_nodes, set_up, tear_down),
        cmocka_unit_test(test_numa_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
