"""Workers that torchrun starts, with berth exec before them or berth.take() in them. TORCHRUN is the program; a stand-in without it. Prints TAP."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, Daemon, NODES  # noqa: E402
from service import Service  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from unique_ids import with_unique_ids  # noqa: E402
from varlink import call  # noqa: E402

BIND = "io.berth.Placement.Bind"
ROOT = HERE.parent.parent
REAL = os.environ.get("TORCHRUN")
# Python 3.11 breaks torchrun 1.13 unless it is told whose output to copy.
LAUNCHER = [REAL, "-r", "0:1", "-t", "0:1"] if REAL else [sys.executable, HERE.parent / "standin/torchrun.py"]
PYTHON = shutil.which("/usr/bin/python3") or sys.executable  # Debian's has Debian's packages
STANDIN = HERE.parent / "standin/torchrun.py"
CPUS = sorted(os.sched_getaffinity(0))
OTHERS = ("SLURM_", "PMI", "MPI_", "OMPI_", "MV2_", "JSM_", "PALS_", "FLUX_", "TORCHELASTIC_", "CROSS_", "BERTH_", "NCCL_", "UCX_", "OMP_", "PYTHON", "MAKE")
VISIBLE = "ROCR_VISIBLE_DEVICES"

# A training script: writes what it was given, and sums over all ranks where PyTorch is.
TRAIN = """
import json, os, pathlib, sys
folder, how = pathlib.Path(sys.argv[1]), sys.argv[2]
if how == "take":
    import berth
    berth.take()
found = {"cpus": sorted(os.sched_getaffinity(0)), "environment": dict(os.environ), "sum": None}
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
if how == "sum":
    import torch
    torch.distributed.init_process_group("gloo")
    value = torch.ones(1 << 16) * (torch.distributed.get_rank() + 1)
    torch.distributed.all_reduce(value)
    found.update(sum=value.sum().item() / value.numel(), threads=torch.get_num_threads())
(folder / f"{os.environ['RANK']}.{attempt}").write_text(json.dumps(found))
if how == "fail" and attempt == "0":
    sys.exit(3)
"""


class Proxy(Service):
    """A proxy before a daemon that notes the plans asked for."""

    def __init__(self, daemon):
        self.daemon, self.asked = daemon, []
        super().__init__(self.forward)

    def forward(self, question):
        if question["method"] == BIND:
            self.asked.append(question["parameters"])
        error, reply = call(self.daemon.socket, question["method"], question["parameters"])
        answer = {"parameters": reply} if error is None else {"error": error, "parameters": reply}
        return [json.dumps(answer).encode() + b"\0"]


class Bed:
    """A daemon over a recorded node, a proxy that listens, and a folder with the script."""

    def __enter__(self):
        if CPUS[:2] != [0, 1]:
            raise LeftOut("it takes cpus 0 and 1, and this may run on " + ",".join(map(str, CPUS)))
        os.sched_setaffinity(0, [0, 1])
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-torch-"))
        self.script = self.folder / "train.py"
        self.script.write_text(TRAIN)
        self.daemon = Daemon("--node", with_unique_ids(NODES / "mi250x", self.folder)).__enter__()
        self.proxy = Proxy(self.daemon)
        return self

    def __exit__(self, *what):
        self.proxy.__exit__(*what)
        self.daemon.__exit__(*what)
        shutil.rmtree(self.folder)

    def start(self, *options, how="only", words=("--gpus", "0-7"), program=None, **variables):
        """Starts the command that docs/JOBS.md tells."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        variables = {**kept, "PATH": f"{BIN.resolve()}:{os.environ['PATH']}", "BERTH_SOCKET": self.proxy.path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
        before = [] if how == "take" or program else ["berth", "exec", *words, "--"]
        command = [*LAUNCHER, "--nproc_per_node", "2", *options, "--no_python", *before, *(program or (PYTHON, self.script, self.folder, how))]
        return subprocess.Popen([*map(str, command)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process):
        """What was said, without torchrun's own lines."""
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out, err)
        return out, [line for line in err.splitlines() if line.startswith("berth:") or "without a berth" in line]

    def found(self, rank, attempt=0):
        return json.loads((self.folder / f"{rank}.{attempt}").read_text())

    def run(self, *options, **how):
        """The two workers as they were, and the question that both have asked."""
        del self.proxy.asked[:]
        said = self.end(self.start(*options, **how))[1]
        assert said == [], said
        assert len(self.proxy.asked) == 2 and self.proxy.asked[0] == self.proxy.asked[1], self.proxy.asked
        return [self.found(rank) for rank in (0, 1)], self.proxy.asked[0]


def as_planned(bed, found, asked):
    """Each worker has its own berth, and its gpu is the one with its number."""
    plan = bed.daemon.call(BIND, asked)["tasks"]
    assert [worker["cpus"] for worker in found] == [[int(task["cpus"])] for task in plan], (found, plan)
    assert sorted(worker["cpus"] for worker in found) == [[0], [1]]
    own = [task["environment"][VISIBLE] for task in plan]
    assert len(set(own)) == 2
    for worker in found:
        assert worker["environment"][VISIBLE].split(",") == own, (worker["environment"][VISIBLE], own)


def each_worker_has_its_berth():
    with Bed() as bed:
        for options in (), ("--pattern", "pairs", "--bytes", "64M"):
            found, asked = bed.run(words=("--gpus", "0-7", *options))
            as_planned(bed, found, asked)
            assert re.fullmatch(r"torchrun/none\.0\.2\.0\.process/\d+\.\d+", asked["key"]), asked
            assert asked.get("ranks") == ([0, 1] if options else None), asked


def a_rank_of_torchruns_own():
    """As a pod of Kubernetes has: no worker takes the number for one of its launcher's."""
    with Bed() as bed:
        for rank in "0", "1":
            found, asked = bed.run(RANK=rank, WORLD_SIZE="2")
            as_planned(bed, found, asked)


def gpus_that_are_left_over_come_last():
    """What each worker sees where it has more than one gpu, or the user says what it sees, is as without torchrun."""
    with Bed() as bed:
        job = {"SLURM_JOB_ID": "7", "SLURM_GPUS_ON_NODE": "3"}
        found, asked = bed.run(words=("--gpus", "0-2"), **job)
        plan = bed.daemon.call(BIND, asked)["tasks"]
        own = [task["environment"][VISIBLE].split(",")[0] for task in plan]
        assert asked["visible"] == "all" and len(set(own)) == 2
        for worker in found:
            seen = worker["environment"][VISIBLE].split(",")
            assert seen[:2] == own and len(seen) == len(set(seen)) == 3, (seen, own)
        for words in ("-g", "2"), ("--visible", "own"), ("--visible", "all"):
            found, asked = bed.run(words=("--gpus", "0-3", *words))
            plan = bed.daemon.call(BIND, asked)["tasks"]
            assert [worker["environment"][VISIBLE] for worker in found] == [task["environment"][VISIBLE] for task in plan], words


def a_step_of_slurms_is_around_it():
    with Bed() as bed:
        step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "3", "SLURM_LOCALID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_NODEID": "0", "SLURM_STEP_TASKS_PER_NODE": "1",
                "SLURM_GPUS_ON_NODE": "2", "PMI_RANK": "0", "PMI_SIZE": "1", "PMIX_RANK": "0"}
        found, asked = bed.run("--rdzv_id", "7", words=("--gpus", "4-5"), **step)
        as_planned(bed, found, asked)
        assert asked["key"].startswith("slurm/7.torchrun/7.0.2.0.process/") and asked["gpus_per_task"] == 1, asked


def two_on_one_machine_have_two_plans():
    """Both with the run id that torchrun takes by itself, and another request."""
    with Bed() as bed:
        first, asked = bed.run()
        second, other = bed.run(words=("--gpus", "6-7", "--pattern", "ring", "--bytes", "1M"))
        assert asked["key"] != other["key"]
        as_planned(bed, second, other)


def workers_that_are_started_again():
    """Under another key: their ranks may have changed."""
    with Bed() as bed:
        assert bed.end(bed.start("--max_restarts", "1", how="fail"))[1] == []
        keys = {request["key"].split(".process")[0] for request in bed.proxy.asked}
        assert keys == {"torchrun/none.0.2.0", "torchrun/none.0.2.1"}, keys
        assert [bed.found(rank, 1)["cpus"] for rank in (0, 1)] == [[0], [1]]


def ranks_of_two_nodes():
    with Bed() as bed:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        nodes = [bed.start("--nnodes", "2", "--node_rank", node, "--master_addr", "127.0.0.1", "--master_port", port, how="sum" if REAL else "only",
                           words=("--gpus", "0-7", "--pattern", "ring", "--bytes", "1M")) for node in (0, 1)]
        assert [bed.end(node)[1] for node in nodes] == [[], []]
        asked = sorted((request["ranks"], request["world"], request["key"].split(".process")[0]) for request in bed.proxy.asked)
        assert asked == [([0, 1], 4, "torchrun/none.0.4.0")] * 2 + [([2, 3], 4, "torchrun/none.1.4.0")] * 2, asked
        if REAL:
            assert [bed.found(rank)["sum"] for rank in range(4)] == [10] * 4


def a_program_takes_its_berth():
    """In Python, as berth exec does it; and the example in C."""
    with Bed() as bed, tempfile.TemporaryDirectory() as folder:
        package = shutil.copytree(ROOT / "client/python/berth", pathlib.Path(folder) / "berth")
        subprocess.run([sys.executable, ROOT / "client/python/generate.py", package, "0"], check=True)
        found, asked = bed.run(how="take", PYTHONPATH=folder, RANK="0", WORLD_SIZE="1")
        assert sorted(worker["cpus"] for worker in found) == [[0], [1]] and asked["key"].startswith("torchrun/none.0.2.0.process/"), asked
        example = BIN.parent / "examples/take"
        if not example.exists():
            raise LeftOut(f"the rest of it: there is no {example} (make examples)")
        out, _ = bed.end(bed.start(program=[example.resolve()]))
        assert sorted(re.findall(r"task (\d) of 2: cpus (\d)", out)) == [("0", "0"), ("1", "1")], out


def pytorch_sums_over_its_workers():
    if not REAL:
        raise LeftOut("TORCHRUN names no torchrun (make check-frameworks)")
    with Bed() as bed:
        found, asked = bed.run(how="sum")
        as_planned(bed, found, asked)
        assert [worker["sum"] for worker in found] == [3, 3] and {worker["threads"] for worker in found} == {1}, found


def the_standin_sets_the_same_variables():
    if not REAL:
        raise LeftOut("TORCHRUN names no torchrun (make check-frameworks)")
    told = []
    for launcher in LAUNCHER, [sys.executable, STANDIN]:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*launcher, "--nproc_per_node", "2", "--no_python", "sh", "-c", f"env >{folder}/$RANK"], check=True, capture_output=True,
                           env={"PATH": os.environ["PATH"]}, timeout=120)
            lines = [(pathlib.Path(folder) / rank).read_text().splitlines() for rank in "01"]
        told.append([sorted(line if not line.startswith(("TORCHELASTIC_ERROR_FILE=", "_=", "PWD=", "MASTER_PORT=")) else line.split("=")[0] for line in one
                            if not line.startswith("LC_CTYPE=")) for one in lines])
    assert told[0] == told[1], told


TESTS = [
    each_worker_has_its_berth, a_rank_of_torchruns_own, gpus_that_are_left_over_come_last, a_step_of_slurms_is_around_it, two_on_one_machine_have_two_plans, workers_that_are_started_again,
    ranks_of_two_nodes, a_program_takes_its_berth, pytorch_sums_over_its_workers, the_standin_sets_the_same_variables,
]

if __name__ == "__main__":
    sys.exit(1 if run_tests(TESTS) else 0)
