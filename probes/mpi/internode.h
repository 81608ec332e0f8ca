/**
 * Messages between two nodes over one network interface, by 1, 2, 4, ... pairs of ranks:
 * mpi_internode_bandwidth. Without a second node the ranks of two network namespaces, or two halves
 * of the ranks stand for the nodes, and the axis between says so.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/why.h"
#include "mpi/report.h"

/* Two groups of ranks; a pair has one of each. */
struct mpi_internode {
    const char *interface; /* NULL: nothing is measured */
    const char *between;   /* nodes, netns, loopback */
    int *here, *there;     /* ranks */
    int pairs;             /* at most */
};

/* Fails when the interface is not here, or there are not two ranks. */
bool mpi_internode_new(const struct mpi_ranks *ranks, const char *interface,
                       struct mpi_internode *ret, struct probe_why *why);
void mpi_internode_done(struct mpi_internode *internode);
size_t mpi_internode_count(const struct mpi_internode *internode); /* of cells */

/* Measures out, in, and both at once. A cell whose bytes did not go over the interface is skipped.
 * Collective. */
bool mpi_internode_run(const struct mpi_ranks *ranks, const struct mpi_internode *internode,
                       struct mpi_report *report, struct probe_why *why);
