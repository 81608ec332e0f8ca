"""The SPANK plugin under a real Slurm: what each task finds itself in is what `berth bind` prints. The cpus are this machine's, two of the virtual node's. Prints TAP."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import node as virtual  # noqa: E402
from cluster import Cluster, enter_private_machine, wait  # noqa: E402
from berthd import BIN, Daemon, NODES  # noqa: E402
from claiming import PLACEMENT  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import call  # noqa: E402

PLUGIN = BIN.parent / "lib" / "spank_berth.so"
APP = BIN.parent / "slurm" / "app"
HOOKS = {"Prolog": "prolog", "Epilog": "epilog"}
PREFERRED = 1
VISIBLE = "ROCR_VISIBLE_DEVICES"


class Bed:
    """The daemon over the virtual node without its second hardware threads, and Slurm on it."""

    def __init__(self, settings="TaskPlugin=task/none", hooks=None, words=""):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-node-")
        virtual.make(self.folder.name, 8)
        self.settings = settings
        self.hooks = hooks or HOOKS
        self.plugin = f"{PLUGIN} {words}"  # of plugstack.conf; the socket comes behind them

    def __enter__(self):
        self.daemon = Daemon("--node", self.folder.name).__enter__()
        self.cluster = Cluster(self.daemon.socket, BIN, hooks=self.hooks, plugin=self.plugin, settings=self.settings).__enter__()
        return self

    def __exit__(self, *_):
        self.cluster.__exit__()
        self.daemon.__exit__()
        self.folder.cleanup()

    def start(self, *options, seconds=0):
        return subprocess.Popen(["srun", "-Q", *options, APP, str(seconds)], env=self.cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tasks(self, *options, running=None):
        """What each task found, by its number, and what was said."""
        out, err = (running or self.start(*options)).communicate(timeout=60)
        found = [json.loads(line[5:]) for line in out.splitlines() if line.startswith("task ")]
        return {int(task["SLURM_LOCALID"]): task for task in found}, err

    def plan(self, cpus, gpus, tasks, **more):
        wait(lambda: not self.daemon.call(PLACEMENT + "ListClaims")["claims"], "the epilog of the job before has not released its gpus")
        error, reply = call(self.daemon.socket, PLACEMENT + "Bind", {"tasks": tasks, "allowed": {"cpus": cpus, "gpus": gpus}, **more})
        assert error is None, reply
        return reply["tasks"]


def same(found, plan):
    """Whether a task is in its berth: cpus, memory policy, and each variable set or unset as planned."""
    assert found["cpus"] == [int(cpu) for part in plan["cpus"].split(",") for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)], (found, plan)
    assert found["policy"] == PREFERRED and found["nodes"] == sum(1 << int(name[4:]) for name in plan["memory"]), (found, plan)
    for name, value in plan["environment"].items():
        assert found.get(name) == value, (name, found, plan)
    for name in plan["unset"]:
        assert name not in found, (name, found, plan)


def each_task_is_where_the_plan_says():
    with Bed() as bed:
        for tasks, gpus in (1, 1), (1, 8), (2, 2), (2, 8):
            found, said = bed.tasks(f"-n{tasks}", f"--gpus={gpus}")
            assert set(found) == set(range(tasks)) and said == "", (found, said)
            plan = bed.plan("0" if tasks == 1 else "0-1", [f"gpu{n}" for n in range(gpus)], tasks, gpus_per_task=gpus // tasks)
            for number, task in found.items():
                same(task, plan[number])
                assert len(task[VISIBLE].split(",")) == gpus // tasks, task


def words_of_the_job_are_obeyed():
    with Bed(hooks={**HOOKS, "TaskProlog": "taskprolog"}) as bed:  # which has nothing left to do
        found, said = bed.tasks("-n2", "--gpus=4", "--berth=pattern=ring,bytes=64M,host=1G,visible=all")
        plan = bed.plan("0-1", [f"gpu{n}" for n in range(4)], 2, gpus_per_task=2, pattern="ring", bytes=64 << 20, host_bytes=1 << 30, visible="all")
        for number, task in found.items():
            same(task, plan[number])
            assert len(task[VISIBLE].split(",")) == 4, "peer access and IPC need all of them"
        assert found[0][VISIBLE] != found[1][VISIBLE] and said == ""
        found, said = bed.tasks("-n2", "--gpus=4", "--berth=pattern=ring,host=1G,visible=all")
        plan = bed.plan("0-1", [f"gpu{n}" for n in range(4)], 2, gpus_per_task=2, pattern="ring", bytes=1 << 30, host_bytes=1 << 30, visible="all")
        assert said == "" and set(found) == {0, 1}, (found, said)
        for number, task in found.items():
            same(task, plan[number])
        found, said = bed.tasks("-n2", "--gpus=2", "--berth=off")
        assert all(task["policy"] == 0 and task[VISIBLE] == "0,1" for task in found.values()) and said == "", (found, said)
        for words, line in ("pattern=star", "pattern takes none, pairs"), ("colour=red", 'no "colour"'), ("host=many", "host takes a size"), ("bytes=1M", "pattern"):
            found, said = bed.tasks("-n1", f"--berth={words}")
            assert found == {} and line in said, (words, found, said)


def jobs_that_share_the_node_get_berths_apart():
    with Bed() as bed:
        first, second = bed.start("-n1", "--gpus=3", seconds=4), bed.start("-n1", "--gpus=5", seconds=4)
        tasks = [bed.tasks(running=first)[0][0], bed.tasks(running=second)[0][0]]
        assert not set(tasks[0]["cpus"]) & set(tasks[1]["cpus"]) and not set(tasks[0][VISIBLE].split(",")) & set(tasks[1][VISIBLE].split(",")), tasks
        assert sorted(len(task[VISIBLE].split(",")) for task in tasks) == [3, 5], tasks


def cores_by_key(bed):
    return {c["key"]: [place for place in c["places"] if place.startswith("core")] for c in bed.daemon.call(PLACEMENT + "ListClaims")["claims"]}


def a_jobs_cores_are_claimed_and_others_plan_around_them():
    """Jobs that share no gpus and were not planned together: nobody tells the command which cores the job has, for nothing confines the tasks to them."""
    command = ["--berth=off", BIN / "berth", "--socket", "SOCKET", "exec", "--strict", "--", APP]
    with Bed() as bed:
        command[command.index("SOCKET")] = bed.daemon.socket
        jobs = []
        for more in ["-n1"], ["-n1", "--gpus=2"]:
            jobs.append(subprocess.Popen(["srun", "-Q", *more, *command, "30"], env=bed.cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            wait(lambda: sum(map(len, cores_by_key(bed).values())) == len(jobs), "the job's cores are not claimed")
        assert cores_by_key(bed) == {"slurm/1": ["core0"], "slurm/2": ["core1"]}, cores_by_key(bed)
        found = [json.loads(job.stdout.readline()[5:]) for job in jobs]
        assert [task["cpus"] for task in found] == [[0], [1]], found
        error, reply = call(bed.daemon.socket, PLACEMENT + "Bind", {"tasks": 1, "allowed": {"cpus": "0-3"}})
        assert error is None and reply["tasks"][0]["cpus"] == "2-3", reply
        bed.cluster.run("scancel", "1", "2")
        for job in jobs:
            job.communicate(timeout=30)
        wait(lambda: cores_by_key(bed) == {}, "what was claimed for the jobs ends with them")


def cores_come_with_all_of_their_threads():
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, plugin=PLUGIN, settings="TaskPlugin=task/none", threads=2) as cluster:
        job = subprocess.Popen(["srun", "-Q", "-n1", "-c5", "--berth=off", APP, "30"], env=cluster.environment, stdout=subprocess.PIPE, text=True)
        job.stdout.readline()
        claims = daemon.call(PLACEMENT + "ListClaims")["claims"]
        assert [claim["places"] for claim in claims] == [["core0", "core1", "core2"]], claims
        assert claims[0]["owner_pid"] is not None, "no prolog has claimed, and no epilog will release"
        cluster.run("scancel", "1")
        job.communicate(timeout=30)
        wait(lambda: not daemon.call(PLACEMENT + "ListClaims")["claims"], "the claim ends with the step")


def tasks_find_no_variable_of_the_plugins():
    with Bed() as bed:
        done = bed.cluster.run("srun", "-Q", "-n1", "--gpus=1", "env")
        names = {line.split("=")[0] for line in done.stdout.splitlines()}
        assert "SLURM_JOB_ID" in names and {name for name in names if name.startswith("BERTH")} == {name for name in os.environ if name.startswith("BERTH")}, names


def hwloc_loads_the_file_beside_the_socket():
    """By the plugin; a job that wants no berth has none of it, although there is a task prolog."""
    def given(bed, *options, **variables):
        done = subprocess.run(["srun", "-Q", "-n1", "--gpus=1", *options, "env"], env={**bed.cluster.environment, **variables}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("HWLOC_"))

    with Bed(hooks={**HOOKS, "TaskProlog": "taskprolog"}) as bed:
        path = pathlib.Path(bed.daemon.socket).with_name("hwloc.xml")
        assert given(bed) == {}
        path.write_text("<?xml version=\"1.0\"?>\n<topology>\n</topology>\n")
        path.chmod(0o644)
        expected = {"HWLOC_FSROOT": "/", "HWLOC_THISSYSTEM": "1", "HWLOC_THISSYSTEM_ALLOWED_RESOURCES": "1", "HWLOC_XMLFILE": str(path), "HWLOC_COMPONENTS": "xml"}
        assert given(bed) == expected, given(bed)
        assert given(bed, "--berth=off") == {}
        assert given(bed, HWLOC_SYNTHETIC="pu:4") == {"HWLOC_SYNTHETIC": "pu:4"}


def a_daemon_that_is_gone_or_hangs_costs_one_line():
    with Bed() as bed:
        bed.daemon.process.send_signal(signal.SIGSTOP)
        found, said = bed.tasks("-n2", "--gpus=2")
        assert len(found) == 2 and said.count("\n") == 1 and "as Slurm has placed them" in said, (found, said)
        bed.daemon.process.send_signal(signal.SIGCONT)
        bed.daemon.process.kill()
        bed.daemon.process.wait()
        os.unlink(bed.daemon.socket)
        found, said = bed.tasks("-n2", "--gpus=2")
        assert len(found) == 2 and said.count("\n") == 1 and "no daemon" in said, (found, said)
        assert all(task[VISIBLE] == "0,1" for task in found.values())


def what_slurm_has_bound_stays_and_is_told():
    with Bed(settings="TaskPlugin=task/affinity\nTaskPluginParam=None") as bed:
        found, said = bed.tasks("-n2", "--gpus=2", "--gpu-bind=map_gpu:1,0")
        assert [found[n][VISIBLE] for n in (0, 1)] == ["1", "0"] and "bound the tasks to gpus" in said and said.count("\n") == 1, (found, said)
        assert [found[n]["policy"] for n in (0, 1)] == [PREFERRED, PREFERRED]
        found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=map_cpu:1,0")
        assert [found[n]["cpus"] for n in (0, 1)] == [[1], [0]] and "bound the tasks to cpus" in said and said.count("\n") == 1, (found, said)
        found, said = bed.tasks("-n2", "--gpus=2", "--cpu-bind=none", "--gpu-bind=none")
        assert said == "" and sorted(found[n]["cpus"] for n in (0, 1)) == [[0], [1]], (found, said)
        assert sorted(found[n][VISIBLE] for n in (0, 1)) == ["0", "1"], (found, said)


def tasks_bound_to_gpus_have_berths_apart_or_all_have_none():
    """A plan for four gpus needs four cores; none of the tasks knows which gpus the other one has."""
    with Bed(settings="TaskPlugin=task/affinity\nTaskPluginParam=None") as bed:
        for more in [], ["--berth=gpus=1"]:
            found, said = bed.tasks("-n2", "--gpus=2", "--gpu-bind=map_gpu:1,0", *more)
            assert [found[n][VISIBLE] for n in (0, 1)] == ["1", "0"] and "bound the tasks to gpus" in said and said.count("\n") == 1, (found, said)
            assert sorted((task["cpus"], task["policy"]) for task in found.values()) == [([0], PREFERRED), ([1], PREFERRED)], found
            for gpus, shown in ("map_gpu:0,1", ["0", "1"]), ("single:1", ["0", "1"]), ("map_gpu:3,1", ["3", "1"]):
                found, said = bed.tasks("-n2", "--gpus-per-node=4", f"--gpu-bind={gpus}", *more)
                assert [(found[n][VISIBLE], found[n]["cpus"], found[n]["policy"]) for n in (0, 1)] == [(gpu, [0, 1], 0) for gpu in shown], (gpus, found)
                assert said.count("\n") == 1 and "each of the step's 4:" in said and "as Slurm has placed them" in said, (gpus, said)


def any_task_without_a_berth_is_told():
    """The first task has all gpus of the step, and so is bound to none; for the second one there is no plan by gpu."""
    with Bed() as bed:
        found, said = bed.tasks("-n2", "--gpus-per-node=4", "--gpu-bind=mask_gpu:0xf,0x1")
        assert [found[n]["policy"] for n in (0, 1)] == [PREFERRED, 0], found
        assert said.count("\n") == 1 and "as Slurm has placed them" in said, said


def rubbish_in_plugstack_conf_is_told_once():
    for words, line, is_placed in ("timeout_ms=0", "berth: plugstack.conf: timeout_ms takes 1 to 60000, not \"0\"", True), ("colour=red", 'berth: plugstack.conf: there is no "colour=red"', True), (
            "default=nonsense", 'berth: plugstack.conf: default=nonsense: there is no "nonsense"', False):
        with Bed(words=words) as bed:
            found, said = bed.tasks("-n2", "--gpus=2")
            assert said.count("\n") == 1 and line in said, (words, said)
            assert ("as Slurm has placed them" in said) == (not is_placed), (words, said)
            assert [found[n]["policy"] for n in (0, 1)] == [PREFERRED if is_placed else 0] * 2, (words, found)


if __name__ == "__main__":
    if not PLUGIN.exists():
        print("1..0 # SKIP Slurm's plugin was not built: no slurm/spank.h")
        sys.exit(77)
    enter_private_machine()
    sys.exit(run_tests([
        each_task_is_where_the_plan_says,
        words_of_the_job_are_obeyed,
        jobs_that_share_the_node_get_berths_apart,
        a_jobs_cores_are_claimed_and_others_plan_around_them,
        cores_come_with_all_of_their_threads,
        tasks_find_no_variable_of_the_plugins,
        hwloc_loads_the_file_beside_the_socket,
        a_daemon_that_is_gone_or_hangs_costs_one_line,
        what_slurm_has_bound_stays_and_is_told,
        tasks_bound_to_gpus_have_berths_apart_or_all_have_none,
        any_task_without_a_berth_is_told,
        rubbish_in_plugstack_conf_is_told_once,
    ]) > 0)
