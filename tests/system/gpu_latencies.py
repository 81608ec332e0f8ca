"""Latencies over sizes, flags, streaming operations, numbers of blocks and matrix products, on
virtual nodes with known numbers. Prints TAP.
"""
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
STANDIN = pathlib.Path(os.environ.get("STANDIN", "build/standin")).resolve()
H200 = [f"0000:00:0{6 + i}.0" for i in range(4)]
GCD = [f"0000:{bus}:00.0" for bus in ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de")]
NUMA_OF_GCD = ["numa3", "numa3", "numa1", "numa1", "numa0", "numa0", "numa2", "numa2"]
FREE, MORE_FREE = "805306368", "1610612736"  # host memory: with more of it, buffers are as large as on a real node


class Run:
    """Output of the probe on a virtual node with the text added to its description."""

    def __init__(self, node, metrics, more="", profile="full", places=(), roomy=False, instead=("", ""), **environment):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "node"
            text = (TESTS / "standin" / "nodes" / f"{node}.node").read_text().replace(*instead, 1)
            file.write_text(f"{text.replace(FREE, MORE_FREE) if roomy else text}\n{more}\n")
            command = [str(TESTS / "standin" / "run.sh"), str(file), str(BIN / "berth-probe-gpu"), "--profile", profile, "--metrics", ",".join(metrics)]
            done = subprocess.run(command + (["--places", ",".join(places)] if places else []), env={**os.environ, "STANDIN": str(STANDIN), **environment},
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=200)
        self.status, self.error = done.returncode, done.stderr
        self.records = [json.loads(line) for line in done.stdout.splitlines()]

    def all(self, kind, metric):
        return [r for r in self.records if r["record"] == kind and r.get("metric") == metric]

    def one(self, record, metric, source, target, /, **axes):
        """The record of that cell, which is there once; axes as words, defaults left out."""
        found = [r for r in self.all(record, metric) if (r["from"], r["to"]) == (source, target) and r.get("axes", {}) == axes]
        assert len(found) == 1, (metric, source, target, axes, found, self.error)
        return found[0]

    def value(self, metric, source, target, /, **axes):
        return self.one("value", metric, source, target, **axes)["value"]


def near(value, expected, share=0.01):
    assert abs(value / expected - 1) <= share, f"{value} is not {expected}"


def latencies_are_those_of_each_memory():
    run = Run("mi250x", ["memory_latency"], places=GCD[:1])
    assert run.status == 0, run.error
    pair, own_numa = GCD[1], NUMA_OF_GCD[0]
    for other in GCD:
        near(run.value("memory_latency", GCD[0], other), 690 if other == GCD[0] else 890 if other == pair else 1150)
    for numa in set(NUMA_OF_GCD):
        near(run.value("memory_latency", GCD[0], numa), 1480 if numa == own_numa else 1570)


def latencies_over_sizes_show_each_cache():
    run = Run("mi250x", ["memory_latency"], places=GCD[:1])
    own = {int(r["axes"]["bytes"]): r["value"] for r in run.all("value", "memory_latency") if r["from"] == r["to"] and "bytes" in r["axes"]}
    assert len(own) >= 24 and min(own) == 8192 and max(own) >= 4 * (8 << 20), sorted(own)
    for lines, ns in own.items():
        near(ns, 125 if lines <= 16 << 10 else 230 if lines <= 8 << 20 else 690)
    sizes = {int(r["axes"]["bytes"]) for r in run.all("value", "memory_latency") if r["to"] == GCD[1] and "bytes" in r["axes"]}
    assert sizes == {32768 << 2 * i for i in range(6)}, sizes


def quick_has_the_latencies_of_own_peer_and_near_memory():
    run = Run("mi250x", ["memory_latency"], profile="quick", places=GCD[:1])
    assert run.status == 0, run.error
    near(run.value("memory_latency", GCD[0], GCD[0]), 690)
    near(run.value("memory_latency", GCD[0], GCD[2]), 1150)
    near(run.value("memory_latency", GCD[2], GCD[0]), 1150)
    near(run.value("memory_latency", GCD[0], NUMA_OF_GCD[0]), 1480)
    assert all(r["axes"] == {} for r in run.all("value", "memory_latency")), "one size is enough for that"
    assert all(r["n"] >= 36 and r["low"] <= r["value"] <= r["high"] for r in run.all("value", "memory_latency")), "a low decile with an interval"


def flags_lie_in_each_memory():
    run = Run("mi250x", ["gpu_pingpong"], places=GCD[:1])
    assert run.status == 0, run.error
    for other in GCD[1:]:
        for axes, ns in (({"flag": "from"}, 2300), ({}, 2150), ({"flag": "reader"}, 1900)):
            expected = ns if other == GCD[1] else {2300: 2600, 2150: 2400, 1900: 2100}[ns]
            near(run.value("gpu_pingpong", GCD[0], other, **axes), expected)
            near(run.value("gpu_pingpong", other, GCD[0], **axes), expected)
    # The thread of the host is one of this machine's, on whatever node that is; the flag in its memory is measured there.
    host = [r for r in run.all("value", "gpu_pingpong") if r["from"].startswith("numa")]
    assert host and all(r["axes"] == {"flag": "from"} and r["to"] == GCD[0] for r in host), host
    for record in host:
        near(record["value"], 2900)
    for record in run.all("skip", "gpu_pingpong"):
        why = "no CPU that may be used" if record["axes"] == {"flag": "from"} else "CPUs do not reach the memory of"
        assert why in record["why"] and record["from"].startswith("numa"), record


def flags_that_the_host_reaches_in_a_gpu():
    # The device's memory is a NUMA node there, and flags of the other side lie in the memory of numa0.
    gpu = "0009:01:00.0"
    run = Run("gh200-quad", ["gpu_pingpong"], places=[gpu])
    assert run.status == 0, run.error
    near(run.value("gpu_pingpong", "numa0", gpu, flag="from"), 1150)
    near(run.value("gpu_pingpong", "numa0", gpu, flag="reader"), 1000)
    near(run.value("gpu_pingpong", "numa0", gpu), 1250)
    hidden = Run("gh200-quad", ["gpu_pingpong"], places=[gpu], instead=("ats=1", "ats=0"))
    for axes in ({}, {"flag": "reader"}):
        assert "does not use the page tables of CPUs" in hidden.one("skip", "gpu_pingpong", "numa0", gpu, **axes)["why"]
    near(hidden.value("gpu_pingpong", "numa0", gpu, flag="from"), 1150)


def slope(samples):
    a, b = samples[-2:]
    return (b["bytes"] - a["bytes"]) / (b["median_ns"] - a["median_ns"]) * 1e9


def streaming_operations():
    # A kernel takes 2.2 us before its first byte, and so does the one that adds up the partial sums of BS3, BS4 and BS5.
    run = Run("h200x4", ["gpu_stream"], places=H200[:1])
    assert run.status == 0, run.error
    counts = {"bs1": 16, "bs2": 24, "bs3": 8, "bs4": 16, "bs5": 48}
    for test in range(1, 8):
        name = f"bs{test}"
        record = run.one("value", "gpu_stream", H200[0], H200[0], **({} if test == 1 else {"test": name}))
        samples = record["samples"]
        sizes = [s["bytes"] for s in samples]
        assert sizes == sorted(set(sizes)) and len(sizes) >= 8 and sizes[0] <= 16384 and sizes[-1] > 4 * 62914560, sizes
        assert all(size % counts.get(name, 4) == 0 for size in sizes), sizes
        near(slope(samples), 4200e9)
        near(record["t0_queue_ns"], samples[0]["median_ns"])
        near(record["t0_queue_ns"], 4400 if 3 <= test <= 5 else 2200, 0.05)
        assert record["t0_call_ns"] > record["t0_queue_ns"] + 2000, "launch and synchronisation are in it"
        assert "t0_call_n" not in record, "of these only the median is looked at"
    # Elements of each degree: index and values of the same rows, so the same memory's rate.
    for degree in set(range(1, 16)) - {7}:
        for test in ("bs6", "bs7"):
            record = run.one("value", "gpu_stream", H200[0], H200[0], test=test, degree=str(degree))
            near(slope(record["samples"]), 4200e9)
            near(record["t0_queue_ns"], 2200, 0.05)
            assert record["samples"][0]["bytes"] >= (degree + 1) ** 3 * 24 and record["samples"][-1]["bytes"] > 4 * 62914560, record["samples"]
    assert len(run.all("value", "gpu_stream")) == 7 + 28 and not run.all("skip", "gpu_stream")
    quick = Run("h200x4", ["gpu_stream"], profile="quick", places=H200[:1])
    near(slope(quick.one("value", "gpu_stream", H200[0], H200[0])["samples"]), 4200e9)
    assert len(quick.all("value", "gpu_stream")) == 1


def calls_before_and_behind_the_curve():
    # Forty of 4 KiB and forty of 64 KiB; of 64 KiB alone where the curve has no other small size. Virtual calls take as long each time, but for what the runtime does with the bytes.
    for profile, places in (("full", H200[:2]), ("quick", H200)):
        run = Run("h200x4", ["gpu_gpu_copy_engine", "host_gpu_copy_engine"], profile=profile, places=places)
        assert run.status == 0, run.error
        curves = [r for metric in ("gpu_gpu_copy_engine", "host_gpu_copy_engine") for r in run.all("value", metric) if "t0_call_ns" in r]
        assert curves
        for record in curves:
            assert record["t0_call_n"] == (80 if record["samples"][0]["bytes"] == 4096 else 40), record
            assert record["t0_call_low_ns"] <= record["t0_call_ns"] <= record["t0_call_high_ns"] < 1.05 * record["t0_call_low_ns"], record
            assert record["t0_call_low_ns"] > record["t0_queue_ns"] + 2000, record


def blocks_share_the_memory():
    # A block has 16 bytes for each thread and load under way, over the latency of a load; all together no more than the memory gives.
    run = Run("mi250x", ["memory_bandwidth"], places=GCD[:1])
    assert run.status == 0, run.error
    for how in ("read", "write", "copy"):
        axes = {} if how == "read" else {"operation": how}
        rates = {int(r["axes"]["threads"]): r["value"] for r in run.all("value", "memory_bandwidth")
                 if "threads" in r["axes"] and {k: v for k, v in r["axes"].items() if k != "threads"} == axes}
        assert sorted(rates) == [1, 2, 4, 8, 16, 32, 64, 110, 220], rates
        for blocks in (2, 4, 8, 16):
            near(rates[blocks], min(blocks * rates[1], 1400e9))
        near(rates[220], 1400e9)
        near(run.value("memory_bandwidth", GCD[0], GCD[0], **axes), 1400e9)


def all_share_the_memory_of_one_node():
    metric = "host_gpu_copy_engine_concurrent"

    def of_one_node(profile):
        found = {}
        for record in Run("mi250x", [metric], profile=profile).all("set", metric):
            flows = record["flows"]
            numas = {place for f in flows for place in (f["from"], f["to"]) if place.startswith("numa")}
            ways = "".join(sorted({"down" if f["from"].startswith("numa") else "up" for f in flows}))
            if len(numas) == 1 and len({place for f in flows for place in (f["from"], f["to"])}) == 9:
                found[(*numas, ways)] = sum(f["bytes_per_s"] for f in flows)
        return found

    sums = of_one_node("full")
    assert sorted(sums) == [(f"numa{n}", ways) for n in range(4) for ways in ("down", "downup", "up")], sums
    for total in sums.values():
        near(total, 51.2e9)  # what such a node's memory gives
    assert not of_one_node("quick")


def products_with_operands_in_each_memory():
    run = Run("h200x4", ["matrix_product"], places=H200[:1], roomy=True)
    assert run.status == 0, run.error
    near(run.value("matrix_product", H200[0], H200[0]), 2 * 4096**3 / 45e12 * 1e9 + 3 * 4096**2 * 4 / 4200e9 * 1e9)
    for there, rate in ((H200[1], 370e9), ("numa0", 51.5e9)):
        found = {"".join(sorted(set(r["axes"]) & set("abc"))): r for r in run.all("value", "matrix_product") if (r["from"], r["to"]) == (H200[0], there)}
        assert sorted(found) == ["a", "abc", "b", "c"], found
        side = {int(r["axes"].get("n", 4096)) for r in found.values()}
        assert len(side) == 1 and side <= {4096, 2048, 1024} and (there == "numa0" or side == {4096}), "smaller only where the host has little memory"
        n = side.pop()
        flops_ns, matrix_ns = 2 * n**3 / 45e12 * 1e9, n**2 * 4 / rate * 1e9
        for operand in "abc":
            near(found[operand]["value"] - flops_ns, matrix_ns, 0.35)
        assert found["abc"]["value"] > flops_ns + 1.5 * matrix_ns, found
    blas = [r for r in run.all("skip", "matrix_product") if r["axes"].get("by") == "blas"]
    assert blas and all("stand-in" in r["why"] or "libcublas" in r["why"] for r in blas), blas
    assert not [r for r in run.all("skip", "matrix_product") if "by" not in r["axes"]]


def products_of_each_type_by_the_library():
    # The stand-in multiplies at 45 TFLOP/s, and at the advertised ratios of a GH200; operands come at their memory's rate.
    libraries = {"LD_LIBRARY_PATH": str(STANDIN)}
    run = Run("h200x4", ["matrix_product"], places=H200[:1], **libraries)
    assert run.status == 0 and not run.all("skip", "matrix_product"), (run.error, run.all("skip", "matrix_product"))
    speed, each = {"fp32": 1, "tf32": 494 / 67, "fp16": 989 / 67, "bf16": 989 / 67, "fp64": 1}, {"fp16": 2, "bf16": 2, "fp64": 8}
    for word, fast in speed.items():
        own = {"by": "blas", **({} if word == "fp32" else {"type": word})}
        matrix = each.get(word, 4) * 4096**2
        near(run.value("matrix_product", H200[0], H200[0], **own), 2 * 4096**3 / 45e12 / fast * 1e9 + 3 * matrix / 4200e9 * 1e9)
        found = {(r["axes"].get("kind", "pinned"), "".join(sorted(set(r["axes"]) & set("abc")))): r for r in run.all("value", "matrix_product")
                 if r["to"] == "numa0" and r["axes"].get("by") == "blas" and r["axes"].get("type", "fp32") == word}
        assert set(found) == {("pinned", operands) for operands in ("a", "b", "c", "abc")} | {("managed", "abc"), ("migrating", "abc")}, (word, set(found))
        n, = {int(r["axes"].get("n", 4096)) for r in found.values()}
        flops_ns, matrix_ns = 2 * n**3 / 45e12 / fast * 1e9, n**2 * each.get(word, 4) / 51.5e9 * 1e9
        for operand in "abc":
            near(found["pinned", operand]["value"], flops_ns + matrix_ns, 0.1)
        assert all(found[kind, "abc"]["value"] > flops_ns + 1.5 * matrix_ns for kind in ("pinned", "managed", "migrating")), found
    run = Run("mi250x", ["matrix_product"], places=GCD[:1], **libraries)
    skips = run.all("skip", "matrix_product")
    assert len(skips) == 7 and {r["why"] for r in skips} == {"librocblas.so.5 has no products of tf32"}, skips
    assert {r["axes"].get("type") for r in run.all("value", "matrix_product")} == {None, "fp16", "bf16", "fp64"}


METRICS = ["memory_latency", "gpu_pingpong", "matrix_product"]


def memory_that_is_not_reached_is_not_measured():
    run = Run("h200x4", METRICS, "nopeer 0 1\nnopeer 1 0", places=H200[:1])
    assert run.status == 0, run.error
    for metric in METRICS:
        for record in run.all("value", metric) + run.all("skip", metric):
            if {record["from"], record["to"]} == set(H200[:2]):
                assert record["record"] == "skip" and record["why"] == "the gpu has no access to this memory", record
    assert run.value("memory_latency", H200[0], H200[2]) > 0


def a_kernel_that_does_not_start_costs_its_cell_alone():
    run = Run("h200x4", ["gpu_pingpong"], "fault cuLaunchKernel 40 1 unsupported", places=H200[1:2])
    assert run.status == 0, run.error
    failed = [r for r in run.all("skip", "gpu_pingpong") if "operation not supported" in r["why"]]
    assert len(failed) == 1 and len([r for r in run.all("value", "gpu_pingpong") if "numa" not in r["from"]]) == 17, failed


def a_lost_device_ends_the_run():
    run = Run("h200x4", ["gpu_stream"], "fault cuLaunchKernel 600 0 lost", places=H200[:1])
    assert run.status != 0 and run.records[-1]["status"] == "failed", (run.status, run.records[-1], run.error)


CASES = [latencies_are_those_of_each_memory, latencies_over_sizes_show_each_cache, quick_has_the_latencies_of_own_peer_and_near_memory,
         flags_lie_in_each_memory, flags_that_the_host_reaches_in_a_gpu, streaming_operations, calls_before_and_behind_the_curve, blocks_share_the_memory, all_share_the_memory_of_one_node, products_with_operands_in_each_memory, products_of_each_type_by_the_library,
         memory_that_is_not_reached_is_not_measured, a_kernel_that_does_not_start_costs_its_cell_alone, a_lost_device_ends_the_run]


if __name__ == "__main__":
    sys.exit(run_tests(CASES) > 0)
