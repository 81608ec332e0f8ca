#include "mpi/internode.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "mpi/exchange.h"

#define SIZES         4
#define COUNTED_SHARE 0.95 /* of the bytes; the interface counts those of headers too */

static const int64_t sizes[SIZES] = {4096, 65536, 1048576, 4194304};

static const struct {
    const char *name;
    enum mpi_exchange_kind kind;
    bool is_in; /* the other group begins */
} directions[] = {{"one", MPI_EXCHANGE_STREAM, false},
                  {"in", MPI_EXCHANGE_STREAM, true},
                  {"both", MPI_EXCHANGE_BOTH, false}};
#define DIRECTIONS (sizeof directions / sizeof *directions)

/* Bytes that the interface has received or sent: of a network interface of this namespace, or an
 * RDMA device, which counts words. -1: there is no such interface. */
static int64_t count_bytes(const char *interface, bool is_received)
{
    char text[65536], key[80];
    int64_t in, out;
    snprintf(key, sizeof key, "%.64s:", interface);
    if (probe_file_text("", text, sizeof text, "/proc/net/dev"))
        for (char *save = NULL, *row = strtok_r(text, "\n", &save); row != NULL;
             row = strtok_r(NULL, "\n", &save)) {
            row += strspn(row, " ");
            if (strncmp(row, key, strlen(key)) == 0 &&
                sscanf(row + strlen(key), "%ld %*d %*d %*d %*d %*d %*d %*d %ld", &in, &out) == 2)
                return is_received ? in : out;
        }
    int64_t words =
        probe_file_number("", "/sys/class/infiniband/%.64s/ports/1/counters/port_%s_data",
                          interface, is_received ? "rcv" : "xmit");
    return words < 0 ? -1 : words * 4;
}

/* The PCI address of the NIC that the interface belongs to; the machine without one. */
static void name_nic(const char *interface, char name[24])
{
    static const char *const folders[] = {"net", "infiniband"};
    snprintf(name, 24, "machine0");
    for (size_t i = 0; i < 2; i++) {
        char path[160], target[PATH_MAX];
        unsigned domain, bus, device, function;
        snprintf(path, sizeof path, "/sys/class/%s/%.64s/device", folders[i], interface);
        const char *base = realpath(path, target) != NULL ? strrchr(target, '/') : NULL;
        if (base != NULL && sscanf(base, "/%x:%x:%x.%x", &domain, &bus, &device, &function) == 4)
            snprintf(name, 24, "%04x:%02x:%02x.%x", domain & 0xffffffu, bus & 0xffu, device & 0xffu,
                     function & 0xfu);
    }
}

/* Fills the groups: ranks of rank 0's namespace, and of the first other one. */
static void divide(const struct mpi_ranks *ranks, struct mpi_internode *internode)
{
    int other = -1, here = 0, there = 0;
    for (int r = 0; r < ranks->size && other < 0; r++)
        if (ranks->of[r].network != 0)
            other = ranks->of[r].network;
    internode->between = other < 0 ? "loopback" : ranks->of[other].machine == 0 ? "netns" : "nodes";
    for (int r = 0; r < ranks->size; r++) {
        bool is_here = other < 0 ? r < ranks->size / 2 : ranks->of[r].network == 0;
        if (is_here)
            internode->here[here++] = r;
        else if (other < 0 || ranks->of[r].network == other)
            internode->there[there++] = r;
    }
    internode->pairs = here < there ? here : there;
}

bool mpi_internode_new(const struct mpi_ranks *ranks, const char *interface,
                       struct mpi_internode *ret, struct probe_why *why)
{
    *ret = (struct mpi_internode){.interface = interface};
    if (interface == NULL)
        return true;
    ret->here = calloc((size_t)ranks->size, sizeof *ret->here);
    ret->there = calloc((size_t)ranks->size, sizeof *ret->there);
    if (ret->here == NULL || ret->there == NULL)
        return probe_why_set(why, "out of memory");
    if (ranks->rank == 0 && count_bytes(interface, false) < 0)
        return probe_why_set(why, "there is no interface %.64s", interface);
    divide(ranks, ret);
    return ret->pairs > 0 || probe_why_set(why, "two ranks at least are needed");
}

void mpi_internode_done(struct mpi_internode *internode)
{
    free(internode->here);
    free(internode->there);
    *internode = (struct mpi_internode){.pairs = 0};
}

static int next_pairs(const struct mpi_internode *internode, int pairs)
{
    int most = internode->pairs;
    return pairs == most ? 0 : pairs == 0 ? 1 : 2 * pairs < most ? 2 * pairs : most;
}

size_t mpi_internode_count(const struct mpi_internode *internode)
{
    size_t count = 0;
    for (int pairs = next_pairs(internode, 0); pairs > 0; pairs = next_pairs(internode, pairs))
        count += DIRECTIONS;
    return count;
}

/* This rank's end in so many pairs. The group begins with rank 0, which is here. */
static bool find_end(const struct mpi_ranks *ranks, const struct mpi_internode *internode,
                     int pairs, bool is_in, struct mpi_end *ret)
{
    int *group = calloc(2 * (size_t)pairs, sizeof *group);
    *ret = (struct mpi_end){.world = MPI_COMM_WORLD, .peer = -1};
    for (int i = 0; i < pairs && group != NULL; i++) {
        group[i] = internode->here[i];
        group[pairs + i] = internode->there[i];
        if (ranks->rank == internode->here[i] || ranks->rank == internode->there[i]) {
            bool is_here = ranks->rank == internode->here[i];
            ret->peer = is_here ? internode->there[i] : internode->here[i];
            ret->begins = is_here != is_in;
        }
    }
    if (ret->peer >= 0)
        ret->group = mpi_ranks_group(group, 2 * pairs);
    free(group);
    return ret->peer >= 0;
}

/* Times all sizes. Returns the share of the bytes that the interface counted, on rank 0. */
static double time_sizes(struct mpi_end *end, size_t direction, int pairs,
                         const struct mpi_internode *internode, const struct mpi_buffers *buffers,
                         int64_t share_ns, struct probe_sample *samples)
{
    bool is_in = directions[direction].is_in;
    int64_t before = count_bytes(internode->interface, is_in);
    double moved = 0;
    for (int i = 0; i < SIZES; i++) {
        struct probe_summary *ns = &samples[i].ns;
        int64_t messages = end->messages;
        samples[i].bytes = sizes[i];
        mpi_exchange_time(end, directions[direction].kind, buffers, sizes[i], share_ns / SIZES, ns);
        moved += (double)((end->messages - messages) * sizes[i] * pairs);
        ns->value /= pairs;
        ns->low /= pairs;
        ns->high /= pairs;
    }
    return (double)(count_bytes(internode->interface, is_in) - before) / moved;
}

static void measure(const struct mpi_ranks *ranks, const struct mpi_internode *internode, int pairs,
                    size_t direction, const struct mpi_buffers *buffers, struct mpi_report *report)
{
    struct probe_sample samples[SIZES] = {{.bytes = 0}};
    char nic[24], why[120];
    struct mpi_result cell = {.metric = PROBE_MPI_INTERNODE_BANDWIDTH,
                              .from = nic,
                              .to = nic,
                              .samples = samples,
                              .sample_count = SIZES};
    struct mpi_end end;
    name_nic(internode->interface, nic);
    probe_axes_add(&cell.axes, "interface", "%s", internode->interface);
    if (strcmp(directions[direction].name, "one") != 0)
        probe_axes_add(&cell.axes, "direction", "%s", directions[direction].name);
    if (pairs > 1)
        probe_axes_add(&cell.axes, "pairs", "%d", pairs);
    if (strcmp(internode->between, "nodes") != 0)
        probe_axes_add(&cell.axes, "between", "%s", internode->between);
    int64_t share_ns = mpi_ranks_share(mpi_report_share(report));
    double counted = 1;
    if (share_ns == 0) {
        mpi_report_skip(report, &cell, mpi_report_late);
        return;
    }
    if (find_end(ranks, internode, pairs, directions[direction].is_in, &end)) {
        counted = time_sizes(&end, direction, pairs, internode, buffers, share_ns, samples);
        MPI_Comm_free(&end.group);
    }
    if (counted < COUNTED_SHARE) {
        snprintf(why, sizeof why, "%.0f %% of the bytes went over %.64s: tell MPI to use it",
                 counted * 100, internode->interface);
        mpi_report_skip(report, &cell, why);
        return;
    }
    mpi_report_result(report, &cell);
}

bool mpi_internode_run(const struct mpi_ranks *ranks, const struct mpi_internode *internode,
                       struct mpi_report *report, struct probe_why *why)
{
    struct mpi_buffers buffers = {.out = NULL};
    if (internode->interface == NULL)
        return true;
    if (!mpi_exchange_buffers(sizes[SIZES - 1], &buffers)) {
        mpi_exchange_buffers_done(&buffers);
        return probe_why_set(why, "out of memory");
    }
    for (int pairs = next_pairs(internode, 0); pairs > 0; pairs = next_pairs(internode, pairs))
        for (size_t direction = 0; direction < DIRECTIONS; direction++)
            measure(ranks, internode, pairs, direction, &buffers, report);
    mpi_exchange_buffers_done(&buffers);
    return true;
}
