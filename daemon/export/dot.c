/* Export of the node as a Graphviz drawing: places in boxes, links with their measured rates. */
#include "export/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/text.h"

static const char *const link_colour[LINK_KIND_COUNT] = {
    [LINK_XGMI] = "#c0392b",   [LINK_NVLINK] = "#2e7d32", [LINK_C2C] = "#6a1b9a",
    [LINK_PCIE] = "#607d8b",   [LINK_SMP] = "#1565c0",    [LINK_MEMBUS] = "#9e9e9e",
    [LINK_NETWORK] = "#ef6c00"};

static const char *fill_colour(enum place_kind kind)
{
    return kind == PLACE_GPU      ? "#e3f2e1"
           : kind == PLACE_NIC    ? "#fff1dc"
           : kind == PLACE_SWITCH ? "#ececec"
                                  : "#e3edf9";
}

static void put_bytes(struct print *text, int64_t bytes)
{
    double gib = (double)bytes / 1073741824;
    if (bytes > 0)
        export_text(text, gib >= 10 ? "\\n%.0f GiB" : "\\n%.3g GiB", gib);
}

static size_t cores_in(const struct graph *graph, const struct cpuset *cpus)
{
    size_t count = 0;
    for (place_id core = graph_next(graph, PLACE_CORE, 0); cpus != NULL && core != PLACE_NONE;
         core = graph_next(graph, PLACE_CORE, core + 1))
        count +=
            graph->places[core].cpus != NULL && cpuset_intersects(graph->places[core].cpus, cpus);
    return count;
}

/* Writes "16 cores in 2 llcs of 32 MiB". */
static void put_cores(const struct graph *graph, place_id numa, struct print *text)
{
    const struct cpuset *cpus = graph->places[numa].cpus;
    size_t cores = cores_in(graph, cpus), llcs = 0;
    int64_t bytes = -1;
    for (place_id llc = graph_next(graph, PLACE_LLC, 0); cpus != NULL && llc != PLACE_NONE;
         llc = graph_next(graph, PLACE_LLC, llc + 1))
        if (graph->places[llc].cpus != NULL && cpuset_contains(cpus, graph->places[llc].cpus)) {
            llcs++;
            bytes = graph->places[llc].capacity_bytes;
        }
    if (cores > 0)
        export_text(text, "\\n%zu core%s", cores, cores == 1 ? "" : "s");
    if (llcs > 0 && bytes > 0)
        export_text(text, " in %zu llc%s of %.0f MiB", llcs, llcs == 1 ? "" : "s",
                    (double)bytes / 1048576);
    if (cpus != NULL && !cpuset_is_empty(cpus)) {
        char list[96];
        if (cpuset_format_list(cpus, list, sizeof list) < sizeof list)
            export_text(text, "\\ncpus %s", list);
    }
}

static void put_place(const struct graph *graph, place_id id, int depth, struct print *text)
{
    const struct place *place = &graph->places[id];
    const char *detail = place->kind == PLACE_NIC ? place_detail(place, "interface") : NULL;
    export_text(text, "%*s%s [label=\"%s", 2 * depth, "", place->name, place->name);
    if (place->model != NULL)
        export_text(text, "\\n");
    export_text_quoted(text, place->model);
    if (detail != NULL)
        export_text(text, "\\n");
    export_text_quoted(text, detail);
    put_bytes(text, place->capacity_bytes);
    if (place->kind == PLACE_NUMA)
        put_cores(graph, id, text);
    if (place->pci != NULL)
        export_text(text, "\\n");
    export_text_quoted(text, place->pci);
    export_text(text, "\" fillcolor=\"%s\"%s];\n", fill_colour(place->kind),
                place->kind == PLACE_SWITCH ? " shape=ellipse" : "");
}

static bool is_drawn(enum place_kind kind)
{
    return kind == PLACE_NUMA || kind == PLACE_GPU || kind == PLACE_NIC || kind == PLACE_SWITCH;
}
static bool is_box(enum place_kind kind) { return kind == PLACE_PACKAGE || kind == PLACE_MODULE; }

/* Returns the box in which a place is drawn: its package or module. A device beside a NUMA node is
 * drawn beside it, because boxes are packages. */
static place_id box_of(const struct graph *graph, place_id id)
{
    place_id up = graph->places[id].parent;
    while (up != PLACE_NONE && !is_box(graph->places[up].kind))
        up = graph->places[up].parent;
    return up;
}

static void put_inside(const struct graph *graph, place_id box, int depth, struct print *text)
{
    for (place_id id = 0; (size_t)id < graph->place_count; id++) {
        enum place_kind kind = graph->places[id].kind;
        if (box_of(graph, id) != box)
            continue;
        if (is_drawn(kind))
            put_place(graph, id, depth, text);
        if (!is_box(kind))
            continue;
        export_text(text, "%*ssubgraph cluster_%s {\n%*slabel=\"%s", 2 * depth, "",
                    graph->places[id].name, 2 * depth + 2, "", graph->places[id].name);
        if (graph->places[id].model != NULL)
            export_text(text, "\\n");
        export_text_quoted(text, graph->places[id].model);
        export_text(text, "\" style=\"rounded,dashed\" color=\"#90a4ae\";\n");
        if (kind == PLACE_PACKAGE) /* an end point for links between sockets */
            export_text(text, "%*s%s [shape=point style=invis width=0];\n", 2 * depth + 2, "",
                        graph->places[id].name);
        put_inside(graph, id, depth + 1, text);
        export_text(text, "%*s}\n", 2 * depth, "");
    }
}

/* Returns the measured rate of a link in the better direction, else the published one, else the
 * stated one; NAN if there is none. */
static double rate_of(const struct export_input *input, const struct link *link,
                      const char **ret_source)
{
    const struct value *there = NULL, *back = NULL;
    const struct place *places = input->snap->graph->places;
    bool has_gpu = places[link->from].kind == PLACE_GPU || places[link->to].kind == PLACE_GPU;
    bool has_other =
        (places[link->from].kind == PLACE_GPU || places[link->from].kind == PLACE_NUMA) &&
        (places[link->to].kind == PLACE_GPU || places[link->to].kind == PLACE_NUMA);
    if (has_gpu && has_other) {
        there = export_text_rate(input->snap, link->from, link->to);
        back = export_text_rate(input->snap, link->to, link->from);
    } else if (link->kind == LINK_MEMBUS) {
        place_id numa = places[link->from].kind == PLACE_NUMA ? link->from : link->to;
        there = export_text_value(input->snap, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
    }
    const struct value *better =
        there == NULL || (back != NULL && back->value > there->value) ? back : there;
    *ret_source = better != NULL ? value_source_name(better->source) : "nominal";
    return better != NULL ? better->value : link->nominal_bytes_per_s;
}

static void put_link(const struct export_input *input, const struct link *link, struct print *text)
{
    const struct graph *graph = input->snap->graph;
    const struct place *from = &graph->places[link->from], *to = &graph->places[link->to];
    const char *source;
    double rate = rate_of(input, link, &source);
    /* peers in one box stay side by side */
    bool is_peer = from->kind == to->kind && box_of(graph, link->from) == box_of(graph, link->to);
    bool is_inner =
        link->kind == LINK_MEMBUS && (from->kind == PLACE_PACKAGE || to->kind == PLACE_PACKAGE);
    if (is_inner || (!is_drawn(from->kind) && from->kind != PLACE_PACKAGE) ||
        (!is_drawn(to->kind) && to->kind != PLACE_PACKAGE))
        return; /* the box of the package or module stands for the link */
    export_text(text, "  %s -- %s [label=\"%s", from->name, to->name, link_kind_name(link->kind));
    if (link->width > 0)
        export_text(text, " x%" PRId32, link->width);
    if (isfinite(rate))
        export_text(text, "\\n%.3g GB/s %s", rate / 1e9, source);
    if (link->state == LINK_DEGRADED || link->state == LINK_DOWN)
        export_text(text, "\\n%s", link_state_name(link->state));
    double width = isfinite(rate) && rate > 1e9 ? 0.6 + 1.2 * log10(rate / 1e9) : 0.6;
    export_text(text, "\" color=\"%s\" fontcolor=\"%s\" penwidth=%.1f%s%s", link_colour[link->kind],
                link_colour[link->kind], fmin(width, 6), is_peer ? " constraint=false" : "",
                link->state == LINK_DOWN ? " style=dashed" : "");
    if (from->kind == PLACE_PACKAGE && to->kind == PLACE_PACKAGE)
        export_text(text, " ltail=cluster_%s lhead=cluster_%s", from->name, to->name);
    export_text(text, "];\n");
}

void export_dot(const struct export_input *input, struct print *text)
{
    const struct graph *graph = input->snap->graph;
    export_text_head(text, input->snap, "// ", "");
    export_text(text, "graph berth {\n  graph [label=\"");
    export_text_quoted(text, graph->name);
    export_text(text,
                " (%s)\" labelloc=t fontsize=16 fontname=\"Helvetica\" compound=true nodesep=0.5 "
                "ranksep=0.9];\n",
                origin_name(snapshot_origin(input->snap)));
    export_text(text, "  node [shape=box style=\"rounded,filled\" fontname=\"Helvetica\" "
                      "fontsize=10];\n  edge [fontname=\"Helvetica\" fontsize=8];\n");
    put_inside(graph, PLACE_NONE, 1, text);
    for (size_t i = 0; i < graph->link_count; i++)
        put_link(input, &graph->links[i], text);
    export_text(text, "}\n");
}
