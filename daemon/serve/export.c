/* io.berth.Fabric.Export: reads the daemon's state on the loop; the rest runs on a worker
 * thread. */
#include <stdlib.h>
#include <string.h>

#include "base/free_memory.h"
#include "discover/discover.h"
#include "export/export.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

struct exporting {
    enum export_format format;
    const struct snapshot *snap;
    struct files io;
    char *folder; /* NULL this machine */
    struct health_limits limits;
    int64_t *free_bytes; /* by place */
    bool *is_claimed;
    int64_t now_s;
};

static void exporting_free(void *state)
{
    struct exporting *exporting = state;
    snapshot_unref(exporting->snap);
    free(exporting->folder);
    free(exporting->free_bytes);
    free(exporting->is_claimed);
    free(exporting);
}

/* Makes the text from *exporting alone: worker threads must not read the daemon's state. Its arrays
 * are indexed by place. */
static enum berth_code make_text(const struct exporting *exporting, struct print *text,
                                 struct berth_err *err)
{
    char *xml = NULL, *name = NULL;
    struct hwloc_view view = {0};
    struct assessment assessment = {0};
    struct export_input input = {.snap = exporting->snap,
                                 .free_bytes = exporting->free_bytes,
                                 .is_claimed = exporting->is_claimed,
                                 .now_s = exporting->now_s};
    enum berth_code code = BERTH_OK;
    if (exporting->format == EXPORT_HWLOC || export_needs_view(exporting->format)) {
        struct berth_err own = {0};
        code = discover_xml(&exporting->io, exporting->folder, &xml, &name, &own);
        if (code == BERTH_ABSENT)
            code = BERTH_OK;
        else if (code != BERTH_OK)
            err_set(err, code, "%s", own.detail);
        input.xml = xml;
        input.xml_name = name;
    }
    if (code == BERTH_OK && xml != NULL && export_needs_view(exporting->format)) {
        code = backend_hwloc_view(xml, name, &view, err);
        input.view = &view;
    }
    if (code == BERTH_OK && export_needs_assessment(exporting->format)) {
        code = health_assess(exporting->snap, NULL, &exporting->limits, &assessment, err);
        input.assessment = &assessment;
    }
    if (code == BERTH_OK)
        code = export_write(exporting->format, &input, text, err);
    assessment_done(&assessment);
    hwloc_view_done(&view);
    free(xml);
    free(name);
    return code;
}

static enum berth_code write_export(void *state, struct print *reply, struct berth_err *err)
{
    struct print text = {0};
    if (!print_init(&text, 1 << 14))
        return err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    enum berth_code code = make_text(state, &text, err);
    if (code == BERTH_OK)
        print_bytes(&text, "", 1);
    if (code == BERTH_OK && text.failed)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    if (code == BERTH_OK) {
        print_open(reply, '{');
        print_key(reply, "text");
        print_string(reply, text.data);
        print_close(reply, '}');
    }
    print_done(&text);
    return code;
}

/* Reads places of computing claims and free memory. Returns false when out of memory. */
static bool read_state(const struct call *call, struct exporting *exporting)
{
    const struct graph *graph = call->snap->graph;
    const struct claim_set *claims = claim_keep_claims(call->daemon->claims);
    exporting->is_claimed = calloc(graph->place_count, sizeof *exporting->is_claimed);
    exporting->free_bytes = malloc(graph->place_count * sizeof *exporting->free_bytes);
    if (exporting->is_claimed == NULL || exporting->free_bytes == NULL)
        return false;
    struct free_memory_view view = free_memory_read(call->daemon->free_memory);
    for (place_id place = 0; (size_t)place < graph->place_count; place++)
        exporting->free_bytes[place] = graph->places[place].kind == PLACE_NUMA
                                           ? free_memory_of(&view, graph->places[place].number)
                                           : -1;
    for (size_t i = 0; i < claims->count; i++) {
        char name[CLAIM_PLACE_SIZE];
        for (const char *at = claims->item[i]->places;
             claims->item[i]->purpose == CLAIM_COMPUTE && claim_next_place(&at, name);) {
            place_id outer = graph_find(graph, name);
            for (place_id place = 0; outer != PLACE_NONE && (size_t)place < graph->place_count;
                 place++)
                exporting->is_claimed[place] =
                    exporting->is_claimed[place] || claim_is_inside(graph, outer, place);
        }
    }
    return true;
}

enum berth_code query_export(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    int format = 0;
    enum berth_code code = request_word(call->params, "format", export_names, 0, &format, err);
    if (code != BERTH_OK)
        return code;
    struct exporting *exporting = calloc(1, sizeof *exporting);
    if (exporting == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    exporting->format = (enum export_format)format;
    exporting->snap = snapshot_ref(call->snap);
    exporting->io = call->daemon->io;
    exporting->limits = health_limits_from(&call->daemon->config);
    exporting->now_s = clock_now_s(&call->daemon->clock);
    bool ok = read_state(call, exporting);
    if (ok && call->daemon->config.node != NULL)
        ok = (exporting->folder = strdup(call->daemon->config.node)) != NULL;
    if (!ok) {
        exporting_free(exporting);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    }
    *ret = (struct outcome){.kind = OUTCOME_WORK,
                            .state = exporting,
                            .write = write_export,
                            .free_state = exporting_free};
    return BERTH_OK;
}
