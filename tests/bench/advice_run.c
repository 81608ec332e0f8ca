/*
 * Carries out transfers as an application would, on whatever GPUs the driver shows, and prints what they took. It knows nothing
 * of advice: of berth it takes only the probe's table of driver calls and its kernels.
 *
 * advice_run [--bytes N] [--in-turn]: one step a line on standard input, one line of nanoseconds each on standard output, as many
 * as repeats. N: the most that one flow moves (1 GiB). Callers of a step are a thread each; in turn, for a driver whose clock is
 * one for all threads: one thread that starts each caller's first flow, then each one's second.
 *
 *   held REPEATS FLOW...             all flows begin at the same moment, behind a gate in each stream; from there to the end of
 * the last, by the devices' clocks step REPEATS FLOW... [; FLOW...]... one step of several callers, a caller's flows before each
 * ";": from their common begin to the last one's having seen its flows end call REPEATS FLOW... [| FLOW...] launch to
 * synchronised by the caller's clock of the flows before "|"; those behind it begin with the first launch
 *
 * FLOW is BYTES/CHUNK/HOP[,HOP[,HOP]]: CHUNK 0 in one piece, else piece after piece, hop after hop, each hop on a stream of its
 * own, over four pieces of the memory between. HOP is e:FROM:TO:GPU (a copy on a stream of GPU), k:FROM:TO:GPU (a kernel of GPU
 * that copies), r:FROM:FROM:GPU or w:TO:TO:GPU (one that reads or writes only). FROM and TO are a GPU's number by PCI address; or
 * a NUMA node's after h (pinned memory there), s (memory of malloc) or m (managed memory that is advised to stay with the host).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice_step.h"
#include "gpu_cuda.h"
#include "gpu_hip.h"

#define LEAST_BYTES 65536 /* of --bytes */

static struct end read_end(struct bench *bench, const char *text)
{
    static const char kinds[HOST_KIND_COUNT] = {'h', 's', 'm'};
    struct end end = {.device = -1, .numa = -1};
    const char *kind = memchr(kinds, text[0], sizeof kinds);
    char *rest;
    long number = strtol(text + (kind != NULL), &rest, 10);
    if (kind == NULL && *rest == '\0' && number >= 0 && number < bench->node.device_count)
        end.device = (int)number;
    end.kind = kind == NULL ? HOST_PINNED : (enum host_kind)(kind - kinds);
    for (int i = 0; kind != NULL && *rest == '\0' && i < bench->node.numa_count; i++)
        if (bench->node.numa[i] == number)
            end.numa = i;
    if (end.device < 0 && end.numa < 0)
        advice_step_die("no such memory", text);
    /* Made here, not in the midst of a step; a runtime has registered memory known to the device that is current. */
    if (end.device >= 0)
        advice_step_enter(bench, end.device, &bench->current);
    advice_step_take(bench, end, REGION_FROM, 1);
    return end;
}

static struct flow read_flow(struct bench *bench, char *text)
{
    struct flow flow = {0};
    char *save = NULL, copy[256], kind, from[16], to[16];
    int length = 0;
    snprintf(copy, sizeof copy, "%s", text);
    if (sscanf(text, "%" SCNu64 "/%" SCNu64 "/%n", &flow.bytes, &flow.chunk, &length) != 2 || length == 0 || flow.bytes == 0)
        advice_step_die("not BYTES/CHUNK/HOP,...", copy);
    if (flow.bytes > bench->bytes)
        advice_step_die("a flow of more than --bytes", copy);
    for (char *word = strtok_r(text + length, ",", &save); word != NULL && flow.hop_count < ADVICE_HOPS_MAX;
         word = strtok_r(NULL, ",", &save)) {
        struct hop *hop = &flow.hop[flow.hop_count++];
        if (sscanf(word, "%c:%15[^:]:%15[^:]:%d", &kind, from, to, &hop->device) != 4 || strchr("ekrw", kind) == NULL ||
            hop->device < 0 || hop->device >= bench->node.device_count)
            advice_step_die("not KIND:FROM:TO:GPU", word);
        hop->kind = kind;
        advice_step_enter(bench, hop->device, &bench->current);
        hop->from = read_end(bench, from);
        hop->to = read_end(bench, to);
    }
    if (flow.hop_count == 0)
        advice_step_die("a flow goes nowhere", copy);
    return flow;
}

static void run_line(struct bench *bench, char *line)
{
    struct flow flows[ADVICE_FLOWS_MAX];
    size_t count = 0, split = 0, caller = 0;
    char *save = NULL, *mode = strtok_r(line, " \n", &save), *repeats = strtok_r(NULL, " \n", &save);
    if (mode == NULL || repeats == NULL || (strcmp(mode, "held") != 0 && strcmp(mode, "call") != 0 && strcmp(mode, "step") != 0))
        advice_step_die("not held|step|call REPEATS FLOW...", "");
    for (char *word = strtok_r(NULL, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save)) {
        if (strcmp(word, "|") == 0)
            split = count;
        else if (strcmp(word, ";") == 0)
            caller++;
        else if (count < ADVICE_FLOWS_MAX) {
            flows[count] = read_flow(bench, word);
            flows[count++].caller = caller;
        } else
            advice_step_die("too many flows", "");
    }
    if (count == 0)
        advice_step_die("a step without flows", "");
    for (long i = strtol(repeats, NULL, 10); i > 0; i--) {
        size_t own = split > 0 ? split : count;
        double ns = strcmp(mode, "held") == 0   ? advice_step_held(bench, flows, count)
                    : strcmp(mode, "step") == 0 ? advice_step_callers(bench, flows, count)
                                                : advice_step_call(bench, flows, own, count - own);
        printf("%.1f%s", ns, i > 1 ? " " : "\n");
    }
}

static void open_node(struct bench *bench)
{
    struct probe_why why = {""};
    void *word;
    const struct gpu_api *api = gpu_cuda_new(&why);
    if (api == NULL)
        api = gpu_hip_new(&why);
    if (api == NULL || !gpu_node_open(api, "", NULL, NULL, &bench->node, &why))
        advice_step_die("no GPUs", why.text);
    if (bench->node.kernels_why.text[0] != '\0')
        advice_step_die("no kernels", bench->node.kernels_why.text);
    advice_step_enter(bench, 0, &bench->current);
    advice_step_must(bench, api->host_alloc(api, 64, GPU_HOST_PINNED, &word), "allocate in host memory");
    bench->word = word;
    atomic_init(bench->word, 0);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.bytes = UINT64_C(1) << 30, .current = -1};
    char *line = NULL;
    size_t size = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--in-turn") == 0)
            bench.in_turn = true;
        else if (i + 1 < argc && strcmp(argv[i], "--bytes") == 0)
            bench.bytes = strtoull(argv[++i], NULL, 10);
        else
            bench.bytes = 0;
    if (bench.bytes < LEAST_BYTES)
        advice_step_die("usage: advice_run [--bytes N] [--in-turn] <STEPS", "");
    open_node(&bench);
    while (getline(&line, &size, stdin) > 0) {
        run_line(&bench, line);
        fflush(stdout);
    }
    free(line);
    return 0;
}
