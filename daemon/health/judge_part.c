#include "health/judge_part.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool judge_part_asks(const struct judge_work *work, place_id id)
{
    if (work->selected == NULL)
        return true;
    const struct graph *graph = work->snap->graph;
    place_id numa = graph_place(graph, id)->numa;
    if (numa != PLACE_NONE && work->selected[numa])
        return true;
    for (; id != PLACE_NONE; id = graph_place(graph, id)->parent)
        if (work->selected[id])
            return true;
    return false;
}

struct finding *judge_part_add(struct judge_work *work, enum severity severity, const char *code,
                               const char *place)
{
    if (work->count == work->room) {
        size_t room = work->room == 0 ? 16 : 2 * work->room;
        struct finding *more = realloc(work->finding, room * sizeof *more);
        if (more == NULL)
            return NULL;
        work->finding = more;
        work->room = room;
    }
    struct finding *finding = &work->finding[work->count++];
    *finding = (struct finding){.severity = severity,
                                .value = NAN,
                                .expected = NAN,
                                .cause = PLACE_NONE,
                                .first = PLACE_NONE,
                                .second = PLACE_NONE};
    finding->number = work->count;
    snprintf(finding->code, sizeof finding->code, "%s", code);
    snprintf(finding->place, sizeof finding->place, "%s", place);
    return finding;
}
