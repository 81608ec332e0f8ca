#include "mpi/ranks.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "cpu/topology.h"

enum { TAG_RESULT = 101, TAG_GROUP };

#define NAP_NS 200000 /* between two looks while others measure */

/* A rank's surroundings, as it tells all others. */
struct surroundings {
    char boot[40], host[64];
    uint64_t network; /* inode of the namespace */
    struct cpu_list cpus;
};

static bool look_around(struct surroundings *ret, struct cpu_list *ret_memory,
                        bool *ret_memory_known, struct probe_why *why)
{
    struct stat network;
    *ret = (struct surroundings){.network = 0};
    probe_file_text("", ret->boot, sizeof ret->boot, "/proc/sys/kernel/random/boot_id");
    gethostname(ret->host, sizeof ret->host - 1);
    if (stat("/proc/self/ns/net", &network) == 0)
        ret->network = network.st_ino;
    return cpu_topology_allowed(&ret->cpus, ret_memory, ret_memory_known, why);
}

static bool is_same_machine(const struct surroundings *a, const struct surroundings *b)
{
    return strcmp(a->boot, b->boot) == 0 && (a->boot[0] != '\0' || strcmp(a->host, b->host) == 0);
}

static void pin(int pu)
{
    cpu_set_t *set = CPU_ALLOC(CPU_LIST_MAX);
    size_t size = CPU_ALLOC_SIZE(CPU_LIST_MAX);
    if (set == NULL)
        return;
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)pu, size, set);
    sched_setaffinity(0, size, set);
    CPU_FREE(set);
}

/* Finds this rank's machine, namespace and core, and pins it there. */
static bool settle(const struct mpi_ranks *ranks, const struct surroundings *all,
                   const struct cpu_list *memory, struct mpi_rank *ret, struct probe_why *why)
{
    const struct surroundings *own = &all[ranks->rank];
    struct cpu_topology topology = {0};
    int before = 0; /* ranks with the same CPUs */
    ret->machine = ret->network = -1;
    for (int r = 0; r <= ranks->rank; r++) {
        if (!is_same_machine(&all[r], own))
            continue;
        ret->machine = ret->machine < 0 ? r : ret->machine;
        if (ret->network < 0 && all[r].network == own->network)
            ret->network = r;
        before += r < ranks->rank && memcmp(&all[r].cpus, &own->cpus, sizeof own->cpus) == 0;
    }
    if (!cpu_topology_read("", &own->cpus, memory, &topology, why))
        return false;
    const struct cpu_core *core = &topology.cores[before % topology.core_count];
    snprintf(ret->core, sizeof ret->core, "core%d", core->number);
    snprintf(ret->host, sizeof ret->host, "%s", own->host);
    ret->number = core->number;
    ret->llc = core->llc;
    pin(core->pu);
    cpu_topology_done(&topology);
    return true;
}

bool mpi_ranks_new(struct mpi_ranks *ret_ranks, struct probe_why *why)
{
    struct mpi_ranks *ranks = ret_ranks;
    struct surroundings own = {.network = 0};
    struct mpi_rank here = {.number = 0};
    struct cpu_list memory;
    bool is_memory_known;
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
    struct surroundings *all = calloc((size_t)ranks->size, sizeof *all);
    ranks->of = calloc((size_t)ranks->size, sizeof *ranks->of);
    ranks->local = calloc((size_t)ranks->size, sizeof *ranks->local);
    bool ok = all != NULL && ranks->of != NULL && ranks->local != NULL
                  ? look_around(&own, &memory, &is_memory_known, why)
                  : probe_why_set(why, "out of memory");
    if (ok) {
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
        ok = settle(ranks, all, is_memory_known ? &memory : NULL, &here, why);
    }
    if (ok)
        MPI_Allgather(&here, sizeof here, MPI_BYTE, ranks->of, sizeof here, MPI_BYTE,
                      MPI_COMM_WORLD);
    for (int r = 0; ok && r < ranks->size; r++)
        if (ranks->of[r].machine == 0)
            ranks->local[ranks->local_count++] = r;
    free(all);
    return ok;
}

void mpi_ranks_done(struct mpi_ranks *ranks)
{
    free(ranks->of);
    free(ranks->local);
    *ranks = (struct mpi_ranks){0};
}

bool mpi_ranks_is_first(const struct mpi_ranks *ranks, int rank)
{
    const struct mpi_rank *own = &ranks->of[rank];
    for (int r = 0; r < rank; r++)
        if (ranks->of[r].machine == own->machine && ranks->of[r].number == own->number)
            return false;
    return true;
}

static void wait_asleep(MPI_Request *request)
{
    int is_over = 0;
    for (MPI_Test(request, &is_over, MPI_STATUS_IGNORE); !is_over;
         MPI_Test(request, &is_over, MPI_STATUS_IGNORE))
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

void mpi_ranks_wait(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_asleep(&request);
}

void mpi_ranks_bring(int rank, void *result, int bytes)
{
    int own;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    if (rank != 0 && own == rank)
        MPI_Send(result, bytes, MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD);
    if (rank != 0 && own == 0) {
        MPI_Irecv(result, bytes, MPI_BYTE, rank, TAG_RESULT, MPI_COMM_WORLD, &request);
        wait_asleep(&request);
    }
}

MPI_Comm mpi_ranks_group(const int *ranks, int count)
{
    MPI_Group world, group;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG_GROUP, &comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return comm;
}

int64_t mpi_ranks_share(int64_t share_ns)
{
    mpi_ranks_wait();
    MPI_Bcast(&share_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return share_ns > 0 ? share_ns : 0;
}
