/* Text of what a transfer's kernels wait for: the records of berth-probe-gpu --explain. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ui/answer.h"

#define SHOWN_LEAST 0.01 /* share of the samples */

/* Names of what a warp waits for. Source: the warp states in NVIDIA's Nsight Compute documentation.
 */
static const struct {
    const char *reason, *words;
} words[] = {
    {"barrier", "other warps at a barrier of the block"},
    {"branch_resolving", "the target of a branch"},
    {"dispatch_stall", "the dispatcher, which holds the warp back"},
    {"drain", "its last stores, before it ends"},
    {"imc_miss", "a constant that is not in its cache"},
    {"lg_throttle", "room in the queue of memory instructions"},
    {"long_scoreboard", "data of memory: its own, a peer's or the host's"},
    {"math_pipe_throttle", "a busy unit of arithmetic"},
    {"membar", "its stores to be visible to others"},
    {"mio_throttle", "room in the queue of shared-memory instructions"},
    {"no_instructions", "its next instruction, which is not in the cache"},
    {"not_selected", "nothing; another warp is issued first"},
    {"selected", "nothing; it issues an instruction"},
    {"short_scoreboard", "data of shared memory"},
    {"sleeping", "the end of a sleep"},
    {"tex_throttle", "room in the queue of the texture unit"},
    {"wait", "a fixed delay between its instructions"},
};

static const char *words_of(const char *reason)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].reason, reason) == 0)
            return words[i].words;
    return "";
}

/* Prints the reasons, the most frequent first; removes them from the copy. */
static void put_stalls(struct ui *ui, json_t *stalls, double samples)
{
    struct ui_table table;
    ui_table_begin(&table, ui, "rll");
    for (;;) {
        const char *reason, *most = NULL;
        json_t *count;
        double share = 0;
        json_object_foreach(stalls, reason, count)
        {
            if (json_number_value(count) > share) {
                share = json_number_value(count);
                most = reason;
            }
        }
        if (most == NULL || !(share >= SHOWN_LEAST * samples))
            break;
        ui_cell(&table, "%.0f %%", 100 * share / samples);
        ui_cell(&table, "%s", most);
        ui_cell(&table, "%s", words_of(most));
        json_object_del(stalls, most);
    }
    ui_table_end(&table, 2, false);
}

static void put_record(struct ui *ui, const json_t *record, const char *from, const char *to)
{
    const char *operation = ui_member(record, "operation"), *why = ui_member(record, "why");
    double sampled = ui_member_number(record, "sampled_bytes_per_s"),
           samples = ui_member_number(record, "samples");
    char rate[UI_NUMBER], under[UI_NUMBER];
    bool is_host = strncmp(from, "numa", 4) == 0;
    ui_put(ui, "%s ", is_host ? to : from);
    ui_put(ui, "%s",
           strcmp(operation, "read") == 0    ? "reads memory of "
           : strcmp(operation, "write") == 0 ? "writes memory of "
           : is_host                         ? "copies from memory of "
                                             : "copies to memory of ");
    ui_text(ui, is_host ? from : to);
    ui_put(ui, ": %s", ui_rate(rate, ui_member_number(record, "bytes_per_s")));
    if (isfinite(sampled))
        ui_put(ui, ", under sampling %s", ui_rate(under, sampled));
    ui_put(ui, "\n");
    json_t *stalls = json_copy(json_object_get(record, "stalls"));
    if (json_is_object(stalls) && samples > 0) {
        ui_put(ui, "its warps wait for\n");
        put_stalls(ui, stalls, samples);
        ui_put(ui, "  of %" PRId64 " samples; %" PRId64 " more were lost\n", (int64_t)samples,
               (int64_t)json_integer_value(json_object_get(record, "dropped")));
    } else {
        ui_put(ui, "  ");
        ui_paragraph(ui, 4, *why != '\0' ? why : "no warp was sampled");
    }
    json_decref(stalls);
}

void ui_explain(struct ui *ui, const json_t *records, const char *from, const char *to)
{
    const json_t *record;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)records, i, record)
    {
        if (i > 0)
            ui_put(ui, "\n");
        put_record(ui, record, from, to);
    }
}
