#!/usr/bin/env python3
"""How far runs of berth-probe-gpu agree, by kind of cell: gpu_agree.py FIRST.record SECOND.record [THIRD.record ...]. Each is compared with the one before it.

Asked for are 1 % of bandwidths and 5 % of times; sizes of curves up to 256 KiB are times (gpu_compare.is_time). Prints a table in Markdown. Exit status: 0 all agree, 1 not,
64 wrong usage.
"""
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_compare import Ours, is_time  # noqa: E402

LIMITS = {"bandwidth": 0.01, "time": 0.05}


def kind_of(cell):
    """A row of the table: metric, where, what else tells cells apart, and whether it is a size of a curve."""
    metric, source, target, axes = cell
    axes = dict(axes)
    size = "" if "bytes" not in axes else ", sizes to 256 KiB" if is_time(cell) and metric != "memory_latency" else ", larger sizes"
    axes.pop("bytes", None)
    where = "host and GPU" if "numa" in source + target else "own memory" if source == target else "GPU and GPU"
    return f"`{metric}`{''.join(f' `{k}={v}`' for k, v in sorted(axes.items()))}, {where}{size}", "time" if is_time(cell) else "bandwidth"


def distances(first, second):
    """By kind: how far each cell that both have is apart, sets by the sum of their flows."""
    found = {}
    for cell, (value, _, _) in first.cells.items():
        other = second.cells.get(cell)
        if value and other and other[0]:
            found.setdefault(kind_of(cell), []).append(other[0] / value - 1)
    for key, flows in first.sets.items():
        other = second.sets.get(key)
        if other:
            ways = {(a.startswith("numa"), b.startswith("numa")) for a, b in flows}
            what = "alone" if len(flows) == 1 else "both directions" if len(ways) > 1 else f"{len(flows)} at once"
            found.setdefault((f"`{key[0]}`, sets, {what}, together", "bandwidth"), []).append(sum(other.values()) / sum(flows.values()) - 1)
    return found


def main(paths):
    if len(paths) < 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 64
    runs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            runs.append(Ours([line for line in file if line.strip()], 0))
    found = {}
    for first, second in zip(runs, runs[1:]):
        for kind, apart in distances(first, second).items():
            found.setdefault(kind, []).extend(apart)
    print("| kind of cell | cells | apart, median | furthest | further than asked |\n|---|---|---|---|---|")
    totals = {unit: [] for unit in LIMITS}
    for (title, unit), apart in sorted(found.items(), key=lambda item: (item[0][1], item[0][0])):
        totals[unit] += apart
        over = sum(abs(d) > LIMITS[unit] for d in apart)
        print(f"| {title} | {len(apart)} | {statistics.median(map(abs, apart)):.2%} | {max(apart, key=abs):+.1%} | {over or 'none'} |")
    far = 0
    for unit, apart in totals.items():
        over = sum(abs(d) > LIMITS[unit] for d in apart)
        far += over
        if apart:
            print(f"| **all: {unit}s** | {len(apart)} | {statistics.median(map(abs, apart)):.2%} | {max(apart, key=abs):+.1%} | {over} by more than {LIMITS[unit]:.0%} |")
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
