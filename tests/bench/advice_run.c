/*
 * Carries out transfers as an application would, on whatever GPUs the driver shows, and prints what
 * they took. It knows nothing of advice: of berth it takes only the probe's table of driver calls
 * and its kernels.
 *
 * advice_run [--bytes N] [--ranks N | --in-turn]: one step a line on standard input, one line of
 * nanoseconds each on standard output, as many as repeats. bytes: the most that one flow moves (1
 * GiB). Callers of a step are a thread each; with --ranks a process each on a core of its own, as a
 * job's ranks are, of which there are N; with --in-turn, for a driver whose clock is one for all
 * threads, one thread that starts each caller's first flow, then each one's second. Steps are
 *
 * held REPEATS FLOW...: all flows begin at the same moment, behind a gate in each stream; from
 * there to the end of the last, by the devices' clocks.
 *
 * step REPEATS FLOW... [; FLOW...]...: several callers, a caller's flows before each ";"; from
 * their common begin to the last one's having seen its flows end.
 *
 * call REPEATS FLOW... [| FLOW...]: launch to synchronised by the caller's clock of the flows
 * before "|"; those behind it begin with the first launch.
 *
 * FLOW is BYTES/CHUNK/HOP[,HOP[,HOP]]: CHUNK 0 in one piece, else piece after piece, hop after hop,
 * each hop on a stream of its own, over four pieces of the memory between. HOP is e:FROM:TO:GPU (a
 * copy on a stream of GPU), k:FROM:TO:GPU (a kernel of GPU that copies), r:FROM:FROM:GPU or
 * w:TO:TO:GPU (one that reads or writes only). FROM and TO are a GPU's number by PCI address; or a
 * NUMA node's after h (pinned memory there), s (memory of malloc) or m (managed memory that is
 * advised to stay with the host).
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice_ranks.h"
#include "advice_step.h"
#include "gpu/driver/api.h"

#define LEAST_BYTES 65536 /* of --bytes */

/* What one process carries out. */
struct run {
    struct bench bench;
    struct flow flows[ADVICE_FLOWS_MAX];
    size_t count, split; /* flows; those of a call before "|", 0 all */
    struct ranks *ranks; /* NULL: callers are threads */
    size_t rank, rank_count;
    cpu_set_t allowed; /* before a rank is bound to one of them */
};

static struct end read_end(const struct bench *bench, const char *text)
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
    return end;
}

static struct flow read_flow(struct bench *bench, char *text)
{
    struct flow flow = {0};
    char *save = NULL, copy[256], kind, from[16], to[16];
    int length = 0;
    snprintf(copy, sizeof copy, "%s", text);
    if (sscanf(text, "%" SCNu64 "/%" SCNu64 "/%n", &flow.bytes, &flow.chunk, &length) != 2 ||
        length == 0 || flow.bytes == 0)
        advice_step_die("not BYTES/CHUNK/HOP,...", copy);
    if (flow.bytes > bench->bytes)
        advice_step_die("a flow of more than --bytes", copy);
    for (char *word = strtok_r(text + length, ",", &save);
         word != NULL && flow.hop_count < ADVICE_HOPS_MAX; word = strtok_r(NULL, ",", &save)) {
        struct hop *hop = &flow.hop[flow.hop_count++];
        if (sscanf(word, "%c:%15[^:]:%15[^:]:%d", &kind, from, to, &hop->device) != 4 ||
            strchr("ekrw", kind) == NULL || hop->device < 0 ||
            hop->device >= bench->node.device_count)
            advice_step_die("not KIND:FROM:TO:GPU", word);
        hop->kind = kind;
        hop->from = read_end(bench, from);
        hop->to = read_end(bench, to);
    }
    if (flow.hop_count == 0)
        advice_step_die("a flow goes nowhere", copy);
    for (int i = 0; i < flow.hop_count; i++) {
        advice_step_enter(bench, flow.hop[i].device, &bench->current);
        if (i == 0)
            advice_step_make(bench, flow.hop[i].from, REGION_FROM);
        advice_step_make(bench, flow.hop[i].to,
                         i + 1 == flow.hop_count ? REGION_TO : REGION_BETWEEN);
    }
    return flow;
}

static void read_flows(struct run *run, char *text)
{
    char *save = NULL;
    size_t caller = 0;
    run->count = run->split = 0;
    for (char *word = strtok_r(text, " \n", &save); word != NULL;
         word = strtok_r(NULL, " \n", &save)) {
        if (strcmp(word, "|") == 0)
            run->split = run->count;
        else if (strcmp(word, ";") == 0)
            caller++;
        else if (run->count < ADVICE_FLOWS_MAX) {
            run->flows[run->count] = read_flow(&run->bench, word);
            run->flows[run->count++].caller = caller;
        } else
            advice_step_die("too many flows", "");
    }
    if (run->count == 0)
        advice_step_die("a step without flows", "");
}

/* Each caller's flows, which are text still, to its rank. */
static size_t read_callers(struct run *run, char *text)
{
    char *flows[GPU_DEVICES_MAX], *save = NULL;
    size_t count = 0;
    for (char *own = strtok_r(text, ";\n", &save); own != NULL;
         own = strtok_r(NULL, ";\n", &save)) {
        if (count == GPU_DEVICES_MAX)
            advice_step_die("too many callers", "");
        flows[count++] = own;
    }
    ranks_read(run->ranks, flows, count);
    return count;
}

static void run_line(struct run *run, char *line)
{
    char *flows = NULL, *mode = strtok_r(line, " \n", &flows),
         *repeats = strtok_r(NULL, " \n", &flows);
    if (mode == NULL || repeats == NULL ||
        (strcmp(mode, "held") != 0 && strcmp(mode, "call") != 0 && strcmp(mode, "step") != 0))
        advice_step_die("not held|step|call REPEATS FLOW...", "");
    bool is_step = strcmp(mode, "step") == 0;
    size_t callers = 0;
    if (is_step && run->ranks != NULL)
        callers = read_callers(run, flows);
    else
        read_flows(run, flows);
    for (long i = strtol(repeats, NULL, 10); i > 0; i--) {
        size_t own = run->split > 0 ? run->split : run->count;
        double ns = callers > 0 ? ranks_carry_out(run->ranks, callers)
                    : is_step   ? advice_step_callers(&run->bench, run->flows, run->count)
                    : strcmp(mode, "held") == 0
                        ? advice_step_held(&run->bench, run->flows, run->count)
                        : advice_step_call(&run->bench, run->flows, own, run->count - own);
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
    advice_step_must(bench, api->host_alloc(api, 64, GPU_HOST_PINNED, &word),
                     "allocate in host memory");
    bench->word = word;
    atomic_init(bench->word, 0);
}

/* ---- a rank's process ---- */

static void rank_open(void *arg, size_t number)
{
    struct run *run = arg;
    run->rank = number;
    open_node(&run->bench);
}

/* As launchers bind ranks: to a core of its own, of those next to the gpu that it begins with. One
 * that wakes up elsewhere each time finds nothing of the driver in that core's caches. Neighbouring
 * numbers may be one core's threads, and so may those of the two halves. */
static void bind_rank(const struct run *run)
{
    int numa =
        run->bench.node.device[run->flows[0].hop[0].device].attribute[GPU_ATTRIBUTE_HOST_NUMA];
    int near[CPU_SETSIZE];
    size_t count = 0;
    for (int any = 0; any < 2 && count == 0; any++)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            char path[64];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/node%d", cpu, numa);
            if (CPU_ISSET((size_t)cpu, &run->allowed) && (any == 1 || access(path, F_OK) == 0))
                near[count++] = cpu;
        }
    if (count < 2 * run->rank_count)
        return;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET((size_t)near[(2 * run->rank + 1) * count / (4 * run->rank_count)], &own);
    sched_setaffinity(0, sizeof own, &own);
}

static void rank_read(void *arg, char *flows)
{
    struct run *run = arg;
    read_flows(run, flows);
    bind_rank(run);
}

static void rank_prepare(void *arg)
{
    struct run *run = arg;
    advice_step_prepare(&run->bench, run->flows, run->count);
}

static void rank_carry_out(void *arg)
{
    struct run *run = arg;
    advice_step_alone(&run->bench, run->flows, run->count);
}

int main(int argc, char **argv)
{
    static struct run run = {.bench = {.bytes = UINT64_C(1) << 30, .current = -1}};
    const struct rank_calls calls = {.open = rank_open,
                                     .read = rank_read,
                                     .prepare = rank_prepare,
                                     .carry_out = rank_carry_out,
                                     .arg = &run};
    char *line = NULL;
    size_t size = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--in-turn") == 0)
            run.bench.in_turn = true;
        else if (i + 1 < argc && strcmp(argv[i], "--bytes") == 0)
            run.bench.bytes = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--ranks") == 0 &&
                 (run.rank_count = strtoul(argv[i + 1], NULL, 10)) > 0)
            i++;
        else
            run.bench.bytes = 0;
    if (run.bench.bytes < LEAST_BYTES || (run.rank_count > 0 && run.bench.in_turn))
        advice_step_die("usage: advice_run [--bytes N] [--ranks N | --in-turn] <STEPS", "");
    sched_getaffinity(0, sizeof run.allowed, &run.allowed);
    if (run.rank_count > 0)
        run.ranks = ranks_new(run.rank_count, &calls);
    open_node(&run.bench);
    while (getline(&line, &size, stdin) > 0) {
        run_line(&run, line);
        fflush(stdout);
    }
    ranks_free(run.ranks);
    free(line);
    return 0;
}
