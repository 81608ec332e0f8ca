"""berth exec as jobs meet it. What a task was given is read from inside it. Prints TAP."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import mpi_ranks  # noqa: E402
from berthd import BIN, Daemon, NODES  # noqa: E402
from service import Service  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from unique_ids import with_unique_ids  # noqa: E402
from varlink import Connection, call  # noqa: E402

BIND = "io.berth.Placement.Bind"
INSIDE = [sys.executable, HERE.parent / "lib/inside.py"]
CPUS = sorted(os.sched_getaffinity(0))
DEVICES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
PREFERRED, BOUND, INTERLEAVED = 1, 2, 3


def clean_environment(**variables):
    """The test's own environment, without variables of a launcher or a user."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("SLURM_", "PMI", "MPI_", "OMPI_", "MV2_", "JSM_", "PALS_", "FLUX_", "TORCHELASTIC_", "CROSS_", "BERTH_")) and name not in DEVICES}
    return {**kept, **variables}


def exec_(path, *arguments, variables=None, cpus=None, stdin=None):
    """Runs berth exec as a child of this process, which stands for the launcher: status, output, errors."""
    done = subprocess.run([BIN / "berth", "--socket", path, "exec", *map(str, arguments)], env=clean_environment(**(variables or {})), capture_output=True, timeout=60, input=stdin,
                          preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
    return done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode()


def inside(path, *arguments, says="", **how):
    """The environment of the task. With says, all of standard error, by parts."""
    status, out, err = exec_(path, *arguments, "--", *INSIDE, **how)
    assert status == 0, (status, out, err)
    assert says in err if says else err == "", err
    return json.loads(out)


def hydra(task, tasks):
    return {"MPI_LOCALRANKID": str(task), "MPI_LOCALNRANKS": str(tasks), "PMI_RANK": str(task), "PMI_SIZE": str(tasks)}


def needs_two_cpus():
    if CPUS[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1, and this may run on " + ",".join(map(str, CPUS)))


def cpu_list(text):
    return [cpu for part in text.split(",") for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


class Proxy(Service):
    """A proxy before a daemon: notes requests, and change(method, reply) may replace replies.

    None ends the connection; bytes are sent unchanged.
    """

    def __init__(self, daemon, change=lambda method, reply: reply):
        self.daemon, self.change, self.asked = daemon, change, []
        super().__init__(self.answer_as_told)

    def answer_as_told(self, question):
        self.asked.append(question)
        error, reply = call(self.daemon.socket, question["method"], question["parameters"])
        answer = self.change(question["method"], reply if error is None else {"error": error, "parameters": reply})
        if isinstance(answer, dict):
            answer = json.dumps(answer if "error" in answer else {"parameters": answer}).encode() + b"\0"
        return [answer]

    def bind(self):
        return [question["parameters"] for question in self.asked if question["method"] == BIND][-1]


# ---- the berth, from inside ----

def as_planned(task, found, before):
    """Checks that a task has the resources of the plan."""
    assert found["cpus"] == cpu_list(task["cpus"]), (found["cpus"], task)
    for name, value in task["environment"].items():
        assert found["environment"].get(name) == value, (name, found["environment"].get(name), task)
    assert set(before) <= set(task["unset"]), task
    for name in task["unset"]:
        assert name not in found["environment"], (name, task)
    if found["policy"] is not None:
        assert found["policy"] == PREFERRED and found["nodes"] == [int(name.removeprefix("numa")) for name in task["memory"]], (found["policy"], found["nodes"], task)


def each_task_has_its_berth_of_one_plan():
    needs_two_cpus()
    for node, variable, before in (("mi250x", "ROCR_VISIBLE_DEVICES", {"HIP_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7", "GPU_DEVICE_ORDINAL": "0"}), ("h200x4", "CUDA_VISIBLE_DEVICES", {})):
        with Daemon("--node", NODES / node) as daemon:
            daemon.wait_ready()
            for options in ((), ("--pattern", "pairs", "--bytes", "64M", "--host-bytes", "1M"), ("--visible", "all"), ("-g", "2")):
                with Proxy(daemon) as proxy:
                    # A shell is the launcher: what is set in it is set for all of its tasks, and is no binding.
                    command = [BIN / "berth", "--socket", proxy.path, "exec", "--gpus", "0-3", *options, "--", *INSIDE]
                    script = "for t in 0 1; do MPI_LOCALRANKID=$t PMI_RANK=$t " + " ".join(f"'{word}'" for word in command) + " || exit; done"
                    done = subprocess.run(["sh", "-c", script], env={**clean_environment(), "MPI_LOCALNRANKS": "2", "PMI_SIZE": "2", **before}, capture_output=True, text=True, timeout=60)
                    assert done.returncode == 0 and done.stderr == "", done.stderr
                    found = [json.loads(line) for line in done.stdout.splitlines()]
                    asked = [question["parameters"] for question in proxy.asked if question["method"] == BIND]
                    assert len(asked) == 2 and asked[0] == asked[1] and asked[0]["tasks"] == 2, asked
                    plan = daemon.call(BIND, asked[0])["tasks"]
                for task in range(2):
                    as_planned(plan[task], found[task], before)
                    assert found[task]["environment"].get(variable), "the gpus are named"
                assert not set(found[0]["cpus"]) & set(found[1]["cpus"]), found
                assert not set(plan[0]["gpus"]) & set(plan[1]["gpus"]), plan


def memory_policies_are_taken():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon:
        for name, mode in (("preferred", PREFERRED), ("bind", BOUND), ("interleave", INTERLEAVED)):
            def change(_, reply, name=name):
                for task in reply["tasks"]:
                    task["memory_policy"], task["memory"] = name, ["numa0"]
                return reply
            with Proxy(daemon, change) as proxy:
                status, out, err = exec_(proxy.path, "-n", 1, "-t", 0, "--strict", "--", *INSIDE)
                if status == 71 and "polic" in err:
                    raise LeftOut("the kernel lets no memory policy be set here: " + err.strip())
                found = json.loads(out)
                assert (found["policy"], found["nodes"]) == (mode, [0]), (name, found["policy"], found["nodes"], err)


def one_plan_stands_for_all_tasks_of_a_step():
    """A claim between the requests of two tasks does not separate their plans."""
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon:
        first = inside(daemon.socket, "--key", "step", variables=hydra(0, 2))
        claim = {"places": ["core0"], "purpose": "compute", "key": "another", "ttl_s": 60}
        daemon.call("io.berth.Placement.Claim", claim)
        assert daemon.call(BIND, {"tasks": 1, "allowed": {"cpus": "0-1"}})["tasks"][0]["cpus"] == "1", "the claim is planned around"
        second = inside(daemon.socket, "--key", "step", variables=hydra(1, 2))
        assert first["cpus"] == [0] and second["cpus"] == [1], (first["cpus"], second["cpus"])
        status, _, err = exec_(daemon.socket, "--key", "new", "true", variables=hydra(1, 2))
        assert status == 0 and "runs without a berth" in err, "another step has the plan of now"


def tasks_that_ask_at_once_have_one_plan():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon:
        options = ["--gpus", "0-7", "--pattern", "ring", "--bytes", "16M", "--key", "at-once"]
        running = [subprocess.Popen([BIN / "berth", "--socket", daemon.socket, "exec", *options, "--", *INSIDE], env=clean_environment(**hydra(task % 2, 2)), stdout=subprocess.PIPE)
                   for task in range(8)]
        found = [json.loads(process.communicate(timeout=60)[0]) for process in running]
        for task in range(2):
            assert len({(tuple(one["cpus"]), one["environment"]["ROCR_VISIBLE_DEVICES"]) for one in found[task::2]}) == 1, found
        assert found[0]["cpus"] != found[1]["cpus"] and found[0]["environment"]["ROCR_VISIBLE_DEVICES"] != found[1]["environment"]["ROCR_VISIBLE_DEVICES"]


# ---- who this is ----

LAUNCHERS = {
    "torchrun/id.0.2.0.process/": {"TORCHELASTIC_RUN_ID": "id", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "RANK": "1", "WORLD_SIZE": "2", "GROUP_RANK": "0"},
    "process/ of deepspeed": {"CROSS_RANK": "0", "CROSS_SIZE": "1", "LOCAL_RANK": "1", "LOCAL_SIZE": "2", "RANK": "1", "WORLD_SIZE": "2"},
    "process/ of mvapich": {"MV2_COMM_WORLD_LOCAL_RANK": "1", "MV2_COMM_WORLD_LOCAL_SIZE": "2", "MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2"},
    "jsrun/7.process/": {"JSM_NAMESPACE_LOCAL_RANK": "1", "JSM_NAMESPACE_LOCAL_SIZE": "2", "JSM_NAMESPACE_RANK": "1", "JSM_NAMESPACE_SIZE": "2", "PMIX_NAMESPACE": "7"},
    "openmpi/ns@1": {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "ns@1"},
    "process/": hydra(1, 2),
    "pals/app": {"PALS_LOCAL_RANKID": "1", "PALS_LOCAL_SIZE": "2", "PALS_RANKID": "1", "PMI_SIZE": "2", "PALS_APID": "app"},
    "flux/f1": {"FLUX_TASK_LOCAL_ID": "1", "FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "2", "FLUX_JOB_NNODES": "1", "FLUX_JOB_ID": "f1"},
    "slurm/7.3": {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "3", "SLURM_LOCALID": "1", "SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_NODEID": "0", "SLURM_STEP_TASKS_PER_NODE": "2"},
    "process/ of pmi": {"PMI_LOCAL_RANK": "1", "PMI_LOCAL_SIZE": "2", "PMI_RANK": "1", "PMI_SIZE": "2"},
}


def every_launcher_says_who_this_is():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        for key, variables in LAUNCHERS.items():
            found = inside(proxy.path, "--verbose", says="task 1 of 2: cpus 1, ", variables=variables)
            assert found["cpus"] == [1], (key, found["cpus"])
            asked = proxy.bind()
            assert asked["tasks"] == 2 and asked["key"].startswith(key.split(" ")[0]), (key, asked)
            assert "ranks" not in asked, "without traffic the others do not matter"


def another_launcher_in_a_job_of_slurms_plans_within_the_job():
    """mpiexec in a job: the prolog's claim is the job's, under root's key."""
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        for key, start, more in (("job/1", "job/1.process/", {"BERTH_KEY": "job/1"}), ("slurm/12", "slurm/12.process/", {"SLURM_JOB_ID": "12"}), (None, "process/", {"SLURM_JOB_ID": "12", "BERTH_KEY": ""}),
                                 (None, "slurm/12.pals/app", {"SLURM_JOB_ID": "12", **LAUNCHERS["pals/app"]})):
            if key is not None:
                daemon.call("io.berth.Placement.Claim", {"places": ["gpu1"], "purpose": "compute", "key": key, "ttl_s": 60})
            status, _, err = exec_(proxy.path, "--gpus", "1", "-g", "1", "--tasks-per-gpu", "2", "--strict", "true", variables=more if "PALS_APID" in more else {**hydra(1, 2), **more})
            assert status == 0 and proxy.bind()["key"].startswith(start), (status, err, proxy.bind())
            if key is not None:
                daemon.call("io.berth.Placement.Release", {"key": key})


def tasks_of_several_processes_are_of_one_step():
    """ParaStation's Slurm starts each task from a process of its own, with the variables of Slurm, Hydra and Open MPI."""
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        for task in range(2):
            step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "3", "SLURM_LOCALID": str(task), "SLURM_PROCID": str(task), "SLURM_NTASKS": "2", **hydra(task, 2)}
            script = " ".join(f"{name}={value}" for name, value in step.items()) + f" {BIN}/berth --socket {proxy.path} exec --strict true; :"
            subprocess.run(["sh", "-c", script], env=clean_environment(), check=True, timeout=60)
        asked = [question["parameters"] for question in proxy.asked if question["method"] == BIND]
        assert len(asked) == 2 and asked[0] == asked[1] and asked[0]["key"] == "slurm/7.3", asked
        # What a step's task starts with mpiexec is another step, also where it counts the same.
        keys = set()
        for task in range(2):
            script = f"MPI_LOCALRANKID={task} PMI_RANK={task} MPI_LOCALNRANKS=2 PMI_SIZE=2 {BIN}/berth --socket {proxy.path} exec --strict true; :"
            step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "3", "SLURM_LOCALID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}
            subprocess.run(["sh", "-c", script], env=clean_environment(**step), check=True, timeout=60)
            keys.add(proxy.bind()["key"].split("process/")[0])
        assert keys == {"slurm/7."}, keys


def tasks_without_a_rank_are_of_one_step():
    """With a shell between launcher and command, too: the number on the node then tells the launcher's process."""
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        wrapper = f"{BIN}/berth --socket {proxy.path} exec --strict true; :"
        script = f"for t in 0 1; do MPI_LOCALRANKID=$t sh -c '{wrapper}' || exit; done"
        subprocess.run(["sh", "-c", script], env=clean_environment(MPI_LOCALNRANKS="2"), check=True, timeout=60)
        asked = [question["parameters"] for question in proxy.asked if question["method"] == BIND]
        assert len(asked) == 2 and asked[0] == asked[1] and asked[0]["key"].startswith("process/"), asked


def no_value_of_a_variable_stops_it():
    """A key is made of whatever the launcher's variables hold."""
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        for value, key in (("\udcff\n\x1b[2J", "___[2J"), ("%s%n", "%s%n"), ("x" * 100_000, "x" * 140), ("", None)):
            inside(proxy.path, "--strict", variables={**LAUNCHERS["openmpi/ns@1"], "PMIX_NAMESPACE": value})
            asked = proxy.bind()["key"]
            assert asked == "openmpi/" + key if key is not None else asked.startswith("process/"), (value[:9], asked)


def ranks_are_those_of_the_step():
    needs_two_cpus()
    slurm = {**LAUNCHERS["slurm/7.3"], "SLURM_NTASKS": "6", "SLURM_NODEID": "1", "SLURM_STEP_TASKS_PER_NODE": "2(x3)"}
    pattern = ("--pattern", "ring", "--bytes", "1M", "--gpus", "0-7")
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        for variables, options, ranks, world in (
                ({**slurm, "SLURM_PROCID": "3", "SLURM_DISTRIBUTION": "block"}, (), [2, 3], 6), ({**slurm, "SLURM_PROCID": "4", "SLURM_DISTRIBUTION": "cyclic"}, (), [1, 4], 6),
                ({**slurm, "SLURM_PROCID": "4", "SLURM_DISTRIBUTION": "cyclic"}, ("--ranks", "0-1", "--world", "4"), [0, 1], 4),
                ({**slurm, "SLURM_PROCID": "4", "SLURM_DISTRIBUTION": "arbitrary"}, (), None, None), (hydra(1, 2), (), [0, 1], 2)):
            inside(proxy.path, *pattern, *options, variables=variables)
            assert (proxy.bind().get("ranks"), proxy.bind().get("world")) == (ranks, world), (variables, proxy.bind())


def options_win():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        assert inside(proxy.path, "-t", 0, variables=hydra(1, 2))["cpus"] == [0]
        assert inside(proxy.path, "-n", 1, "-t", 0, "-c", 2, variables=hydra(1, 2))["cpus"] == [0, 1] and proxy.bind()["tasks"] == 1
        assert inside(proxy.path, "-n", 2, variables={"PMIX_RANK": "5"} | {"OMPI_COMM_WORLD_LOCAL_RANK": "1"})["cpus"] == [1], "half of it from each"
        assert inside(proxy.path, "-n", 2, "-t", 1, "--key", "mine")["cpus"] == [1] and proxy.bind()["key"] == "mine"


def what_is_asked_wrongly_is_refused():
    """Whatever the daemon: a wrong command line runs nothing."""
    with Daemon("--node", NODES / "mi250x") as daemon:
        for arguments, says in (
                ((), "which command?"), (("-n", "2", "-t", "1"), "which command?"), (("-t", "0", "true"), "which task is this, and of how many? no launcher's variables are set"),
                (("-n", "2", "true"), "give both -n TASKS and -t TASK"), (("-n", "2", "-t", "2", "true"), "no task 2 of 2"), (("-n", "0", "-t", "0", "true"), "--tasks takes"),
                (("-n", "1", "-t", "-1", "true"), "--task takes"), (("-n", "1", "-t", "0", "--cpus", "x", "true"), "--cpus takes"), (("-n", "1", "-t", "0", "--gpus", "1-", "true"), "--gpus takes"),
                (("-n", "1", "-t", "0", "--timeout", "0", "true"), "--timeout takes"), (("--nothing", "true"), "no option --nothing"),
                (("-n", "1", "-t", "0", "--bytes", "1M", "true"), "--bytes is what"), (("-n", "1", "-t", "0", "--pattern", "star", "true"), "--pattern takes"),
                (("-n", "1", "-t", "0", "--json", "true"), "no --json"),
                (("-n", "1", "-t", "0", "--node", str(NODES / "mi250x"), "true"), "no --node")):
            status, out, err = exec_(daemon.socket, *arguments)
            assert status == 64 and (out == "") == ("--json" not in arguments) and says in err and err.count("\n") == 1 and err.startswith("berth: "), (arguments, status, out, err)


def who_is_started_by_hand_is_alone():
    """And a batch script, which is told a rank, is no task either."""
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        batch = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "4"}
        for variables in {}, batch, {**batch, "SLURM_STEP_ID": "-5", "SLURM_NODEID": "0", "SLURM_TASKS_PER_NODE": "4"}:
            found = inside(proxy.path, "--strict", variables=variables)
            plan = daemon.call(BIND, proxy.bind())["tasks"]
            assert proxy.bind()["tasks"] == 1 and len(plan) == 1
            as_planned(plan[0], found, {})
            assert "gpus_per_task" not in proxy.bind()


def gpus_of_a_job_of_slurms_are_shared_out():
    """By whichever launcher's tasks; not where somebody says how many each is to have, or the job has none."""
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        for who, gpus, options, asked in (({}, "4", (), {"gpus_per_task": 4}), (hydra(1, 2), "4", (), {"gpus_per_task": 2}), (hydra(1, 2), "2", (), {"gpus_per_task": 1}),
                                          (hydra(1, 2), "1", (), {"gpus_per_task": 1, "tasks_per_gpu": 2}), (hydra(1, 2), "3", (), {"gpus_per_task": 1, "visible": "all"}),
                                          (hydra(1, 2), "3", ("--visible", "own"), {"gpus_per_task": 1, "visible": "own"}), (hydra(1, 2), "4", ("-g", 1), {"gpus_per_task": 1}),
                                          (hydra(1, 2), "8", (), {"gpus_per_task": 2}), ({}, "0", (), {}), (hydra(1, 2), "all", (), {})):
            inside(proxy.path, "--gpus", "0-3", *options, variables={**who, "SLURM_JOB_ID": "7", "SLURM_GPUS_ON_NODE": gpus})
            told = {name: value for name, value in proxy.bind().items() if name in ("gpus_per_task", "tasks_per_gpu", "visible")}
            assert told == asked, (who, gpus, options, told)


def a_launcher_that_does_not_say_enough_starts_the_command_unbound():
    with Daemon("--node", NODES / "mi250x") as daemon:
        for variables, says in (({"PMIX_RANK": "3"}, "pmix does not tell"), ({**hydra(0, 2), "PMI_RANK": "2"}, "PMI_RANK is 2, which is not less than PMI_SIZE, 2"),
                                ({**LAUNCHERS["jsrun/7.process/"], "JSM_NAMESPACE_LOCAL_SIZE": "9" * 9}, f"JSM_NAMESPACE_LOCAL_SIZE is 999999999, and {1 << 20} is the most"),
                                ({**LAUNCHERS["jsrun/7.process/"], "JSM_NAMESPACE_LOCAL_SIZE": "\x1b[2J"}, "JSM_NAMESPACE_LOCAL_SIZE is no number"), ({"OMPI_COMM_WORLD_LOCAL_RANK": "0"}, "OMPI_COMM_WORLD_LOCAL_SIZE is not set"),
                                ({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}, "SLURM_STEP_TASKS_PER_NODE is not set")):
            status, out, err = exec_(daemon.socket, "--", *INSIDE, variables=variables)
            assert status == 0 and json.loads(out)["cpus"] == CPUS and says in err and err.count("\n") == 1 and "runs without a berth" in err, (variables, status, err)
            status, out, err = exec_(daemon.socket, "--strict", "echo", "run", variables=variables)
            assert status == 64 and out == "" and says in err and err.count("\n") == 1, (variables, status, err)


def numbers_of_gpus_count_among_those_that_the_job_may_open():
    """With devices constrained by Slurm its own variable counts within the job, and the berth's
    must, too.
    """
    step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NODEID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_TASKS_PER_NODE": "1",
            "SLURM_LOCALID": "0", "SLURM_PROCID": "0", "SLURM_STEP_GPUS": "4,5"}
    with Daemon("--node", NODES / "mi250x") as daemon:
        for visible in "0,1", "1,0":
            found = inside(daemon.socket, "--gpus", "4-5", "-g", "2", "--order", "rank", variables={**step, "ROCR_VISIBLE_DEVICES": visible, "GPU_DEVICE_ORDINAL": "0,1"})
            assert found["environment"]["ROCR_VISIBLE_DEVICES"] == "0,1" and "GPU_DEVICE_ORDINAL" not in found["environment"], (visible, found["environment"])
        found = inside(daemon.socket, "--gpus", "4-5", "-g", "2", variables=step)
        assert "ROCR_VISIBLE_DEVICES" not in found["environment"], "without a device node and a variable nothing tells how they are counted"


# ---- what the launcher has bound ----

def bound_cpus_stay():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy:
        found = [inside(proxy.path, "--gpus", "0-7", says="" if task else "berth: hydra has bound its tasks, and that stays: task 0 to cpus 1\n", variables=hydra(task, 2), cpus=[1 - task])
                 for task in range(2)]
        assert [one["cpus"] for one in found] == [[1], [0]], "as the launcher had it, the other way round"
        assert found[0]["policy"] in (0, None), "the memory is where the cpus are"
        gpus = [one["environment"]["ROCR_VISIBLE_DEVICES"] for one in found]
        assert gpus[0] != gpus[1], "the gpus come from one plan"
        assert proxy.bind()["allowed"]["cpus"] == "0-1" or len(CPUS) > 2, "which is for what the launcher's process may use"
        found = inside(proxy.path, "--cpus", "0", variables=hydra(0, 2) | {"MPI_LOCALNRANKS": "1", "PMI_SIZE": "1"}, cpus=[0])
        assert found["cpus"] == [0], "an only task has nobody to share with"
        # A script between launcher and command changes nothing.
        done = subprocess.run(["sh", "-c", f"{BIN}/berth --socket {proxy.path} exec -- {INSIDE[0]} {INSIDE[1]}; :"], env=clean_environment(**hydra(0, 2)), capture_output=True, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, [1]), timeout=60)
        assert "hydra has bound its tasks" in done.stderr and json.loads(done.stdout)["cpus"] == [1], done.stderr


def what_all_tasks_share_is_not_bound():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon:
        script = f"for t in 0 1; do MPI_LOCALRANKID=$t PMI_RANK=$t {BIN}/berth --socket {daemon.socket} exec -v -- true; done"
        done = subprocess.run(["sh", "-c", script], env=clean_environment(MPI_LOCALNRANKS="2", PMI_SIZE="2"), capture_output=True, text=True, timeout=60,
                              preexec_fn=lambda: os.sched_setaffinity(0, [1]))
        assert "has bound" not in done.stderr and done.stderr.count("true runs without a berth") == 2, done.stderr  # two tasks, one cpu for both


def bound_gpus_stay():
    needs_two_cpus()
    with tempfile.TemporaryDirectory() as folder, Daemon("--node", with_unique_ids(NODES / "mi250x", folder)) as daemon, Proxy(daemon) as proxy:
        uuids = {f"gpu{n}": daemon.call(BIND, {"tasks": 1, "allowed": {"gpus": [f"gpu{n}"]}})["tasks"][0]["environment"]["ROCR_VISIBLE_DEVICES"] for n in range(8)}
        inside(proxy.path, "--gpus", "0-7", variables=hydra(0, 2))
        plan = daemon.call(BIND, proxy.bind())["tasks"]
        # Task 0 has the gpu of the second berth: it takes that one's cpus. Only it says so.
        for task in range(2):
            its = uuids[plan[1 - task]["gpus"][0]]
            found = inside(proxy.path, "--gpus", "0-7", variables={**hydra(task, 2), "ROCR_VISIBLE_DEVICES": its},
                           says="" if task else f"hydra has bound its tasks, and that stays: task 0 to gpus {plan[1]['gpus'][0]}\n")
            assert found["cpus"] == cpu_list(plan[1 - task]["cpus"]) and found["environment"]["ROCR_VISIBLE_DEVICES"] == its, (task, found["cpus"])
        free = next(name for name in uuids if name not in plan[0]["gpus"] + plan[1]["gpus"])
        other = {**hydra(1, 2), "ROCR_VISIBLE_DEVICES": uuids[free]}
        found = inside(proxy.path, "--gpus", "0-7", says="no berth of the plan has just the gpus that this task was given", variables=other)
        asked = [question["parameters"]["tasks"] for question in proxy.asked if question["method"] == BIND]
        assert asked[-2:] == [8, 2], "a berth for each gpu would have one for it, but there are too few cpus"
        assert found["cpus"] == CPUS and found["environment"]["ROCR_VISIBLE_DEVICES"] == uuids[free]
        assert exec_(proxy.path, "--strict", "--gpus", "0-7", "true", variables=other)[0] == 65
        # Both: nothing is left to be planned, and nothing is asked.
        count = len(proxy.asked)
        found = inside(proxy.path, "--gpus", "0-7", variables={**hydra(0, 2), "ROCR_VISIBLE_DEVICES": uuids["gpu5"]}, cpus=[1], says="task 0 to cpus 1 and gpus gpu5\n")
        assert found["cpus"] == [1] and found["environment"]["ROCR_VISIBLE_DEVICES"] == uuids["gpu5"]
        assert BIND not in [question["method"] for question in proxy.asked[count:]]
        # What the launcher's own process sees is the step's, and no more is planned with.
        shared = f"{uuids['gpu2']},{uuids['gpu3']}"
        script = f"MPI_LOCALRANKID=0 PMI_RANK=0 {BIN}/berth --socket {proxy.path} exec --gpus 0-7 -- {INSIDE[0]} {INSIDE[1]}; :"
        done = subprocess.run(["sh", "-c", script], env=clean_environment(MPI_LOCALNRANKS="2", PMI_SIZE="2", ROCR_VISIBLE_DEVICES=shared), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "" and proxy.bind()["allowed"]["gpus"] == ["gpu2", "gpu3"], (done.stderr, proxy.bind())
        assert json.loads(done.stdout)["environment"]["ROCR_VISIBLE_DEVICES"] in shared.split(",")


# ---- when there is no berth ----

def without_a_daemon():
    for path, says in (("/nonexistent/berth.sock", "no daemon at /nonexistent/berth.sock"), (str(HERE / "exec.py"), "no daemon at")):
        status, out, err = exec_(path, "-n", 1, "-t", 0, "--", *INSIDE)
        assert status == 0 and json.loads(out)["cpus"] == CPUS, (status, err)
        assert err.count("\n") == 1 and err.startswith("berth: warning: ") and says in err and err.endswith("runs without a berth\n"), err
        status, out, err = exec_(path, "--strict", "-n", 1, "-t", 0, "echo", "run")
        assert status == 69 and out == "" and err.count("\n") == 1 and "echo is not run (--strict)" in err, (status, out, err)


def tasks_with_the_same_warning_say_it_once():
    """And none is lost that only another task has: of several programs in a step not all need be run by berth exec."""
    needs_two_cpus()

    def said(path, *options, tasks=range(8), before="", shell=("sh", "-c")):
        """Lines of the tasks of one launcher, which a shell is here."""
        script = f"{before}for t in {' '.join(map(str, tasks))}; do MPI_LOCALRANKID=$t PMI_RANK=$t {BIN}/berth --socket {path} exec {' '.join(options)} true & done; wait"
        return subprocess.run([*shell, script], env=clean_environment(MPI_LOCALNRANKS="8", PMI_SIZE="8"), capture_output=True, text=True, timeout=60).stderr.splitlines()
    line, once = "berth: warning: no daemon at /nonexistent: true runs without a berth", " (said once for all tasks here of which it is true)"
    assert said("/nonexistent") == [line + once] and said("/nonexistent") == [line + once], "another launcher's tasks are another step's"
    assert said("/nonexistent", tasks=(5, 6, 7)) == [line + once]
    assert said("/nonexistent", "--verbose") == [line] * 8
    assert said("/nonexistent", "--strict") == ["berth: no daemon at /nonexistent: true is not run (--strict)"] * 8
    assert [exec_("/nonexistent", "-n", 8, "-t", 5, "true")[2] for _ in range(2)] == [line + "\n"] * 2, "by hand"
    with Daemon("--node", NODES / "mi250x") as daemon:
        assert len(said(daemon.socket)) == 1 and said(daemon.socket, "-n", "2", tasks=(0, 1)) == []
        lines = said(daemon.socket, "-n", "2", "--verbose", tasks=(0, 1))
        warnings = [line for line in lines if line.startswith("berth: warning: ")]
        assert len(lines) == len(warnings) + 2 and len(warnings) == len(set(warnings)) > 0, lines
        assert not any("srun" in line for line in lines), lines  # its options are not asked for here
    # Where tasks have nowhere to meet each says it, and not that it was said once.
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    read_only = "mount -t tmpfs -o ro none /dev/shm || exit; "
    if subprocess.run([*alone, read_only], stderr=subprocess.DEVNULL).returncode == 0:
        assert said("/nonexistent", tasks=(0, 1), before=read_only, shell=alone) == [line] * 2


def a_hung_daemon_is_not_waited_for():
    with Daemon("--node", NODES / "mi250x") as daemon:
        daemon.wait_ready()
        daemon.process.send_signal(signal.SIGSTOP)
        for options, least in (((), 2), (("--timeout", 1), 1)):
            begin = time.monotonic()
            status, out, err = exec_(daemon.socket, *options, "-n", 1, "-t", 0, "echo", "run")
            took = time.monotonic() - begin
            assert status == 0 and out == "run\n" and err == f"berth: warning: no answer from the daemon within {least} s: echo runs without a berth\n", (status, out, err)
            assert least <= took < least + 5, took
        assert exec_(daemon.socket, "--timeout", 1, "--strict", "-n", 1, "-t", 0, "true")[0] == 69
        daemon.process.send_signal(signal.SIGCONT)
        assert exec_(daemon.socket, "--strict", "-n", 1, "-t", 0, "true")[0] == 0


def die(_, __):
    return None


def a_daemon_that_dies_in_the_middle():
    with Daemon("--node", NODES / "mi250x") as daemon:
        for change, strict in ((die, 69), (lambda _, reply: json.dumps({"parameters": reply}).encode()[:100], 69), (lambda _, __: b"nonsense\0", 70),
                               (lambda _, reply: {**reply, "tasks": "none"}, 70), (lambda _, reply: {"error": "io.berth.Placement.NewError", "parameters": {}}, 70)):
            with Proxy(daemon, change) as proxy:
                options = ("--timeout", 1, "-n", 1, "-t", 0)
                status, out, err = exec_(proxy.path, *options, "echo", "run")
                assert status == 0 and out == "run\n" and err.count("\n") == 1 and "echo runs without a berth" in err, (status, out, err)
                status, out, err = exec_(proxy.path, "--strict", *options, "echo", "run")
                assert status == strict and out == "" and err.count("\n") == 1, (status, out, err, strict)


def a_berth_that_cannot_be_taken_is_not_taken_in_part():
    def elsewhere(_, reply):
        for task in reply.get("tasks", []):
            task["cpus"] = "0,4000"
        return reply
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon, elsewhere) as proxy:
        found = inside(proxy.path, "-n", 1, "-t", 0, "--gpus", "0", says="not all of cpus 0,4000 may be used here")
        assert found["cpus"] == CPUS and found["policy"] in (0, None) and not set(DEVICES) & set(found["environment"]), found
        assert exec_(proxy.path, "--strict", "-n", 1, "-t", 0, "--gpus", "0", "true")[0] == 71


def too_little_for_all():
    with Daemon("--node", NODES / "mi250x") as daemon:
        tasks = len(CPUS) + 1
        status, out, err = exec_(daemon.socket, "-n", tasks, "-t", 0, "echo", "run")
        assert status == 0 and out == "run\n" and err.count("\n") == 1 and "echo runs without a berth" in err, (status, err)
        status, out, err = exec_(daemon.socket, "--strict", "-n", tasks, "-t", 0, "echo", "run")
        assert status == 65 and out == "", (status, out, err)


# ---- the command ----

def the_command_is_as_without():
    """Its words, its input, its status and its way to end are its own."""
    with Daemon("--node", NODES / "mi250x") as daemon, tempfile.TemporaryDirectory() as folder:
        one = ("-n", 1, "-t", 0)
        for status in (0, 1, 64, 69, 255):
            assert exec_(daemon.socket, *one, "sh", "-c", f"exit {status}")[0] == status
        assert exec_(daemon.socket, *one, "sh", "-c", "kill -9 $$")[0] == -9
        assert exec_(daemon.socket, *one, "cat", stdin=b"through")[1] == "through"
        words = ["-n", "7", "--strict", "--", "-h", "", "caf\udce9"]
        assert json.loads(exec_(daemon.socket, *one, "--", *INSIDE, *words)[1])["arguments"] == words
        assert json.loads(exec_(daemon.socket, *one, *INSIDE, *words)[1])["arguments"] == words, "without -- its options begin behind it"
        bad = pathlib.Path(folder) / "bad"
        bad.write_text("#!/nonexistent/shell\n")
        bad.chmod(0o755)
        status, _, err = exec_(daemon.socket, *one, bad)
        assert status == 126 and "cannot run" in err, err
        status, _, err = exec_(daemon.socket, *one, folder)
        assert status == 126 and "Permission denied" in err and err.count("\n") == 1, err
        bad.chmod(0o644)
        assert exec_(daemon.socket, *one, bad)[0] == 126
        status, _, err = exec_(daemon.socket, *one, "no-such-command-at-all")
        assert status == 127 and err == "berth: cannot run no-such-command-at-all: No such file or directory\n", err
        # It has no descriptor that the caller has not.
        listed = exec_(daemon.socket, *one, "ls", "/proc/self/fd")[1].split()
        assert listed == ["0", "1", "2", "3"], listed  # the last one is the folder itself


def mpi_ranks_have_their_berths():
    needs_two_cpus()
    with Daemon("--node", NODES / "mi250x") as daemon, tempfile.TemporaryDirectory() as folder:
        program = mpi_ranks.build(folder)
        command = [BIN / "berth", "--socket", daemon.socket, "exec", "--gpus", "0-7", "--pattern", "pairs", "--bytes", "64M", "--", program]

        def launch(*options):
            done = subprocess.run([mpi_ranks.MPIEXEC, "-n", "2", *options, *command], env=clean_environment(), capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, (done.stdout, done.stderr)
            return sorted(line.split() for line in done.stdout.splitlines()), done.stderr

        found, err = launch()
        assert err == "", err
        assert [rank[:5] for rank in found] == [["0", "2", "1", "1", "0"], ["1", "2", "1", "0", "1"]], found
        plan = daemon.call(BIND, {"tasks": 2, "pattern": "pairs", "bytes": 64 << 20, "allowed": {"cpus": "0-1"}})["tasks"]
        assert [rank[5] for rank in found] == [task["environment"]["ROCR_VISIBLE_DEVICES"] for task in plan], (found, plan)
        found, err = launch("-bind-to", "user:1,0")
        assert [rank[:5] for rank in found] == [["0", "2", "1", "0", "1"], ["1", "2", "1", "1", "0"]], found
        assert err == "berth: hydra has bound its tasks, and that stays: task 0 to cpus 1\n", err


def open_mpi_starts_tasks():
    """Its own binding of two tasks, each to a core, stays; without it they take their berths."""
    needs_two_cpus()
    if shutil.which("orterun") is None:
        raise LeftOut("there is no Open MPI (make check installs it)")
    with Daemon("--node", NODES / "mi250x") as daemon, Proxy(daemon) as proxy, tempfile.TemporaryDirectory() as folder:
        command = ["berth", "--socket", proxy.path, "exec", "--gpus", "0-7", "--pattern", "pairs", "--bytes", "1M", "--",
                   "sh", "-c", f'exec "$@" >{folder}/$OMPI_COMM_WORLD_RANK', "sh", *INSIDE]
        for bound, says in (("none", ""), ("hwthread", "openmpi has bound its tasks, and that stays: task 0 to cpus 0\n")):
            done = subprocess.run(["taskset", "-c", "0,1", "orterun", "--allow-run-as-root", "--oversubscribe", "--bind-to", bound, "-n", "2", *map(str, command)],
                                  env=clean_environment(PATH=f"{BIN.resolve()}:{os.environ['PATH']}"), capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and says in done.stderr and (says or not done.stderr), (done.stdout, done.stderr)
            found = [json.loads((pathlib.Path(folder) / rank).read_text()) for rank in "01"]
            assert all(len(one["cpus"]) == 1 for one in found) and found[0]["cpus"] != found[1]["cpus"], (bound, found)
            asked = [question["parameters"] for question in proxy.asked if question["method"] == BIND][-2:]
            assert asked[0] == asked[1] and asked[0]["key"].startswith("openmpi/") and (asked[0]["ranks"], asked[0]["world"]) == ([0, 1], 2), asked
            assert len({one["environment"]["ROCR_VISIBLE_DEVICES"] for one in found}) == 2


TESTS = [
    each_task_has_its_berth_of_one_plan, memory_policies_are_taken, one_plan_stands_for_all_tasks_of_a_step, tasks_that_ask_at_once_have_one_plan,
    every_launcher_says_who_this_is, tasks_of_several_processes_are_of_one_step, tasks_without_a_rank_are_of_one_step, no_value_of_a_variable_stops_it, ranks_are_those_of_the_step, another_launcher_in_a_job_of_slurms_plans_within_the_job, options_win, what_is_asked_wrongly_is_refused,
    who_is_started_by_hand_is_alone, gpus_of_a_job_of_slurms_are_shared_out, a_launcher_that_does_not_say_enough_starts_the_command_unbound, numbers_of_gpus_count_among_those_that_the_job_may_open,
    bound_cpus_stay, what_all_tasks_share_is_not_bound, bound_gpus_stay,
    without_a_daemon, tasks_with_the_same_warning_say_it_once, a_hung_daemon_is_not_waited_for, a_daemon_that_dies_in_the_middle, a_berth_that_cannot_be_taken_is_not_taken_in_part, too_little_for_all,
    the_command_is_as_without, mpi_ranks_have_their_berths, open_mpi_starts_tasks,
]

if __name__ == "__main__":
    sys.exit(1 if run_tests(TESTS) else 0)
