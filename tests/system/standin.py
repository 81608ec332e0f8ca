"""berth-probe-gpu on virtual nodes, by both runtimes' names: it measures the described values, and
reports every fault apart from measurements.

The expected value of every cell and set comes from the description (tests/standin/paths.c).
Well-known figures of these nodes are written here by hand. Prints TAP.
"""
import json
import signal
import subprocess
import sys
import time

from tap import run_tests
from virtual_node import ENVIRONMENT, NODES, command, described, ended, measured, put_in, refused

WITHIN = 0.01


def flows_of(record):
    """Flows of a cell, with the formula of its value from the rates: (flows, factor)."""
    metric, axes, a, b = record["metric"], record.get("axes", {}), record["from"], record["to"]
    kind, how = axes.get("kind", "pinned"), axes.get("operation", "copy")
    both = axes.get("direction") == "both"
    if metric == "host_gpu_copy_engine":
        return [("engine", "write", kind, a, b)] + ([("engine", "write", kind, b, a)] if both else []), 1
    if metric == "gpu_gpu_copy_engine":
        both = axes.get("direction", "").startswith("both")
        driven = "read" if axes.get("direction", "").endswith("read") else "write"
        return [("engine", driven, "pinned", a, b)] + ([("engine", driven, "pinned", b, a)] if both else []), 1
    if metric == "host_gpu_kernel":
        gpu, numa = (a, b) if b.startswith("numa") else (b, a)
        return [("kernel", "copy", kind, a, b) if how == "copy" else ("kernel", how, kind, gpu, numa)], 1
    if metric == "gpu_gpu_kernel":
        how = "read" if how == "pull" else how  # own memory is faster than any peer's
        return [("kernel", how, "pinned", a, b)] + ([("kernel", how, "pinned", b, a)] if both else []), 1
    if metric == "memory_bandwidth":
        how = axes.get("operation", "read")
        return [("kernel", how, "pinned", a, b)], 2 if how == "copy" else 1
    return None, 0


def is_near(found, wanted, within=WITHIN):
    return abs(found - wanted) <= within * wanted


def at_rest(record):
    """At its default size, and in memory that stays where it is."""
    axes = record.get("axes", {})
    return "bytes" not in axes and "noise" not in axes and axes.get("kind") not in ("migrating", "system")


def said(node, key):
    """The number behind a word of the description, 0 where it is not there."""
    found = [line.split()[1] for line in node.read_text().splitlines() if line.split()[:1] == [key]]
    return float(found[-1]) if found else 0


def called(node):
    """Cost of the calls of each group on the host."""
    lines = [line.split() for line in node.read_text().splitlines()]
    return {words[1]: float(words[2]) for words in lines if words[:1] == ["call"]}


def check_curves(node, records):
    """Every size of every curve takes the described latency and the time of its bytes; overheads
    too. Returns the number of curves.
    """
    cells = [(record, *flows_of(record)) for record in records if "samples" in record and at_rest(record) and flows_of(record)[0]]
    for (record, _, factor), ((rate, ns),) in zip(cells, put_in(node, [flows for _, flows, _ in cells])):
        for sample in record["samples"]:
            wanted = ns + sample["bytes"] / (rate * factor) * 1e9
            assert is_near(sample["median_ns"], wanted), (record["metric"], record["from"], record["to"], record["axes"], sample, wanted)
        assert is_near(record["t0_queue_ns"], ns), (record["metric"], record["from"], record["to"], record["t0_queue_ns"], ns)
        if "t0_chain_ns" in record:
            calls = called(node)
            woken = ns + said(node, "wait") + said(node, "wake")
            launch_ns = calls["launch" if record["metric"].endswith("kernel") else "copy"] + 2 * calls["event"] + calls["device"]
            assert is_near(record["t0_chain_ns"], ns + said(node, "wait"), 0.02), (record["metric"], record["from"], record["to"], record["t0_chain_ns"], ns)
            assert ("t0_behind_ns" in record) == record["metric"].endswith("kernel"), record
            assert is_near(record.get("t0_behind_ns", woken), woken, 0.02), (record["t0_behind_ns"], woken)
            assert is_near(record["t0_launch_ns"], launch_ns, 0.02), (record["t0_launch_ns"], launch_ns)
            assert is_near(record["t0_end_ns"], calls["query"] + calls["sync"] + calls["clock"], 0.02), record["t0_end_ns"]
    return len(cells)


def check_values(node, records):
    """Every rate equals the described one; returns the number for each metric."""
    cells = [(record, *flows_of(record)) for record in records if "value" in record and at_rest(record) and flows_of(record)[0]]
    counts = {}
    for (record, flows, factor), rates in zip(cells, put_in(node, [flows for _, flows, _ in cells])):
        wanted = sum(rate for rate, _ in rates) * factor
        assert is_near(record["value"], wanted), (record, wanted)
        counts[record["metric"]] = counts.get(record["metric"], 0) + 1
    return counts


def check_latencies(node, records, call_ns):
    """16 bytes take the described latency and, by the caller's clock, the cost of the calls around
    it.
    """
    cells = [record for record in records if record["record"] == "value" and record["metric"] == "copy_latency"]
    flows = [[("engine", "write", "pinned", record["from"], record["to"])] for record in cells]
    for record, ((rate, ns),) in zip(cells, put_in(node, flows)):
        wanted = ns + 16e9 / rate + (call_ns if record["axes"].get("clock") == "call" else 0)
        assert is_near(record["value"], wanted), (record, wanted)
    return len(cells)


def check_sets(node, records, within=WITHIN):
    """Every flow of every set gets its described rate among the others."""
    sets = [record for record in records if record["record"] == "set"]
    mechanism = {"host_gpu_copy_engine_concurrent": ("engine", "write"), "gpu_gpu_copy_engine_concurrent": ("engine", "write"),
                 "host_gpu_kernel_concurrent": ("kernel", "copy"), "gpu_gpu_kernel_concurrent": ("kernel", "copy")}
    asked = [[(mechanism[record["metric"]][0], flow["axes"].get("direction", mechanism[record["metric"]][1]), "pinned", flow["from"], flow["to"])
              for flow in record["flows"]] for record in sets]
    for record, rates in zip(sets, put_in(node, asked)):
        for flow, (wanted, _) in zip(record["flows"], rates):
            assert is_near(flow["bytes_per_s"], wanted, within), (record["metric"], flow, wanted)
    return len(sets)


def value(records, metric, a, b, **axes):
    found = [record["value"] for record in records if "value" in record and record["metric"] == metric and record["from"] == a and
             record["to"] == b and record.get("axes", {}) == axes]
    assert len(found) == 1, (metric, a, b, axes, found)
    return found[0]


LONG = ("--budget-ns", "60000000000")
RATES = ("--metrics", "host_gpu_copy_engine,host_gpu_kernel,gpu_gpu_copy_engine,gpu_gpu_kernel,memory_bandwidth,copy_latency,"
         "host_gpu_copy_engine_concurrent,gpu_gpu_copy_engine_concurrent", *LONG)


def test_memory_of_another_apu():
    """On MI300A it is behind one link, whether as the host's or as the gpu's."""
    first, third = "0000:02:00.0", "0000:82:00.0"
    host, engine = ("kernel", "read", "pinned", third, "numa0"), ("engine", "write", "pinned", "numa0", "numa2")
    peer, other = ("engine", "write", "pinned", first, third), ("engine", "write", "pinned", "0000:42:00.0", third)
    shared = put_in(NODES / "mi300a.node", [[host, peer], [engine, peer], [host, other]])
    assert [[rate for rate, _ in flows] for flows in shared] == [[64e9, 64e9], [60e9, 68e9], [100e9, 90e9]], shared


def test_quick():
    """The quick profile takes at most its five seconds, also for eight GCDs.

    It has every rate, every set and a curve of each kind for each; latencies of similar pairs
    depend on the time left.
    """
    for name, devices in (("mi250x", 8), ("h200x4", 4), ("gh200-quad", 4), ("mi300a", 4)):
        records = ended(measured(NODES / f"{name}.node"))
        spent = records[-1]["statistics"]
        took_ns = records[-1]["elapsed_ns"] - spent["driver_ns"]
        assert took_ns <= 5e9, (name, records[-1])
        assert devices > 4 or took_ns <= 3.5e9, (name, "a real node takes longer, and closes its devices", records[-1])
        phases = {key: ns for key, ns in spent.items() if key.endswith("_ns") and key != "metric_ns"}
        assert abs(sum(phases.values()) / records[-1]["elapsed_ns"] - 1) < 0.02 and {"driver_ns", "open_ns", "verify_ns", "rates_ns", "sets_ns", "curves_ns"} <= set(phases), spent
        in_phases = sum(ns for key, ns in phases.items() if key.removesuffix("ns") + "cells" in spent)
        assert abs(sum(spent["metric_ns"].values()) / in_phases - 1) < 0.001 and spent["metric_ns"]["gpu_gpu_kernel"] > spent["metric_ns"]["copy_latency"] > 0, spent
        assert spent["rates_cells"] >= 100 * devices / 4 and spent["paths_verified"] > devices, spent
        late = {record["metric"] for record in records if record["record"] == "skip" and record["why"] == "time budget"}
        assert late <= ({"memory_latency"} if devices > 4 else set()), (name, late)
        assert any(record["record"] == "value" and record["metric"] == "memory_latency" and record["to"] == to for record in records for to in ("numa3", "numa0")), name
        curves = {}
        for record in records:
            if "samples" in record:
                curves.setdefault((record["metric"], record["axes"].get("operation", "copy")), []).append(len(record["samples"]))
        pairs = devices * (devices - 1)
        assert len(curves["gpu_gpu_copy_engine", "copy"]) >= pairs and len(curves["gpu_gpu_kernel", "copy"]) == pairs, (name, curves)
        assert len(curves["gpu_stream", "copy"]) == devices and min(curves["gpu_stream", "copy"]) >= 6, (name, curves)
        engine, kernel = curves["host_gpu_copy_engine", "copy"], curves["host_gpu_kernel", "copy"]
        numas = len({record["from"] for record in records if record.get("metric") == "host_gpu_copy_engine" and record["from"].startswith("numa")})
        far = 2 * devices * (numas - 1) if devices * numas <= 16 else 0  # two sizes each, for what starting a copy costs
        assert len(engine) == 2 * devices + far and len(kernel) == 2 * devices, (name, len(engine), len(kernel))
        assert engine.count(2) == far and min(size for size in engine if size > 2) >= 6 and max(kernel) >= 6 and curves["host_gpu_kernel", "read"] and curves["host_gpu_kernel", "write"], (name, curves)


def test_waiting():
    """Cost of a kernel behind another stream's event that happens only while it waits."""
    with described("h200x4", "wake 900") as node:
        waits = [record for record in ended(measured(node, "--metrics", "gpu_gpu_kernel,host_gpu_kernel")) if "t0_behind_ns" in record]
        assert len(waits) > 2
        for record in waits:
            assert is_near(record["t0_behind_ns"], record["t0_chain_ns"] + 900, 0.02), record


def test_kernels_together():
    """Concurrent kernels of one device share it, so that none waits for another's end.

    Each gets its described rate beside the others.
    """
    for name in ("h200x4", "mi250x"):
        with described(name) as node:
            records = measured(node, "--profile", "full", "--metrics", "host_gpu_kernel_concurrent,gpu_gpu_kernel_concurrent", *LONG)
            shared = [record for record in records if record["record"] == "set" and len({gpu for flow in record["flows"] for gpu in (flow["from"], flow["to"]) if ":" in gpu}) == 1]
            assert len(shared) > 2 and check_sets(node, records) > 50, (name, len(shared))


def test_all_and_one():
    """The full profile has sets of all gpus to one and of one to all others, by every engine and by
    kernels. Two gpus have no sets beyond those of pairs.
    """
    node = NODES / "h200x4.node"
    for devices, without in ((4, ()), (2, ("--without", "0000:00:08.0,0000:00:09.0"))):
        records = ended(measured(node, *without, "--profile", "full", "--metrics", "gpu_gpu_copy_engine_concurrent,gpu_gpu_kernel_concurrent,gpu_gpu_copy_engine", *LONG))
        check_values(node, records)
        assert check_sets(node, records) > devices
        gpus = {flow["from"] for record in records if record["record"] == "set" for flow in record["flows"]}
        assert len(gpus) == devices
        fans = {}
        for record in records:
            if record["record"] == "set":
                ways = [(flow["from"], flow["to"]) for flow in record["flows"]]
                axes = {flow["axes"].get("direction", "write") for flow in record["flows"]}
                fans[record["metric"], *axes, frozenset(ways)] = sum(flow["bytes_per_s"] for flow in record["flows"])
        for one in gpus:
            for ways in (frozenset((gpu, one) for gpu in gpus - {one}), frozenset((one, gpu) for gpu in gpus - {one})):
                for metric, driven, wanted in (("gpu_gpu_copy_engine_concurrent", "write", 396.4e9), ("gpu_gpu_copy_engine_concurrent", "read", 394.1e9),
                                               ("gpu_gpu_kernel_concurrent", "write", 369.8e9)):
                    wanted = 397e9 if devices > 2 else wanted  # one alone has less than the links of the one carry
                    assert is_near(fans[metric, driven, ways], wanted), (devices, metric, driven, ways, fans[metric, driven, ways])
        assert sum("value" in record and record["axes"].get("direction") == "both-read" for record in records) == devices * (devices - 1)


def test_a_set_that_hung():
    """A named set is left out, and no other one of its metric; its name is that of the progress
    records.
    """
    node, metrics = NODES / "h200x4.node", ("--profile", "full", "--metrics", "gpu_gpu_copy_engine_concurrent,host_gpu_copy_engine_concurrent", *LONG)
    records = ended(measured(node, *metrics))
    cells = [record["cell"] for record in records if record["record"] == "progress" and "_concurrent" in record["cell"]]
    assert len(cells) == len(set(cells)) > 100 and not any("," in cell or len(cell) > 199 for cell in cells), len(cells)
    a, b, c = (f"0000:00:0{number}.0" for number in (6, 7, 8))
    fan = f"gpu_gpu_copy_engine_concurrent machine0 machine0 0000:00:06.0>{b}+0000:00:08.0>{b}+0000:00:09.0>{b}:direction=read"
    large = [cell for cell in cells if "-flows-" in cell]
    assert fan in cells and fan.replace(":direction=read", "") in cells and large, cells[:5]
    assert f"host_gpu_copy_engine_concurrent machine0 machine0 numa0>{a}+numa0>{c}" in cells
    for hung in (fan, fan.replace(":direction=read", ""), large[0]):
        again = ended(measured(node, "--skip", hung, *metrics))
        left = [record for record in again if record["record"] == "skip"]
        assert [record["why"] for record in left] == ["it hung before"] and len(left[0]["flows"]) == (3 if hung not in large else 8), left
        assert left[0]["axes"] == ({"direction": "read"} if hung == fan else {}), left
        assert sum(record["record"] == "set" for record in again) == sum(record["record"] == "set" for record in records) - 1
    assert "not \"METRIC FROM TO\"" in refused(node, "--skip", "gpu_gpu_copy_engine_concurrent machine0 machine0 two words")


def test_left_out():
    """Each cell beyond the time limit is skipped once, with its axes, and each set with its flows.
    """
    records = ended(measured(NODES / "h200x4.node", "--profile", "full", "--budget-ns", "1000000000"), "budget")
    late = [(record["metric"], record["from"], record["to"], tuple(sorted(record["axes"].items()))) for record in records
            if record["record"] == "skip" and record["why"] == "time budget" and not record["metric"].endswith("_concurrent")]
    assert len(late) > 300 and {"gpu_stream", "memory_latency", "matrix_product", "gpu_pingpong", "memory_bandwidth", "kind_copy"} <= {cell[0] for cell in late}
    assert len(late) == len(set(late)), [cell for cell in late if late.count(cell) > 1][:5]
    sets = [((record["metric"], *record["axes"].values()), *(f"{flow['from']} {flow['to']}" for flow in record["flows"])) for record in records
            if record["record"] == "skip" and record["why"] == "time budget" and record["metric"].endswith("_concurrent")]
    assert len(sets) > 50 and len(sets) == len(set(sets)), len(sets)
    assert max(len(flows) for flows in sets) == 1 + 8 and all(end == "numa0" or end.startswith("0000:") for flows in sets for flow in flows[1:] for end in flow.split())


def test_repeatable():
    """The same seed gives the same record, to the last digit, except for the time and the duration
    of opening.
    """
    def said():
        return [record for record in measured(NODES / "h200x4.node", "--seed", "7") if record["record"] in ("value", "set", "skip", "samples", "progress")]
    first = said()
    assert len(first) > 500 and first == said()


def test_disciplines():
    """With other disciplines flows do not end together, and their concurrent rates have wider
    intervals.
    """
    for discipline in ("proportional", "unfair"):
        with described("mi250x", f"discipline {discipline}") as node:
            records = ended(measured(node, "--metrics", "host_gpu_copy_engine_concurrent,gpu_gpu_copy_engine_concurrent", *LONG))
            assert check_sets(node, records, 0.04) > 100


def test_noise():
    """With noise of a percent a cell is still right, and its interval says that there is some."""
    with described("h200x4", "noise 0.01 3") as node:
        records = ended(measured(node, "--metrics", "gpu_gpu_copy_engine", *LONG))
        rates = [record for record in records if "value" in record and at_rest(record) and "direction" not in record["axes"]]
        assert len(rates) == 12
        for record in rates:
            assert abs(record["value"] - 396.4e9) < 0.02 * 396.4e9 and record["low"] < record["value"] < record["high"], record


def test_wrong_bytes():
    """A path that breaks bytes is a finding; all others are none."""
    with described("mi250x", "path engine * 1 3 wrong", "path kernel write 4 6 wrong") as node:
        found = {(record["code"], record["from"], record["to"]) for record in measured(node) if record["record"] == "finding"}
        assert found == {("wrong-bytes", "0000:c6:00.0", "0000:ce:00.0"), ("wrong-bytes", "0000:d1:00.0", "0000:d9:00.0")}, found


def reasons(records, *places):
    return {record["why"] for record in records if record["record"] == "skip" and record["from"] in places and record["to"] in places}


def test_no_peer():
    with described("h200x4", "nopeer 0 1") as node:
        records = ended(measured(node, "--metrics", "gpu_gpu_kernel", *LONG))
        here, there = "0000:00:06.0", "0000:00:07.0"
        assert "the gpu has no access to this memory" in reasons(records, here, there), reasons(records, here, there)
        assert not [record for record in records if record["record"] == "value" and (record["from"], record["to"]) == (here, there)]
        assert is_near(value(records, "gpu_gpu_kernel", there, here, operation="read"), 376.3e9)


def cell_of(record):
    return record["metric"], record["from"], record["to"], tuple(sorted(record["axes"].items()))


def test_out_of_memory():
    """A failing allocation, each of them in turn, excludes the device from the cells that need it,
    with a reason. Others are measured. Without any device the record still begins and ends.
    """
    few = ("--metrics", "host_gpu_copy_engine,gpu_gpu_copy_engine,gpu_gpu_kernel,memory_bandwidth")
    for name, call, calls in (("h200x4", "cuMemAlloc_v2", range(13)), ("mi250x", "hipMalloc", (0, 1))):
        whole = ended(measured(NODES / f"{name}.node", *few, *LONG))
        gpus = sorted({record["to"] for record in whole if record["record"] == "value" and record["to"].startswith("0000:")})
        bad = gpus[3]
        wanted = {cell_of(record) for record in whole if record["record"] == "value" and bad not in (record["from"], record["to"])}
        for nth in calls:
            with described(name, f"fault {call} {nth} 3 memory") as node:
                records = ended(measured(node, *few, *LONG))
            assert wanted <= {cell_of(record) for record in records if record["record"] == "value"}, (name, nth)
            assert [record["record"] for record in records].count("run") == 1 and not [record for record in records if record["record"] == "finding"], (name, nth)
            left_out = [record["why"] for record in records if record["record"] == "skip" and bad in (record["from"], record["to"])]
            assert nth > 3 or any(bad in why and "out of memory" in why for why in left_out), (name, nth, left_out)
            if nth < 2:
                assert records[0]["conditions"]["usable_devices"] == len(gpus) - 1, (name, nth, records[0])
                assert not [record for record in records if record["record"] == "value" and bad in (record["from"], record["to"])], (name, nth)
        with described(name, f"fault {call} 0 * memory") as node:
            records = measured(node, *few, status=70)
        assert [record["record"] for record in records] == ["run", "end"] and records[-1]["status"] == "failed", records
        with described(name, f"fault {call} 1 3 lost") as node:
            records = measured(node, *few, status=70)
        assert [record["record"] for record in records] == ["run", "finding", "end"] and (records[1]["code"], records[1]["from"]) == ("gpu-lost", bad), records
    with described("h200x4", *(f"fault cuMemHostRegister_v2 {call} * memory" for call in (1, 2, 3, 4))) as node:
        records = measured(node, "--metrics", "host_gpu_copy_engine")
        whys = {record["why"] for record in records if record["record"] == "skip"}
        assert whys and all("out of memory" in why for why in whys), whys


def test_lost():
    """A lost device ends the run: earlier measurements remain, and the end record reports the loss.
    """
    for kind in ("lost", "sticky"):
        with described("h200x4", f"fault cuMemcpyPeerAsync 400 * {kind}") as node:
            records = measured(node, status=70)
            assert records[-1]["record"] == "end" and records[-1]["status"] == "failed", records[-1]
            assert [record for record in records if record["record"] == "value"]


def test_one_fails_at_the_start():
    """A device on which no kernel runs, or that is lost at once, affects neither other measurements
    nor the record.
    """
    bad = "0000:00:07.0"
    with described("h200x4", "fault cuMemcpyAsync 0 1 unsupported", "fault cuMemcpyPeerAsync 0 1 unsupported", "fault cuLaunchKernel 0 1 unsupported") as node:
        records = ended(measured(node, "--metrics", "gpu_gpu_copy_engine,gpu_stream", *LONG))
        rates = {(record["from"], record["to"]) for record in records if record["record"] == "value"}
        assert ("0000:00:06.0", "0000:00:08.0") in rates and not [ends for ends in rates if ends == (bad, bad)], rates
        assert [record for record in records if record["record"] == "skip" and record["from"] == bad], "and says why"
    with described("h200x4", "fault cuMemcpyAsync 0 1 lost") as node:
        records = measured(node, status=70)
        assert records[0]["record"] == "run" and records[-1]["status"] == "failed", (records[0], records[-1])
        assert {record["from"] for record in records if record["record"] == "finding" and record["code"] == "gpu-lost"} == {bad}, records


def is_alive(process):
    return process.poll() is None


def begun(process, cell):
    """Reads until the cell that hangs is said to begin."""
    last = None
    for line in process.stdout:
        record = json.loads(line)
        if record["record"] == "progress":
            last = record.get("cell")
            if last is not None and last.startswith(cell):
                return last
    raise AssertionError(("ended before", last))


def test_hang():
    """A call that never returns: the last progress names the cell, and both a stop and a kill end the process."""
    for number, limit in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
        with described("mi250x", "fault hipMemcpyPeerAsync 1 * hang") as node:
            process = subprocess.Popen(command(node, "--metrics", "copy_latency"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT)
            begun(process, "copy_latency 0000:")
            time.sleep(0.5)
            assert is_alive(process)
            begin = time.monotonic()
            process.send_signal(number)
            rest = process.communicate(timeout=30)[0]
            assert time.monotonic() - begin < limit
            if number == signal.SIGTERM:
                assert json.loads(rest.splitlines()[-1])["status"] == "cancelled", rest[-500:]


if __name__ == "__main__":
    sys.exit(run_tests([test for name, test in list(globals().items()) if name.startswith("test_")]) > 0)
