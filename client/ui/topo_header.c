/* The header of a drawn node: a sentence about its gpus, else its cores; then its name, counts of
 * its places, and its software. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/topo.h"

#define GPUS_MOST 1024

struct gpus {
    const struct ui_node *node;
    int gpu[GPUS_MOST];
    size_t count;
};

static size_t count_kind(const struct ui_node *node, enum ui_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < node->place_count; i++)
        count += node->place[i].kind == kind;
    return count;
}

const char *ui_common_model(const struct ui_node *node)
{
    const struct ui_place *first = NULL;
    for (size_t i = 0; i < node->place_count; i++) {
        const struct ui_place *gpu = &node->place[i];
        if (gpu->kind != UI_GPU)
            continue;
        first = first == NULL ? gpu : first;
        if (gpu->model == NULL || first->model == NULL || strcmp(gpu->model, first->model) != 0)
            return NULL;
    }
    return first != NULL ? ui_place_model(first) : NULL;
}

int ui_only_package(const struct ui_node *node)
{
    int package;
    return count_kind(node, UI_PACKAGE) == 1 && ui_node_kind(node, UI_PACKAGE, &package, 1) == 1
               ? package
               : -1;
}

/* The NUMA node or module around a gpu, or the name of its L3; NULL none. */
static const char *name_around(const struct ui_node *node, int gpu, enum ui_kind kind)
{
    int around = ui_place_around(node, gpu, kind);
    return kind == UI_LLC ? ui_device_cache(node, gpu)
           : around >= 0  ? node->place[around].name
                          : NULL;
}

/* Count of different places of that kind around the gpus; 0 where one has none. */
static size_t count_around(const struct gpus *gpus, enum ui_kind kind)
{
    size_t different = 0;
    for (size_t i = 0; i < gpus->count; i++) {
        const char *name = name_around(gpus->node, gpus->gpu[i], kind);
        bool is_new = true;
        if (name == NULL)
            return 0;
        for (size_t j = 0; j < i && is_new; j++)
            is_new = strcmp(name, name_around(gpus->node, gpus->gpu[j], kind)) != 0;
        different += is_new;
    }
    return different;
}

/* Says how the gpus lie: "in 4 modules, each at its own L3". */
static void put_places(struct ui *ui, const struct gpus *gpus)
{
    size_t modules = count_around(gpus, UI_MODULE), numas = count_around(gpus, UI_NUMA);
    if (modules > 0 && modules < gpus->count)
        ui_put(ui, " in %zu module%s", modules, modules == 1 ? "" : "s");
    if (gpus->count > 1 && count_around(gpus, UI_LLC) == gpus->count)
        ui_put(ui, ", each at its own L3");
    else if (gpus->count > 1 && numas == gpus->count)
        ui_put(ui, ", each at its own NUMA node");
    else if (numas == 1)
        ui_put(ui, "%s at %s", gpus->count > 1 ? ", all" : "",
               name_around(gpus->node, gpus->gpu[0], UI_NUMA));
    else if (numas > 1)
        ui_put(ui, " at %zu NUMA nodes", numas);
}

/* Nominal rate of the slowest link between two gpus; NAN where some pair has none of its own. */
static double slowest_nominal(const struct ui_node *node, size_t gpus)
{
    double least = NAN;
    size_t pairs = 0;
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        if (node->place[link->from].kind != UI_GPU || node->place[link->to].kind != UI_GPU)
            continue;
        least = fmin(least, link->nominal);
        pairs++;
    }
    return pairs == gpus * (gpus - 1) / 2 ? least : NAN;
}

static void put_slowest(struct ui *ui, double bytes_per_s, const char *source)
{
    char rate[UI_NUMBER];
    if (isnan(bytes_per_s))
        return;
    ui_put(ui, "; slowest pair %s", ui_rate(rate, bytes_per_s));
    if (strcmp(source, "measured") == 0)
        return;
    ui_put(ui, " (");
    ui_text(ui, source);
    ui_put(ui, ")");
}

/* Counts the links that something is wrong with. */
static void put_wrong(struct ui *ui, const struct ui_node *node)
{
    size_t slow = 0, broken = 0;
    for (size_t i = 0; i < node->link_count; i++) {
        slow += !isnan(ui_link_slow_rate(node, &node->link[i]));
        broken += strcmp(node->link[i].state, "down") == 0 ||
                  strcmp(node->link[i].state, "degraded") == 0;
    }
    if (slow > 0)
        ui_put(ui, "; %zu link%s SLOW", slow, slow == 1 ? "" : "s");
    if (broken > 0)
        ui_put(ui, "; %zu link%s down or degraded", broken, broken == 1 ? "" : "s");
}

static void put_cores(struct ui *ui, const struct ui_node *node)
{
    size_t cores = count_kind(node, UI_CORE), numas = count_kind(node, UI_NUMA);
    int64_t bytes = 0;
    char number[UI_NUMBER];
    for (size_t i = 0; i < node->place_count; i++)
        if (node->place[i].kind == UI_NUMA && node->place[i].capacity_bytes > 0)
            bytes += node->place[i].capacity_bytes;
    ui_put(ui, "no gpu; %zu core%s", cores, cores == 1 ? "" : "s");
    if (bytes > 0)
        ui_put(ui, " and %s", ui_bytes(number, bytes));
    ui_put(ui, " in %zu NUMA node%s", numas, numas == 1 ? "" : "s");
}

static void put_sentence(struct ui *ui, const struct ui_node *node, const json_t *slowest)
{
    struct gpus gpus = {.node = node};
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    gpus.count = ui_node_kind(node, UI_GPU, gpus.gpu, GPUS_MOST);
    if (gpus.count > 0) {
        ui_put(&line, "%zu gpu%s", gpus.count, gpus.count == 1 ? "" : "s");
        put_places(&line, &gpus);
        if (slowest != NULL)
            put_slowest(&line, ui_member_number(slowest, "bytes_per_s"),
                        ui_member(slowest, "source"));
        else
            put_slowest(&line, slowest_nominal(node, gpus.count), "nominal");
        put_wrong(&line, node);
    } else {
        put_cores(&line, node);
    }
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Names the gpus' model, and their memory where it is the same: "8 MI250X of 64 GiB". */
static void put_gpus(struct ui *line, const struct ui_node *node, const char **separator)
{
    size_t count = count_kind(node, UI_GPU);
    int64_t bytes = -1;
    bool is_same = true;
    char number[UI_NUMBER];
    for (size_t i = 0; i < node->place_count; i++) {
        if (node->place[i].kind != UI_GPU)
            continue;
        is_same = is_same && (bytes < 0 || bytes == node->place[i].capacity_bytes);
        bytes = node->place[i].capacity_bytes;
    }
    if (count == 0)
        return;
    ui_put(line, "%s%zu ", *separator, count);
    ui_text(line, ui_common_model(node) != NULL ? ui_common_model(node)
                  : count == 1                  ? "gpu"
                                                : "gpus");
    if (is_same && bytes > 0)
        ui_put(line, " of %s", ui_bytes(number, bytes));
    *separator = ", ";
}

static void put_counts(struct ui *line, const struct ui_node *node, const char **separator)
{
    static const struct {
        enum ui_kind kind;
        const char *word;
    } counted[] = {{UI_NIC, "nic"},
                   {UI_CORE, "core"},
                   {UI_PU, "cpu"},
                   {UI_NUMA, "NUMA node"},
                   {UI_PACKAGE, "package"}};
    int package = ui_only_package(node);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        size_t count = count_kind(node, counted[i].kind);
        if (count == 0 || (counted[i].kind == UI_PACKAGE && package >= 0))
            continue;
        ui_put(line, "%s%zu %s%s", *separator, count, counted[i].word, count == 1 ? "" : "s");
        *separator = ", ";
    }
    if (package >= 0) {
        ui_put(line, "%s%s", *separator, node->place[package].name);
        ui_put(line, "%s", node->place[package].model != NULL ? " " : "");
        ui_text(line, node->place[package].model);
    }
}

static void put_software(struct ui *line, const json_t *software)
{
    const char *key, *separator = "; ";
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)software, key, value)
    {
        if (!json_is_string(value))
            continue;
        ui_put(line, "%s", separator);
        ui_text(line, key);
        ui_put(line, " ");
        ui_text(line, json_string_value(value));
        separator = ", ";
    }
}

void ui_topo_header(struct ui *ui, const struct ui_node *node, const json_t *reply)
{
    const char *name = ui_member(reply, "name"), *separator = ": ",
               *origin = ui_member(json_object_get(reply, "basis"), "origin");
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    put_sentence(ui, node, json_object_get(reply, "slowest_pair"));
    ui_text(&line, *name == '\0' ? "?" : name);
    if (*origin != '\0' && strcmp(origin, "live") != 0) {
        ui_put(&line, " (");
        ui_text(&line, strcmp(origin, "standin") == 0 ? "stand-in driver" : origin);
        ui_put(&line, ")");
    }
    put_gpus(&line, node, &separator);
    put_counts(&line, node, &separator);
    put_software(&line, json_object_get(reply, "software"));
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}
