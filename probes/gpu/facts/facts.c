#include "gpu/facts/facts.h"

#include <time.h>

#include "common/clock.h"
#include "gpu/facts/line.h"
#include "gpu/facts/nvidia.h"
#include "gpu/facts/sysfs_amd.h"

#define EXIT_GONE 70

static bool print_run(const struct gpu_facts_nvidia *nvidia, const struct gpu_amd *amd,
                      struct probe_out *out)
{
    struct probe_line line;
    probe_line_begin(&line, "run");
    probe_line_integer(&line, "schema", 1);
    probe_line_text(&line, "probe", "gpu");
    probe_line_text(&line, "backend", "facts");
    probe_line_integer(&line, "started_at", time(NULL));
    probe_line_open(&line, "conditions");
    gpu_facts_text(&line, "driver", nvidia->driver);
    gpu_facts_text(&line, "cuda", nvidia->cuda);
    gpu_facts_text(&line, nvidia->is_wrong ? "nvidia_trouble" : "nvidia_why", nvidia->why.text);
    gpu_facts_text(&line, amd->is_wrong ? "amd_trouble" : "amd_why", amd->why.text);
    probe_line_close(&line);
    return probe_line_write(&line, out);
}

static bool print_end(int64_t started_ns, struct probe_out *out)
{
    struct probe_line line;
    probe_line_begin(&line, "end");
    probe_line_text(&line, "status", "complete");
    probe_line_integer(&line, "elapsed_ns", probe_clock_ns() - started_ns);
    return probe_line_write(&line, out);
}

int gpu_facts_print(const char *root, struct probe_out *out, struct probe_why *why)
{
    int64_t started_ns = probe_clock_ns();
    struct gpu_facts_nvidia nvidia;
    struct gpu_amd amd;
    gpu_facts_nvidia_read(root, &nvidia);
    gpu_sysfs_amd_read(root, &amd);
    why->text[0] = '\0';
    if (nvidia.count + amd.count == 0)
        probe_why_write(why, "no GPU: %.90s; %.90s", nvidia.why.text, amd.why.text);
    bool ok = print_run(&nvidia, &amd, out) && gpu_facts_nvidia_print(&nvidia, 0, out) &&
              gpu_facts_amd_print(&amd, gpu_facts_nvidia_names(&nvidia), out) &&
              print_end(started_ns, out);
    gpu_facts_nvidia_done(&nvidia);
    gpu_sysfs_amd_done(&amd);
    return ok ? 0 : EXIT_GONE;
}
