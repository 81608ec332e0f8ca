#include "slurm/spank_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct spank_options parsed(const char *text)
{
    struct spank_options options;
    char why[200];
    spank_options_init(&options);
    assert_true(spank_options_parse(text, &options, why, sizeof why));
    return options;
}

static void assert_wrong(const char *text, const char *said)
{
    struct spank_options options, before;
    char why[200];
    memset(&options, 0, sizeof options);
    spank_options_init(&options);
    options.gpus_per_task = 3;
    memcpy(&before, &options, sizeof before);
    assert_false(spank_options_parse(text, &options, why, sizeof why));
    assert_non_null(strstr(why, said));
    assert_memory_equal(&options, &before, sizeof before);
}

static void every_word_is_understood(void **state)
{
    (void)state;
    struct spank_options options = parsed("pattern=ring,bytes=64M,host=1G,visible=all,order=rank,"
                                          "gpus=2,cores=7,mechanism=copy_engine");
    assert_int_equal(options.pattern, BERTH_PATTERN_RING);
    assert_int_equal(options.bytes, 64 << 20);
    assert_int_equal(options.host_bytes, 1 << 30);
    assert_int_equal(options.visible, BERTH_VISIBLE_ALL);
    assert_int_equal(options.order, BERTH_ORDER_RANK);
    assert_int_equal(options.gpus_per_task, 2);
    assert_int_equal(options.cores_per_task, 7);
    assert_int_equal(options.mechanism, BERTH_MECHANISM_COPY_ENGINE);
    assert_false(options.is_off);
    static const struct {
        const char *text;
        enum berth_pattern pattern;
    } patterns[] = {{"pattern=none", BERTH_PATTERN_NONE},
                    {"pattern=pairs", BERTH_PATTERN_PAIRS},
                    {"pattern=grid2d", BERTH_PATTERN_GRID2D},
                    {"pattern=grid3d", BERTH_PATTERN_GRID3D},
                    {"pattern=alltoall", BERTH_PATTERN_ALLTOALL},
                    {"pattern=allreduce", BERTH_PATTERN_ALLREDUCE}};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        assert_int_equal(parsed(patterns[i].text).pattern, patterns[i].pattern);
}

static void nothing_said_leaves_all_to_the_daemon(void **state)
{
    (void)state;
    struct spank_options options = parsed("on");
    assert_false(options.is_off);
    assert_int_equal(options.gpus_per_task, -1);
    assert_int_equal(options.cores_per_task, -1);
    assert_int_equal(options.pattern, BERTH_PATTERN_DEFAULT);
    assert_true(options.bytes == -1 && options.host_bytes == -1);
    assert_true(parsed("off").is_off);
    assert_true(parsed("pattern=ring,off").is_off);
    assert_false(parsed("off,on").is_off);
}

static void a_later_text_adds_to_an_earlier_one(void **state)
{
    (void)state;
    struct spank_options options = parsed("pattern=ring,bytes=1M");
    char why[200];
    assert_true(spank_options_parse("visible=all,bytes=2M", &options, why, sizeof why));
    assert_int_equal(options.pattern, BERTH_PATTERN_RING);
    assert_int_equal(options.bytes, 2 << 20);
    assert_int_equal(options.visible, BERTH_VISIBLE_ALL);
}

static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
    (void)state;
    assert_wrong("pattern=star", "pattern takes none, pairs, ring");
    assert_wrong("visible=all,order=none", "order takes free, rank; not \"none\"");
    assert_wrong("colour=red", "no \"colour\"");
    assert_wrong("host=many", "host takes a size");
    assert_wrong("gpus=-1", "gpus takes a number from 0");
    assert_wrong("cores=0", "cores takes a number from 1");
    assert_wrong("cores=4097", "cores takes a number");
    assert_wrong("pattern", "pattern takes");
    assert_wrong("", "no \"\"");
    assert_wrong("visible=all,", "no \"\"");
    assert_wrong("bytes=1M", "pattern=ring");
    assert_wrong("pattern="
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaa",
                 "too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_understood),
        cmocka_unit_test(nothing_said_leaves_all_to_the_daemon),
        cmocka_unit_test(a_later_text_adds_to_an_earlier_one),
        cmocka_unit_test(what_is_wrong_is_named_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
