#include "lib/task/step_printer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char folder[64], file[128];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->folder, "/tmp/berth-once-XXXXXX");
    if (mkdtemp(place->folder) == NULL)
        return -1;
    snprintf(place->file, sizeof place->file, "%s/berth-said.%u", place->folder,
             (unsigned)geteuid());
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    unlink(place->file);
    rmdir(place->folder);
    free(place);
    return 0;
}

static enum lib_step_printer printer_of(const struct place *place, const char *step,
                                        const char *line)
{
    return lib_step_printer(place->folder, NULL, NULL, step, line);
}

static void the_first_one_says_it(void **state)
{
    const struct place *place = *state;
    assert_int_equal(printer_of(place, "slurm/1.0", "no daemon"), LIB_PRINTER_SELF);
    assert_int_equal(printer_of(place, "slurm/1.0", "no daemon"), LIB_PRINTER_OTHER);
    assert_int_equal(printer_of(place, "slurm/1.0", "another reason"), LIB_PRINTER_SELF);
    assert_int_equal(printer_of(place, "slurm/1.1", "no daemon"), LIB_PRINTER_SELF);
    assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_SELF);
    assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_OTHER);
    struct stat status;
    assert_int_equal(stat(place->file, &status), 0);
    assert_int_equal(status.st_size, 4096);
    assert_int_equal(status.st_mode & 0777, 0600);
}

/* Moves the time of the entries this many seconds back. */
static void make_older(const struct place *place, uint64_t seconds)
{
    uint64_t slot[512];
    int fd = open(place->file, O_RDWR);
    assert_int_equal(read(fd, slot, sizeof slot), sizeof slot);
    for (int i = 0; i < 512; i++)
        if (slot[i] != 0)
            slot[i] = (slot[i] & ~UINT64_C(0xffffff)) | ((slot[i] - seconds) & 0xffffff);
    assert_int_equal(pwrite(fd, slot, sizeof slot, 0), sizeof slot);
    close(fd);
}

static void what_was_said_long_ago_is_said_again(void **state)
{
    const struct place *place = *state;
    assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_SELF);
    make_older(place, 50);
    assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_OTHER);
    make_older(place, 61);
    assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_SELF);
}

static void what_cannot_be_known_is_said(void **state)
{
    const struct place *place = *state;
    const struct place nowhere = {.folder = "/nonexistent"};
    char other[160];
    for (int i = 0; i < 2; i++)
        assert_int_equal(printer_of(&nowhere, NULL, "no daemon"), LIB_PRINTER_UNKNOWN);
    snprintf(other, sizeof other, "%s/other", place->folder);
    int fd = open(other, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0 && symlink(other, place->file) == 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_UNKNOWN);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    close(fd);
    unlink(place->file);
    assert_int_equal(rename(other, place->file), 0);
    assert_int_equal(chmod(place->file, 0644), 0); /* somebody else may have made it */
    for (int i = 0; i < 2; i++)
        assert_int_equal(printer_of(place, NULL, "no daemon"), LIB_PRINTER_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_one_says_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_said_long_ago_is_said_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_known_is_said, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
