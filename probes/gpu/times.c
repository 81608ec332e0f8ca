#include "gpu/times.h"

#define LEAST_SAID_NS 5000000

static const char *const names[GPU_TIME_COUNT] = {
    "load",   "driver", "open",  "conditions", "buffers", "list",   "warm",
    "verify", "tune",   "rates", "sets",       "latency", "curves", "detail"};

struct gpu_times gpu_times_from(int64_t now_ns) { return (struct gpu_times){.last_ns = now_ns}; }

int64_t gpu_times_add(struct gpu_times *times, enum gpu_time kind, int64_t now_ns)
{
    int64_t length = now_ns - times->last_ns;
    times->ns[kind] += length;
    times->last_ns = now_ns;
    return length;
}

void gpu_times_opened(struct gpu_times *times, int64_t driver_ns, int64_t open_ns, int64_t now_ns)
{
    gpu_times_add(times, GPU_TIME_LOAD, now_ns);
    times->ns[GPU_TIME_LOAD] -= driver_ns + open_ns;
    times->ns[GPU_TIME_DRIVER] += driver_ns;
    times->ns[GPU_TIME_OPEN] += open_ns;
}

void gpu_times_cell(struct gpu_times *times, enum gpu_phase phase, enum probe_metric metric,
                    int64_t now_ns)
{
    times->metric_ns[metric] +=
        gpu_times_add(times, (enum gpu_time)(GPU_TIME_PHASE + (int)phase), now_ns);
    times->cells[phase]++;
}

void gpu_times_print(const struct gpu_times *times, struct probe_line *line)
{
    char key[32];
    for (int i = 0; i < GPU_TIME_COUNT; i++) {
        if (times->ns[i] <= 0)
            continue;
        snprintf(key, sizeof key, "%s_ns", names[i]);
        probe_line_integer(line, key, times->ns[i]);
        if (i < GPU_TIME_PHASE)
            continue;
        snprintf(key, sizeof key, "%s_cells", names[i]);
        probe_line_integer(line, key, (int64_t)times->cells[i - GPU_TIME_PHASE]);
    }
    probe_line_open(line, "metric_ns");
    for (int i = 0; i < PROBE_METRIC_COUNT; i++)
        if (times->metric_ns[i] > 0)
            probe_line_integer(line, probe_metric_name((enum probe_metric)i), times->metric_ns[i]);
    probe_line_close(line);
}

bool gpu_times_summary(const struct gpu_times *times, int64_t elapsed_ns, FILE *file)
{
    const char *before = ":";
    bool ok = fprintf(file, "%.2f s", (double)elapsed_ns / 1e9) > 0;
    for (int i = 0; i < GPU_TIME_COUNT; i++) {
        if (times->ns[i] < LEAST_SAID_NS)
            continue;
        ok = ok && fprintf(file, "%s %s %.2f", before, names[i], (double)times->ns[i] / 1e9) > 0;
        before = ",";
    }
    return ok && fprintf(file, "\n") > 0;
}
