/* Export of the GPUs as lines of Slurm's gres.conf: type, device file, cores and links. */
#include "export/formats.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/text.h"
#include "node/gpu.h"

#define TYPE_SIZE 64

/* Finds the gpu's type in its model: "NVIDIA A100-SXM4-40GB" is a100, "AMD Instinct MI250X" mi250x,
 * "NVIDIA GeForce RTX 4090" rtx_4090. The type is the first word with a digit; Slurm reads one that
 * begins with a digit as a number. "" where there is none. */
static void type_of(const char *model, char type[TYPE_SIZE])
{
    const char *before = NULL, *word = model == NULL ? "" : model;
    size_t before_length = 0, length = 0;
    type[0] = '\0';
    for (word += strspn(word, " "); *word != '\0'; word += length + strspn(word + length, " ")) {
        length = strcspn(word, " ");
        if (strcspn(word, "0123456789") < length)
            break;
        before = word;
        before_length = length;
    }
    if (*word == '\0')
        return;
    length = strcspn(word, " -/");
    if (isalpha((unsigned char)*word))
        snprintf(type, TYPE_SIZE, "%.*s", (int)length, word);
    else if (before != NULL)
        snprintf(type, TYPE_SIZE, "%.*s_%.*s", (int)before_length, before, (int)length, word);
    for (char *c = type; *c != '\0'; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
}

static bool is_of(const struct place *gpu, const char *vendor)
{
    const char *its = place_detail(gpu, "vendor");
    return its != NULL && strcmp(its, vendor) == 0;
}

static bool is_nvidia(const struct place *gpu) { return is_of(gpu, "nvidia"); }

/* Returns the flags that select the variables Slurm sets for tasks. Without them the lists of all
 * vendors are equal, and HIP counts the CUDA one among the gpus that the ROCR one leaves. */
static const char *flags_of(const struct place *gpu)
{
    if (is_nvidia(gpu))
        return " Flags=nvidia_gpu_env";
    return is_of(gpu, "amd") ? " Flags=amd_gpu_env" : "";
}

/* Writes the device file of a gpu; "" where it is unknown. */
static void file_of(const struct graph *graph, place_id id, char *buffer, size_t size)
{
    const struct place *gpu = &graph->places[id];
    buffer[0] = '\0';
    if (gpu_is_slice(gpu) || gpu_is_cut(graph, id))
        return;
    if (is_nvidia(gpu) && gpu->minor >= 0)
        snprintf(buffer, size, "/dev/nvidia%d", gpu->minor);
    else if (!is_nvidia(gpu) && gpu->render_node != NULL &&
             strncmp(gpu->render_node, "/dev/", 5) == 0 &&
             strpbrk(gpu->render_node, " \t\n,[]#=") == NULL)
        snprintf(buffer, size, "%s", gpu->render_node);
}

/* Writes the numbers, in Slurm's count, of the cores of a set; nothing where they are unknown. */
static void put_cores(const struct hwloc_view *view, const struct cpuset *cpus, const char *before,
                      struct print *text)
{
    for (size_t i = 0, end; view != NULL && i < view->core_count; i = end + 1) {
        end = i;
        if (!cpuset_has(cpus, view->core[i]))
            continue;
        while (end + 1 < view->core_count && cpuset_has(cpus, view->core[end + 1]))
            end++;
        export_text(text, end > i ? "%s%zu-%zu" : "%s%zu", before, i, end);
        before = ",";
    }
}

/* Returns the cpus of the packages that a gpu is attached to. Slurm 24.11 and later drain a node
 * whose Cores= are no whole sockets; whole packages are that however slurm.conf counts sockets. */
static struct cpuset sockets_of(const struct graph *graph, const struct place *gpu)
{
    struct cpuset cpus = {0};
    for (place_id id = graph_next(graph, PLACE_PACKAGE, 0); id != PLACE_NONE && gpu->cpus != NULL;
         id = graph_next(graph, PLACE_PACKAGE, id + 1)) {
        const struct cpuset *its = graph->places[id].cpus;
        if (its != NULL && cpuset_intersects(its, gpu->cpus))
            cpuset_or(&cpus, its);
    }
    return cpus;
}

static bool is_peer_link(const struct link *link)
{
    return (link->kind == LINK_XGMI || link->kind == LINK_NVLINK) && link->state != LINK_DOWN &&
           link->width > 0;
}

static int32_t width_between(const struct graph *graph, place_id a, place_id b)
{
    int32_t width = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (is_peer_link(link) &&
            ((link->from == a && link->to == b) || (link->from == b && link->to == a)))
            width += link->width;
    }
    return width;
}

/* Returns the number of direct links, or through a switch the number of the narrower side. */
static int32_t links_between(const struct graph *graph, place_id a, place_id b)
{
    int32_t width = width_between(graph, a, b);
    for (place_id s = graph_next(graph, PLACE_SWITCH, 0); s != PLACE_NONE;
         s = graph_next(graph, PLACE_SWITCH, s + 1)) {
        int32_t one = width_between(graph, a, s), other = width_between(graph, b, s);
        width += one < other ? one : other;
    }
    return width;
}

static bool has_links(const struct graph *graph)
{
    for (size_t i = 0; i < graph->link_count; i++)
        if (is_peer_link(&graph->links[i]) &&
            (graph->places[graph->links[i].from].kind == PLACE_GPU ||
             graph->places[graph->links[i].to].kind == PLACE_GPU))
            return true;
    return false;
}

static void put_links(const struct graph *graph, place_id gpu, struct print *text)
{
    for (place_id to = graph_next(graph, PLACE_GPU, 0), first = to; to != PLACE_NONE;
         to = graph_next(graph, PLACE_GPU, to + 1))
        export_text(text, "%s%d", to == first ? " Links=" : ",",
                    to == gpu ? -1 : (int)links_between(graph, gpu, to));
}

static void put_line(const struct export_input *input, place_id gpu, const char *file,
                     bool with_links, struct print *text)
{
    const struct place *place = &input->snap->graph->places[gpu];
    char type[TYPE_SIZE];
    type_of(place->model, type);
    export_text(text, "# %s ", place->name);
    export_text_comment(text, place->pci);
    const struct value *rate =
        place->numa == PLACE_NONE ? NULL : export_text_rate(input->snap, place->numa, gpu);
    if (rate != NULL)
        export_text(text, ", from %s %.1f GB/s %s", input->snap->graph->places[place->numa].name,
                    rate->value / 1e9, value_source_name(rate->source));
    if (place->cpus != NULL)
        put_cores(input->view, place->cpus, ", next to cores ", text);
    const char *why_not =
        gpu_is_slice(place) || gpu_is_cut(input->snap->graph, gpu)
            ? "# cut into slices, whose device files Slurm finds with AutoDetect=nvml: "
            : "# its device file is not known: ";
    export_text(text, "\n%sName=gpu", file[0] == '\0' ? why_not : "");
    if (type[0] != '\0')
        export_text(text, " Type=%s", type);
    if (file[0] != '\0') {
        export_text(text, " File=");
        export_text_comment(text, file);
    }
    export_text(text, "%s", flags_of(place));
    const struct cpuset sockets = sockets_of(input->snap->graph, place);
    put_cores(input->view, &sockets, " Cores=", text);
    if (with_links)
        put_links(input->snap->graph, gpu, text);
    export_text(text, "\n");
}

void export_gres(const struct export_input *input, struct print *text)
{
    const struct graph *graph = input->snap->graph;
    char file[128];
    size_t with_file = 0, count = graph_count(graph, PLACE_GPU);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1)) {
        file_of(graph, gpu, file, sizeof file);
        with_file += file[0] != '\0';
    }
    export_text_head(text, input->snap, "# ", "");
    if (count == 0)
        export_text(text, "# this node has no gpus\n");
    else
        export_text(text, "AutoDetect=off\n");
    bool with_links = with_file == count && has_links(graph);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1)) {
        file_of(graph, gpu, file, sizeof file);
        put_line(input, gpu, file, with_links, text);
    }
}
