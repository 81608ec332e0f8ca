#include "plan/bind/away.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "node/reasons.h"

#define SAID_MAX    3 /* reasons */
#define REASON_SIZE 110
#define NAMES_MAX   3 /* of one kind in a row */

/* "only 4 of the 8 cores next to these are allowed": "gpu0 at llc6 (numa3) with cores in llc7
 * (numa3); ..." */
struct said {
    char reason[REASON_SIZE];
    /* with the longest reason and more it fits a warning: counts of cores are short */
    char items[130];
    size_t more;
};

/* What is compared for one request. */
struct work {
    const struct snapshot *snap;
    const struct bind_cores_request *request;
    struct bind_cores *usable; /* of the request, handed out */
    struct bind_cores all;     /* of the node */
    unsigned *group;           /* by place id of a core: its group among all */
    bool *own, *usable_own;    /* by group of all, of the usable: nearest to the task's gpus */
    bool *used;                /* by group of all: the task has cores there, and they are away */
    struct said said[SAID_MAX];
    size_t said_count, unsaid;
};

/* What is counted for one task. */
struct counts {
    size_t away; /* the task's */
    /* of the cores next to its gpus: all, allowed, and those that other tasks have */
    size_t there, allowed, others;
};

static void put_name(char *text, size_t size, size_t i, const char *name)
{
    size_t used = strlen(text);
    if (i <= NAMES_MAX)
        snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", i < NAMES_MAX ? name : "...");
}

static void put_gpus(const struct work *work, size_t task, char *text, size_t size)
{
    for (size_t i = 0; i < work->request->gpus_per_task; i++)
        put_name(text, size, i,
                 graph_place(work->snap->graph,
                             work->request->gpus[task * work->request->gpus_per_task + i])
                     ->name);
}

/* "llc6 (numa3), llc7 (numa3)" */
static void put_groups(const struct work *work, const bool *which, char *text, size_t size)
{
    const struct graph *graph = work->snap->graph;
    for (size_t g = 0, n = 0; g < work->all.group_count; g++) {
        const struct bind_group *group = &work->all.group[g];
        char name[64];
        if (!which[g])
            continue;
        bool in_numa = group->numa != PLACE_NONE && group->numa != group->place;
        snprintf(name, sizeof name, "%s%s%s%s", graph_place(graph, group->place)->name,
                 in_numa ? " (" : "", in_numa ? graph_place(graph, group->numa)->name : "",
                 in_numa ? ")" : "");
        put_name(text, size, n++, name);
    }
}

static struct counts count(const struct work *work, const struct cpuset *cpus)
{
    struct counts counts = {0};
    for (size_t g = 0; g < work->all.group_count; g++)
        counts.there += work->own[g] ? work->all.group[g].cores : 0;
    for (size_t i = 0; i < work->usable->count; i++) {
        const struct bind_core *core = &work->usable->core[i];
        bool is_mine = cpuset_intersects(&core->use, cpus);
        if (work->own[work->group[core->id]]) {
            counts.allowed++;
            counts.others += core->taken && !is_mine;
        }
    }
    memset(work->used, 0, work->all.group_count * sizeof *work->used);
    for (size_t i = 0; i < work->usable->count; i++) {
        const struct bind_core *core = &work->usable->core[i];
        unsigned group = work->group[core->id];
        /* What was measured may be of the allowed part alone, and then says more than structure
         * does of all. */
        if (!cpuset_intersects(&core->use, cpus) || work->own[group] ||
            (counts.allowed > 0 && work->usable_own[core->group]))
            continue;
        work->used[group] = true;
        counts.away++;
    }
    return counts;
}

static void put_reason(const struct counts *counts, char *text, size_t size)
{
    if (counts->allowed == 0)
        snprintf(text, size, "none of the cores next to these is allowed");
    else if (counts->others > 0 && counts->allowed < counts->there)
        snprintf(text, size, "other tasks have %zu of the %zu allowed cores next to these",
                 counts->others, counts->allowed);
    else if (counts->others > 0)
        snprintf(text, size, "other tasks have %zu of the %zu cores next to these", counts->others,
                 counts->there);
    else if (counts->allowed < counts->there)
        snprintf(text, size, "only %zu of the %zu cores next to these are allowed", counts->allowed,
                 counts->there);
    else
        snprintf(text, size, "there are only %zu cores next to these", counts->there);
}

/* Tasks that have the same reason share a line, as long as it has room. */
static void say(struct work *work, size_t task, const struct counts *counts)
{
    char gpus[40] = "", used[60] = "", own[60] = "", reason[REASON_SIZE], item[REASON_TEXT_SIZE];
    size_t i = 0;
    put_gpus(work, task, gpus, sizeof gpus);
    put_groups(work, work->used, used, sizeof used);
    put_groups(work, work->own, own, sizeof own);
    put_reason(counts, reason, sizeof reason);
    snprintf(item, sizeof item, "%s at %s with cores in %s", gpus, own, used);
    while (i < work->said_count && strcmp(work->said[i].reason, reason) != 0)
        i++;
    if (i == SAID_MAX) {
        work->unsaid++;
        return;
    }
    struct said *said = &work->said[i];
    if (i == work->said_count) {
        work->said_count++;
        memcpy(said->reason, reason, sizeof reason);
        snprintf(said->items, sizeof said->items, "%s", item);
    } else if (strstr(said->items, item) == NULL) {
        size_t length = strlen(said->items);
        if (said->more == 0 && length + strlen(item) + 3 <= sizeof said->items)
            snprintf(said->items + length, sizeof said->items - length, "; %s", item);
        else
            said->more++;
    }
}

static void warn(const struct work *work, struct reasons *warnings)
{
    for (size_t i = 0; i < work->said_count; i++) {
        char more[40] = "";
        if (work->said[i].more > 0)
            snprintf(more, sizeof more, "; and %zu more", work->said[i].more);
        reasons_note(warnings, "%s: %s%s", work->said[i].reason, work->said[i].items, more);
    }
    if (work->unsaid > 0)
        reasons_note(warnings, "cores are away from their gpus in %zu more tasks", work->unsaid);
}

static enum berth_code compare(struct work *work, const struct cpuset *cpus, struct berth_err *err)
{
    const size_t each = work->request->gpus_per_task;
    for (size_t i = 0; i < work->all.count; i++)
        work->group[work->all.core[i].id] = work->all.core[i].group;
    for (size_t t = 0; t < work->request->tasks; t++) {
        const place_id *gpus = work->request->gpus + t * each;
        enum berth_code code = BERTH_OK;
        /* several tasks on one gpu follow each other */
        if (t == 0 || memcmp(gpus, gpus - each, each * sizeof *gpus) != 0) {
            code = plan_bind_cores_nearest(work->snap, &work->all, gpus, each, work->own, err);
            if (code == BERTH_OK)
                code = plan_bind_cores_nearest(work->snap, work->usable, gpus, each,
                                               work->usable_own, err);
        }
        if (code != BERTH_OK)
            return code;
        struct counts counts = count(work, &cpus[t]);
        if (counts.away > 0)
            say(work, t, &counts);
    }
    return BERTH_OK;
}

enum berth_code plan_bind_away(const struct snapshot *snap, struct bind_cores *cores,
                               const struct bind_cores_request *request, const struct cpuset *cpus,
                               struct reasons *warnings, struct berth_err *err)
{
    struct work work = {.snap = snap, .request = request, .usable = cores};
    struct cpuset node;
    if (request->gpus_per_task == 0)
        return BERTH_OK;
    locality_cpus(snap->graph, &node);
    enum berth_code code = plan_bind_cores_init(snap->graph, &node, 0, &work.all, err);
    if (code != BERTH_OK)
        return code;
    work.group = calloc(snap->graph->place_count, sizeof *work.group);
    work.own = calloc(3 * (work.all.group_count + 1), sizeof *work.own);
    if (work.group == NULL || work.own == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    } else {
        work.used = work.own + work.all.group_count + 1;
        /* the usable groups are some of all */
        work.usable_own = work.used + work.all.group_count + 1;
        code = compare(&work, cpus, err);
        if (code == BERTH_OK)
            warn(&work, warnings);
    }
    free(work.group);
    free(work.own);
    plan_bind_cores_done(&work.all);
    return code;
}
