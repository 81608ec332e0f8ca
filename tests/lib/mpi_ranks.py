"""A program whose ranks print their rank, size, sum of all ranks, cpus 0 and 1, and gpus."""
import pathlib
import shutil
import subprocess

from tap import LeftOut

# MPICH; its plain names are Open MPI's where Debian has both.
MPICC, MPIEXEC = (shutil.which(name + ".mpich") or name for name in ("mpicc", "mpiexec"))

PROGRAM = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size;
    cpu_set_t cpus;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sched_getaffinity(0, sizeof cpus, &cpus);
    printf("%d %d %d %d %d %s\n", rank, size, sum, CPU_ISSET(0, &cpus) != 0,
           CPU_ISSET(1, &cpus) != 0, getenv("ROCR_VISIBLE_DEVICES"));
    MPI_Finalize();
    return 0;
}
"""


def build(folder):
    """Builds it in the folder; returns its path, for MPIEXEC."""
    version = ""
    if shutil.which(MPIEXEC):
        version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True).stdout
    if shutil.which(MPICC) is None or "HYDRA" not in version:
        raise LeftOut("there is no MPICH (make check installs it)")
    program = pathlib.Path(folder) / "ranks"
    program.with_suffix(".c").write_text(PROGRAM)
    subprocess.run([MPICC, "-o", program, program.with_suffix(".c")], check=True)
    return program
