/* Foreign text in the log. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

static void text_is_shown_as_it_is(void **state)
{
    (void)state;
    static const char *const of[][2] = {
        {"", ""},
        {"plain, ~ and \\", "plain, ~ and \\"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\nb\tc\x1b[31m\x7f", "a\\u000ab\\u0009c\\u001b[31m\\u007f"},
        {"\xc2\x85 \xc2\x9f", "\\u0085 \\u009f"}, /* C1 */
        /* turned, a line's end, isolated */
        {"\xe2\x80\xae"
         "gnp \xe2\x80\xa8 \xe2\x81\xa6",
         "\\u202egnp \\u2028 \\u2066"},
        {"\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81", "\\u200b\\ufeff\\ue0041"}, /* not to be seen */
        {"\xff\xc3", "\\xff\\xc3"},
        /* too long, half a pair, beyond */
        {"\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80",
         "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80"},
        {"\xe2\x82", "\\xe2\\x82"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char shown[200];
        assert_int_equal(log_escape(of[i][0], shown, sizeof shown), strlen(of[i][1]));
        assert_string_equal(shown, of[i][1]);
    }
}

/* Nothing is cut in two, and nothing is written behind the end. */
static void it_fits(void **state)
{
    (void)state;
    static const char text[] = "a\xe2\x82\xac\nb\xe2\x80\xae\xff";
    char whole[64];
    size_t length = log_escape(text, whole, sizeof whole);
    for (size_t size = 1; size <= length + 1; size++) {
        char shown[64];
        memset(shown, '#', sizeof shown);
        size_t used = log_escape(text, shown, size);
        assert_true(used < size && shown[used] == '\0' && shown[size] == '#');
        assert_memory_equal(shown, whole, used);
        assert_true(used == 0 || used == 1 || used == 4 || used == 10 || used == 11 || used == 17 ||
                    used == 21);
    }
}

static void read_all(int fd, char *ret, size_t size)
{
    size_t used = 0;
    for (ssize_t got; used < size - 1 && (got = read(fd, ret + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    ret[used] = '\0';
}

/* A line that would wait is lost, and the next one that gets through says so. */
static void nobody_reads(void **state)
{
    (void)state;
    static char read_back[1 << 17];
    int ends[2], kept = dup(STDERR_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    dup2(ends[1], STDERR_FILENO);
    alarm(20); /* ends the test where a line waits */
    for (int i = 0; i < 4000; i++)
        log_line(LOG_LEVEL_INFO, "line %04d of those that nobody reads", i);
    alarm(0);
    read_all(ends[0], read_back, sizeof read_back);
    unsigned lines = 0, lost = 0;
    for (const char *at = read_back; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    log_line(LOG_LEVEL_INFO, "read again");
    log_line(LOG_LEVEL_INFO, "and again");
    read_all(ends[0], read_back, sizeof read_back);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    const char *said = strchr(read_back, ' ');
    assert_non_null(said);
    assert_int_equal(sscanf(said, " %u lines before this one were lost", &lost), 1);
    assert_int_equal(lines + lost, 4000);
    assert_non_null(strstr(read_back, "read again\n"));
    assert_non_null(strstr(read_back, "and again\n"));
}

/* A full disk, represented by a limit of the file's size, takes a part of a line. The next line
 * after that begins a line. */
static void a_full_disk(void **state)
{
    (void)state;
    char read_back[200];
    struct rlimit old, small;
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    dup2(fileno(file), STDERR_FILENO);
    small = (struct rlimit){30, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    log_line(LOG_LEVEL_INFO, "fits");
    log_line(LOG_LEVEL_INFO, "has no room for its end");
    setrlimit(RLIMIT_FSIZE, &old);
    log_line(LOG_LEVEL_INFO, "room again");
    dup2(kept, STDERR_FILENO);
    close(kept);
    lseek(fileno(file), 0, SEEK_SET);
    read_all(fileno(file), read_back, sizeof read_back);
    fclose(file);
    assert_string_equal(read_back, "berthd: fits\nberthd: has no ro\n"
                                   "berthd: 1 line before this one was lost\nberthd: room again\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_shown_as_it_is),
                                       cmocka_unit_test(it_fits), cmocka_unit_test(nobody_reads),
                                       cmocka_unit_test(a_full_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
