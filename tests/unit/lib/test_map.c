/* berth_map against daemons that pass no file, other files, or wrong ones: none ends the program,
 * no descriptor is left, and the next call works. */
#include "unit/lib/map_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/lib.h"

/* A map of two memories and a core: 1000 ns and 1 ns a byte from gpu0 to numa0, from 1 MiB on by
 * kernel. */
struct block {
    struct map_header header;
    struct map_place place[3];
    int32_t nearest[3][MAP_KINDS];
    uint32_t pair[6];
    struct map_piece piece[3];
};

static struct block good(void)
{
    struct block block = {.header = {.magic = "berthma",
                                     .layout = MAP_LAYOUT,
                                     .place_count = 3,
                                     .bytes = sizeof block,
                                     .generation = 1,
                                     .snapshot = "12345678-1",
                                     .memory_count = 2,
                                     .piece_count = 3,
                                     .places_at = offsetof(struct block, place),
                                     .nearest_at = offsetof(struct block, nearest),
                                     .pairs_at = offsetof(struct block, pair),
                                     .pieces_at = offsetof(struct block, piece)},
                          .place = {{.name = "core0", .memory = -1},
                                    {.name = "numa0", .memory = 0},
                                    {.name = "gpu0", .memory = 1}},
                          .nearest = {{1, 1, -1, -1}, {1, 1, 1, -1}, {-1, 1, 1, 2}},
                          .pair = {0, 0, 1, 3, 3},
                          .piece = {{1, NAN, NAN, MAP_COPY_ENGINE, BERTH_SOURCE_LOWER_BOUND, {0}},
                                    {1, 1001, 1, MAP_COPY_ENGINE, BERTH_SOURCE_MEASURED, {0}},
                                    {1 << 20, 5000, 0.5, MAP_KERNEL, BERTH_SOURCE_NOMINAL, {0}}}};
    memcpy(block.header.magic, MAP_MAGIC, sizeof block.header.magic);
    return block;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static struct berth_map *opened(const struct block *block)
{
    return map_files_open((const char *)block, sizeof *block);
}

static void look_ups_give_what_the_file_has(void **state)
{
    (void)state;
    struct block block = good();
    struct berth_map *map = opened(&block);
    assert_non_null(map);
    int core = berth_map_place(map, "core0"), numa = berth_map_place(map, "numa0"),
        gpu = berth_map_place(map, "gpu0");
    assert_int_equal(berth_map_place(map, "gpu1"), -1);
    assert_string_equal(berth_map_place_name(map, gpu), "gpu0");
    assert_null(berth_map_place_name(map, 3));
    assert_null(berth_map_place_name(map, -1));
    assert_string_equal(berth_map_snapshot(map), "12345678-1");
    assert_int_equal(berth_map_nearest_memory(map, core, BERTH_KIND_PINNED), numa);
    assert_int_equal(berth_map_nearest_memory(map, core, BERTH_KIND_DEVICE), -1);
    assert_int_equal(berth_map_nearest_memory(map, gpu, BERTH_KIND_DEVICE), gpu);
    assert_int_equal(berth_map_nearest_memory(map, gpu, BERTH_KIND_UNKNOWN), -1);
    assert_int_equal(berth_map_nearest_memory(map, gpu, (enum berth_memory_kind)5), -1);
    assert_int_equal(berth_map_nearest_memory(map, 3, BERTH_KIND_DEVICE), -1);
    assert_float_equal(berth_map_transfer_ns(map, gpu, numa, 1), 1001, 1e-9);
    assert_float_equal(berth_map_transfer_ns(map, gpu, numa, 4096), 5096, 1e-9);
    assert_float_equal(berth_map_transfer_ns(map, gpu, numa, 3 << 20), 5000 + (1 << 20), 1e-9);
    assert_int_equal(berth_map_mechanism(map, gpu, numa, 4096), BERTH_MECHANISM_COPY_ENGINE);
    assert_int_equal(berth_map_mechanism(map, gpu, numa, INT64_MAX), BERTH_MECHANISM_KERNEL);
    assert_int_equal(berth_map_source(map, gpu, numa, 4096), BERTH_SOURCE_MEASURED);
    assert_true(isnan(berth_map_transfer_ns(map, numa, gpu, 4096)));
    assert_int_equal(berth_map_source(map, numa, gpu, 4096), BERTH_SOURCE_LOWER_BOUND);
    const struct {
        int from, to;
        int64_t bytes;
    } none[] = {{gpu, gpu, 1},
                {core, gpu, 1},
                {gpu, -1, 1},
                {3, gpu, 1},
                {gpu, numa, 0},
                {gpu, numa, -1},
                {INT32_MIN, INT32_MAX, INT64_MIN}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_true(isnan(berth_map_transfer_ns(map, none[i].from, none[i].to, none[i].bytes)));
        assert_int_equal(berth_map_mechanism(map, none[i].from, none[i].to, none[i].bytes),
                         BERTH_MECHANISM_DEFAULT);
        assert_int_equal(berth_map_source(map, none[i].from, none[i].to, none[i].bytes),
                         BERTH_SOURCE_UNKNOWN);
    }
    berth_map_close(map);
    berth_map_close(NULL);
}

/* Each member of the header, and each number that points somewhere, out of bounds. */
static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    struct block block;
    size_t before = open_files();
#define REFUSED(...)                                                                               \
    do {                                                                                           \
        block = good();                                                                            \
        __VA_ARGS__;                                                                               \
        assert_null(opened(&block));                                                               \
    } while (0)
    REFUSED(block.header.magic[7] = 'x');
    REFUSED(block.header.layout++);
    REFUSED(block.header.bytes++);
    REFUSED(memset(block.header.snapshot, 'x', sizeof block.header.snapshot));
    uint64_t *const offset[] = {&block.header.places_at, &block.header.nearest_at,
                                &block.header.pairs_at, &block.header.pieces_at};
    const uint64_t wild[] = {UINT64_MAX,       UINT64_MAX - 7,   sizeof block,
                             sizeof block - 8, sizeof block + 8, 4,
                             INT64_MAX & ~7};
    for (size_t i = 0; i < 4; i++)
        for (size_t w = 0; w < sizeof wild / sizeof *wild; w++)
            REFUSED(*offset[i] = wild[w]);
    uint32_t *const count[] = {&block.header.place_count, &block.header.memory_count,
                               &block.header.piece_count};
    const uint32_t many[] = {1000, 0x10000, 0x80000000, UINT32_MAX};
    for (size_t i = 0; i < 3; i++)
        for (size_t m = 0; m < 4; m++)
            REFUSED(*count[i] = many[m]);
    REFUSED(memset(block.place[1].name, 'x', sizeof block.place[1].name));
    REFUSED(block.place[1].memory = 2);
    REFUSED(block.place[1].memory = -2);
    REFUSED(block.place[1].memory = INT32_MIN);
    REFUSED(block.nearest[2][3] = 3);
    REFUSED(block.nearest[2][3] = INT32_MIN);
    REFUSED(block.pair[4] = 4);
    REFUSED(block.pair[2] = UINT32_MAX);
    REFUSED(block.pair[1] = 2);
    REFUSED(block.piece[2].from_bytes = 0);
    REFUSED(block.piece[0].from_bytes = INT64_MIN);
#undef REFUSED
    assert_int_equal(open_files(), before);
}

/* Any 4 bytes of the file: what is not refused is looked up in without harm. */
static void no_damage_ends_the_program(void **state)
{
    (void)state;
    const uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX};
    for (size_t at = 0; at + 4 <= sizeof(struct block); at += 4)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct block block = good();
            memcpy((char *)&block + at, &values[v], 4);
            struct berth_map *map = opened(&block);
            if (map == NULL)
                continue;
            for (int from = -1; from < 4; from++)
                for (int to = -1; to < 4; to++) {
                    berth_map_transfer_ns(map, from, to, INT64_C(1) << (at % 63));
                    berth_map_source(map, from, to, 4096);
                    berth_map_nearest_memory(map, from, (enum berth_memory_kind)to);
                    berth_map_place_name(map, to);
                }
            berth_map_place(map, "gpu0");
            berth_map_close(map);
        }
}

/* As many words as chance has it, of any value. */
static void no_random_damage_does(void **state)
{
    (void)state;
    uint64_t random = 1;
    size_t opened_count = 0;
    for (int i = 0; i < 3000; i++) {
        struct block block = good();
        for (size_t words = 1 + (size_t)i % 4; words > 0; words--) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            size_t at = (random >> 20) % (sizeof block / 8) * 8;
            uint64_t value = (random >> 60) < 8 ? random >> 40 : (random >> 33) % 5 - 1;
            memcpy((char *)&block + at, &value, (random >> 18) % 2 ? 8 : 2);
        }
        struct berth_map *map = opened(&block);
        opened_count += map != NULL;
        for (int from = -1; map != NULL && from < 4; from++)
            for (int to = -1; to < 4; to++) {
                berth_map_transfer_ns(map, from, to, (int64_t)random);
                berth_map_mechanism(map, from, to, INT64_C(1) << (i % 63));
                berth_map_nearest_memory(map, from, (enum berth_memory_kind)to);
            }
        berth_map_close(map);
    }
    assert_true(opened_count > 100 && opened_count < 2900);
}

/* The files of a reply: "m" the map, "p" its page, and wrong ones. */
static int file_of(char which, const struct block *block)
{
    struct berth_err err = {0};
    struct block holed = *block;
    int fd = -1;
    void *page;
    switch (which) {
    case 'm': /* good */
        assert_int_equal(sealed_copy("map", block, sizeof *block, &fd, &err), BERTH_OK);
        return fd;
    case 'p': /* good */
        page = map_files_page(1, &fd);
        munmap(page, MAP_PAGE_BYTES);
        return fd;
    case 's': /* short: a header that is cut */
        assert_int_equal(sealed_copy("map", block, sizeof block->header - 1, &fd, &err), BERTH_OK);
        return fd;
    case 'c': /* cut behind the header */
        assert_int_equal(sealed_copy("map", block, sizeof *block - 8, &fd, &err), BERTH_OK);
        return fd;
    case 'e': /* empty */
        assert_int_equal(sealed_copy("map", block, 0, &fd, &err), BERTH_OK);
        return fd;
    case 'z': /* a page of zeros */
        assert_int_equal(sealed_page("page", MAP_PAGE_BYTES, &page, &fd, &err), BERTH_OK);
        munmap(page, MAP_PAGE_BYTES);
        return fd;
    case 'b': /* big: one byte over the limit, and a hole */
        fd = memfd_create("map", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(ftruncate(fd, (off_t)MAP_BYTES_MAX + 1), 0);
        break;
    case 'h': /* a hole behind the arrays, of a file as long as it says */
        holed.header.bytes = 1 << 20;
        fd = memfd_create("map", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(write(fd, &holed, sizeof holed), sizeof holed);
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        break;
    case 'w': /* writable: without the seal */
        fd = memfd_create("map", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(write(fd, block, sizeof *block), sizeof *block);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        return fd;
    case 'u': /* unsealed */
        fd = memfd_create("map", MFD_CLOEXEC);
        assert_int_equal(write(fd, block, sizeof *block), sizeof *block);
        return fd;
    case 'f': /* a file of a disk */
        fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        return fd;
    default: /* a device */
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    }
    assert_int_equal(
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), 0);
    return fd;
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *files, *reply;
        int status;
    } cases[] = {
        {"mp", MAP_REPLY, BERTH_DONE},
        {"pm", "{\"parameters\":{\"map\":1,\"page\":0}}", BERTH_DONE},
        {"", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"m", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"mpm", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"mpmpmpmp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"pm", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"mm", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"pp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"sp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"cp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"ep", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"bp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"hp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"wp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"up", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"fp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"dp", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"mz", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"mu", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"md", MAP_REPLY, BERTH_ERROR_PROTOCOL},
        {"mp", "{\"parameters\":{}}", BERTH_ERROR_PROTOCOL},
        {"mp", "{\"parameters\":{\"map\":0,\"page\":0}}", BERTH_ERROR_PROTOCOL},
        {"mp", "{\"parameters\":{\"map\":7,\"page\":-6}}", BERTH_ERROR_PROTOCOL},
        {"mp", "{\"parameters\":{\"map\":\"0\",\"page\":1}}", BERTH_ERROR_PROTOCOL},
        {"mp", "{\"error\":\"io.berth.Fabric.Unavailable\",\"parameters\":{}}",
         BERTH_ERROR_UNAVAILABLE},
    };
    struct block block = good();
    size_t before = open_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd[8], peer;
        size_t count = strlen(cases[i].files);
        struct berth *berth = map_files_connect(&peer);
        struct berth_map *map = NULL;
        for (size_t f = 0; f < count; f++)
            assert_true((fd[f] = file_of(cases[i].files[f], &block)) >= 0);
        map_files_say(peer, cases[i].reply, strlen(cases[i].reply) + 1, fd, count);
        int status = berth_map(berth, &map);
        if (status != cases[i].status)
            fail_msg("%s with %s: %d, %s", cases[i].reply, cases[i].files, status,
                     berth_error_detail(berth));
        assert_int_equal(map != NULL, status == BERTH_DONE);
        berth_map_close(map);
        for (size_t f = 0; f < count; f++)
            close(fd[f]);
        close(peer);
        berth_free(berth);
        assert_int_equal(open_files(), before);
    }
}

/* A late reply of an earlier call has files of its own; others come where nobody asks for any. */
static void files_belong_to_their_reply(void **state)
{
    (void)state;
    static const char reply[] = MAP_REPLY, other[] = "{\"parameters\":{\"text\":\"x\"}}";
    struct block block = good(), late = good();
    strcpy(late.header.snapshot, "late");
    size_t before = open_files();
    int peer, fd[2] = {file_of('m', &block), file_of('p', &block)},
              old[2] = {file_of('m', &late), file_of('p', &late)};
    struct berth *berth = map_files_connect(&peer);
    struct berth_map *map = NULL;
    char *text = NULL;
    berth_set_timeout(berth, 0);
    assert_int_equal(berth_map(berth, &map), BERTH_ERROR_TIMED_OUT);
    assert_int_equal(berth_call(berth, "a.b.C", NULL, &text), BERTH_ERROR_TIMED_OUT);
    berth_set_timeout(berth, 5000);
    map_files_say(peer, MAP_REPLY, sizeof MAP_REPLY, old, 2);
    map_files_say(peer, other, sizeof other, NULL, 0);
    map_files_say(peer, MAP_REPLY, sizeof MAP_REPLY, fd, 2);
    assert_int_equal(berth_map(berth, &map), BERTH_DONE);
    assert_string_equal(berth_map_snapshot(map), "12345678-1");
    berth_map_close(map);

    map_files_say(peer, other, sizeof other, fd, 2);
    assert_int_equal(berth_call(berth, "a.b.C", NULL, &text), BERTH_DONE);
    free(text);
    map = NULL;
    map_files_say(peer, MAP_REPLY, sizeof MAP_REPLY, NULL, 0);
    assert_int_equal(berth_map(berth, &map), BERTH_ERROR_PROTOCOL);

    /* the first part of the reply has the files, the rest comes later */
    map_files_say(peer, reply, 10, fd, 2);
    map_files_say(peer, reply + 10, sizeof reply - 10, NULL, 0);
    assert_int_equal(berth_map(berth, &map), BERTH_DONE);
    berth_map_close(map);
    for (int i = 0; i < 2; i++) {
        close(fd[i]);
        close(old[i]);
    }
    close(peer);
    berth_free(berth);
    assert_int_equal(open_files(), before);
}

/* The kernel drops the files when the process may open no more; none of its own is closed then. */
static void files_that_do_not_fit_close_nothing(void **state)
{
    (void)state;
    struct block block = good();
    struct rlimit all, few;
    int peer, fd[2] = {file_of('m', &block), file_of('p', &block)};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    for (int room = 0; room < 2; room++) {
        struct berth *berth = map_files_connect(&peer);
        struct berth_map *map = NULL;
        int own = open("/dev/null", O_RDONLY | O_CLOEXEC), next = dup(own);
        size_t before = open_files();
        map_files_say(peer, MAP_REPLY, sizeof MAP_REPLY, fd, 2);
        close(next);
        few = (struct rlimit){(rlim_t)(next + room), all.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int status = berth_map(berth, &map);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
        assert_int_equal(status, BERTH_ERROR_PROTOCOL);
        assert_non_null(strstr(berth_error_detail(berth), "free descriptors"));
        assert_int_equal(open_files(), before - 1);
        assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
        close(own);
        close(peer);
        berth_free(berth);
    }
    close(fd[0]);
    close(fd[1]);
}

static void the_page_tells_of_a_newer_snapshot_and_of_the_end(void **state)
{
    (void)state;
    struct block block = good();
    int peer, fd[2] = {file_of('m', &block), -1};
    struct map_page *page = map_files_page(1, &fd[1]);
    struct berth *berth = map_files_connect(&peer);
    struct berth_map *map = NULL;
    map_files_say(peer, MAP_REPLY, sizeof MAP_REPLY, fd, 2);
    assert_int_equal(berth_map(berth, &map), BERTH_DONE);
    berth_free(berth); /* the map goes on alone */
    close(peer);
    close(fd[0]);
    close(fd[1]);
    assert_int_equal(berth_map_is_current(map), 1);
    page->generation = 2;
    assert_int_equal(berth_map_is_current(map), 0);
    page->generation = 1;
    page->owner |= MAP_PAGE_ENDED;
    assert_int_equal(berth_map_is_current(map), 0);
    page->owner = 0;
    assert_int_equal(berth_map_is_current(map), 0);
    assert_float_equal(berth_map_transfer_ns(map, 2, 1, 1), 1001, 1e-9);
    munmap(page, MAP_PAGE_BYTES);
    berth_map_close(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_ups_give_what_the_file_has),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(no_damage_ends_the_program),
        cmocka_unit_test(no_random_damage_does),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(files_belong_to_their_reply),
        cmocka_unit_test(files_that_do_not_fit_close_nothing),
        cmocka_unit_test(the_page_tells_of_a_newer_snapshot_and_of_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
