/* berth_copy on virtual gpus, whose advice is written here: bytes, the order of streams, advice
 * that makes no sense, and a driver or a daemon that fails. */
#include "gpu_scene.h"

#define ROOM (40 * MIB)

#define PART(mechanism, via, share, chunk)                                                         \
    "{\"mechanism\":\"" mechanism "\",\"via\":" via ",\"fraction\":" share                         \
    ",\"chunk_bytes\":" chunk "}"
#define HALF  PART("copy_engine", "[]", "0.5", "null") ","
#define SPLIT HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "1048576")

static void say_route(struct scene *scene, const char *segments)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{\"options\":[{\"segments\":[%s],\"environment\":{},\"needs_restart\":false,"
             "\"may_lead\":true,\"worth_measuring\":null,\"call\":\"c\","
             "\"predicted\":{\"time_ns\":1000,\"low_ns\":null,\"high_ns\":null,\"bottleneck\":null,"
             "\"source\":\"measured\"},\"evidence\":[]}],\"crossovers\":[],\"b80_bytes\":null,"
             "\"reasons\":[],\"warnings\":[],"
             "\"basis\":{\"snapshot\":\"s\",\"claims\":\"0\",\"origin\":\"standin\"}}",
             segments);
    say(scene, text);
}

static char *pinned(const struct lib_driver *driver)
{
    char *memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 0, ROOM);
    CHECK(driver->host_register(memory, ROOM, 3) == 0);
    return memory;
}

static char *device_memory(struct lib_driver *driver, int device)
{
    void *memory;
    CHECK(lib_driver_enter(driver, device) == 0 && driver->alloc(&memory, ROOM) == 0);
    return memory;
}

static void (*copying)(struct scene *);

/* Gives a test memory, a stream of gpu0, and a copier. */
static void with_memory(struct scene *scene)
{
    struct lib_driver *driver = scene->driver;
    scene->second = device_memory(driver, 1);
    scene->device = device_memory(driver, 0);
    CHECK(driver->stream_new(&scene->stream, 1) == 0);
    scene->host = pinned(driver);
    scene->back = pinned(driver);
    CHECK(berth_copier_new(scene->berth, &scene->copier) == BERTH_DONE);
    copying(scene);
    berth_copier_free(scene->copier);
    driver->host_unregister(scene->host);
    driver->host_unregister(scene->back);
    munmap(scene->host, ROOM);
    munmap(scene->back, ROOM);
    driver->free(scene->device);
    driver->free(scene->second);
    driver->stream_free(scene->stream);
}

static void on(const char *api, const char *node, const char *lines, void (*test)(struct scene *))
{
    copying = test;
    run(api, node, lines, with_memory);
}

static void on_cuda(const char *lines, void (*test)(struct scene *))
{
    on("cuda", "h200x4", lines, test);
}

/* ---- bytes ---- */

/* Bytes that differ in each place and for each seed. */
static void fill(char *memory, size_t bytes, unsigned seed)
{
    uint64_t state = seed + 1;
    for (size_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memory[i] = (char)(state >> 56);
    }
}

static int copy(struct scene *scene, void *to, const void *from, size_t bytes)
{
    return berth_copy(scene->copier, to, from, bytes, scene->stream);
}

static void plain(struct scene *scene, void *to, const void *from, size_t bytes)
{
    CHECK(lib_driver_copy(scene->driver, to, from, bytes, scene->stream) == 0);
}

static void wait_for(struct scene *scene) { CHECK(scene->driver->stream_wait(scene->stream) == 0); }

static bool is_how(const struct scene *scene, const char *part)
{
    return strstr(berth_copy_how(scene->copier), part) != NULL;
}

/* To the gpu by berth_copy, and back by it. The byte behind stays. */
static void arrives(struct scene *scene, size_t bytes, unsigned seed)
{
    memset(scene->host, 0, ROOM);
    memset(scene->back, 0, ROOM);
    plain(scene, scene->device, scene->host, ROOM);
    fill(scene->host, bytes, seed);
    CHECK(copy(scene, scene->device, scene->host, bytes) == BERTH_DONE);
    plain(scene, scene->back, scene->device, bytes + 1);
    wait_for(scene);
    CHECK(memcmp(scene->back, scene->host, bytes + 1) == 0);
    memset(scene->back, 0, bytes);
    CHECK(copy(scene, scene->back, scene->device, bytes) == BERTH_DONE);
    wait_for(scene);
    CHECK(memcmp(scene->back, scene->host, bytes + 1) == 0);
}

static void sizes(struct scene *scene)
{
    static const size_t small[] = {0, 1, 4095, 4096, 4097, MIB, 4 * MIB - 1};
    static const size_t large[] = {4 * MIB, 4 * MIB + 1, 7 * MIB + 12345, 33 * MIB + 4097};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        arrives(scene, small[i], (unsigned)i);
        CHECK(is_how(scene, "one copy: too small to gain"));
    }
    CHECK(scene->daemon.questions == 0);
    say_node(scene);
    for (int i = 0; i < 4; i++) /* two classes, two directions */
        say_route(scene, SPLIT);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        arrives(scene, large[i], 100 + (unsigned)i);
        CHECK(is_how(scene, "50.0 % through gpu1 in pieces"));
    }
    CHECK(scene->daemon.questions == 5 && scene->daemon.routes == 4);
}

static void bytes_arrive(void **state)
{
    (void)state;
    on_cuda("", sizes);
    on("hip", "mi250x", "", sizes);
}

/* From gpu0 to gpu1 over the host, over another gpu, and over two. */
static void between_gpus(struct scene *scene)
{
    size_t bytes = 5 * MIB + 3;
    say_node(scene);
    say_route(scene,
              PART("host", "[\"numa0\"]", "0.25", "262144") "," PART(
                  "copy_engine", "[\"gpu2\"]", "0.25",
                  "131072") "," PART("copy_engine", "[\"gpu2\",\"gpu3\"]", "0.25",
                                     "131072") "," PART("copy_engine", "[]", "0.25", "null"));
    for (unsigned turn = 0; turn < 2; turn++) {
        fill(scene->host, bytes, turn);
        memset(scene->back, 0, ROOM);
        plain(scene, scene->device, scene->host, bytes);
        CHECK(copy(scene, scene->second, scene->device, bytes) == BERTH_DONE);
        CHECK(is_how(scene, "25.0 % through gpu2 through gpu3"));
        plain(scene, scene->back, scene->second, bytes);
        wait_for(scene);
        CHECK(memcmp(scene->back, scene->host, bytes) == 0);
    }
}

static void bytes_arrive_over_several_memories(void **state)
{
    (void)state;
    on_cuda("", between_gpus);
}

/* ---- order ---- */

/* The source is written by earlier work in the stream, and the target read by later work, the short
 * one first. Two copies at once share the memory between. */
static void ordered(struct scene *scene)
{
    size_t bytes = 8 * MIB;
    char *first = scene->host, *source = first + bytes, *other = source + bytes;
    void *own = scene->stream;
    say_node(scene);
    say_route(scene, SPLIT);
    for (int is_default = 0; is_default < 2; is_default++) {
        scene->stream = is_default ? NULL : own;
        fill(first, bytes, 1);
        memset(source, 0, bytes);
        fill(other, bytes, 2);
        memset(scene->back, 0, ROOM);
        plain(scene, scene->device, scene->back, 2 * bytes);
        plain(scene, scene->device + 2 * bytes, first, bytes);
        wait_for(scene);
        plain(scene, source, scene->device + 2 * bytes, bytes);
        CHECK(copy(scene, scene->device, source, bytes) == BERTH_DONE);
        CHECK(copy(scene, scene->device + bytes, other, bytes) == BERTH_DONE);
        CHECK(is_how(scene, "through gpu1"));
        plain(scene, scene->back + 2 * bytes, scene->device + 2 * bytes - 4096, 4096);
        plain(scene, scene->back, scene->device, 2 * bytes);
        plain(scene, source, scene->device + bytes, bytes);
        wait_for(scene);
        CHECK(memcmp(scene->back, first, bytes) == 0);
        CHECK(memcmp(scene->back + bytes, other, bytes) == 0);
        CHECK(memcmp(scene->back + 2 * bytes, other + bytes - 4096, 4096) == 0);
        CHECK(memcmp(source, other, bytes) == 0);
    }
    scene->stream = own;
}

static void the_order_of_the_stream_holds(void **state)
{
    (void)state;
    on_cuda("", ordered);
    on("hip", "mi250x", "", ordered);
}

/* ---- advice that makes no sense ---- */

static void advised_of(struct scene *scene, const char *gpu, const char *segments, const char *how)
{
    static unsigned seed;
    struct berth_copier *before = scene->copier;
    CHECK(berth_copier_new(scene->berth, &scene->copier) == BERTH_DONE);
    say_node_of(scene, gpu);
    say_route(scene, segments);
    fill(scene->host, 5 * MIB, ++seed);
    CHECK(copy(scene, scene->device, scene->host, 5 * MIB) == BERTH_DONE);
    if (strncmp(berth_copy_how(scene->copier), how, strlen(how)) != 0) {
        fprintf(stderr, "%s\nis %s, not %s\n", segments, berth_copy_how(scene->copier), how);
        _exit(1);
    }
    plain(scene, scene->back, scene->device, 5 * MIB);
    wait_for(scene);
    CHECK(memcmp(scene->back, scene->host, 5 * MIB) == 0);
    berth_copier_free(scene->copier);
    scene->copier = before;
}

static void advised(struct scene *scene, const char *segments, const char *how)
{
    advised_of(scene, "gpu", segments, how);
}

/* The longest names that a place may have. */
#define LONG "of-twenty-two-letters-"

static void senseless(struct scene *scene)
{
    static const char *const wrong[] = {
        "",
        PART("copy_engine", "[]", "-1", "null"),
        PART("copy_engine", "[]", "0.5", "null"),
        PART("copy_engine", "[]", "1.5", "null") "," PART("copy_engine", "[]", "-0.5", "null"),
        HALF PART("copy_engine", "[\"gpu1\"]", "0.499", "1048576"),
        HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "null"),
        HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "0"),
        HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "1"),
        HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "32768"),
        HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "-1048576"),
        HALF PART("copy_engine", "[\"gpu0\"]", "0.5", "1048576"),
        HALF PART("copy_engine", "[\"gpu1\",\"gpu1\"]", "0.5", "1048576"),
        HALF PART("copy_engine", "[\"gpu9\"]", "0.5", "1048576"),
        HALF PART("copy_engine", "[\"numa77\"]", "0.5", "1048576"),
        HALF PART("copy_engine", "[\"\"]", "0.5", "1048576"),
        HALF PART("copy_engine", "[\"gpu1\",\"gpu2\",\"gpu3\"]", "0.5", "1048576"),
        HALF PART("kernel", "[\"gpu1\"]", "0.5", "1048576"),
        HALF PART("magic", "[\"gpu1\"]", "0.5", "1048576"),
        PART("copy_engine", "[]", "0.2", "null") "," PART(
            "copy_engine", "[]", "0.2",
            "null") "," PART("copy_engine", "[]", "0.2",
                             "null") "," PART("copy_engine", "[]", "0.2",
                                              "null") "," PART("copy_engine", "[]", "0.2", "null"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        advised(scene, wrong[i], "one copy: the daemon's advice makes no sense");
    advised(scene, PART("copy_engine", "[]", "1", "null"), "one copy: nothing known is faster");
    advised(scene, HALF PART("copy_engine", "[\"gpu1\"]", "0.5", "9223372036854775807"),
            "50.0 %, 50.0 % through gpu1 in pieces of 16777216 bytes");
    advised(scene, HALF PART("copy_engine", "[\"gpu1\"]", "\"x\"", "1048576"), "one copy: ");
    advised_of(scene, LONG,
               PART("copy_engine", "[\"" LONG "1\",\"" LONG "2\"]", "1", "9223372036854775807"),
               "100.0 % through " LONG "1 through " LONG "2 in pieces of 16777216 bytes");
}

static void senseless_advice_is_one_copy(void **state)
{
    (void)state;
    on_cuda("", senseless);
}

/* ---- failures ---- */

/* gpu1 fails for good. gpu0's stream goes on, and its own part is there. */
static void lost(struct scene *scene)
{
    say_node(scene);
    say_route(scene, SPLIT);
    fill(scene->host, 8 * MIB, 1);
    CHECK(copy(scene, scene->device, scene->host, 8 * MIB) == BERTH_ERROR_SYSTEM);
    CHECK(strcmp(berth_error_detail(scene->berth), "the copy: unspecified launch failure") == 0);
    plain(scene, scene->back, scene->device, 4 * MIB);
    wait_for(scene);
    CHECK(memcmp(scene->back, scene->host, 4 * MIB) == 0);
}

/* The second piece's first copy fails, and gpu1 goes on. What was started comes before later work
 * of the stream, which is short. */
static void failed(struct scene *scene)
{
    say_node(scene);
    say_route(scene, PART("copy_engine", "[\"gpu1\"]", "0.5",
                          "1048576") "," PART("copy_engine", "[]", "0.5", "null"));
    fill(scene->host, 8 * MIB, 1);
    CHECK(copy(scene, scene->device, scene->host, 8 * MIB) == BERTH_ERROR_SYSTEM);
    CHECK(strcmp(berth_error_detail(scene->berth), "the copy: out of memory") == 0);
    plain(scene, scene->back, scene->device + MIB - 4096, 4096);
    wait_for(scene);
    CHECK(memcmp(scene->back, scene->host + MIB - 4096, 4096) == 0);
    fill(scene->host, 8 * MIB, 2);
    CHECK(copy(scene, scene->device, scene->host, 8 * MIB) == BERTH_DONE);
    plain(scene, scene->back, scene->device, 8 * MIB);
    wait_for(scene);
    CHECK(memcmp(scene->back, scene->host, 8 * MIB) == 0);
}

/* A refused path is one copy, now and later. */
static void refused(struct scene *scene)
{
    say_node(scene);
    say_route(scene, SPLIT);
    for (unsigned turn = 0; turn < 2; turn++) {
        fill(scene->host, 8 * MIB, turn);
        CHECK(copy(scene, scene->device, scene->host, 8 * MIB) == BERTH_DONE);
        CHECK(strncmp(berth_copy_how(scene->copier), "one copy: ", 10) == 0);
        CHECK(is_how(scene, "supported") || is_how(scene, "out of memory"));
        plain(scene, scene->back, scene->device, 8 * MIB);
        wait_for(scene);
        CHECK(memcmp(scene->back, scene->host, 8 * MIB) == 0);
    }
}

/* The copy itself fails. */
static void broken(struct scene *scene)
{
    CHECK(copy(scene, scene->device, scene->host, MIB) == BERTH_ERROR_SYSTEM);
    CHECK(strcmp(berth_error_detail(scene->berth), "the copy: operation not supported") == 0);
}

static void failures_of_the_driver(void **state)
{
    (void)state;
    on_cuda("fault cuMemcpyAsync 3 1 lost\n", lost);
    on_cuda("fault cuMemcpyAsync 3 1 memory\n", failed);
    on_cuda("fault cuMemcpyAsync 3 1 unsupported\n", refused);
    on_cuda("fault cuCtxEnablePeerAccess 0 1 peer\n", refused);
    on_cuda("fault cuStreamCreate 0 1 memory\n", refused);
    on_cuda("fault cuMemAlloc_v2 2 1 memory\n", refused);
    on_cuda("fault cuEventCreate 5 1 memory\n", refused);
    on_cuda("nopeer 1 0\n", refused);
    on_cuda("fault cuMemcpyAsync 1 0 unsupported\n", broken);
}

/* No answer comes. The first copy waits for a moment, no other one at all. */
static void silent(struct scene *scene)
{
    for (size_t bytes = 4 * MIB; bytes <= 32 * MIB; bytes *= 2) {
        CHECK(copy(scene, scene->device, scene->host, bytes) == BERTH_DONE);
        CHECK(is_how(scene, bytes > 4 * MIB ? "one copy: the daemon is not asked again"
                                            : "one copy: no answer from the daemon within 2 s"));
    }
    wait_for(scene);
    CHECK(scene->daemon.questions == 1);
}

static void dead(struct scene *scene)
{
    shutdown(scene->daemon.fd, SHUT_RDWR);
    CHECK(copy(scene, scene->device, scene->host, 8 * MIB) == BERTH_DONE);
    CHECK(strncmp(berth_copy_how(scene->copier), "one copy: ", 10) == 0);
    CHECK(copy(scene, scene->device, scene->host, 32 * MIB) == BERTH_DONE);
    wait_for(scene);
}

/* The daemon has advised once, and dies: its advice stays. */
static void died(struct scene *scene)
{
    say_node(scene);
    say_route(scene, SPLIT);
    for (int turn = 0; turn < 2; turn++) {
        CHECK(copy(scene, scene->device, scene->host, 8 * MIB) == BERTH_DONE);
        CHECK(is_how(scene, "through gpu1"));
        shutdown(scene->daemon.fd, SHUT_RDWR);
    }
    wait_for(scene);
}

static void failures_of_the_daemon(void **state)
{
    (void)state;
    on_cuda("", silent);
    on_cuda("", dead);
    on_cuda("", died);
}

/* ---- memory that no advice is for ---- */

static void other_memory(struct scene *scene)
{
    void *managed;
    size_t bytes = 8 * MIB;
    char *pageable = malloc(bytes);
    CHECK(pageable != NULL && scene->driver->managed(&managed, bytes, 1) == 0);
    fill(pageable, bytes, 1);
    fill(managed, bytes, 2);
    CHECK(copy(scene, scene->device, pageable, bytes) == BERTH_DONE);
    CHECK(copy(scene, scene->device + bytes, managed, bytes) == BERTH_DONE);
    CHECK(is_how(scene, "one copy: no pinned or device memory at an end"));
    CHECK(copy(scene, scene->device + 2 * bytes, scene->device, bytes) == BERTH_DONE);
    CHECK(is_how(scene, "one copy: both ends lie in one memory"));
    plain(scene, scene->back, scene->device, 3 * bytes);
    wait_for(scene);
    CHECK(memcmp(scene->back, pageable, bytes) == 0);
    CHECK(memcmp(scene->back + bytes, managed, bytes) == 0);
    CHECK(memcmp(scene->back + 2 * bytes, pageable, bytes) == 0);
    CHECK(scene->daemon.questions == 0);
    free(pageable);
}

static void other_memory_is_one_copy(void **state)
{
    (void)state;
    on_cuda("", other_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive),
        cmocka_unit_test(bytes_arrive_over_several_memories),
        cmocka_unit_test(the_order_of_the_stream_holds),
        cmocka_unit_test(senseless_advice_is_one_copy),
        cmocka_unit_test(failures_of_the_driver),
        cmocka_unit_test(failures_of_the_daemon),
        cmocka_unit_test(other_memory_is_one_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
