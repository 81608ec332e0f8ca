#!/usr/bin/env python3
"""Runs berth-probe-gpu and, where their paths are given, nvbandwidth and BabelStream in turns on this machine, several rounds, and prints what each
measured, the ratio of each round's two, and what each tool took. Needs nothing but Python; docs/measured/h200.md says what the rows mean.

Exit status: 0 all targets met, 1 one was not, 64 wrong usage, 70 a tool did not run.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")

# How a row is judged, by its ratios; SHOWN is no target.
ENGINE, KERNEL, HBM, BEST, SHOWN = "within 1 %", ">= 1", ">= 0.98", ">= 0.9", "-"


def met(target, ratio):
    """Whether it is, given the median of the rounds' ratios."""
    return {ENGINE: abs(ratio - 1) <= 0.01, KERNEL: ratio >= 1, HBM: ratio >= 0.98, BEST: ratio >= 0.9}.get(target)


# Title, nvbandwidth's cases (more than one: their sum is meant), our metric and axes, which end of ours is the host ("from", "to", or "any"), target.
HOST = [
    ("host to gpu, copy engine", ["host_to_device_memcpy_ce"], "host_gpu_copy_engine", {}, "from", ENGINE),
    ("gpu to host, copy engine", ["device_to_host_memcpy_ce"], "host_gpu_copy_engine", {}, "to", ENGINE),
    ("both directions at once, copy engine",
     ["host_to_device_bidirectional_memcpy_ce", "device_to_host_bidirectional_memcpy_ce"], "host_gpu_copy_engine", {"direction": "both"}, "any", SHOWN),
    ("host to gpu, kernel", ["host_to_device_memcpy_sm"], "host_gpu_kernel", {}, "from", KERNEL),
    ("gpu to host, kernel", ["device_to_host_memcpy_sm"], "host_gpu_kernel", {}, "to", KERNEL),
    ("latency of host memory", ["host_device_latency_sm"], "memory_latency", {}, "to", SHOWN),
]
# Row is the gpu that acts. "row" or "column": which of nvbandwidth's two our from is; "any": either.
PEER = [
    ("gpu to gpu, copy engine, read", ["device_to_device_memcpy_read_ce"], "gpu_gpu_copy_engine", {"direction": "read"}, "column", ENGINE),
    ("gpu to gpu, copy engine, write", ["device_to_device_memcpy_write_ce"], "gpu_gpu_copy_engine", {}, "row", ENGINE),
    ("gpu to gpu, copy engine, both", ["device_to_device_bidirectional_memcpy_write_ce"], "gpu_gpu_copy_engine", {"direction": "both"}, "any", ENGINE),
    ("gpu to gpu, copy engine, read, both", ["device_to_device_bidirectional_memcpy_read_ce"], "gpu_gpu_copy_engine", {"direction": "both-read"}, "any", ENGINE),
    ("gpu to gpu, kernel, pull", ["device_to_device_memcpy_read_sm"], "gpu_gpu_kernel", {"operation": "pull"}, "row", KERNEL),
    ("gpu to gpu, kernel, into registers", ["device_to_device_memcpy_read_sm"], "gpu_gpu_kernel", {"operation": "read"}, "row", SHOWN),
    ("gpu to gpu, kernel, write", ["device_to_device_memcpy_write_sm"], "gpu_gpu_kernel", {}, "row", KERNEL),
    ("gpu to gpu, kernel, pull, both", ["device_to_device_bidirectional_memcpy_read_sm"], "gpu_gpu_kernel",
     {"operation": "pull", "direction": "both"}, "any", KERNEL),
    ("gpu to gpu, kernel, write, both", ["device_to_device_bidirectional_memcpy_write_sm"], "gpu_gpu_kernel", {"direction": "both"}, "any", KERNEL),
    ("latency of a peer's memory", ["device_to_device_latency_sm"], "memory_latency", {}, "row", SHOWN),
]
# Sets of copies with the host: title, cases, metric, which gpus at once ("all" or "each" alone), in which directions; what the gpu gets, in all of these together.
SETS = [
    ("both directions at once, kernel", ["host_to_device_bidirectional_memcpy_sm", "device_to_host_bidirectional_memcpy_sm"], "host_gpu_kernel_concurrent",
     "each", ("to", "from"), KERNEL),
    ("all gpus to host at once, copy engine", ["all_to_host_memcpy_ce"], "host_gpu_copy_engine_concurrent", "all", ("to",), SHOWN),
    ("host to all gpus at once, copy engine", ["host_to_all_memcpy_ce"], "host_gpu_copy_engine_concurrent", "all", ("from",), SHOWN),
    ("all gpus and host at once, both directions, copy engine", ["all_to_host_bidirectional_memcpy_ce", "host_to_all_bidirectional_memcpy_ce"],
     "host_gpu_copy_engine_concurrent", "all", ("to", "from"), SHOWN),
    ("all gpus to host at once, kernel", ["all_to_host_memcpy_sm"], "host_gpu_kernel_concurrent", "all", ("to",), KERNEL),
    ("host to all gpus at once, kernel", ["host_to_all_memcpy_sm"], "host_gpu_kernel_concurrent", "all", ("from",), KERNEL),
    ("all gpus and host at once, both directions, kernel", ["all_to_host_bidirectional_memcpy_sm", "host_to_all_bidirectional_memcpy_sm"],
     "host_gpu_kernel_concurrent", "all", ("to", "from"), KERNEL),
]
# All others with one gpu, together: title, case, metric, axes, whether the one gets the bytes. By the case's contexts and buffers, not by its name: where it says
# read, its copy engines are driven by the target, and its kernels run on the source all the same and write.
FANS = [
    ("all to one, copy engine, by the senders", "all_to_one_write_ce", "gpu_gpu_copy_engine_concurrent", {}, True, ENGINE),
    ("all to one, copy engine, by the receiver", "one_to_all_read_ce", "gpu_gpu_copy_engine_concurrent", {"direction": "read"}, True, ENGINE),
    ("one to all, copy engine, by the sender", "one_to_all_write_ce", "gpu_gpu_copy_engine_concurrent", {}, False, ENGINE),
    ("one to all, copy engine, by the receivers", "all_to_one_read_ce", "gpu_gpu_copy_engine_concurrent", {"direction": "read"}, False, ENGINE),
    ("all to one, kernels of the senders", "all_to_one_write_sm", "gpu_gpu_kernel_concurrent", {}, True, KERNEL),
    ("all to one, kernels of the senders, beside the case of reading", "one_to_all_read_sm", "gpu_gpu_kernel_concurrent", {}, True, KERNEL),
    ("one to all, kernels of the sender", "one_to_all_write_sm", "gpu_gpu_kernel_concurrent", {}, False, KERNEL),
    ("one to all, kernels of the sender, beside the case of reading", "all_to_one_read_sm", "gpu_gpu_kernel_concurrent", {}, False, KERNEL),
]
STREAMS = [("bs1", "Copy"), ("bs2", "Triad"), ("bs4", "Dot")]
ELEMENTS = 2**28  # of BabelStream's arrays: the larger, the faster
SMALL_BYTES = 256 << 10  # sizes up to this take about as long to start as to move
CACHED_BYTES = 2 << 20  # of ours: as many lines as nvbandwidth's 2 MiB have
LOCAL = "device_local_copy"
READ_BOTH = "device_to_device_bidirectional_memcpy_read_ce"
JUDGED = [c for row in HOST + PEER if row[5] != SHOWN for c in row[1] if c != READ_BOTH] + [LOCAL]  # in each round
OTHERS = [c for row in HOST + PEER if row[5] == SHOWN for c in row[1] if c not in JUDGED] + [READ_BOTH] + [c for row in SETS for c in row[1]] + [row[1] for row in FANS]  # in the first
STREAM_SECONDS, LATENCY_SECONDS, SETS_SECONDS = 3, 5, 15
SETS_METRICS = "host_gpu_kernel_concurrent,gpu_gpu_kernel_concurrent,gpu_gpu_copy_engine_concurrent,gpu_gpu_copy_engine"
NOTES = """ratio is the median of the rounds' ratios, which is what is judged, beside it the lowest and the highest; berth and reference are medians of their own. What differs in method: nvbandwidth's
latency is that of 2 MiB, which a peer's level-2 cache holds, averaged over all multiprocessors; ours is seen from one of them, through memory or, 2 MiB, through as
many lines as theirs. Its bidirectional host cases give one direction under the load of the other: the row adds both up; by kernel they are one kernel whose warps copy to and fro in
turns and of whose rate each gives half, ours are two kernels that share the gpu. All to one and one to all are what the transfers move together. Its local copy is the driver's own and
counts bytes once: the row counts them twice, as ours do. BabelStream clocks each launch and gives its best of 50; its mean is shown beside. Triad moves the bytes of
bs2; bs3 and bs5 have no counterpart there."""


class Ours:
    """What a run of the probe printed: values by cell, and how long it took."""

    def __init__(self, lines, seconds):
        self.seconds, self.cells, self.sets, self.skips, self.end = seconds, {}, {}, {}, None
        names, measured = set(), set()  # a rate that was measured is not replaced by the top of a curve
        for record in map(json.loads, lines):
            kind = record["record"]
            if kind == "value":
                for axes, value in values_of(record):
                    cell = key(record["metric"], record["from"], record["to"], axes)
                    if "value" in record or cell not in measured:
                        self.cells[cell] = value
                    if "value" in record:
                        measured.add(cell)
                names |= {record["from"], record["to"]}
            elif kind == "skip":
                self.skips[key(record["metric"], record["from"], record["to"], record.get("axes", {}))] = record["why"]
                names |= {record["from"], record["to"]}
            elif kind == "set":
                flows = {(f["from"], f["to"]): f["bytes_per_s"] for f in record["flows"]}
                self.sets[(record["metric"], axes_of(record["flows"][0].get("axes", {})), frozenset(flows))] = flows
            elif kind == "device":
                names.add(record["gpu"])
            elif kind == "end":
                self.end = record
        self.gpus = sorted((n for n in names if PCI.match(n)), key=lambda n: (len(n.split(":")[0]), n))
        self.numas = sorted((n for n in names if n.startswith("numa")), key=lambda n: int(n[4:]))

    def driver_seconds(self):
        """What starting the driver took, which no tool can help; None when the probe did not say."""
        ns = (self.end or {}).get("statistics", {}).get("driver_ns")
        return None if ns is None else ns / 1e9

    def near(self, gpu):
        """The NUMA nodes whose memory nvbandwidth uses for that gpu: the one it is at, or all when nobody says."""
        try:
            with open(f"/sys/bus/pci/devices/{gpu}/numa_node", encoding="ascii") as file:
                node = f"numa{int(file.read())}"
        except (OSError, ValueError):
            node = ""
        return [node] if node in self.numas else self.numas

    def find(self, metric, ends, axes):
        """The first of the places (from, to) that has a value."""
        for source, target in ends:
            value = self.cells.get(key(metric, source, target, axes))
            if value:
                return value[0]
        return None


def axes_of(axes):
    return frozenset((k, str(v)) for k, v in axes.items())


def key(metric, source, target, axes):
    return metric, source, target, axes_of(axes)


def values_of(record):
    """Cells of a value record as (axes, (value, low, high)). Of samples, in bytes per second, the top is the slope between the
    largest size and one of a quarter, or the smallest: of sizes that are nearer their times' errors are a larger part."""
    axes = record.get("axes", {})
    if "value" in record:
        return [(axes, (record["value"], record.get("low"), record.get("high")))]
    found, samples = [], record["samples"]
    in_time = not record["metric"].startswith(("host_gpu", "gpu_gpu", "gpu_stream", "kind_copy", "collective_bandwidth"))
    for s in samples:
        low, high = s.get("low_ns"), s.get("high_ns")
        value = (s["median_ns"], low, high) if in_time else tuple(s["bytes"] / ns * 1e9 if ns else None for ns in (s["median_ns"], high, low))
        found.append(({**axes, "bytes": s["bytes"]}, value))
    if not in_time and len(samples) >= 2:
        b = samples[-1]
        a = next((s for s in reversed(samples[:-1]) if 4 * s["bytes"] <= 1.01 * b["bytes"]), samples[0])
        if b["median_ns"] > a["median_ns"]:
            top = (b["bytes"] - a["bytes"]) / (b["median_ns"] - a["median_ns"]) * 1e9
            found.append((axes, (top, None, found[-1][1][2])))
    return found


def run(command, limit):
    """Standard output and seconds of a program that must succeed."""
    environment = {**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "NCCL_NVLS_ENABLE": "0"}
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.exit(fail(f"{command[0]}: {error}"))
    if done.returncode != 0:
        sys.exit(fail(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"))
    return done.stdout, time.monotonic() - begin


def fail(text):
    print(f"gpu_compare: {text}", file=sys.stderr)
    return 70


def probe(path, profile, limit, *more):
    out, seconds = run([path, "--profile", profile, *more], limit)
    ours = Ours([line for line in out.splitlines() if line], seconds)
    if not ours.end or ours.end["status"] not in ("complete", "budget"):
        sys.exit(fail(f"{path} did not end well: {ours.end}"))
    return ours


def number(text):
    try:
        return float(text)
    except ValueError:  # "N/A"
        return None


def nvbandwidth(path, cases, limit):
    """Matrix of each case. A bidirectional one prints three into one, of which the last is the sum."""
    out, seconds = run([path, "-j", "-i", "1", "-t", *cases], limit)
    matrices = {}
    for case in json.loads(out[out.index("{"):])["nvbandwidth"]["testcases"]:
        rows = [[number(cell) for cell in row] for row in case.get("bandwidth_matrix", [])]
        if rows and case["name"].startswith("device_to_device"):
            rows = rows[-len(rows[0]):]
        matrices[case["name"]] = rows
    return matrices, seconds


def babelstream(path, device, elements, limit):
    """Best and mean bytes per second of each function."""
    out, seconds = run([path, "--csv", "--device", str(device), "--arraysize", str(elements), "--numtimes", "50"], limit)
    lines = out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("function,"))
    rates = {}
    for line in lines[begin + 1:]:
        name, _, _, _, rate, low, _, mean = line.split(",")
        best = float(rate) * 1e6
        rates[name] = best, best * float(low) / float(mean)
    return rates, seconds


class Round:
    """What the tools said in one turn."""

    def __init__(self, ours):
        self.ours, self.matrices, self.streams = ours, {}, {}

    def cell(self, case, row, column):
        rows = self.matrices.get(case, [])
        return rows[row][column] if row < len(rows) and column < len(rows[row]) else None

    def cells(self, cases, row, column, scale):
        """The sum of the cases' cells; None when one has none."""
        parts = [self.cell(case, row, column) for case in cases]
        return None if None in parts else sum(parts) * scale


class Table:
    def __init__(self):
        self.rows, self.missed, self.missing = [], 0, 0

    def add(self, title, source, target, ours, theirs, unit, judge):
        """ours and theirs have a value for each round, or None where it did not measure that."""
        pairs = [a / b for a, b in zip(ours, theirs) if a and b]
        mine, other = ([v for v in values if v] for values in (ours, theirs))
        if not mine and not other:
            return
        if mine and other and not pairs:
            pairs = [statistics.median(mine) / statistics.median(other)]
        ratio, fine = (statistics.median(pairs), met(judge, statistics.median(pairs))) if pairs else (None, None)
        if not mine and judge != SHOWN:
            self.missing += 1
        self.missed += fine is False
        self.rows.append((title, source, target, mine and statistics.median(mine), other and statistics.median(other), unit, ratio, pairs, judge,
                          "no value" if not mine and judge != SHOWN else "" if fine is None else "met" if fine else "NOT met"))

    def worst(self):
        """Of each title the row that is farthest from equal, or lowest where more is better; how many there are."""
        titles = {}
        for row in self.rows:
            titles.setdefault(row[0], []).append(row)
        for rows in titles.values():
            far = {ENGINE: lambda r: -abs(r[6] - 1), SHOWN: lambda r: -abs(r[6] - 1)}.get(rows[0][8], lambda r: r[6])
            missing = [r for r in rows if r[9] == "no value"]
            known = [r for r in rows if r[6] is not None]
            yield len(rows), missing[0] if missing else min(known, key=far) if known else rows[0]

    def print(self, each):
        lines = [("what", "from", "to", "cells", "berth", "reference", "unit", "ratio", "of rounds", "target", "")]
        for count, (title, source, target, ours, theirs, unit, ratio, pairs, judge, verdict) in ((1, r) for r in self.rows) if each else self.worst():
            scale, digits = (1e9, 2) if unit == "GB/s" else (1, 0)
            shown = [f"{v / scale:.{digits}f}" if v else "-" for v in (ours, theirs)]
            lines.append((title, source, target, str(count), *shown, unit, "-" if ratio is None else f"{ratio:.3f}",
                          f"{min(pairs):.3f}..{max(pairs):.3f}" if len(pairs) > 1 else "-", judge, verdict))
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        for line in lines:
            print("  ".join(c.rjust(w) if i in (3, 4, 5, 7) else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip())


def compare_host(table, rounds):
    first = rounds[0].ours
    for title, cases, metric, axes, host, judge in HOST:
        unit, scale = ("ns", 1) if metric == "memory_latency" else ("GB/s", 1e9)
        for i, gpu in enumerate(first.gpus):
            theirs = [r.cells(cases, 0, i, scale) for r in rounds]
            near = first.near(gpu)
            ends = [(n, gpu) for n in near if host != "to"] + [(gpu, n) for n in near if host != "from"]
            there = "/".join(near) or "host"
            for extra in ({}, {"bytes": CACHED_BYTES}) if unit == "ns" else ({},):
                found = [[v for v in (r.ours.find(metric, [end], {**axes, **extra}) for end in ends) if v] for r in rounds]
                ours = [(min if unit == "ns" else max)(values) if values else None for values in found]
                table.add(f"{title}{', 2 MiB' if extra else ''}", there if host == "from" else gpu, gpu if host == "from" else there, ours, theirs, unit, judge)


def compare_peers(table, rounds):
    gpus = rounds[0].ours.gpus
    for title, cases, metric, axes, acting, judge in PEER:
        unit, scale = ("ns", 1) if metric == "memory_latency" else ("GB/s", 1e9)
        for i, row in enumerate(gpus):
            for j, column in enumerate(gpus):
                if i == j:
                    continue
                theirs = [r.cells(cases, i, j, scale) for r in rounds]
                ends = {"row": [(row, column)], "column": [(column, row)], "any": [(row, column), (column, row)]}[acting]
                for extra in ({}, {"bytes": CACHED_BYTES}) if unit == "ns" else ({},):
                    ours = [r.ours.find(metric, ends, {**axes, **extra}) for r in rounds]
                    table.add(f"{title}{', 2 MiB' if extra else ''}", *ends[0], ours, theirs, unit, judge)


def share(ours, metric, members, directions, gpu):
    """What the gpu gets, in all directions together, while the members copy from and to the host at once; of several nodes' memories the most."""
    rates = [0]
    for (name, axes, places), flows in ours.sets.items():
        if name != metric or axes or len(places) != len(members) * len(directions):
            continue
        hosts = {"to": [a for a, b in places if b.startswith("numa")], "from": [b for a, b in places if a.startswith("numa")]}
        if all(set(hosts[d]) == (set(members) if d in directions else set()) for d in hosts):
            rates.append(sum(rate for ends, rate in flows.items() if gpu in ends))
    return max(rates) or None


def compare_sets(table, rounds):
    for title, cases, metric, which, directions, judge in SETS:
        for i, gpu in enumerate(rounds[0].ours.gpus):
            members = rounds[0].ours.gpus if which == "all" else [gpu]
            ours = [share(r.ours, metric, members, directions, gpu) for r in rounds]
            table.add(title, *((gpu, "host") if "to" in directions else ("host", gpu)), ours, [r.cells(cases, 0, i, 1e9) for r in rounds], "GB/s", judge)


def compare_fans(table, rounds):
    gpus = rounds[0].ours.gpus
    for title, case, metric, axes, to_one, judge in FANS:
        for i, one in enumerate(gpus):
            places = frozenset((gpu, one) if to_one else (one, gpu) for gpu in gpus if gpu != one)
            ours = [sum(r.ours.sets.get((metric, axes_of(axes), places), {}).values()) or None for r in rounds]
            table.add(title, *(("others", one) if to_one else (one, "others")), ours, [r.cells([case], 0, i, 1e9) for r in rounds], "GB/s", judge)


def compare_streams(table, rounds):
    for i, gpu in enumerate(rounds[0].ours.gpus):
        local = [r.cells([LOCAL], 0, i, 2e9) for r in rounds]
        own = [(gpu, gpu)]
        table.add("own memory: copy beside nvbandwidth's local copy", gpu, gpu, [r.ours.find("memory_bandwidth", own, {"operation": "copy"}) for r in rounds],
                  local, "GB/s", BEST)
        for test, name in STREAMS:
            ours = [r.ours.find("gpu_stream", own, {} if test == "bs1" else {"test": test}) for r in rounds]
            best, mean = rounds[0].streams.get(i, {}).get(name, (None, None))
            table.add(f"own memory: {test} beside BabelStream's {name}, its best", gpu, gpu, ours, [best] * len(ours), "GB/s", HBM)
            if mean:
                table.add(f"own memory: {test} beside BabelStream's {name}, its mean", gpu, gpu, ours, [mean] * len(ours), "GB/s", SHOWN)


def is_time(cell_key):
    """Latencies, and the sizes of a curve that take little more than starting them does: what was measured of these is a time."""
    metric, _, _, axes = cell_key
    return metric in ("memory_latency", "copy_latency", "gpu_pingpong", "transfer_overhead") or int(dict(axes).get("bytes", SMALL_BYTES + 1)) <= SMALL_BYTES


def agreement(first, second):
    """Of two runs: for each unit, how far cells are apart, and how many further than they may be."""
    apart = {"GB/s": [], "ns": []}
    for cell_key, (value, _, _) in first.items():
        other = second.get(cell_key)
        unit = "ns" if is_time(cell_key) else "GB/s"
        if other and value and other[0]:
            apart[unit].append((abs(other[0] / value - 1), cell_key))
    for unit, limit in (("GB/s", 0.01), ("ns", 0.05)):
        if not apart[unit]:
            continue
        distances = sorted(d for d, _ in apart[unit])
        worst, where = max(apart[unit], key=lambda a: a[0])
        print(f"two quick runs, {'bandwidths' if unit == 'GB/s' else 'times'}: {len(distances)} cells, median {statistics.median(distances):.2%} apart, worst {worst:.2%} "
              f"({where[0]} {where[1]} {where[2]} {' '.join('='.join(a) for a in sorted(where[3]))}), "
              f"{sum(d > limit for d in distances)} more than {limit:.0%}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--probe", default="build/bin/berth-probe-gpu")
    parser.add_argument("--nvbandwidth", help="path of the program")
    parser.add_argument("--babelstream", help="path of the program, built for CUDA")
    parser.add_argument("--rounds", type=int, choices=range(1, 10), default=3, help="of all tools in turns")
    parser.add_argument("--cells", action="store_true", help="a row for each cell; else one for each kind of cell, its worst")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which a program is given up")
    return parser.parse_args()


class Clock:
    """How long the tools took."""

    def __init__(self):
        self.seconds = {}

    def add(self, name, seconds, values):
        self.seconds.setdefault(name, []).append((seconds, values))

    def print(self):
        for name, runs in self.seconds.items():
            each = ", ".join(f"{seconds:.2f}" for seconds, _ in runs)
            print(f"{name:<50} {each} s, {max(values for _, values in runs)} values")
        print(f"together {sum(seconds for runs in self.seconds.values() for seconds, _ in runs):.0f} s")


def more(options, clock, ours, metrics, seconds, anew=True):
    """Adds what the full profile has of metrics; anew: in the place of what the quick one had."""
    full = probe(options.probe, "full", options.limit, "--metrics", metrics, "--budget-ns", str(seconds * 10**9))
    clock.add(f"berth-probe-gpu --profile full --metrics {metrics}", full.seconds, len(full.cells) + sum(len(flows) for flows in full.sets.values()))
    ours.cells = {**ours.cells, **full.cells} if anew else {**full.cells, **ours.cells}
    ours.sets = {**ours.sets, **full.sets} if anew else {**full.sets, **ours.sets}


def take_round(options, clock, number):
    """One turn of all tools; what is not judged, and BabelStream, which repeats by itself, in the first alone."""
    turn = Round(probe(options.probe, "quick", options.limit))
    clock.add("berth-probe-gpu --profile quick", turn.ours.seconds, len(turn.ours.cells))
    if not turn.ours.gpus:
        sys.exit(fail("the probe names no gpu"))
    quick = dict(turn.ours.cells)
    cases = [c for c in dict.fromkeys(JUDGED + (OTHERS if number == 0 else [])) if len(turn.ours.gpus) > 1 or not c.startswith(("device_to_device", "all_to_one", "one_to_all"))]
    if options.nvbandwidth:
        turn.matrices, seconds = nvbandwidth(options.nvbandwidth, cases, options.limit)
        clock.add("nvbandwidth -i 1, all cases, then the judged ones", seconds, sum(c is not None for rows in turn.matrices.values() for row in rows for c in row))
    more(options, clock, turn.ours, "gpu_stream", STREAM_SECONDS)
    if number == 0:
        more(options, clock, turn.ours, "memory_latency", LATENCY_SECONDS)
        more(options, clock, turn.ours, SETS_METRICS, SETS_SECONDS, False)
    for device in range(len(turn.ours.gpus) if options.babelstream and number == 0 else 0):
        turn.streams[device], seconds = babelstream(options.babelstream, device, ELEMENTS, options.limit)
        clock.add(f"BabelStream, {ELEMENTS} doubles, each gpu", seconds, len(turn.streams[device]))
    return turn, quick


def main():
    options, clock, table = arguments(), Clock(), Table()
    rounds, quick = zip(*(take_round(options, clock, number) for number in range(options.rounds)))
    for compare in (compare_host, compare_peers, compare_sets, compare_fans, compare_streams):
        compare(table, rounds)
    table.print(options.cells)
    print(f"\n{NOTES}\n")
    clock.print()
    if len(quick) > 1:
        agreement(quick[0], quick[1])
    driver = [r.ours.driver_seconds() for r in rounds]
    took = max(r.ours.seconds - (d or 0) for r, d in zip(rounds, driver))
    slow = took > 5
    print(f"quick profile, {len(rounds[0].ours.gpus)} gpus, the slowest: {took:.2f} s{', starting the driver included' if None in driver else ' after starting the driver'}, "
          f"target 5 s: {'NOT met' if slow else 'met'}")
    print(f"targets not met: {table.missed + slow}; cells of the reference that berth has no value for: {table.missing}")
    sys.exit(1 if table.missed or slow or table.missing else 0)


if __name__ == "__main__":
    main()
