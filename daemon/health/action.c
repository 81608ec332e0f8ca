#include "health/action.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "node/gpu.h"

static const struct {
    const char *code, *text, *commands;
} actions[] = {
#define FINDING(code, text, commands) {code, text, commands},
#include "findings.def"
#undef FINDING
};

static const struct {
    const char *name, *of[3]; /* by vendor */
} commands[] = {
#define COMMAND(name, nvidia, amd, other)                                                          \
    {name, {[VENDOR_UNKNOWN] = (other), [VENDOR_AMD] = (amd), [VENDOR_NVIDIA] = (nvidia)}},
#include "findings.def"
#undef COMMAND
};

#define COMMANDS (sizeof commands / sizeof commands[0])

/* Text with room for ACTION_SIZE. */
struct line {
    char *text;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line->text + line->length, ACTION_SIZE - line->length, format, args);
    va_end(args);
    line->length += length > 0 ? (size_t)length : 0;
    line->length = line->length < ACTION_SIZE ? line->length : ACTION_SIZE - 1;
}

/* Returns the vendor of a GPU, or of the node's GPUs for a place that may concern them. Cores,
 * memory and NICs have none. */
static enum gpu_vendor vendor_of(const struct graph *graph, const struct place *place)
{
    if (place != NULL && place->kind == PLACE_GPU)
        return gpu_vendor(place);
    bool is_of_gpus = place == NULL || place->kind == PLACE_MACHINE ||
                      place->kind == PLACE_SWITCH || place->kind == PLACE_MODULE;
    place_id gpu = is_of_gpus ? graph_next(graph, PLACE_GPU, 0) : PLACE_NONE;
    return gpu != PLACE_NONE ? gpu_vendor(graph_place(graph, gpu)) : VENDOR_UNKNOWN;
}

/* Puts the arguments of berth history for the cell of a value. */
static void put_cell(struct line *line, const struct graph *graph, const struct values *values,
                     const struct value *v)
{
    const char *axis = values_axes(values, v);
    put(line, "%s %s %s", metric_info(v->metric)->name, graph_place(graph, v->from)->name,
        graph_place(graph, v->to)->name);
    for (size_t length; (length = strcspn(axis, ";")) > 0; axis += length + (axis[length] != '\0'))
        put(line, " --where %.*s", (int)length, axis);
}

/* Puts the text with the finding's own metric and places. */
static void put_text(struct line *line, const char *text, const struct graph *graph,
                     const struct values *values, const struct finding *finding)
{
    enum { CELL, METRIC, PLACE, NAMES };
    static const char *const names[NAMES] = {"METRIC FROM TO", "METRIC", "PLACE"};
    const struct value *of = values != NULL ? finding->of : NULL;
    while (*text != '\0') {
        int name = CELL;
        while (name < NAMES && strncmp(text, names[name], strlen(names[name])) != 0)
            name++;
        if (name == CELL && of != NULL)
            put_cell(line, graph, values, of);
        else if (name == METRIC && of != NULL)
            put(line, "%s", metric_info(of->metric)->name);
        else if (name == PLACE)
            put(line, "%s", finding->place);
        else if (name < NAMES)
            put(line, "%s", names[name]);
        else
            put(line, "%c", *text);
        text += name < NAMES ? strlen(names[name]) : 1;
    }
}

/* Puts commands with the PCI address; without one the option that takes it is left out. */
static void put_with_device(struct line *line, const char *text, const char *pci)
{
    static const char device[] = " BDF"; /* behind an option such as -s */
    while (*text != '\0') {
        bool is_device = strncmp(text, " -", 2) == 0 && text[2] != '\0' &&
                         strncmp(text + 3, device, strlen(device)) == 0;
        if (is_device && pci != NULL)
            put(line, "%.3s %s", text, pci);
        else if (!is_device)
            put(line, "%c", *text);
        text += is_device ? 3 + strlen(device) : 1;
    }
}

static void put_commands(struct line *line, const char *text, enum gpu_vendor vendor,
                         const char *pci)
{
    for (size_t length; (length = strcspn(text, "\n")) > 0; text += length + (text[length] != 0)) {
        char one[ACTION_SIZE];
        size_t i = 0;
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        while (i < COMMANDS && strcmp(one, commands[i].name) != 0)
            i++;
        put(line, "%s", line->length > 0 ? "\n" : "");
        put_with_device(line, i < COMMANDS ? commands[i].of[vendor] : one, pci);
    }
}

/* Returns the place's PCI address; NULL none, or what is no address: a user copies it. */
static const char *pci_of(const struct place *place)
{
    const char *pci = place != NULL ? place->pci : NULL;
    return pci != NULL && pci[strspn(pci, "0123456789abcdef:.")] == '\0' ? pci : NULL;
}

void action_write(const struct graph *graph, const struct values *values,
                  const struct finding *finding, struct action *ret_action)
{
    place_id at = graph_find(graph, finding->place);
    const struct place *place = at != PLACE_NONE ? graph_place(graph, at) : NULL;
    struct line text = {.text = ret_action->text}, lines = {.text = ret_action->commands};
    *ret_action = (struct action){0};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(finding->code, actions[i].code) == 0) {
            put_text(&text, actions[i].text, graph, values, finding);
            put_commands(&lines, actions[i].commands, vendor_of(graph, place), pci_of(place));
        }
}
