#include "slurm/gres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Four gpus: one that has a render node, two whose minor numbers are those of /dev/null and
 * /dev/zero, one that has neither. */
static json_t *node(void)
{
    json_t *made = json_loads(
        "{\"places\": [{\"name\": \"machine0\", \"kind\": \"machine\"},"
        "{\"name\": \"gpu0\", \"kind\": \"gpu\", \"minor\": 128, \"render_node\": "
        "\"/dev/dri/renderD128\"},"
        "{\"name\": \"gpu1\", \"kind\": \"gpu\", \"minor\": 5, \"render_node\": null},"
        "{\"name\": \"gpu2\", \"kind\": \"gpu\", \"minor\": 3, \"render_node\": null},"
        "{\"name\": \"gpu3\", \"kind\": \"gpu\", \"minor\": null, \"render_node\": null}]}",
        0, NULL);
    assert_non_null(made);
    return made;
}

/* Asserts the meaning of the numbers, "gpu0 gpu1 "; or "" with a reason. */
static void assert_means(const char *conf, const char *numbers, const char *expected)
{
    struct slurm_gres gres;
    const char *names[SLURM_GPUS_MOST];
    char why[256] = "", got[256] = "";
    json_t *made = node();
    slurm_gres_read(conf, "n1", &gres);
    int count = slurm_gres_names(&gres, made, numbers, names, why, sizeof why);
    for (int i = 0; i < count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s ", names[i]);
    assert_string_equal(got, expected);
    assert_int_equal(count < 0, *why != '\0');
    assert_int_equal(count < 0, *expected == '\0');
    json_decref(made);
}

static void without_files_the_order_is_that_of_pci_addresses(void **state)
{
    (void)state;
    assert_means("", "0-3", "gpu0 gpu1 gpu2 gpu3 ");
    assert_means("Name=gpu AutoDetect=nvml\n", "3,1", "gpu3 gpu1 ");
    assert_means("", "4", "");
    assert_means("", "x", "");
}

static void files_are_counted_as_they_are_written(void **state)
{
    (void)state;
    static const char conf[] = "# the gpus\nAutoDetect=off\nname=GPU type=\"a b\" FILE=/dev/zero # "
                               "one\nName=nic File=/dev/full\n"
                               "Name=gpu \\\n File=/dev/null\nNodeName=n[1-2] Name=gpu "
                               "File=/dev/dri/renderD128\nNodeName=n2 Name=gpu File=/dev/null";
    assert_means(conf, "0-2", "gpu1 gpu2 gpu0 ");
    assert_means(conf, "3", "");
    assert_means("Name=gpu File=/dev/full\n", "0", ""); /* its minor number is nobody's */
    assert_means("Name=gpu File=/nowhere\n", "0", "");
    assert_means("Name=gpu File=/dev/null[\nName=gpu File=/dev/zero\n", "0", "gpu1 ");
    assert_means("Name=gpu MultipleFiles=/dev/zero,/dev/null\nName=gpu File=/dev/null\n", "0-1",
                 "gpu1 gpu2 ");
}

static void files_of_gpus_that_slurm_finds_itself_are_in_pci_order(void **state)
{
    (void)state;
    assert_means("AutoDetect=rsmi\nName=gpu File=/dev/null\nName=gpu File=/dev/zero\n", "0-1",
                 "gpu1 gpu2 ");
    assert_means("AutoDetect=rsmi\nNodeName=n1 AutoDetect=off\nName=gpu File=/dev/null\nName=gpu "
                 "File=/dev/zero\n",
                 "0-1", "gpu2 gpu1 ");
    assert_means("AutoDetect=rsmi\nName=gpu File=/dev/null\n", "1", "");
}

static void a_minor_number_of_several_gpus_says_nothing(void **state)
{
    (void)state;
    struct slurm_gres gres;
    const char *names[SLURM_GPUS_MOST];
    char why[256];
    json_t *made = json_loads("{\"places\": [{\"name\": \"gpu0\", \"kind\": \"gpu\", \"minor\": "
                              "3}, {\"name\": \"gpu1\", \"kind\": \"gpu\", \"minor\": 3}]}",
                              0, NULL);
    slurm_gres_read("Name=gpu File=/dev/null\n", NULL, &gres);
    assert_int_equal(slurm_gres_names(&gres, made, "0", names, why, sizeof why), -1);
    assert_non_null(strstr(why, "/dev/null"));
    json_decref(made);
}

static void more_files_than_there_may_be_are_left_out(void **state)
{
    (void)state;
    struct slurm_gres gres;
    slurm_gres_read("Name=gpu File=/dev/g[0-255]\nName=gpu File=/dev/h\n", NULL, &gres);
    assert_int_equal(gres.count, SLURM_GPUS_MOST);
    assert_string_equal(gres.file[255], "/dev/g255");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The folder's gres.conf, or a line that has these words. */
static void assert_loads(const char *path, int count, const char *words)
{
    struct slurm_gres gres;
    char why[320] = "";
    bool fine = slurm_gres_load(path, &gres, why, sizeof why);
    if (fine != (words == NULL) || (fine && gres.count != count) ||
        (!fine && strstr(why, words) == NULL))
        fail_msg("%s: %d devices, \"%s\"; wanted: %d, %s", path, gres.count, why, count,
                 words != NULL ? words : "no reason");
}

static void what_is_included_counts_where_it_is_included(void **state)
{
    (void)state;
    char folder[] = "/tmp/berth-gres-XXXXXX", path[64];
    struct slurm_gres gres;
    char why[320];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gres.conf", folder);
    write_file(folder, "gres.conf",
               "Name=gpu File=/dev/a\ninclude more.conf # it\nName=gpu File=/dev/d\n");
    write_file(folder, "more.conf", "Name=gpu File=/dev/b\nName=gpu File=/dev/c\n");
    assert_true(slurm_gres_load(path, &gres, why, sizeof why));
    assert_int_equal(gres.count, 4);
    assert_string_equal(gres.file[1], "/dev/b");
    assert_string_equal(gres.file[3], "/dev/d");
    write_file(folder, "more.conf", "Include gres.conf\n");
    assert_loads(path, 0, "include each other");
    write_file(folder, "more.conf", "Include %h.conf\n");
    assert_loads(path, 0, "%h.conf cannot be read");
    write_file(folder, "more.conf", "Include none.conf\n");
    assert_loads(path, 0, "none.conf cannot be read: No such file");
    assert_loads("/nonexistent/gres.conf", 0, "No such file");
    assert_loads(folder, 0, "Is a directory");
    assert_int_equal(setenv("SLURM_CONF", path, 1), 0);
    assert_loads(NULL, 0, "none.conf cannot be read");
    assert_int_equal(unsetenv("SLURM_CONF"), 0);
    write_file(folder, "more.conf", "");
    assert_loads(path, 2, NULL);
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof path, "%s/more.conf", folder);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_files_the_order_is_that_of_pci_addresses),
        cmocka_unit_test(files_are_counted_as_they_are_written),
        cmocka_unit_test(files_of_gpus_that_slurm_finds_itself_are_in_pci_order),
        cmocka_unit_test(a_minor_number_of_several_gpus_says_nothing),
        cmocka_unit_test(more_files_than_there_may_be_are_left_out),
        cmocka_unit_test(what_is_included_counts_where_it_is_included),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
