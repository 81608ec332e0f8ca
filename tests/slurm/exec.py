"""berth exec under a real Slurm without berth's plugin, as what starts each task, and MPICH's ranks through it. Prints TAP."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import node as virtual  # noqa: E402
from cluster import Cluster, enter_private_machine, wait  # noqa: E402
from berthd import BIN, Daemon  # noqa: E402
from claiming import PLACEMENT  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import call  # noqa: E402

APP = BIN.parent / "slurm" / "app"
PREFERRED = 1
VISIBLE = "ROCR_VISIBLE_DEVICES"
FREE = "--cpu-bind=none", "--gpu-bind=none"

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
    int sum = rank + 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sched_getaffinity(0, sizeof cpus, &cpus);
    printf("rank %d %d %d %d%d %s\n", rank, size, sum, CPU_ISSET(0, &cpus) != 0, CPU_ISSET(1, &cpus) != 0, getenv("ROCR_VISIBLE_DEVICES"));
    MPI_Finalize();
    return 0;
}
"""


class Bed:
    """The daemon over the virtual node without its second hardware threads, and Slurm with task/affinity and berth's prolog on it."""

    def __init__(self, settings="TaskPlugin=task/affinity\nTaskPluginParam=None"):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-node-")
        virtual.make(self.folder.name, 8)
        self.settings = settings

    def __enter__(self):
        self.daemon = Daemon("--node", self.folder.name).__enter__()
        self.cluster = Cluster(self.daemon.socket, BIN, hooks={"Prolog": "prolog", "Epilog": "epilog"}, settings=self.settings).__enter__()
        return self

    def __exit__(self, *_):
        self.cluster.__exit__()
        self.daemon.__exit__()
        self.folder.cleanup()

    def run(self, *options, words=(), program=(APP,)):
        """Lines that tasks printed, and what was said, of a job whose tasks are started by berth exec."""
        wait(lambda: not self.daemon.call(PLACEMENT + "ListClaims")["claims"], "the epilog of the job before has not released its gpus")
        done = self.cluster.run("srun", "-Q", *options, BIN / "berth", "--socket", self.daemon.socket, "exec", "--timeout", "30", *words, "--", *program)
        assert done.returncode == 0, done
        return done.stdout.splitlines(), done.stderr

    def tasks(self, *options, **more):
        lines, said = self.run(*options, **more)
        found = [json.loads(line[5:]) for line in lines if line.startswith("task ")]
        return {int(task["SLURM_LOCALID"]): task for task in found}, said

    def plan(self, tasks, gpus, **more):
        wait(lambda: not self.daemon.call(PLACEMENT + "ListClaims")["claims"], "the epilog has not released the gpus")
        error, reply = call(self.daemon.socket, PLACEMENT + "Bind", {"tasks": tasks, "allowed": {"cpus": "0-1", "gpus": [f"gpu{n}" for n in range(gpus)]}, **more})
        assert error is None, reply
        return reply["tasks"]


def tasks_that_slurm_leaves_free_are_where_the_plan_says():
    with Bed() as bed:
        found, said = bed.tasks("-n2", "--gpus=2", *FREE, words=("--gpus", "0-1"))
        plan = bed.plan(2, 2)
        assert said == "" and set(found) == {0, 1}, (found, said)
        for number, task in found.items():
            assert task["cpus"] == [int(plan[number]["cpus"])] and task["policy"] == PREFERRED, (task, plan)
            assert task[VISIBLE] == plan[number]["environment"][VISIBLE], (task, plan)
        found, said = bed.tasks("-n2", "--gpus=2", *FREE, words=("--gpus", "0-1", "--pattern", "ring", "--bytes", "64M", "--visible", "all"))
        assert said == "" and all(len(task[VISIBLE].split(",")) == 2 for task in found.values()) and found[0][VISIBLE] != found[1][VISIBLE], (found, said)


def what_slurm_has_bound_stays_and_is_told():
    with Bed() as bed:
        found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=map_cpu:1,0", "--gpu-bind=none", words=("--gpus", "0-1"))
        assert [found[n]["cpus"] for n in (0, 1)] == [[1], [0]] and said == "berth: slurm has bound its tasks, and that stays: task 0 to cpus 1\n", (found, said)
        assert sorted(found[n][VISIBLE] for n in (0, 1)) == ["0", "1"], found
        found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=none", "--gpu-bind=map_gpu:1,0")
        assert [found[n][VISIBLE] for n in (0, 1)] == ["1", "0"] and said == "berth: slurm has bound its tasks, and that stays: task 0 to gpus gpu1\n", (found, said)
        assert sorted(found[n]["cpus"] for n in (0, 1)) == [[0], [1]] and all(task["policy"] == PREFERRED for task in found.values()), found
        found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=map_cpu:1,0", "--gpu-bind=map_gpu:1,0")
        assert [(found[n]["cpus"], found[n][VISIBLE]) for n in (0, 1)] == [([1], "1"), ([0], "0")] and "to cpus 1 and gpus gpu1" in said and said.count("\n") == 1, (found, said)


def ranks_of_mpich_have_their_berths():
    """By srun and its PMI, and by MPICH's own mpiexec in a job."""
    if shutil.which("mpicc") is None or "HYDRA" not in subprocess.run(["mpiexec", "--version"], capture_output=True, text=True).stdout:
        raise LeftOut("there is no MPICH (tests/lib/deps.sh cluster)")
    with Bed() as bed:
        program = pathlib.Path(bed.folder.name) / "ranks"
        program.with_suffix(".c").write_text(PROGRAM)
        subprocess.run(["mpicc", "-o", program, program.with_suffix(".c")], check=True)
        os.chmod(bed.folder.name, 0o755)
        words = ("--gpus", "0-1", "--pattern", "pairs", "--bytes", "64M")
        plan = bed.plan(2, 2, pattern="pairs", bytes=64 << 20)
        expected = [f"rank {n} 2 3 {'10' if plan[n]['cpus'] == '0' else '01'} {plan[n]['environment'][VISIBLE]}" for n in (0, 1)]
        lines, said = bed.run("-n2", "--gpus=2", "--mpi=pmi2", *FREE, words=words, program=(program,))
        assert sorted(lines) == expected and said == "", (lines, said, expected)
        command = ["mpiexec", "-launcher", "fork", "-n", "2", BIN / "berth", "--socket", bed.daemon.socket, "exec", "--timeout", "30", *words, "--", program]
        done = bed.cluster.run("srun", "-Q", "-n1", "-c2", "--gpus=2", *FREE, *command)
        assert done.returncode == 0 and sorted(done.stdout.splitlines()) == expected and done.stderr == "", (done, expected)


if __name__ == "__main__":
    enter_private_machine()
    sys.exit(run_tests([
        tasks_that_slurm_leaves_free_are_where_the_plan_says,
        what_slurm_has_bound_stays_and_is_told,
        ranks_of_mpich_have_their_berths,
    ]) > 0)
