/**
 * MPI's part of berth probe.
 */
#pragma once
#include "cmd/cmd.h"

struct cmd_probe_mpi {
    const char
        *launcher;   /* command, words apart by spaces; NULL: of the MPI that built the probe */
    long ranks;      /* 0: one a core */
    int64_t limit_s; /* of the launcher */
    bool is_full;
};

/* Runs berth-probe-mpi under the launcher and has its records stored. The node is claimed
 * meanwhile. Both return the exit status. */
int cmd_probe_mpi(struct cmd *cmd, const struct cmd_probe_mpi *options);

/* Has the records of a file stored; "-" is standard input. */
int cmd_probe_records(struct cmd *cmd, const char *path);
