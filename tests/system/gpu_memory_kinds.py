"""Collectives, kinds of memory, copy calls and noise on virtual nodes, whose numbers are known. Prints TAP."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from tap import run_tests  # noqa: E402

TESTS = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("BIN", "build/bin")).resolve()
STANDIN = pathlib.Path(os.environ.get("STANDIN", os.environ.get("BUILD", "build") + "/standin")).resolve()
GPU = [f"0000:00:0{6 + i}.0" for i in range(4)]  # of the node h200x4
OPERATIONS = ["allreduce", "allgather", "reducescatter", "broadcast", "reduce"]
DIVIDED = ("allgather", "reducescatter")


class Run:
    """Output of the probe on a virtual node: h200x4 with the text added, or another one."""

    def __init__(self, metrics, more="", node="h200x4", library=True, places=(), **environment):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            file = pathlib.Path(folder) / "node"
            file.write_text(f"include {TESTS}/standin/nodes/{node}.node\n{more}\n")
            command = [str(TESTS / "standin" / "run.sh"), str(file), str(BIN / "berth-probe-gpu"), "--profile", "full", "--metrics", ",".join(metrics)]
            where = {"STANDIN": str(STANDIN), "BERTH_STANDIN_NCCL_LOG": str(log), **({"LD_LIBRARY_PATH": str(STANDIN)} if library else {})}
            done = subprocess.run(command + (["--places", ",".join(places)] if places else []), env={**os.environ, **where, **environment},
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
            self.status, self.error = done.returncode, done.stderr
            self.log = log.read_text().splitlines() if log.exists() else []
        self.records = [json.loads(line) for line in done.stdout.splitlines()]

    def all(self, kind, metric):
        return [r for r in self.records if r["record"] == kind and r.get("metric") == metric]

    def one(self, record, metric, source, target, /, **axes):
        """The record of that cell, which is there once; axes as words, defaults left out."""
        found = [r for r in self.all(record, metric) if (r["from"], r["to"]) == (source, target) and
                 {k: v for k, v in r.get("axes", {}).items() if k != "bytes"} == axes]
        assert len(found) == 1, (metric, source, target, axes, found, self.error)
        return found[0]


def near(value, expected, share=0.01):
    assert abs(value / expected - 1) <= share, f"{value} is not {expected}"


def slope(record):
    a, b = record["samples"][-2:]
    return (b["bytes"] - a["bytes"]) / (b["median_ns"] - a["median_ns"]) * 1e9


def collective_axes(operation, members=2, memory="own"):
    return {**({} if operation == "allreduce" else {"operation": operation}), **({} if members == 2 else {"members": str(members)}),
            **({} if memory == "own" else {"memory": memory})}


def collectives():
    # The stand-in lets each member fetch from the next: both directions of a GPU's links, 779 GB/s, are shared by two copies.
    run = Run(["collective_bandwidth", "collective_latency"])
    assert run.status == 0, run.error
    for members in (2, 3, 4):
        for operation in OPERATIONS:
            share = members if operation in DIVIDED else 1
            for memory, rate in (("own", 389.5e9), ("peer", 389.5e9), ("host", 20e9)):
                axes = collective_axes(operation, members, memory)
                record = run.one("value", "collective_bandwidth", GPU[0], GPU[members - 1], **axes)
                near(slope(record), rate * share)
                assert len(record["samples"]) >= 5 and record["samples"][0]["bytes"] < 5000, record
                latency = run.one("value", "collective_latency", GPU[0], GPU[members - 1], **axes)
                near(latency["value"], {"own": 1820, "peer": 1780 if members == 2 else 1820, "host": 4000}[memory], 0.02)
                assert latency["axes"].get("bytes", "8") == str(4 * members if share > 1 and members > 2 else 8), latency
    assert not run.all("skip", "collective_bandwidth") and not run.all("skip", "collective_latency")


def collectives_of_hip():
    # RCCL's names and HIP's driver: two GCDs of a module fetch from each other by SDMA, at 50 GB/s each way.
    first, second, far = "0000:c1:00.0", "0000:c6:00.0", "0000:de:00.0"
    run = Run(["collective_bandwidth", "collective_latency"], node="mi250x", places=[second, far])
    assert run.status == 0 and run.log[0] == "ncclCommInitAll 0 1", (run.error, run.log[:1])
    for operation in OPERATIONS:
        share = 2 if operation in DIVIDED else 1
        for memory, rate in (("own", 50e9), ("peer", 50e9), ("host", 16e9)):
            axes = collective_axes(operation, 2, memory)
            near(slope(run.one("value", "collective_bandwidth", first, second, **axes)), rate * share)
            assert run.one("value", "collective_latency", first, second, **axes)["value"] > 10e3
        run.one("value", "collective_bandwidth", first, far, **collective_axes(operation, 8))
    run = Run(["collective_latency"], node="mi250x", library=False, places=[second])
    absent = {"librccl.so.1 is not on this machine", "librccl.so.1 and libamdhip64.so.5: one is a stand-in for tests, the other is not"}
    assert run.all("skip", "collective_latency") and {s["why"] for s in run.all("skip", "collective_latency")} <= absent, run.records


def order_of_calls():
    run = Run(["collective_latency"], places=GPU[3:])
    assert run.log[0] == "ncclCommInitAll 0 1 2 3" and [line.split()[0] for line in run.log].count("ncclCommInitAll") == 1, run.log[:3]
    assert run.log[-4:] == [f"ncclCommDestroy {i}" for i in range(4)], run.log[-5:]
    groups = run.log[1:-4]
    assert len(groups) % 6 == 0 and groups[::6] == ["ncclGroupStart"] * (len(groups) // 6) and groups[5::6] == ["ncclGroupEnd"] * (len(groups) // 6)
    for rank in range(4):
        assert all(f" {rank} of 4 from " in call for call in groups[1 + rank::6]), groups[:6]
    # Each member has a source, a target and a stream of its own.
    calls = [call.split() for call in groups[1:5]]
    assert all(len({call[word] for call in calls}) == 4 for word in (5, 7, 11)), calls


def a_library_that_is_not_there():
    # A real one that is here is not used with a stand-in.
    absent = ("libnccl.so.2 is not on this machine", "libnccl.so.2 and libcuda.so.1: one is a stand-in for tests, the other is not")
    for library, environment, expected in ((False, {}, absent),
                                           (True, {"BERTH_STANDIN_NCCL_FAIL": "ncclCommInitAll"}, ("libnccl.so.2: join: unhandled system error",))):
        run = Run(["collective_latency"], library=library, places=GPU[1:2], **environment)
        skips = run.all("skip", "collective_latency")
        assert skips and all(s["why"] in expected for s in skips) and not run.all("value", "collective_latency"), (skips, run.error)
        for operation in OPERATIONS:
            for memory in ("own", "peer", "host"):
                run.one("skip", "collective_latency", GPU[0], GPU[1], **collective_axes(operation, 2, memory))
        assert run.status == 0 and run.records[-1]["status"] == "complete"


def a_library_that_fails():
    run = Run(["collective_bandwidth"], places=GPU[1:2], BERTH_STANDIN_NCCL_FAIL="ncclReduceScatter")
    run.one("value", "collective_bandwidth", GPU[0], GPU[1])
    run.one("value", "collective_bandwidth", GPU[0], GPU[1], operation="allgather")
    # What the library is in after that nobody knows: it is not asked again, and the group is aborted.
    skip = run.one("skip", "collective_bandwidth", GPU[0], GPU[1], operation="reducescatter")
    assert skip["why"] == "libnccl.so.2: reducescatter: unhandled system error", skip
    assert len(run.all("skip", "collective_bandwidth")) == 13 and len(run.all("value", "collective_bandwidth")) == 2
    assert run.log[-2:] == ["ncclCommAbort 0", "ncclCommAbort 1"] and run.records[-1]["status"] == "complete"


def fewer_than_two():
    run = Run(["collective_bandwidth", "collective_latency", "kind_copy"], node="mi300a", more="nopeer 0 1\nnopeer 0 2\nnopeer 0 3", places=["none"])
    assert not run.all("value", "kind_copy") and run.status == 64 and "none" in run.error, run.error
    run = Run(["collective_latency"], more="nopeer 0 1", places=GPU[1:2])
    skip = run.one("skip", "collective_latency", GPU[0], GPU[1], memory="peer")
    assert skip["why"] == f"{GPU[0]} does not reach the memory of {GPU[1]}", skip
    run.one("value", "collective_latency", GPU[0], GPU[1])


def copy_calls():
    run = Run(["kind_copy"], places=GPU[1:2])
    rates = {("pinned", "device"): 55.57e9, ("managed", "device"): 55.57e9, ("pageable", "device"): 12e9, ("device", "pageable"): 11e9,
             ("device", "pinned"): 55.43e9, ("device", "managed"): 55.43e9}
    for source in ("pinned", "pageable", "managed", "device"):
        for target in ("pinned", "pageable", "managed", "device"):
            axes = {**({} if source == "pinned" else {"source": source}), **({} if target == "device" else {"target": target})}
            asynchronous, blocking = run.one("value", "kind_copy", GPU[1], "numa0", **axes), run.one("value", "kind_copy", GPU[1], "numa0", call="sync", **axes)
            if source != "device" or target != "device":  # in its own memory calls are a part of the time
                near(asynchronous["value"], rates.get((source, target), 20e9), 0.01)
                near(blocking["value"], rates.get((source, target), 20e9), 0.02)
    assert len(run.all("value", "kind_copy")) == 32 and not run.all("skip", "kind_copy")


def a_copy_call_that_fails():
    run = Run(["kind_copy"], "fault cuMemcpy 0 1 unsupported", places=GPU[1:2])
    assert len(run.all("value", "kind_copy")) == 16 and len(run.all("skip", "kind_copy")) == 16
    assert all(r["axes"]["call"] == "sync" and r["why"].startswith(f"{GPU[1]}: copy: ") for r in run.all("skip", "kind_copy"))
    run = Run(["kind_copy"], "fault cuMemcpy 1 1 lost", places=GPU[1:2])
    assert run.records[-1]["status"] == "failed" and run.status != 0, run.records[-1]


def kinds_of_memory():
    run = Run(["host_gpu_kernel", "host_gpu_copy_engine"], places=GPU[:1])
    near(run.one("value", "host_gpu_kernel", "numa0", GPU[0], operation="read", kind="managed")["value"], 51.5e9)
    near(run.one("value", "host_gpu_kernel", GPU[0], "numa0", operation="write", kind="managed")["value"], 52.7e9)
    near(run.one("value", "host_gpu_kernel", GPU[0], "numa0", kind="managed")["value"], 52.7e9)
    near(run.one("value", "host_gpu_copy_engine", "numa0", GPU[0], kind="managed")["value"], 55.57e9)
    near(run.one("value", "host_gpu_copy_engine", GPU[0], "numa0", kind="managed")["value"], 55.43e9)
    for kind in ("migrating", "system"):  # in place, as this node's description has them
        near(run.one("value", "host_gpu_kernel", "numa0", GPU[0], operation="read", kind=kind)["value"], 51.5e9)
        near(run.one("value", "host_gpu_kernel", GPU[0], "numa0", operation="write", kind=kind)["value"], 52.7e9)


def memory_that_comes_when_it_is_touched():
    run = Run(["host_gpu_kernel", "shared_write"], "migrate 4e9", places=GPU[:1])
    near(run.one("value", "host_gpu_kernel", "numa0", GPU[0], operation="read", kind="managed")["value"], 51.5e9)
    # It comes anew each time: once there, it would be read at 4200 GB/s.
    near(run.one("value", "host_gpu_kernel", "numa0", GPU[0], operation="read", kind="migrating")["value"], 4e9, 0.02)
    near(run.one("value", "host_gpu_kernel", GPU[0], "numa0", operation="write", kind="migrating")["value"], 4e9, 0.02)
    for axes in ({}, {"kind": "system"}):
        times = [s["median_ns"] for s in run.one("value", "shared_write", GPU[0], "numa0", **axes)["samples"]]
        assert len(times) == 3 and times == sorted(times) and times[2] > 16e6 / 4.2e12 * 1e9, times


def memory_that_is_not_reached():
    gpu = "0000:c1:00.0"
    run = Run(["host_gpu_kernel", "shared_write", "gpu_touch"], node="mi250x", places=[gpu])
    for record in (run.one("skip", "shared_write", gpu, "numa3", kind="system"),
                   run.one("skip", "gpu_touch", gpu, "numa3", kind="system", iterations="128"),
                   run.one("skip", "gpu_touch", gpu, "numa3", kind="system", stride="page"),
                   run.one("skip", "host_gpu_kernel", "numa3", gpu, operation="read", kind="system"),
                   run.one("skip", "host_gpu_kernel", gpu, "numa3", operation="write", kind="system")):
        assert record["why"] == "the gpu does not reach memory of malloc", record


def memory_that_a_gpu_writes_again_and_again():
    # A GH200 whose managed memory moves at 4 GB/s: by then that of malloc, at 378 GB/s in place, is written 95 times. The paper's mark is 128 iterations.
    gpu = "0009:01:00.0"
    run = Run(["gpu_touch"], "migrate 4e9", node="gh200-quad", places=[gpu])
    assert run.status == 0 and not run.all("skip", "gpu_touch") and len(run.all("value", "gpu_touch")) == 18, (run.error, run.all("skip", "gpu_touch"))

    def written(kind, iterations):
        return run.one("value", "gpu_touch", gpu, "numa0", **({} if kind == "managed" else {"kind": kind}), **({} if iterations == 1 else {"iterations": str(iterations)}))["value"]

    size = 16 << 20
    for iterations in (32, 128, 512):
        near(written("system", iterations), iterations * (size / 378e9 * 1e9 + 2900), 0.05)
        near(written("managed", iterations), size / 4e9 * 1e9 + iterations * (size / 3700e9 * 1e9 + 2300), 0.05)
    assert written("system", 32) < written("managed", 32) and written("system", 128) > written("managed", 128)
    assert run.one("value", "gpu_touch", gpu, "numa0", kind="system", stride="page")["value"] < written("system", 1) / 5
    near(run.one("value", "gpu_touch", gpu, "numa0", stride="page")["value"], size / 4e9 * 1e9)  # all pages move for a word each


def noise():
    # The readers are real and the clock is not: what counts is that both are said, or why not.
    run = Run(["memory_bandwidth", "memory_noise"], places=GPU[:1])
    for how in ("read", "write"):
        axes = {"noise": "numa", **({} if how == "read" else {"operation": how})}
        found = [r for r in run.all("value", "memory_bandwidth") + run.all("skip", "memory_bandwidth") if r["axes"] == axes]
        assert len(found) == 1, found
        if found[0]["record"] == "value":
            near(found[0]["value"], 51.5e9 if how == "read" else 52.7e9)
            assert run.one("value", "memory_noise", GPU[0], "numa0", noise="numa", beside=how)["value"] > 0
        else:
            assert "core" in found[0]["why"], found


def allocations():
    # In the stand-in's time a call that allocates takes 60 us, whatever its size, and touching pages nothing.
    run = Run(["allocation"])
    for gpu in GPU:
        pinned, system = (run.one("value", "allocation", gpu, "numa0", **axes)["value"] for axes in ({"kind": "pinned"}, {}))
        near(pinned, (64 << 20) / 60e-6, 0.02)
        assert system > pinned, (system, pinned)


CASES = [collectives, collectives_of_hip, order_of_calls, a_library_that_is_not_there, a_library_that_fails, fewer_than_two, copy_calls, a_copy_call_that_fails,
         kinds_of_memory, memory_that_comes_when_it_is_touched, memory_that_is_not_reached, memory_that_a_gpu_writes_again_and_again, allocations, noise]


if __name__ == "__main__":
    sys.exit(run_tests(CASES) > 0)
