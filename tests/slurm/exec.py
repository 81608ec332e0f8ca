"""berth exec under a real Slurm without berth's plugin, as what starts each task, and MPICH's ranks through it. Prints TAP."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import mpi_ranks  # noqa: E402
import node as virtual  # noqa: E402
from cluster import Cluster, enter_private_machine, wait  # noqa: E402
from berthd import BIN, Daemon  # noqa: E402
from claiming import PLACEMENT  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import call  # noqa: E402

APP = BIN.parent / "slurm" / "app"
PREFERRED = 1
PYTHON = shutil.which("/usr/bin/python3") or sys.executable  # every user may run Debian's
VISIBLE = "ROCR_VISIBLE_DEVICES"
FREE = "--cpu-bind=none", "--gpu-bind=none"
USERS = (), ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")  # root, and one to whom slurmstepd does not show its environment


class Bed:
    """The daemon over the virtual node without its second hardware threads, and Slurm with task/affinity and berth's prolog on it. user: one of USERS, who starts jobs."""

    user = ()

    def __init__(self, settings="TaskPlugin=task/affinity\nTaskPluginParam=None"):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-node-")
        virtual.make(self.folder.name, 8)
        self.settings = settings

    def __enter__(self):
        os.chmod(self.folder.name, 0o755)
        self.app, self.berth, self.torchrun = (pathlib.Path(shutil.copy(program, self.folder.name)) for program in (APP, BIN / "berth", HERE.parent / "standin/torchrun.py"))  # where every user may run them
        self.daemon = Daemon("--node", self.folder.name).__enter__()
        os.chmod(self.daemon.directory, 0o755)
        self.cluster = Cluster(self.daemon.socket, BIN, hooks={"Prolog": "prolog", "Epilog": "epilog"}, settings=self.settings).__enter__()
        return self

    def __exit__(self, *_):
        self.cluster.__exit__()
        self.daemon.__exit__()
        self.folder.cleanup()

    def run(self, *options, words=(), program=None):
        """Lines that tasks printed, and what was said, of a job whose tasks are started by berth exec."""
        self.wait_unclaimed()
        done = self.cluster.run(*self.user, "srun", "--chdir=/", "-Q", *options, *self.command(*words), "--", *(program or (self.app,)))
        assert done.returncode == 0, done
        return done.stdout.splitlines(), done.stderr

    def wait_unclaimed(self):
        wait(lambda: not self.daemon.call(PLACEMENT + "ListClaims")["claims"], "the epilog of the job before has not released its gpus")

    def command(self, *words):
        return self.berth, "--socket", self.daemon.socket, "exec", "--timeout", "30", *words

    def tasks(self, *options, **more):
        lines, said = self.run(*options, **more)
        found = [json.loads(line[5:]) for line in lines if line.startswith("task ")]
        return {int(task["SLURM_LOCALID"]): task for task in found}, said

    def plan(self, tasks, gpus, **more):
        self.wait_unclaimed()
        error, reply = call(self.daemon.socket, PLACEMENT + "Bind", {"tasks": tasks, "allowed": {"cpus": "0-1", "gpus": [f"gpu{n}" for n in range(gpus)]}, **more})
        assert error is None, reply
        return reply["tasks"]


def for_each_user(test):
    with Bed() as bed:
        for bed.user in USERS:
            test(bed)


def tasks_that_slurm_leaves_free_are_where_the_plan_says():
    for_each_user(free_tasks)


def free_tasks(bed):
    found, said = bed.tasks("-n2", "--gpus=2", *FREE, words=("--gpus", "0-1"))
    plan = bed.plan(2, 2)
    assert said == "" and set(found) == {0, 1}, (found, said)
    for number, task in found.items():
        assert task["cpus"] == [int(plan[number]["cpus"])] and task["policy"] == PREFERRED, (task, plan)
        assert task[VISIBLE] == plan[number]["environment"][VISIBLE], (task, plan)
    found, said = bed.tasks("-n2", "--gpus=2", *FREE, words=("--gpus", "0-1", "--pattern", "ring", "--bytes", "64M", "--visible", "all"))
    assert said == "" and all(len(task[VISIBLE].split(",")) == 2 for task in found.values()) and found[0][VISIBLE] != found[1][VISIBLE], (found, said)


def what_slurm_has_bound_stays_and_is_told():
    for_each_user(bound_tasks)


def bound_tasks(bed):
    found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=map_cpu:1,0", "--gpu-bind=none", words=("--gpus", "0-1"))
    assert [found[n]["cpus"] for n in (0, 1)] == [[1], [0]] and said == "berth: slurm has bound its tasks, and that stays: task 0 to cpus 1\n", (found, said)
    assert sorted(found[n][VISIBLE] for n in (0, 1)) == ["0", "1"], found
    found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=none", "--gpu-bind=map_gpu:1,0")
    assert [found[n][VISIBLE] for n in (0, 1)] == ["1", "0"] and said == "berth: slurm has bound its tasks, and that stays: task 0 to gpus gpu1\n", (found, said)
    assert sorted(found[n]["cpus"] for n in (0, 1)) == [[0], [1]] and all(task["policy"] == PREFERRED for task in found.values()), found
    found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=map_cpu:1,0", "--gpu-bind=map_gpu:1,0")
    assert [(found[n]["cpus"], found[n][VISIBLE]) for n in (0, 1)] == [([1], "1"), ([0], "0")] and "to cpus 1 and gpus gpu1" in said and said.count("\n") == 1, (found, said)
    for options, gpus in ((("-n2", "--gpus-per-task=1"), "01"), (("-n2", "--gpus=2", "--gpu-bind=single:1"), "01"), (("-n3", "--gpus=2", "--gpu-bind=map_gpu:1,0,1"), "101")):
        found, said = bed.tasks(*options)
        assert [found[n][VISIBLE] for n in range(len(gpus))] == list(gpus) and said == f"berth: slurm has bound its tasks, and that stays: task 0 to gpus gpu{gpus[0]}\n", (found, said)
        assert [found[n]["cpus"] for n in range(len(gpus))] == [[int(gpu)] for gpu in gpus] and all(task["policy"] == PREFERRED for task in found.values()), found


def no_gpu_of_the_job_is_hidden():
    """As with the plugin."""
    for_each_user(shared_gpus)


def shared_gpus(bed):
    for bind in (), FREE:
        for tasks, gpus, each in ((1, 8, 8), (2, 8, 4), (2, 2, 1)):
            found, said = bed.tasks(f"-n{tasks}", f"--gpus={gpus}", *bind)
            shown = [task[VISIBLE].split(",") for task in found.values()]
            assert said == "" and all(len(its) == each for its in shown) and sorted(sum(shown, [])) == [str(n) for n in range(gpus)], (found, said)
            assert len(found) == tasks and all(task["policy"] == PREFERRED for task in found.values()), found
        found, said = bed.tasks("-n2", "--gpus=1", *bind)
        assert said == "" and [(found[n][VISIBLE], found[n]["cpus"]) for n in (0, 1)] == [("0", [0]), ("0", [1])], (found, said)
        found, said = bed.tasks("-n2", "--gpus=3", *bind)  # the one left over is everybody's
        assert said == "" and all(sorted(task[VISIBLE]) == sorted("0,1,2") for task in found.values()) and found[0][VISIBLE][0] != found[1][VISIBLE][0], (found, said)
        found, said = bed.tasks("-n2", "--gpus=8", *bind, words=("-g", "1"))
        assert said == "" and len({task[VISIBLE] for task in found.values()}) == 2 and all(len(task[VISIBLE]) == 1 for task in found.values()), (found, said)
    # A batch script, in which it is the one task of one, and another launcher's in it.
    script, output = pathlib.Path(bed.folder.name) / "job.sh", pathlib.Path(bed.folder.name) / f"output{len(bed.user)}"
    command = " ".join(map(str, (*bed.command(), bed.app)))
    script.write_text("#!/bin/sh\n" + command + "".join(f"\nMPI_LOCALRANKID={n} PMI_RANK={n} MPI_LOCALNRANKS=2 PMI_SIZE=2 {command}" for n in (0, 1)) + "\n")
    output.touch()
    output.chmod(0o666)
    bed.wait_unclaimed()
    done = bed.cluster.run(*bed.user, "sbatch", "-W", "--chdir=/", "-n2", "--gpus=4", "-o", output, script)
    found = [json.loads(line[5:])[VISIBLE] for line in output.read_text().splitlines() if line.startswith("task ")]
    assert done.returncode == 0 and output.read_text().count("\n") == 3 and sorted(found[0].split(",")) == list("0123"), (done, output.read_text())
    assert [len(its.split(",")) for its in found[1:]] == [2, 2] and sorted(",".join(found[1:]).split(",")) == list("0123"), found


def ranks_of_mpich_have_their_berths():
    """By srun and its PMI, and by MPICH's own mpiexec in a job."""
    with Bed() as bed:
        program = mpi_ranks.build(bed.folder.name)
        words = ("--gpus", "0-1", "--pattern", "pairs", "--bytes", "64M")
        plan = bed.plan(2, 2, pattern="pairs", bytes=64 << 20)
        expected = [f"{n} 2 1 {'1 0' if plan[n]['cpus'] == '0' else '0 1'} {plan[n]['environment'][VISIBLE]}" for n in (0, 1)]
        lines, said = bed.run("-n2", "--gpus=2", "--mpi=pmi2", *FREE, words=words, program=(program,))
        assert sorted(lines) == expected and said == "", (lines, said, expected)
        command = [mpi_ranks.MPIEXEC, "-launcher", "fork", "-n", "2", *bed.command(*words), "--", program]
        done = bed.cluster.run("srun", "-Q", "-n1", "-c2", "--gpus=2", *FREE, *command)
        assert done.returncode == 0 and sorted(done.stdout.splitlines()) == expected and done.stderr == "", (done, expected)


def workers_of_torchrun_share_the_gpus_of_its_step():
    """Slurm starts one torchrun on the node, whose variables its workers have as well."""
    for_each_user(torchrun)


def torchrun(bed):
    plan = bed.plan(2, 2)
    own = [task["environment"][VISIBLE] for task in plan]
    bed.wait_unclaimed()
    done = bed.cluster.run(*bed.user, "srun", "--chdir=/", "-Q", "-n1", "-c2", "--gpus=2", *FREE, PYTHON, bed.torchrun, "--nproc_per_node", "2", "--no_python",
                           *bed.command("--gpus", "0-1"), "--", bed.app)
    found = sorted((json.loads(line[5:]) for line in done.stdout.splitlines()), key=lambda worker: worker["cpus"])
    assert done.returncode == 0 and done.stderr == "", done
    assert [worker["cpus"] for worker in found] == [[0], [1]] == sorted([int(task["cpus"])] for task in plan), (found, plan)
    assert [worker[VISIBLE] for worker in found] == [",".join(own)] * 2, (found, own)


if __name__ == "__main__":
    enter_private_machine()
    sys.exit(run_tests([
        tasks_that_slurm_leaves_free_are_where_the_plan_says,
        what_slurm_has_bound_stays_and_is_told,
        no_gpu_of_the_job_is_hidden,
        ranks_of_mpich_have_their_berths,
        workers_of_torchrun_share_the_gpus_of_its_step,
    ]) > 0)
