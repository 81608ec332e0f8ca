"""Curves and sets, from a probe's lines to the answers: live, after a restart, and from a recorded folder. Prints TAP."""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, RUN, cells, fake_probe, findings  # noqa: E402
from tap import run_tests  # noqa: E402

FABRIC = "io.berth.Fabric."
END = {"record": "end", "status": "complete", "elapsed_ns": 5}
T0, RATE = 700.0, 2e10
SIZES = [4096 << 2 * i for i in range(7)]


def sample(size):
    ns = T0 + size / RATE * 1e9
    return {"bytes": size, "median_ns": ns, "low_ns": ns * 0.99, "high_ns": ns * 1.01, "n": 9}


COPY = {"record": "value", "metric": "cpu_copy", "from": "core0", "to": "numa0", "t0_call_ns": 900, "t0_call_low_ns": 800, "t0_call_high_ns": 1100, "t0_call_n": 80, "t0_queue_ns": 700.5,
        "samples": [sample(size) for size in SIZES]}
TWO_SIZES = {"record": "value", "metric": "cpu_copy", "from": "numa0", "to": "core0", "samples": [sample(SIZES[2]), sample(SIZES[5])]}
ONE_SIZE = {"record": "value", "metric": "cpu_copy", "from": "machine0", "to": "numa0", "samples": [sample(SIZES[2])]}
SOLO = {"record": "set", "metric": "memory_bandwidth_concurrent", "flows": [{"from": "core0", "to": "numa0", "bytes_per_s": 3e10}]}
BOTH = {"record": "set", "metric": "memory_bandwidth_concurrent",
        "flows": [{"from": "numa0", "to": "numa0", "axes": {"operation": "write", "threads": 2}, "bytes_per_s": 1.1e10, "low": 1e10, "high": 1.25e10},
                  {"from": "core0", "to": "numa0", "bytes_per_s": 2.2e10}]}


def script(*records):
    """A probe that prints these records and ends."""
    lines = [RUN] + [json.dumps(record) for record in records]
    return "".join(f"echo '{line}'\n" for line in lines)


def everything(daemon):
    """All transfers of an answer, without the name of the snapshot."""
    metrics = [m["name"] for m in daemon.call(FABRIC + "ListMetrics")["metrics"]]
    return ({m: daemon.call(FABRIC + "GetCurves", {"metric": m})["curves"] for m in metrics},
            daemon.call(FABRIC + "GetContention")["runs"], {m: cells(daemon, m) for m in ("cpu_copy", "transfer_overhead")})


def berth(daemon, *arguments, node=None):
    where = ["--node", node] if node else ["--socket", daemon.socket]
    done = subprocess.run([BIN / "berth", *where, *arguments], capture_output=True, text=True, timeout=60, env={**os.environ, "LANG": "C"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def curves_and_sets_survive_everything():
    with fake_probe(script(COPY, TWO_SIZES, ONE_SIZE, SOLO, BOTH, END)) as folder, \
            Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        assert everything(daemon)[1] == [], "nothing was measured yet"
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        curves, sets, matrices = everything(daemon)

        one = [c for c in curves["cpu_copy"] if (c["from"], c["to"]) == ("core0", "numa0")][0]
        assert one["t0_call_ns"] == 900 and one["t0_queue_ns"] == 700.5 and one["repetitions"] == 9, one
        assert (one["sizes"], one["least_bytes"], one["most_bytes"]) == (len(SIZES), SIZES[0], SIZES[-1]), one
        assert abs(one["wmax_bytes_per_s"] / RATE - 1) < 1e-6 and one["residual"] < 1e-6 and len(one["pieces"]) == 1, one
        assert abs(one["b80_bytes"] / (4 * 900e-9 * RATE) - 1) < 1e-6 and abs(one["pieces"][0]["t0_ns"] / T0 - 1) < 1e-4, one
        assert len(curves["cpu_copy"]) == 2 and curves["transfer_overhead"] == [] and "bytes" not in one["axes"], curves

        large = {(c["from"], c["to"]): c for c in matrices["cpu_copy"] if c["axes"]["bytes"] == "large"}
        assert set(large) == {("core0", "numa0"), ("numa0", "core0")}, large
        for cell in large.values():
            assert abs(cell["value"] / RATE - 1) < 1e-6 and cell["low"] < cell["value"] < cell["high"], cell
            assert cell["source"] == "measured" and cell["repetitions"] == 9, cell
        assert {c["axes"]["clock"]: c["value"] for c in matrices["transfer_overhead"]} == {"call": 900, "queue": 700.5}
        call = [c for c in matrices["transfer_overhead"] if c["axes"]["clock"] == "call"][0]
        assert 800 < call["low"] < 900 < call["high"] < 1100 and call["repetitions"] == 80, f"where the median is, of which single calls are farther: {call}"
        assert abs((call["high"] - 900) / (900 - call["low"]) - 2) < 1e-6, call

        assert [len(s["flows"]) for s in sets] == [1, 2] and sets[0]["source"] == "measured", sets
        slow = [f for f in sets[1]["flows"] if f["from"] == "numa0"][0]
        assert slow == {"from": "numa0", "to": "numa0", "axes": {"operation": "write", "threads": "2"}, "bytes_per_s": 1.1e10, "low": 1e10, "high": 1.25e10,
                        "predicted_bytes_per_s": 1.1e10}, slow
        assert all(s["reproduced"] for s in sets), sets
        assert "probe-garbage" not in findings(daemon)

        assert json.loads(berth(daemon, "curves", "cpu_copy", "--json"))["curves"] == curves["cpu_copy"]
        assert json.loads(berth(daemon, "curves", "cpu_copy", "core0", "numa0", "--json"))["curves"] == [one]
        assert "20 GB/s" in berth(daemon, "curves", "cpu_copy") and "no curves" in berth(daemon, "curves", "cpu_pingpong")
        assert json.loads(berth(daemon, "contention", "--json"))["runs"] == sets
        assert "together" in berth(daemon, "contention", "--why") and "nothing" in berth(daemon, "contention", "cpu_copy")

        with tempfile.TemporaryDirectory() as recorded:
            berth(daemon, "record", recorded + "/node")
            replayed = Daemon("--node", recorded + "/node")
            with replayed:
                assert everything(replayed) == (curves, sets, matrices), "what is recorded is what is replayed"
        assert daemon.stop()[0] == 0
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert everything(again) == (curves, sets, matrices), "what is stored is what is served"


def a_later_run_replaces_what_it_measured_and_no_more():
    slower = {**SOLO, "flows": [{**SOLO["flows"][0], "bytes_per_s": 2.9e10}]}
    explicit = {"record": "value", "metric": "cpu_copy", "from": "numa0", "to": "core0", "value": 1.5e10}
    with fake_probe(script(COPY, TWO_SIZES, SOLO, BOTH, END)) as folder, \
            Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        (pathlib.Path(folder) / "berth-probe-cpu").write_text("#!/bin/sh\n" + script(slower, TWO_SIZES, explicit, END))
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        curves, sets, matrices = everything(daemon)
        assert len(curves["cpu_copy"]) == 2 and [s["flows"][0]["bytes_per_s"] for s in sets if len(s["flows"]) == 1] == [2.9e10], sets
        assert len(sets) == 2, sets
        large = {(c["from"], c["to"]): c["value"] for c in matrices["cpu_copy"] if c["axes"]["bytes"] == "large"}
        assert large[("numa0", "core0")] == 1.5e10, "what a record says goes before what a curve says"
        assert daemon.stop()[0] == 0
        database = sqlite3.connect(daemon.state / "berth.db")
        assert database.execute("SELECT count(*) FROM flow_rate").fetchone()[0] >= 3
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()


def wrong_sets_and_late_lines_are_refused():
    late = {"record": "value", "metric": "cpu_copy", "from": "core0", "to": "numa0", "value": 1e10}
    nowhere = {**SOLO, "flows": [{"from": "core0", "to": "gpu77", "bytes_per_s": 1}]}
    with fake_probe(script(SOLO, nowhere, END, late, BOTH)) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        assert len(daemon.call(FABRIC + "GetContention")["runs"]) == 1
        assert cells(daemon, "cpu_copy") == []
        finding = findings(daemon)["probe-garbage"]
        assert "3 lines" in finding["text"] and "gpu77" in finding["text"], finding


def a_recorded_gpu_node_has_curves_and_sets():
    curves = json.loads(berth(None, "curves", "gpu_gpu_copy_engine", "--json", node=NODES / "h200x4-hand"))["curves"]
    assert len(curves) == 1 and len(curves[0]["pieces"]) == 3 and curves[0]["sizes"] == 11, curves
    assert curves[0]["residual"] < 0.02 and 390e9 < curves[0]["wmax_bytes_per_s"] < 400e9, curves
    assert curves[0]["t0_call_ns"] is None and curves[0]["b80_bytes"] is None, "nobody measured what a call costs"
    matrix = json.loads(berth(None, "matrix", "gpu_gpu_copy_engine", "--json", node=NODES / "h200x4-hand"))["cells"]
    assert [c["value"] for c in matrix if c["axes"]["bytes"] == "large"] == [curves[0]["wmax_bytes_per_s"]], matrix
    sets = json.loads(berth(None, "contention", "host_gpu_copy_engine_concurrent", "--json", node=NODES / "h200x4-hand"))["runs"]
    assert len(sets) == 30, len(sets)
    answer = json.loads(berth(None, "contention", "--json", node=NODES / "h200x4-hand"))
    assert all(s["reproduced"] for s in answer["runs"]) and len(answer["shared"]) == 1, answer["shared"]
    shared = answer["shared"][0]
    assert shared["name"] == "numa0:memory:write" and shared["users"] == [f"gpu{i}>numa0" for i in range(4)] and shared["alternatives"] == [], shared
    assert [(c["transfers"], round(c["bytes_per_s"] / 1e9, 1)) for c in shared["capacities"]] == [(3, 157.3), (4, 164.5)], shared
    resources = {r["name"]: r for r in json.loads(berth(None, "topo", "--json", node=NODES / "h200x4-hand"))["resources"]}
    memory = resources["numa0:memory:write:host_gpu_copy_engine"]
    assert memory["inferred"] and round(memory["capacity_bytes_per_s"] / 1e9, 1) == 164.5, resources
    drawn = " ".join(berth(None, "contention", "--why", node=NODES / "h200x4-hand").split())
    assert "gpu0,gpu1,gpu2>numa0" in drawn and "numa0:memory:write" in drawn and "164 GB/s for 4 and more" in drawn, drawn
    together = [sum(f["bytes_per_s"] for f in s["flows"]) for s in sets if len(s["flows"]) == 4]
    assert sorted(together) == [164.5e9, 220.4e9], together


def four_measured_gpus_are_alike_to_each_other_and_share_the_host():
    node = NODES / "h200x4"
    cells = json.loads(berth(None, "matrix", "gpu_gpu_copy_engine", "--json", node=node))["cells"]
    for direction, low, high in (("write", 395, 400), ("read", 395, 401), ("both", 783, 788)):
        large = [c["value"] / 1e9 for c in cells if c["axes"].get("direction") == direction and c["axes"]["bytes"] == "large"]
        assert len(large) == 12 and low < min(large) <= max(large) < high, (direction, large)
    answer = json.loads(berth(None, "contention", "--json", node=node))
    shared = {s["name"]: s for s in answer["shared"] if s["metric"] == "host_gpu_copy_engine_concurrent"}
    memory = {name: [(c["transfers"], round(c["bytes_per_s"] / 1e9)) for c in shared["numa0:memory" + name]["capacities"]] for name in ("", ":read", ":write")}
    assert memory == {"": [(4, 166), (6, 178), (8, 164)], ":read": [(3, 147), (4, 161)], ":write": [(2, 109), (3, 135), (4, 136)]}, memory
    ring = [s for s in answer["runs"] if s["metric"] == "gpu_gpu_copy_engine_concurrent" and len(s["flows"]) == 4]
    assert len(ring) == 3 and all(s["reproduced"] and abs(sum(f["bytes_per_s"] for f in s["flows"]) / 1.57e12 - 1) < 0.01 for s in ring), ring


def recorded_sets_of_one_gpu_are_what_it_moves():
    """Copies from one gpu run one after the other, so their sum is the rate of the gpu; the same to
    one gpu. Kernels both ways at one gpu share it, and reach more than one alone.
    """
    kernels = 0
    for name in ("h100x2-full", "h100x4-full", "h200x1", "h200x2", "h200x4"):
        answer = json.loads(berth(None, "contention", "--json", node=NODES / name))
        alone = {}
        for one in answer["runs"]:
            if len(one["flows"]) == 1:
                alone[one["metric"], one["flows"][0]["from"], one["flows"][0]["to"]] = one["flows"][0]["bytes_per_s"]
        for one in answer["runs"]:
            gpus = {end for f in one["flows"] for end in (f["from"], f["to"]) if end.startswith("gpu")}
            for gpu in gpus:
                mine = [f for f in one["flows"] if gpu in (f["from"], f["to"])]
                total, most = sum(f["bytes_per_s"] for f in mine), max(alone[one["metric"], f["from"], f["to"]] for f in mine)
                if one["metric"] == "host_gpu_kernel_concurrent" and len(mine) == 2 and len(gpus) == 1:
                    kernels += 1
                    assert 1.2 * most < total < 2 * most, (name, one)
                if one["metric"] == "gpu_gpu_copy_engine_concurrent" and (all(f["from"] == gpu for f in mine) or all(f["to"] == gpu for f in mine)):
                    assert total < 1.03 * most, (name, one)
    assert kernels >= 3, kernels


TESTS = [
    curves_and_sets_survive_everything,
    a_later_run_replaces_what_it_measured_and_no_more,
    wrong_sets_and_late_lines_are_refused,
    a_recorded_gpu_node_has_curves_and_sets,
    four_measured_gpus_are_alike_to_each_other_and_share_the_host,
    recorded_sets_of_one_gpu_are_what_it_moves,
]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
