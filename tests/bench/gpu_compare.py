#!/usr/bin/env python3
"""Runs berth-probe-gpu and, where their paths are given, nvbandwidth and BabelStream one after the other on this machine, and prints cell by
cell what each measured, the ratio, and what each tool took. Needs nothing but Python; docs/MEASURING.md says what the rows mean.

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

# How a row is judged: what it says of theirs, given ours (value, low, high) and the ratio; None is no target.
ENGINE, KERNEL, HBM, SHOWN = "within 1 %", ">= 1", ">= 0.98", "-"


def met(target, ours, theirs):
    ratio = ours[0] / theirs
    if target == ENGINE:
        return abs(ratio - 1) <= 0.01
    if target == KERNEL:  # as fast as far as our own interval can tell
        return max(ours[0], ours[2] or 0) >= theirs
    if target == HBM:
        return ratio >= 0.98
    return None


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
    ("gpu to gpu, kernel, read", ["device_to_device_memcpy_read_sm"], "gpu_gpu_kernel", {"how": "read"}, "row", KERNEL),
    ("gpu to gpu, kernel, write", ["device_to_device_memcpy_write_sm"], "gpu_gpu_kernel", {}, "row", KERNEL),
    ("gpu to gpu, kernel, read, both", ["device_to_device_bidirectional_memcpy_read_sm"], "gpu_gpu_kernel",
     {"how": "read", "direction": "both"}, "any", KERNEL),
    ("gpu to gpu, kernel, write, both", ["device_to_device_bidirectional_memcpy_write_sm"], "gpu_gpu_kernel", {"direction": "both"}, "any", KERNEL),
    ("latency of a peer's memory", ["device_to_device_latency_sm"], "memory_latency", {}, "row", SHOWN),
]
# All gpus and the host at once: each one's share.
SETS = [
    ("all gpus to host at once, copy engine", "all_to_host_memcpy_ce", "host_gpu_copy_engine_concurrent", "to"),
    ("host to all gpus at once, copy engine", "host_to_all_memcpy_ce", "host_gpu_copy_engine_concurrent", "from"),
]
STREAMS = [("bs1", "Copy"), ("bs2", "Triad"), ("bs4", "Dot")]
CACHED_BYTES = 1 << 20  # of ours that a cache holds as well as the 2 MiB of nvbandwidth
CASES = [c for row in HOST + PEER for c in row[1]] + [row[1] for row in SETS] + ["device_local_copy"]
NOTES = """What differs in method: nvbandwidth's latencies chase pointers through 2 MiB, which a peer's level-2 cache holds; ours without a size go through memory, and those
through 1 MiB are the like. Its bidirectional host cells give one direction under the load of the other: the row adds both up. Its reading kernel stores what
it reads, ours does not. Its local copy counts bytes once: the row counts them twice, as ours do. BabelStream gives its best time and clocks each launch; Triad
moves the bytes of bs2, and bs3 and bs5 have no counterpart there."""


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
                self.sets[(record["metric"], axes_of(record.get("axes", {})), frozenset(flows))] = flows
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
                return value
        return None


def axes_of(axes):
    return frozenset((k, str(v)) for k, v in axes.items())


def key(metric, source, target, axes):
    return metric, source, target, axes_of(axes)


def values_of(record):
    """Cells of a value record as (axes, (value, low, high)). Of samples, in bytes per second, the top is the slope between the two largest sizes."""
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
        a, b = samples[-2:]
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
    out, seconds = run([path, "-j", "-t", *cases], limit)
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


class Table:
    def __init__(self):
        self.rows, self.missed, self.missing = [], 0, 0

    def add(self, title, source, target, ours, theirs, unit, judge, why=""):
        """ours is (value, low, high) or None."""
        scale, digits = (1e9, 2) if unit == "GB/s" else (1, 0)
        show = lambda v: "-" if v is None else f"{v / scale:.{digits}f}"
        ratio, verdict = "-", ""
        if ours and theirs:
            ratio = f"{ours[0] / theirs:.3f}"
            fine = met(judge, ours, theirs)
            verdict = "" if fine is None else "met" if fine else "NOT met"
            self.missed += fine is False
        elif theirs and judge != SHOWN:
            verdict, self.missing = "no value", self.missing + 1
        if ours or theirs:
            self.rows.append((title, source, target, show(ours and ours[0]), show(theirs), unit, ratio, judge, verdict or why))

    def print(self):
        head = ("what", "from", "to", "berth", "reference", "unit", "ratio", "target", "")
        widths = [max(len(r[i]) for r in [head, *self.rows]) for i in range(len(head))]
        for row in [head, *self.rows]:
            print("  ".join(c.rjust(w) if i in (3, 4, 6) else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())


def cell(matrices, case, row, column):
    rows = matrices.get(case, [])
    return rows[row][column] if row < len(rows) and column < len(rows[row]) else None


def compare_host(table, ours, matrices):
    for title, cases, metric, axes, host, judge in HOST:
        unit = "ns" if metric == "memory_latency" else "GB/s"
        for i, gpu in enumerate(ours.gpus):
            parts = [cell(matrices, case, 0, i) for case in cases]
            theirs = None if None in parts else sum(parts) * (1e9 if unit == "GB/s" else 1)
            near = ours.near(gpu)
            ends = [(n, gpu) for n in near if host != "to"] + [(gpu, n) for n in near if host != "from"]
            for extra in ({}, {"bytes": CACHED_BYTES}) if unit == "ns" else ({},):
                found = [v for v in (ours.find(metric, [end], {**axes, **extra}) for end in ends) if v]
                pick = min if unit == "ns" else max
                name = f"{title}{', 1 MiB' if extra else ''}"
                there = "/".join(near) or "host"
                table.add(name, there if host == "from" else gpu, gpu if host == "from" else there, pick(found) if found else None, theirs, unit, judge)


def compare_peers(table, ours, matrices):
    for title, cases, metric, axes, acting, judge in PEER:
        unit = "ns" if metric == "memory_latency" else "GB/s"
        for i, row in enumerate(ours.gpus):
            for j, column in enumerate(ours.gpus):
                if i == j:
                    continue
                theirs = cell(matrices, cases[0], i, j)
                theirs = theirs and theirs * (1e9 if unit == "GB/s" else 1)
                ends = {"row": [(row, column)], "column": [(column, row)], "any": [(row, column), (column, row)]}[acting]
                for extra in ({}, {"bytes": CACHED_BYTES}) if unit == "ns" else ({},):
                    table.add(f"{title}{', 1 MiB' if extra else ''}", *ends[0], ours.find(metric, ends, {**axes, **extra}), theirs, unit, judge)


def compare_sets(table, ours, matrices):
    for title, case, metric, host in SETS:
        wanted = [s for (m, axes, places), s in ours.sets.items()
                  if m == metric and not axes and len(s) == len(ours.gpus) > 1
                  and {p[1 if host == "from" else 0] for p in places} == set(ours.gpus)
                  and all(p[0 if host == "from" else 1].startswith("numa") for p in places)]
        for i, gpu in enumerate(ours.gpus):
            theirs = cell(matrices, case, 0, i)
            rates = [(rate, ends) for s in wanted for ends, rate in s.items() if gpu in ends]
            rate, ends = max(rates) if rates else (None, (gpu, "host") if host == "to" else ("host", gpu))
            table.add(title, *ends, rate and (rate, None, None), theirs and theirs * 1e9, "GB/s", SHOWN)


def compare_streams(table, ours, matrices, streams):
    for i, gpu in enumerate(ours.gpus):
        local = cell(matrices, "device_local_copy", 0, i)
        copied = ours.find("gpu_stream", [(gpu, gpu)], {})
        table.add("own memory: bs1 beside nvbandwidth's local copy", gpu, gpu, copied, local and local * 2e9, "GB/s", SHOWN)
        for test, name in STREAMS:
            best = max((rates[name] for rates in streams.get(i, []) if name in rates), default=(None, None))
            axes = {} if test == "bs1" else {"test": test}
            table.add(f"own memory: {test} beside BabelStream's {name}", gpu, gpu, ours.find("gpu_stream", [(gpu, gpu)], axes), best[0], "GB/s", HBM)


def agreement(first, second):
    """Of two runs: for each unit, how far cells are apart, and how many further than they may be."""
    apart = {"GB/s": [], "ns": []}
    for cell_key, (value, _, _) in first.cells.items():
        other = second.cells.get(cell_key)
        unit = "ns" if cell_key[0] in ("memory_latency", "copy_latency", "gpu_pingpong", "transfer_overhead") else "GB/s"
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
    parser.add_argument("--full-seconds", type=int, default=20, help="for what quick leaves out; 0: quick alone")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which a program is given up")
    return parser.parse_args()


def main():
    options = arguments()
    ours, again = (probe(options.probe, "quick", options.limit) for _ in range(2))
    if not ours.gpus:
        sys.exit(fail("the probe names no gpu"))
    times = [("berth-probe-gpu --profile quick", ours.seconds, len(ours.cells)), ("  a second time", again.seconds, len(again.cells))]
    if options.full_seconds:
        metrics = sorted({row[2] for row in HOST + PEER + SETS} | {"gpu_stream"})
        full = probe(options.probe, "full", options.limit, "--metrics", ",".join(metrics), "--budget-ns", str(options.full_seconds * 10**9))
        times.append(("berth-probe-gpu --profile full, the metrics below", full.seconds, len(full.cells)))
        full.cells.update(ours.cells)
        full.sets.update(ours.sets)
    else:
        full = ours
    matrices, streams = {}, {}
    if options.nvbandwidth:
        cases = [c for c in dict.fromkeys(CASES) if len(full.gpus) > 1 or not c.startswith("device_to_device")]
        matrices, seconds = nvbandwidth(options.nvbandwidth, cases, options.limit)
        times.append((f"nvbandwidth, {len(cases)} cases", seconds, sum(c is not None for rows in matrices.values() for row in rows for c in row)))
    if options.babelstream:
        for device in range(len(full.gpus)):
            for elements in (2**25, 2**27, 2**28):
                rates, seconds = babelstream(options.babelstream, device, elements, options.limit)
                streams.setdefault(device, []).append(rates)
                times.append((f"BabelStream, gpu {device}, {elements} doubles", seconds, len(rates)))
    table = Table()
    compare_host(table, full, matrices)
    compare_peers(table, full, matrices)
    compare_sets(table, full, matrices)
    compare_streams(table, full, matrices, streams)
    table.print()
    print()
    print(NOTES)
    print()
    for name, seconds, cells in times:
        print(f"{name:<58} {seconds:8.2f} s  {cells:6d} values")
    agreement(ours, again)
    driver = ours.driver_seconds()
    quick = ours.seconds - (driver or 0)
    slow = quick > 5
    print(f"quick profile, {len(ours.gpus)} gpus: {quick:.2f} s{' after starting the driver' if driver is not None else ', starting the driver included'}, "
          f"target 5 s: {'NOT met' if slow else 'met'}")
    print(f"targets not met: {table.missed + slow}; cells of the reference that berth has no value for: {table.missing}")
    sys.exit(1 if table.missed or slow or table.missing else 0)


if __name__ == "__main__":
    main()
