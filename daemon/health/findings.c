#include "health/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"

bool findings_is_selected(const struct findings *findings, place_id id)
{
    if (findings->selected == NULL)
        return true;
    const struct graph *graph = findings->snap->graph;
    place_id numa = graph_place(graph, id)->numa;
    if (numa != PLACE_NONE && findings->selected[numa])
        return true;
    for (; id != PLACE_NONE; id = graph_place(graph, id)->parent)
        if (findings->selected[id])
            return true;
    return false;
}

struct finding *findings_add(struct findings *findings, enum severity severity, const char *code,
                             const char *place)
{
    if (findings->count == findings->room) {
        size_t room = findings->room == 0 ? 16 : 2 * findings->room;
        struct finding *more = realloc(findings->finding, room * sizeof *more);
        if (more == NULL)
            return NULL;
        findings->finding = more;
        findings->room = room;
    }
    struct finding *finding = &findings->finding[findings->count++];
    *finding = (struct finding){.severity = severity,
                                .value = NAN,
                                .expected = NAN,
                                .cause = PLACE_NONE,
                                .first = PLACE_NONE,
                                .second = PLACE_NONE};
    finding->number = findings->count;
    snprintf(finding->code, sizeof finding->code, "%s", code);
    snprintf(finding->place, sizeof finding->place, "%s", place);
    return finding;
}

const char *findings_axes(const struct snapshot *snap, const struct value *v,
                          char text[FINDINGS_AXES_SIZE])
{
    const char *axis = values_axes(snap->values, v), *separator = " with ";
    size_t used = 0, length;
    *text = '\0';
    for (; (length = strcspn(axis, ";")) > 0 && used < FINDINGS_AXES_SIZE;
         axis += length + (axis[length] != '\0')) {
        char bytes[QUANTITY_SIZE], *end = NULL;
        double number = strncmp(axis, "bytes=", 6) == 0 ? (double)strtoull(axis + 6, &end, 10) : 0;
        bool is_size = number > 0 && end == axis + length;
        used += (size_t)snprintf(text + used, FINDINGS_AXES_SIZE - used, "%s%.*s%s", separator,
                                 is_size ? 6 : (int)length, axis,
                                 is_size ? quantity_size(number, bytes) : "");
        separator = ", ";
    }
    return text;
}

void findings_subject(const struct graph *graph, enum metric metric, place_id from, place_id to,
                      const char *axes, char subject[FINDING_SUBJECT_SIZE])
{
    snprintf(subject, FINDING_SUBJECT_SIZE, "%s %s %s%s%s", metric_info(metric)->name,
             graph_place(graph, from)->name, graph_place(graph, to)->name,
             axes[0] != '\0' ? " " : "", axes);
}

const char *findings_number(enum metric metric, double value, char text[QUANTITY_SIZE])
{
    return strcmp(metric_info(metric)->unit, "bytes_per_s") == 0 ? quantity_rate(value, text)
                                                                 : quantity_time(value, text);
}
