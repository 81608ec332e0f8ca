#!/usr/bin/env python3
"""An MPI program whose ranks take their berths.

usage: mpiexec -n 4 python3 mpi_take.py: each rank prints a line such as "rank 1 of 4: cpus 2-3,
memory numa0, gpus gpu1", or why it goes on without a berth. Exit status 0 in both cases."""
import berth

mine = berth.take()  # before mpi4py: MPI and GPU runtimes read their variables once

from mpi4py import MPI  # noqa: E402


def main() -> None:
    comm = MPI.COMM_WORLD
    here = f"cpus {mine.cpus}, memory {' '.join(mine.memory)}, gpus {' '.join(mine.gpus)}" \
        if mine else f"no berth: {mine.reason}"
    lines = comm.gather(f"rank {comm.rank} of {comm.size}: {here}")
    if comm.rank == 0:
        print("\n".join(lines or ()))


if __name__ == "__main__":
    main()
