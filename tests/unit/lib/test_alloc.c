/* berth_alloc on virtual gpus: each kind of memory, and what refuses it. */
#include "gpu_scene.h"

#include "lib/pages.h"

#define BYTES ((int64_t)3 << 20)

static void say_option(struct scene *scene, const char *memory, const char *kind, const char *room)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"options\":[{\"memory\":\"%s\",\"kind\":\"%s\",\"call\":\"c\",\"predicted\":null,"
        "\"setup_ns\":null,\"free_bytes\":%s,\"free_at_s\":null,\"evidence\":[]}],\"reasons\":[],"
        "\"warnings\":[],"
        "\"basis\":{\"snapshot\":\"s\",\"claims\":\"0\",\"origin\":\"standin\"}}",
        memory, kind, room);
    say(scene, text);
}

static int alloc(struct scene *scene, struct berth_buffer **ret_buffer)
{
    struct berth_access access = {.by = "gpu1", .reads_bytes = BYTES};
    struct berth_allocate_request request;
    struct lib_driver_place before, after;
    berth_allocate_request_init(&request);
    request.bytes = BYTES;
    request.accesses = &access;
    request.access_count = 1;
    request.whole_node = 1;
    CHECK(lib_driver_save(scene->driver, &before) == 0);
    int status = berth_alloc(scene->berth, &request, ret_buffer);
    CHECK(lib_driver_save(scene->driver, &after) == 0);
    CHECK(before.context == after.context && before.device == after.device);
    return status;
}

/* Gets memory that the driver calls so, and gives it back. */
static void gets(struct scene *scene, const char *memory, const char *kind, const char *how,
                 enum lib_memory expected, int expected_device)
{
    struct berth_buffer *buffer = NULL;
    int device = -1;
    say_option(scene, memory, kind, "null");
    if (strcmp(kind, "system") != 0)
        say_node(scene);
    CHECK(alloc(scene, &buffer) == BERTH_DONE);
    CHECK(strcmp(buffer->how, how) == 0);
    CHECK(strcmp(buffer->allocation->options[0].memory, memory) == 0 && buffer->bytes == BYTES);
    void *data = buffer->data;
    CHECK(lib_driver_memory(scene->driver, data, &device) == expected);
    CHECK(device == expected_device);
    if (expected != LIB_MEMORY_DEVICE)
        memset(data, 1, (size_t)BYTES);
    berth_buffer_free(buffer);
    CHECK(lib_driver_memory(scene->driver, data, &device) == LIB_MEMORY_OTHER);
}

static void on_cuda(struct scene *scene)
{
    CHECK(lib_driver_enter(scene->driver, 0) == 0); /* a context of the program's */
    gets(scene, "numa0", "system", "mmap, mbind to numa0", LIB_MEMORY_OTHER, -1);
    gets(scene, "numa0", "pinned", "mmap, mbind to numa0, cuMemHostRegister", LIB_MEMORY_PINNED,
         -1);
    CHECK(lib_driver_enter(scene->driver, 1) == 0 && lib_driver_enter(scene->driver, 0) == 0);
    gets(scene, "gpu1", "device", "cuMemAlloc on device 1", LIB_MEMORY_DEVICE, 1);
    gets(scene, "gpu1", "managed", "cuMemAllocManaged, cuMemAdvise to gpu1", LIB_MEMORY_OTHER, -1);
    gets(scene, "numa0", "managed",
         "cuMemAllocManaged, cuMemAdvise to the host, first touched on numa0", LIB_MEMORY_OTHER,
         -1);
}

static void on_hip(struct scene *scene)
{
    gets(scene, "numa0", "pinned", "mmap, mbind to numa0, hipHostRegister", LIB_MEMORY_PINNED, -1);
    gets(scene, "gpu2", "device", "hipMalloc on device 2", LIB_MEMORY_DEVICE, 2);
}

static void each_kind(void **state)
{
    (void)state;
    run("cuda", "h200x4", "", on_cuda);
    run("hip", "mi250x", "", on_hip);
}

/* Fails with these words, and gets nothing. */
static void refuses(struct scene *scene, const char *memory, const char *kind, const char *room,
                    int status, const char *detail)
{
    struct berth_buffer *buffer = NULL;
    say_option(scene, memory, kind, room);
    if (strcmp(kind, "system") != 0 && strcmp(kind, "new") != 0 && strcmp(room, "null") == 0)
        say_node(scene);
    CHECK(alloc(scene, &buffer) == status);
    if (strcmp(berth_error_detail(scene->berth), detail) != 0) {
        fprintf(stderr, "%s, not %s\n", berth_error_detail(scene->berth), detail);
        _exit(1);
    }
    CHECK(buffer == NULL);
}

static void senseless(struct scene *scene)
{
    refuses(scene, "numa0", "pinned", "3145727", BERTH_ERROR_NOT_ENOUGH,
            "numa0 has 3145727 bytes free of 3145728");
    refuses(scene, "numa0", "new", "null", BERTH_ERROR_SYSTEM,
            "memory of numa0 in a kind that this version cannot make: c");
    refuses(scene, "gpu0", "system", "null", BERTH_ERROR_SYSTEM,
            "memory of gpu0 in a kind that this version cannot make: c");
    refuses(scene, "gpu9", "device", "null", BERTH_ERROR_SYSTEM,
            "the driver shows no gpu9 to this process");
}

static void no_memory(struct scene *scene)
{
    refuses(scene, "gpu1", "device", "null", BERTH_ERROR_SYSTEM,
            "cuMemAlloc of 3145728 bytes for gpu1: out of memory");
    refuses(scene, "numa0", "pinned", "null", BERTH_ERROR_SYSTEM,
            "cuMemHostRegister of 3145728 bytes for numa0: out of memory");
    refuses(scene, "numa0", "managed", "null", BERTH_ERROR_SYSTEM,
            "cuMemAdvise of 3145728 bytes for numa0: operation not supported");
}

static void refusals(void **state)
{
    (void)state;
    run("cuda", "h200x4", "", senseless);
    run("cuda", "h200x4",
        "fault cuMemAlloc_v2 1 1 memory\nfault cuMemHostRegister_v2 1 1 memory\n"
        "fault cuMemAdvise 1 1 unsupported\n",
        no_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
