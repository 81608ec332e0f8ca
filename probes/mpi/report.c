#include "mpi/report.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "common/clock.h"
#include "common/conditions.h"

#define EXIT_GONE 70

const char mpi_report_late[] = "time budget";

static void write_line(struct mpi_report *report, struct probe_line *line)
{
    if (!probe_line_write(line, report->out))
        MPI_Abort(MPI_COMM_WORLD, EXIT_GONE);
}

/* Returns for which GPUs the library takes their memory in its calls, as it says itself. */
static const char *gpu_aware(void)
{
    bool cuda = false, hip = false;
#if defined(MPIX_GPU_SUPPORT_CUDA)
    int is = 0;
    cuda = MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is) == MPI_SUCCESS && is != 0;
    hip = MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &is) == MPI_SUCCESS && is != 0;
#elif defined(MPIX_CUDA_AWARE_SUPPORT)
    cuda = MPIX_Query_cuda_support() != 0;
#if defined(MPIX_ROCM_AWARE_SUPPORT)
    hip = MPIX_Query_rocm_support() != 0;
#endif
#else
    return "the library does not say";
#endif
    return cuda && hip ? "cuda, hip" : cuda ? "cuda" : hip ? "hip" : "no";
}

/* The first line of the library's name and version, with single spaces. */
static void read_library(char text[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length = 0, used = 0;
    MPI_Get_library_version(text, &length);
    for (const char *c = text; *c != '\0' && *c != '\n'; c++)
        if ((*c != ' ' && *c != '\t') || (used > 0 && text[used - 1] != ' '))
            text[used++] = *c == '\t' ? ' ' : *c;
    text[used] = '\0';
}

static void print_conditions(const struct mpi_ranks *ranks, struct probe_line *line)
{
    struct probe_conditions conditions;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int cores = 0;
    read_library(library);
    for (int r = 0; r < ranks->size; r++)
        cores += mpi_ranks_is_first(ranks, r);
    probe_conditions_begin(&conditions, "", line);
    probe_conditions_print(&conditions);
    probe_conditions_load(&conditions);
    probe_conditions_end(&conditions, "unknown");
    probe_line_text(line, "mpi", library);
    probe_line_text(line, "mpi_gpu_aware", gpu_aware());
    probe_line_text(line, "mpi_memory", "host");
    probe_line_integer(line, "mpi_ranks", ranks->size);
    probe_line_integer(line, "mpi_cores", cores);
}

void mpi_report_begin(struct mpi_report *report, const struct mpi_ranks *ranks)
{
    struct probe_line line;
    if (report->out == NULL)
        return;
    probe_line_begin(&line, "run");
    probe_line_integer(&line, "schema", 1);
    probe_line_text(&line, "probe", "mpi");
    probe_line_text(&line, "backend", "mpi");
    probe_line_integer(&line, "started_at", (int64_t)time(NULL));
    probe_line_open(&line, "conditions");
    print_conditions(ranks, &line);
    probe_line_close(&line);
    write_line(report, &line);
}

int64_t mpi_report_share(const struct mpi_report *report)
{
    int64_t rest_ns = report->begun_ns + report->budget_ns - probe_clock_ns();
    size_t cells = report->total > report->done ? report->total - report->done : 1;
    return rest_ns > 0 ? rest_ns / (int64_t)cells + 1 : 0;
}

/* A size whose time ended before there was an interval is left out. */
static bool is_enough(const struct probe_sample *sample) { return sample->ns.n >= PROBE_STATS_MIN; }

static void keep(struct mpi_report *report, const struct mpi_result *cell,
                 const struct probe_sample *sample, const char *why)
{
    struct probe_row row = {.metric = cell->metric, .axes = cell->axes, .why = why};
    struct probe_row *rows = realloc(report->rows, (report->row_count + 1) * sizeof *rows);
    if (rows == NULL)
        return;
    report->rows = rows;
    snprintf(row.from, sizeof row.from, "%s", cell->from);
    snprintf(row.to, sizeof row.to, "%s", cell->to);
    if (sample != NULL) {
        bool is_rate = strcmp(probe_metric_unit(cell->metric), "bytes_per_s") == 0;
        row.summary = is_rate ? probe_record_rate(sample) : sample->ns;
        probe_axes_add(&row.axes, "bytes", "%lld", (long long)sample->bytes);
    }
    report->rows[report->row_count++] = row;
}

static void progress(struct mpi_report *report)
{
    struct probe_line line;
    probe_record_progress(&line, report->done, report->total);
    write_line(report, &line);
}

void mpi_report_result(struct mpi_report *report, const struct mpi_result *result)
{
    struct probe_line line;
    size_t enough = 0;
    for (size_t i = 0; i < result->sample_count; i++)
        enough += is_enough(&result->samples[i]);
    if (enough == 0) {
        mpi_report_skip(report, result, mpi_report_late);
        return;
    }
    report->done++;
    for (size_t i = 0; report->is_table && i < result->sample_count; i++)
        if (is_enough(&result->samples[i]))
            keep(report, result, &result->samples[i], NULL);
    if (report->out == NULL)
        return;
    probe_record_begin(&line, "value", result->metric, result->from, result->to, &result->axes);
    probe_line_open_list(&line, "samples");
    for (size_t i = 0; i < result->sample_count; i++)
        if (is_enough(&result->samples[i]))
            probe_record_sample(&line, &result->samples[i]);
    probe_line_close_list(&line);
    write_line(report, &line);
    progress(report);
}

void mpi_report_skip(struct mpi_report *report, const struct mpi_result *cell, const char *why)
{
    struct probe_line line;
    report->done++;
    report->is_late |= why == mpi_report_late;
    if (report->is_table)
        keep(report, cell, NULL, why);
    if (report->out == NULL)
        return;
    probe_record_begin(&line, "skip", cell->metric, cell->from, cell->to, &cell->axes);
    probe_line_text(&line, "why", why);
    write_line(report, &line);
    progress(report);
}

bool mpi_report_end(struct mpi_report *report)
{
    struct probe_line line;
    bool ok = !report->is_table || probe_table_print(report->rows, report->row_count, stdout);
    free(report->rows);
    report->rows = NULL;
    if (report->out == NULL)
        return ok;
    probe_line_begin(&line, "end");
    probe_line_text(&line, "status", report->is_late ? "budget" : "complete");
    probe_line_integer(&line, "elapsed_ns", probe_clock_ns() - report->begun_ns);
    write_line(report, &line);
    pthread_mutex_lock(&report->out->gate); /* no record follows the last one */
    return ok;
}
