#!/usr/bin/env python3
"""Compares what berth measured of NCCL's collectives with nccl-tests, operation by operation, on all gpus of this machine.

    BERTH_SOCKET=... python3 tests/bench/nccl_compare.py FOLDER

FOLDER holds all_reduce_perf and its siblings, those that there are. The daemon has measured the full profile's
collective_bandwidth before. Rates are bytes over the time of an operation out of place, of the larger of both buffers, which
both tools call so. Exit status: 0 compared, 69 nothing to compare.
"""
import json
import pathlib
import statistics
import subprocess
import sys

PROGRAMS = {"allreduce": "all_reduce_perf", "allgather": "all_gather_perf", "broadcast": "broadcast_perf",
            "reduce": "reduce_perf", "reducescatter": "reduce_scatter_perf"}
ROUNDS = 3


def ours():
    """(operation, members) to (bytes to bytes a second), of memory of the members' own."""
    reply = subprocess.run(["build/bin/berth", "--json", "matrix", "collective_bandwidth", "--size", "all"],
                           stdout=subprocess.PIPE, check=True)
    found = {}
    for cell in json.loads(reply.stdout)["cells"]:
        axes = cell["axes"]
        if axes["memory"] == "own" and axes["bytes"].isdigit() and cell["value"] is not None:
            found.setdefault((axes["operation"], int(axes["members"])), {})[int(axes["bytes"])] = cell["value"]
    return found


def theirs(program, members, sizes):
    """Bytes to bytes a second: the medians of a few runs, each over all sizes."""
    rates = {}
    for _ in range(ROUNDS):
        done = subprocess.run([program, "-g", str(members), "-b", str(sizes[0]), "-e", str(sizes[-1]), "-f", str(sizes[1] // sizes[0]),
                               "-c", "0"], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        for row in (line.split() for line in done.stdout.splitlines()):
            if len(row) > 6 and row[0].isdigit() and int(row[0]) in sizes:
                rates.setdefault(int(row[0]), []).append(int(row[0]) / (float(row[5]) * 1e-6))
    return {size: statistics.median(its) for size, its in rates.items()}


def main():
    folder, compared = pathlib.Path(sys.argv[1]), 0
    print(f"{'operation':14}{'gpus':>5}{'bytes':>12}{'berth':>9}{'nccl-tests':>12}  GB/s{'ratio':>8}")
    for (operation, members), rates in sorted(ours().items()):
        program = folder / PROGRAMS.get(operation, "-")
        other = theirs(program, members, sorted(rates)[-3:]) if program.exists() else {}
        for size, rate in sorted(other.items()):
            compared += 1
            print(f"{operation:14}{members:5}{size:12}{rates[size] / 1e9:9.2f}{rate / 1e9:12.2f}{rates[size] / rate:14.3f}", flush=True)
    return 0 if compared else 69


if __name__ == "__main__":
    sys.exit(main())
