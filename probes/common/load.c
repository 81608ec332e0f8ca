#include "common/load.h"

#include <time.h>

#define LEAST_NS INT64_C(100000000)
#define MOST_NS  INT64_C(1000000000)

int64_t probe_load_interval_ns(int64_t duration_ns)
{
    int64_t ns = duration_ns / 100;
    return ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
}

bool probe_load_begin(const char *probe, const char *backend, struct probe_out *out)
{
    struct probe_line line;
    probe_line_begin(&line, "run");
    probe_line_integer(&line, "schema", 1);
    probe_line_text(&line, "probe", probe);
    probe_line_text(&line, "backend", backend);
    probe_line_integer(&line, "started_at", (int64_t)time(NULL));
    return probe_line_write(&line, out);
}

bool probe_load_print(const struct probe_load *load, struct probe_out *out)
{
    struct probe_line line;
    probe_line_begin(&line, "load");
    probe_line_text(&line, "place", load->place);
    probe_line_integer(&line, "at_ns", load->at_ns);
    probe_line_number(&line, "bytes_per_s", load->bytes_per_s);
    if (load->flop_per_s >= 0)
        probe_line_number(&line, "flop_per_s", load->flop_per_s);
    if (load->clock_mhz >= 0)
        probe_line_integer(&line, "clock_mhz", load->clock_mhz);
    if (load->power_mw >= 0)
        probe_line_number(&line, "power_w", (double)load->power_mw / 1000);
    if (load->temperature_c >= 0)
        probe_line_integer(&line, "temperature_c", load->temperature_c);
    if (load->throttle[0] != '\0')
        probe_line_text(&line, "throttle", load->throttle);
    return probe_line_write(&line, out);
}

bool probe_load_left_out(const char *place, const char *why, struct probe_out *out)
{
    struct probe_line line;
    probe_line_begin(&line, "load");
    probe_line_text(&line, "place", place);
    probe_line_text(&line, "why", why);
    return probe_line_write(&line, out);
}
