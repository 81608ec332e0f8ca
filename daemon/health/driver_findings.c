/* Findings from facts of the GPUs' drivers: memory errors, PCIe links, differing GPUs of one model.
 */
#include "health/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a detail as a number; -1 unknown. */
static long long number_of(const struct place *place, const char *key)
{
    const char *text = place_detail(place, key);
    char *end;
    long long number = text != NULL ? strtoll(text, &end, 10) : -1;
    return text != NULL && end != text && *end == '\0' && number >= 0 ? number : -1;
}

static bool has(const struct place *place, const char *key, const char *value)
{
    const char *text = place_detail(place, key);
    return text != NULL && strcmp(text, value) == 0;
}

/* True for whole GPUs of one model, which should be equal. */
static bool are_peers(const struct place *a, const struct place *b)
{
    bool parts = place_detail(a, "partition") != NULL || place_detail(b, "partition") != NULL;
    return !parts && a->model != NULL && b->model != NULL && strcmp(a->model, b->model) == 0;
}

/* Adds a finding without a value. The subject distinguishes findings of one code at one place.
 * Returns false when out of memory. */
__attribute__((format(printf, 6, 7))) static bool add(struct findings *findings,
                                                      enum severity severity, const char *code,
                                                      const struct place *place,
                                                      const char *subject, const char *format, ...)
{
    char text[sizeof((struct finding *)NULL)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct finding *finding = findings_add(findings, severity, code, place->name);
    if (finding == NULL)
        return false;
    snprintf(finding->subject, sizeof finding->subject, "%s", subject);
    snprintf(finding->text, sizeof finding->text, "%s", text);
    return true;
}

static void drain(struct findings *findings)
{
    findings->finding[findings->count - 1].drain = true;
}

/* Records that the last finding concerns links of the GPU, of which the fraction @left remains.
 * Returns true. */
static bool set_scope(struct findings *findings, enum finding_scope scope, place_id gpu,
                      double left)
{
    struct finding *finding = &findings->finding[findings->count - 1];
    finding->scope = scope;
    finding->first = gpu;
    finding->remaining = left;
    return true;
}

static bool goes_to_switch(const struct graph *graph, place_id gpu)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (link->kind == LINK_NVLINK && link->from == gpu &&
            graph_place(graph, link->to)->kind == PLACE_SWITCH)
            return true;
    }
    return false;
}

/* Compares active links with those of peers: a card without a bridge has inactive links, which is
 * no fault. On a board with switches every link leads to one. */
static bool check_nvlinks(struct findings *findings, place_id id)
{
    const struct graph *graph = findings->snap->graph;
    const struct place *gpu = graph_place(graph, id);
    long long links = number_of(gpu, "nvlinks"), up = number_of(gpu, "nvlinks_up"), most = up;
    bool has_board = false;
    for (place_id k = graph_next(graph, PLACE_GPU, 0); k != PLACE_NONE;
         k = graph_next(graph, PLACE_GPU, k + 1)) {
        const struct place *other = graph_place(graph, k);
        if (!are_peers(gpu, other) || number_of(other, "nvlinks_up") <= most)
            continue;
        most = number_of(other, "nvlinks_up");
        has_board = goes_to_switch(graph, k);
    }
    if (links < 0 || up < 0 || up >= most)
        return true;
    bool is_cut_off = up == 0 && has_board;
    if (!add(findings, is_cut_off ? SEVERITY_CRITICAL : SEVERITY_WARNING,
             is_cut_off ? "link-down" : "link-degraded", gpu, "nvlink count",
             "%lld of its %lld NVLinks are active; a peer has %lld", up, links, most))
        return false;
    if (is_cut_off)
        drain(findings);
    return set_scope(findings, SCOPE_PEERS, id, (double)up / (double)most);
}

/* Returns the number of links to other GPUs; 0 where they belong to a module. */
static int xgmi_links(const struct graph *graph, place_id gpu)
{
    int links = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        bool joins = link->kind == LINK_XGMI && graph_place(graph, link->from)->kind == PLACE_GPU &&
                     graph_place(graph, link->to)->kind == PLACE_GPU;
        if (joins && (link->from == gpu || link->to == gpu) && link->state != LINK_DOWN)
            links += link->width > 0 ? link->width : 1;
    }
    return links;
}

/* Finds lost links, which the driver does not show. A GPU has lost some if more than half of its
 * peers have one larger number of links. If dies differ by design, there is no such majority. */
static bool check_xgmi(struct findings *findings, place_id id)
{
    const struct graph *graph = findings->snap->graph;
    int own = xgmi_links(graph, id);
    for (place_id k = graph_next(graph, PLACE_GPU, 0); k != PLACE_NONE;
         k = graph_next(graph, PLACE_GPU, k + 1)) {
        int links = xgmi_links(graph, k);
        size_t same = 0, all = 0;
        if (links <= own || !are_peers(graph_place(graph, id), graph_place(graph, k)))
            continue;
        for (place_id n = graph_next(graph, PLACE_GPU, 0); n != PLACE_NONE;
             n = graph_next(graph, PLACE_GPU, n + 1)) {
            bool is_peer = are_peers(graph_place(graph, k), graph_place(graph, n));
            all += is_peer;
            same += is_peer && xgmi_links(graph, n) == links;
        }
        if (2 * same > all)
            return add(findings, SEVERITY_WARNING, "link-degraded", graph_place(graph, id),
                       "xgmi count", "it has %d xGMI links to other gpus; %zu of %zu peers have %d",
                       own, same, all, links) &&
                   set_scope(findings, SCOPE_PEERS, id, (double)own / links);
    }
    return true;
}

static bool check_memory(struct findings *findings, const struct place *gpu)
{
    long long errors = number_of(gpu, "ecc_uncorrected");
    bool ok = true;
    if (errors > 0) {
        ok = add(findings, SEVERITY_WARNING, "memory-errors", gpu, "",
                 "%lld memory errors could not be corrected since the driver was loaded", errors);
        if (ok) {
            findings->finding[findings->count - 1].value = (double)errors;
            findings->finding[findings->count - 1].expected = 0;
        }
    }
    if (ok && number_of(gpu, "rows_failed") > 0)
        ok = add(findings, SEVERITY_CRITICAL, "memory-rows-failed", gpu, "",
                 "broken rows of its memory could not be replaced; the gpu is to be exchanged");
    if (ok && number_of(gpu, "rows_pending") > 0)
        ok = add(findings, SEVERITY_WARNING, "memory-rows-pending", gpu, "",
                 "broken rows of its memory are replaced when the gpu is reset next");
    return ok;
}

bool driver_findings_is_throttling(const char *reasons)
{
    static const char *const protecting[] = {"hardware-slowdown", "hardware-thermal",
                                             "software-thermal", "power-brake"};
    for (size_t i = 0; i < sizeof protecting / sizeof *protecting; i++)
        if (strstr(reasons, protecting[i]) != NULL)
            return true;
    return false;
}

static bool check_clocks(struct findings *findings, const struct place *gpu)
{
    const char *text = place_detail(gpu, "throttle");
    return text == NULL || !driver_findings_is_throttling(text) ||
           add(findings, SEVERITY_WARNING, "throttled", gpu, "", "its clocks are held down: %.120s",
               text);
}

/* True for a GPU whose memory the host reaches over other links: PCIe carries commands only. */
static bool has_other_host_link(const struct graph *graph, place_id gpu)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id far = link->from == gpu ? link->to : link->to == gpu ? link->from : PLACE_NONE;
        bool is_peer = far != PLACE_NONE && (graph_place(graph, far)->kind == PLACE_GPU ||
                                             graph_place(graph, far)->kind == PLACE_SWITCH);
        if (far != PLACE_NONE && !is_peer && link->kind != LINK_PCIE && link->state != LINK_DOWN)
            return true;
    }
    return false;
}

/* Reports a narrow link. If all peers are as narrow, the slots or the virtual machine cause it. */
static bool check_pcie(struct findings *findings, place_id id)
{
    const struct graph *graph = findings->snap->graph;
    const struct place *gpu = graph_place(graph, id);
    long long width = number_of(gpu, "pcie_width"), most = number_of(gpu, "pcie_width_max");
    size_t others = 0, narrow = 0;
    if (width <= 0 || width >= most)
        return true;
    for (place_id k = graph_next(graph, PLACE_GPU, 0); k != PLACE_NONE;
         k = graph_next(graph, PLACE_GPU, k + 1)) {
        const struct place *other = graph_place(graph, k);
        if (k == id || !are_peers(gpu, other))
            continue;
        others++;
        narrow += number_of(other, "pcie_width") <= width;
    }
    bool are_all = others > 0 && narrow == others;
    return add(findings, are_all ? SEVERITY_INFO : SEVERITY_WARNING, "pcie-narrow", gpu, "",
               "its PCIe link is %lld lanes wide, of %lld%s", width, most,
               are_all ? ", as of all its peers" : "") &&
           (has_other_host_link(graph, id) ||
            set_scope(findings, SCOPE_HOST, id, (double)width / (double)most));
}

/* True when the latest probe run reported the same. That note is newer. */
static bool is_noted(const struct findings *findings, const char *code, const struct place *place)
{
    for (size_t i = 0; i < findings->snap->note_count; i++)
        if (strcmp(findings->snap->notes[i].code, code) == 0 &&
            strcmp(findings->snap->notes[i].place, place->name) == 0)
            return true;
    return false;
}

static bool check_gpu(struct findings *findings, place_id id)
{
    const struct place *gpu = graph_place(findings->snap->graph, id);
    if (has(gpu, "state", "lost")) {
        if (is_noted(findings, "gpu-lost", gpu))
            return true;
        if (!add(findings, SEVERITY_CRITICAL, "gpu-lost", gpu, "",
                 "the driver has lost it (%s): it must be reset, or the node started again",
                 gpu->pci != NULL ? gpu->pci : "no address"))
            return false;
        drain(findings);
        return true; /* other details may be outdated */
    }
    bool ok = check_nvlinks(findings, id) && check_xgmi(findings, id) &&
              check_memory(findings, gpu) && check_clocks(findings, gpu) &&
              check_pcie(findings, id);
    long long processes = number_of(gpu, "processes");
    const char *pids = place_detail(gpu, "pids");
    if (ok && processes > 0 && !is_noted(findings, "gpu-in-use", gpu))
        ok = add(findings, SEVERITY_INFO, "gpu-in-use", gpu, "", "%lld process%s on it%s%.100s%s",
                 processes, processes == 1 ? " is" : "es are", pids != NULL ? " (pid " : "",
                 pids != NULL ? pids : "", pids != NULL ? ")" : "");
    return ok;
}

/* Reports the probe's remarks on a driver if the node has GPUs for it. */
static bool check_driver(struct findings *findings, const char *vendor, const char *name)
{
    const struct graph *graph = findings->snap->graph;
    char key[32];
    bool ok = true, has_gpus = false;
    for (place_id id = graph_next(graph, PLACE_GPU, 0); id != PLACE_NONE;
         id = graph_next(graph, PLACE_GPU, id + 1))
        has_gpus = has_gpus || has(graph_place(graph, id), "vendor", vendor);
    for (int trouble = 0; ok && trouble < 2; trouble++) {
        snprintf(key, sizeof key, "%s_%s", vendor, trouble ? "trouble" : "why");
        const char *why = place_detail(&graph->places[0], key);
        if (why != NULL && has_gpus)
            ok = add(findings, trouble ? SEVERITY_WARNING : SEVERITY_INFO, "gpu-driver",
                     &graph->places[0], vendor, "%s: %.220s", name, why);
    }
    return ok;
}

enum berth_code driver_findings_add(struct findings *findings, struct berth_err *err)
{
    const struct graph *graph = findings->snap->graph;
    bool ok = !findings_is_selected(findings, 0) ||
              (check_driver(findings, "nvidia", "NVIDIA") && check_driver(findings, "amd", "AMD"));
    size_t before = findings->count;
    for (place_id id = graph_next(graph, PLACE_GPU, 0); ok && id != PLACE_NONE;
         id = graph_next(graph, PLACE_GPU, id + 1))
        if (findings_is_selected(findings, id))
            ok = check_gpu(findings, id);
    long long asked_at_s = number_of(&graph->places[0], "facts_at_s");
    for (size_t i = before; ok && i < findings->count; i++)
        findings->finding[i].at_s = asked_at_s > 0 ? asked_at_s : 0;
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for findings");
}
