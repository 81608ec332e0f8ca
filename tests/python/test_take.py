"""berth.take() beside berth exec: the same questions to the daemon, and the same berth."""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import berth
import pytest
from berth import _here, _take
from berthd import BIN
from service import Service
from varlink import call

INSIDE = pathlib.Path(__file__).resolve().parent.parent / "lib/inside.py"
TAKE = ("import json, runpy, sys; import berth; "
        "print(berth.take(**json.loads(sys.argv[1])).reason, file=sys.stderr); "
        "runpy.run_path(sys.argv[2], run_name='__main__')")
LAUNCHERS = ("SLURM_", "PMI", "MPI_", "OMPI_", "MV2_", "JSM_", "PALS_", "FLUX_", "TORCHELASTIC_", "CROSS_", "BERTH_", "UCX_", "NCCL_")
# A /dev with the device files of gpus named by $1, of which this machine has none.
WITH_GPUS = """set -e; new=$(mktemp -d); mount -t tmpfs none $new; mkdir $new/dri $new/shm
mount --bind /dev/shm $new/shm
for f in null urandom; do : >$new/$f; mount --bind /dev/$f $new/$f; done
for f in $1; do : >$new/$f; done
mount -n --move $new /dev; rmdir $new; shift; exec "$@" """


def amd(*numbers):
    return " ".join(["kfd", *(f"dri/renderD{128 + n}" for n in numbers)])


def nvidia(*numbers):
    return " ".join(["nvidiactl", *(f"nvidia{n}" for n in numbers)])


ALL = amd(*range(8))
UUID = "GPU-00000000-0000-0000-0000-00000000000"


def hydra(task, tasks=2):
    return {"MPI_LOCALRANKID": str(task), "MPI_LOCALNRANKS": str(tasks), "PMI_RANK": str(task),
            "PMI_SIZE": str(tasks)}


def slurm(task, **more):
    names = {"JOB_ID": "12", "STEP_ID": "3", "LOCALID": task, "PROCID": task + 2, "NODEID": 1,
             "STEP_NUM_TASKS": 4, "STEP_TASKS_PER_NODE": "2(x2)", **more}
    return {f"SLURM_{name}": str(value) for name, value in names.items()}


CASES = {  # variables, options, device files of gpus (None: no /dev of its own)
    "by hand": ({}, {}, None),
    "hydra": (hydra(1), {}, None),
    "open mpi": ({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
                  "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
                  "PMIX_NAMESPACE": "ns@1"}, {"host_bytes": 1 << 20}, None),
    "torchrun": ({"TORCHELASTIC_RUN_ID": "none", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "RANK": "3",
                  "WORLD_SIZE": "4", "GROUP_RANK": "1", "SLURM_JOB_ID": "12"},
                 {"pattern": "ring", "bytes": 1 << 20}, ALL),
    "parastation": ({**hydra(1), **slurm(1, PROCID=1, STEP_NUM_TASKS=2)}, {}, None),
    "no rank": ({"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, {}, None),
    "contradiction": ({**hydra(1), "PMI_RANK": "2"}, {}, None),
    "too little said": ({"PMIX_RANK": "0"}, {}, None),
    "no number": ({**hydra(0), "MPI_LOCALNRANKS": "two"}, {}, None),
    "negative": ({**hydra(0), "MPI_LOCALRANKID": "-1"}, {}, None),
    "in a job": ({**hydra(0), "SLURM_JOB_ID": "12"}, {}, None),
    "key": ({**hydra(0), "BERTH_KEY": "mine"}, {}, None),
    "slurm": (slurm(1), {}, None),
    "cyclic": ({**slurm(0, DISTRIBUTION="cyclic:block", PROCID=1), **{"SLURM_LOCALID": "0"}},
               {"pattern": "ring", "bytes": 1 << 20}, ALL),
    "too many": (hydra(1, 4000), {}, None),
    "gpus": (hydra(1), {"pattern": "pairs"}, ALL),
    "some gpus": (hydra(0), {}, amd(0, 3, 5)),
    "own nics": ({**hydra(0), "UCX_NET_DEVICES": "eth7", "NCCL_IB_HCA": "a", "BERTH_NCCL_IB_HCA": "a"},
                 {}, ALL),
    "given one": ({**hydra(1), "ROCR_VISIBLE_DEVICES": "1"}, {}, amd(0, 3)),
    "given one of eight": ({**hydra(1), "ROCR_VISIBLE_DEVICES": "3"}, {}, ALL),
    "given two": ({**hydra(0), "ROCR_VISIBLE_DEVICES": "6,2,9", "HIP_VISIBLE_DEVICES": " 0, 1"},
                  {"cores_per_task": 1}, ALL),
    "one list for both": ({**hydra(0), "ROCR_VISIBLE_DEVICES": "1,2", "CUDA_VISIBLE_DEVICES": "1,2"}, {},
                         ALL),
    "all of a job": (slurm(1, GPUS_ON_NODE=8, STEP_GPUS="0-7"), {}, ALL),
    "three of a job": ({**slurm(1, GPUS_ON_NODE=3, STEP_GPUS="1,2,5"), "ROCR_VISIBLE_DEVICES": "0,1,2"},
                       {}, amd(1, 2, 5)),
    "one of a job": (slurm(0, GPUS_ON_NODE=1), {"visible": "all"}, amd(2)),
    "bound by slurm": ({**slurm(0, GPUS_ON_NODE=8, STEP_GPUS="5"), "ROCR_VISIBLE_DEVICES": "0",
                        "CUDA_VISIBLE_DEVICES": "0"}, {}, amd(5)),
}


class Proxy(Service):
    """A proxy before a daemon that notes the plans asked for, and may change the first task's."""

    def __init__(self, daemon, **change):
        self.daemon, self.change, self.asked, self.lock = daemon, change, [], threading.Lock()
        super().__init__(self.forward)

    def forward(self, question):
        if question["method"].endswith(".Bind"):
            with self.lock:
                self.asked.append(question["parameters"])
        error, reply = call(self.daemon.socket, question["method"], question["parameters"])
        for task in reply.get("tasks", [])[:1]:
            task.update(self.change)
        answer = {"parameters": reply} if error is None else {"error": error, "parameters": reply}
        return [json.dumps(answer).encode() + b"\0"]


def start(words, variables, devices):
    """Starts a program as a task of this process; gives its standard output and error."""
    if devices is not None:
        words = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", WITH_GPUS, "sh", devices,
                 *words]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    done = subprocess.run([*map(str, words)], env={**kept, **variables}, text=True, timeout=60,
                          capture_output=True)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout), done.stderr


def both(daemon, variables, options, devices=None, wrapper=(), **change):
    """Runs berth exec and a program that takes its berth: what each has and has asked, and the
    program's own words.
    """
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    seen, asked = [], []
    for program in ([BIN / "berth", "exec", "--timeout=60", *words, "--", sys.executable, INSIDE],
                    [sys.executable, "-c", TAKE, json.dumps({**options, "timeout": 60}), INSIDE]):
        with Proxy(daemon, **change) as proxy:
            found, said = start([*wrapper, *program], {**variables, "BERTH_SOCKET": proxy.path}, devices)
        seen.append({key: its for key, its in found.items() if key != "arguments"})
        seen[-1]["environment"].pop("BERTH_SOCKET")
        asked.append([{key: its for key, its in request.items() if its is not None}
                      for request in proxy.asked])
    return seen, asked, said.splitlines()


@functools.lru_cache(maxsize=None)
def may_mount():
    with_gpus = subprocess.run(["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", WITH_GPUS,
                                "sh", amd(0), "test", "-e", "/dev/dri/renderD128"], capture_output=True)
    return with_gpus.returncode == 0


WRAPPERS = {  # commands before the program, and whether the task is bound to its cpus then
    "launcher on one cpu": (["taskset", "-c", "0", "env", "-u", "PMI_RANK", "sh", "-c",
                             'PMI_RANK=0 "$@"; exit $?', "sh"], False),
    "bound task": (["taskset", "-c", "1"], True),
    "wrapped twice": (["sh", "-c", '"$@"; exit $?', "sh", "taskset", "-c", "1"], True),
}


@pytest.mark.parametrize("wrapper, is_bound", WRAPPERS.values(), ids=WRAPPERS)
def test_what_the_launcher_has_bound(mi250x, wrapper, is_bound):
    """One task of two has a cpu of one plan for both, or keeps its own."""
    needs_cpus(0, 1)
    seen, asked, _ = both(mi250x, hydra(0), {"gpus_per_task": 0}, wrapper=wrapper)
    allowed = _here.parse_cpus(asked[0][0]["allowed"]["cpus"])
    for requests in asked:  # each launcher is a process of its own
        assert re.fullmatch(r"process/\d+\.\d+", requests[0].pop("key"))
    assert asked[0] == asked[1] and allowed == (os.sched_getaffinity(0) if is_bound else {0})
    assert seen[0] == seen[1] and seen[0]["cpus"] == [int(is_bound)]


def test_nics_of_the_user_stay(mi250x):
    """berth's own earlier values do not: a second variable tells them."""
    given = {"UCX_NET_DEVICES": "eth7", "NCCL_IB_HCA": "a", "BERTH_NCCL_IB_HCA": "a"}
    plan = {"cpus": "0", "memory": [], "environment": {"UCX_NET_DEVICES": "x", "NCCL_IB_HCA": "b"}}
    needs_cpus(0)
    seen, _, _ = both(mi250x, given, {}, **plan)
    found = seen[1]["environment"]
    assert seen[0] == seen[1] and found["UCX_NET_DEVICES"] == "eth7"
    assert found["NCCL_IB_HCA"] == found["BERTH_NCCL_IB_HCA"] == "b" and "BERTH_UCX_NET_DEVICES" not in found


def made_up(name, order, **more):
    details = {} if order is None else {"kfd_node": order}
    return berth.Place(name, "gpu", {**details, **more.pop("details", {})}, **more)


@pytest.mark.parametrize("places, variables, left", (
    (["9", "8", "7"], {"ROCR_VISIBLE_DEVICES": "0"}, "c"),
    (["9", "8", "7"], {"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "1,2"}, "ab"),
    (["9", None, "7"], {"ROCR_VISIBLE_DEVICES": "0"}, "abc"),
    (["9", "8", "7"], {"ROCR_VISIBLE_DEVICES": ""}, ""),
    (["9", "8", "7"], {"ROCR_VISIBLE_DEVICES": "2,x,1"}, "a"),
    (["9", "8", "7"], {"ROCR_VISIBLE_DEVICES": "GPU-b"}, "b"),
    (["9", "8", "7"], {"ROCR_VISIBLE_DEVICES": "GPU-d"}, "")))
def test_lists_of_visible_gpus(places, variables, left):
    gpus = [_here.Gpu(made_up(name, order, uuid="gpu-" + name), False, True, int(order or -1))
            for name, order in zip("abc", places)]
    assert "".join(gpu.place.name for gpu in _here.narrow(gpus, variables)) == left


def needs_cpus(*cpus):
    if not set(cpus) <= os.sched_getaffinity(0):
        pytest.skip(f"it takes cpus {cpus}")


NVIDIA = {  # variables, device files
    "all": ({}, nvidia(0, 1, 2, 3)),
    "some": ({}, nvidia(1, 3)),
    "one": ({"CUDA_VISIBLE_DEVICES": "1"}, nvidia(1, 3)),
    "by bus": ({"CUDA_VISIBLE_DEVICES": "3,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, nvidia(0, 1, 2, 3)),
    "by name": ({"CUDA_VISIBLE_DEVICES": f"{UUID}2"}, nvidia(0, 2)),
    "by no name": ({"CUDA_VISIBLE_DEVICES": f"{UUID}9"}, nvidia(0, 2)),
    "by several names": ({"CUDA_VISIBLE_DEVICES": UUID[:20]}, nvidia(0, 2)),
    "none": ({"CUDA_VISIBLE_DEVICES": ""}, nvidia(0, 1, 2, 3)),
    "slice": ({"CUDA_VISIBLE_DEVICES": "MIG-1"}, nvidia(0, 1, 2, 3)),
}


@pytest.mark.parametrize("variables, devices", NVIDIA.values(), ids=NVIDIA)
def test_as_berth_exec_with_nvidia(h200x4, variables, devices):
    if not may_mount():
        pytest.skip("mounts are not allowed here")
    seen, asked, _ = both(h200x4, {**hydra(1), **variables}, {}, devices)
    assert asked[0] == asked[1] and asked[0]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("variables, options, devices", CASES.values(), ids=CASES)
def test_as_berth_exec(mi250x, variables, options, devices):
    if devices is None and _here.has_devices():
        pytest.skip("this machine has gpus")
    if devices is not None and not may_mount():
        pytest.skip("mounts are not allowed here")
    seen, asked, _ = both(mi250x, variables, options, devices)
    assert asked[0] == asked[1]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("change, says", (
    ({"cpus": "0,4000"}, "not all of cpus 0,4000 may be used here"),
    ({"cpus": "4000"}, "the kernel refuses cpus 4000: Invalid argument"),
    ({"cpus": "all"}, "all is no list of cpus"),
    ({"cpus": "4000", "memory_policy": "bind"}, "the kernel refuses cpus 4000: Invalid argument"),
    ({"memory": ["gpu0"]}, "gpu0 is no NUMA node, and a memory policy names such"),
    ({"memory_policy": "far"}, "a memory policy that this version does not know"),
    ({"environment": {"A=B": "1"}}, 'a variable cannot be called "A=B"'),
    ({"unset": [""]}, 'a variable cannot be called ""')))
def test_all_of_it_or_nothing(mi250x, change, says):
    needs_cpus(0)
    if "memory_policy" in change:
        change = {**change, "memory": ["numa0"]}
    whole = {"cpus": "0", "memory": [], "environment": {"SET": "1"}, "unset": ["PATH"]}
    seen, _, said = both(mi250x, {}, {}, **{**whole, **change})
    if said[-1].startswith("the kernel refuses the memory policy"):
        pytest.skip(said[-1])
    assert said[-1] == says and said[0] == says + ": this program runs without a berth"
    assert seen[0] == seen[1]
    assert seen[1]["cpus"] == sorted(os.sched_getaffinity(0)) and seen[1]["policy"] in (0, None)
    assert "PATH" in seen[1]["environment"] and "SET" not in seen[1]["environment"]


@pytest.mark.parametrize("change, policy", (
    ({"memory_policy": "bind"}, 2), ({"memory_policy": "interleave"}, 3), ({}, 1), ({"memory": []}, 0)))
def test_all_parts(mi250x, change, policy):
    needs_cpus(0)
    whole = {"cpus": "0", "memory": ["numa0"], "environment": {"SET": "1"}, "unset": ["PATH"]}
    seen, _, said = both(mi250x, {}, {}, **{**whole, **change})
    if said[-1].startswith("the kernel refuses the memory policy"):
        pytest.skip(said[-1])
    assert said[-1] == "None" and seen[0] == seen[1]
    assert seen[1]["cpus"] == [0] and seen[1]["policy"] in (policy, None)
    assert seen[1]["environment"]["SET"] == "1" and "PATH" not in seen[1]["environment"]


def test_berths_of_given_gpus_are_merged(mi250x):
    with berth.Client(mi250x.socket) as client:
        tasks = client.bind(8, allowed=None).tasks
    own = [task for task in tasks if task.gpus[0] in ("gpu0", "gpu6")]
    merged = _take._merge(tasks, ["gpu0", "gpu6"])
    assert merged.gpus == ("gpu0", "gpu6") and set(merged.memory) == {own[0].memory[0], own[1].memory[0]}
    assert _here.parse_cpus(merged.cpus) == _here.parse_cpus(own[0].cpus) | _here.parse_cpus(own[1].cpus)
    assert _take._merge(tasks, ["gpu0", "gpu9"]) is None


def test_threads_that_are_there_are_bound(mi250x):
    """Other threads' own affinity stays."""
    program = ("import berth, os, threading; end = threading.Event(); ids = []\n"
               "def wait(own):\n"
               "    if own: os.sched_setaffinity(0, {1})\n"
               "    ids.append(threading.get_native_id()); end.wait()\n"
               "threads = [threading.Thread(target=wait, args=(own,)) for own in (False, True)]\n"
               "for n, thread in enumerate(threads):\n"
               "    thread.start()\n"
               "    while len(ids) == n: pass\n"
               "assert berth.take(timeout=60)\n"
               "print([sorted(os.sched_getaffinity(t)) for t in (0, *ids)]); end.set()")
    needs_cpus(0, 1)
    with Proxy(mi250x, cpus="0", memory=[]) as proxy:
        done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True,
                              env={**os.environ, "BERTH_SOCKET": proxy.path}, timeout=60)
    assert done.stdout.strip() == "[[0], [0], [1]]", done.stderr


def test_without_a_daemon(tmp_path, caplog):
    path = str(tmp_path / "none")
    mine = berth.take(path=path)
    assert not mine and mine.reason == f"no daemon at {path}" and mine.tasks == 1
    assert caplog.messages == [f"{mine.reason}: this program runs without a berth"]
    with pytest.raises(berth.NoDaemon):
        berth.take(path=path, strict=True)
    with Service(lambda question: []) as service:  # one that hangs
        assert berth.take(path=service.path, timeout=0.2).reason == \
            "no answer from the daemon within 0.2 s"
