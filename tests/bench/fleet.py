"""berth fleet over 2,000 drawn nodes with known faults, beside three other rules; and its time for 10,000 nodes.

Prints the tables of docs/measured/fleet.md. The other rules are implemented here:

- mean: a value more than 10 % worse than the mean of the nodes.
- DCGM: a rate below 75 % of what is usual. dcgmi diag compares with fixed numbers for each SKU, which its diag-skus.yaml
  derives so. It has them for few of these series; here each series has one.
- SuperBench (arXiv 2402.06194): a similarity to the criterion below 0.95. The similarity of two distributions is one
  less the area between them over their range, on the worse side. With one value a node that is the ratio.
"""
import itertools
import json
import math
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import fleet_nodes as drawn  # noqa: E402
from berthd import BIN  # noqa: E402

NODES, EACH, DRIVER = 2000, 10, 100  # nodes; faulty ones of each kind and loss; nodes with the slow driver
LOSSES = (0.03, 0.05, 0.10, 0.30)
RULES = ("mean", "DCGM", "SuperBench")
LIMIT = {"mean": 0.90, "DCGM": 0.75, "SuperBench": 0.95}


def speeds(series, fleet):
    """Each node's speed beside the usual one, for each series and rule: columns of (mean, median) ratios."""
    for i, one in enumerate(series):
        column = [1 / values[i] if one.is_time else values[i] for values in fleet]
        mean, median = statistics.fmean(column), statistics.median(column)
        yield one, [x / mean for x in column], [x / median for x in column]


def named_by(series, fleet):
    """The nodes that each rule names: by all series, and by rates alone."""
    named = {(rule, rates): set() for rule in RULES for rates in (False, True)}
    for one, by_mean, by_median in speeds(series, fleet):
        for rule in RULES:
            column = by_mean if rule == "mean" else by_median
            hit = {i for i, x in enumerate(column) if x < LIMIT[rule]}
            named[rule, False] |= hit
            if not one.is_time:
                named[rule, True] |= hit
    return named


def berth(path):
    begin = time.monotonic()
    done = subprocess.run([BIN / "berth", "--json", "fleet", path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.monotonic() - begin


def draw(series, path, faults, driver):
    fleet = []
    with tarfile.open(path, "w") as tar:
        for i in range(NODES):
            fleet.append(drawn.draw_node(series, f"{path.name} {i}", faults.get(i)))
            software = {"driver": "580.9" if i in driver else f"570.{i % 2}", "kernel": f"6.{i % 5}"}
            drawn.put_in_tar(tar, f"n{i:04}", drawn.files(series, f"n{i:04}", fleet[-1], software))
    return fleet


def is_there(worst, fault):
    """True when the place that is named is the fault's."""
    ends = {end for end in (worst["from"], worst["to"]) if end}
    return ends == fault.gpus


def share(hits, of):
    return f"{len(hits & of)} of {len(of)}"


def recall(series, folder):
    chance, numbers = random.Random(1), iter(range(7, NODES, 13))
    gpus, faults, kinds = sorted({gpu for one in series for gpu in one.gpus}), {}, {}
    for loss, kind in itertools.product(LOSSES, ("pair", "GPU")):
        for _ in range(EACH):
            number = next(numbers)
            faults[number] = drawn.Fault(loss, chance.sample(gpus, 2 if kind == "pair" else 1))
            kinds.setdefault((kind, loss), set()).add(number)
    path = pathlib.Path(folder, "places.tar")
    fleet = draw(series, path, faults, set())
    told, _ = berth(path)
    worst = {int(slow["node"][1:]): slow["worst"] for slow in told["slow"]}
    other = named_by(series, fleet)
    print("| fault | loss | berth fleet | at its place | " + " | ".join(RULES) + " |\n|---|---|---|---|" + "---|" * len(RULES))
    for (kind, loss), nodes in kinds.items():
        right = {number for number in nodes & set(worst) if is_there(worst[number], faults[number])}
        print(f"| a {kind} | {loss:.0%} | {share(set(worst), nodes)} | {share(right, nodes)} | "
              + " | ".join(share(other[rule, True], nodes) for rule in RULES) + " |", flush=True)
    healthy = set(range(NODES)) - set(faults)
    path.unlink()
    alarms = [f"{len(set(worst) & healthy)}"] + [f"{len(other[rule, True] & healthy)}, {len(other[rule, False] & healthy)}" for rule in RULES]
    for loss in LOSSES:
        path = pathlib.Path(folder, f"driver{loss}.tar")
        driver = set(chance.sample(range(NODES), DRIVER))
        fleet = draw(series, path, {number: drawn.Fault(loss) for number in driver}, driver)
        told, _ = berth(path)
        named = {int(slow["node"][1:]) for slow in told["slow"]}
        conditions = ", ".join(f"{one['condition']} {one['value']}" for one in told["shared"])
        other = named_by(series, fleet)
        print(f"| a driver | {loss:.0%} | {share(named, driver)} | {conditions or 'none'} | "
              + " | ".join(share(other[rule, True], driver) for rule in RULES) + " |", flush=True)
        path.unlink()
    print(f"| none | | {alarms[0]} of {len(healthy)} | | " + " | ".join(f"{alarm} of {len(healthy)}" for alarm in alarms[1:]) + " |")


def small(folder, loss=0.10, common=0.005):
    """Classes of few nodes: fleets with a healthy node named, and slow pairs found; then with noise that all of a GPU shares."""
    series = drawn.all_series(600)

    def named(nodes, seed, fault, common):
        path = pathlib.Path(folder, "small.tar")
        with tarfile.open(path, "w") as tar:
            for i in range(nodes):
                values = drawn.draw_node(series, f"{seed} {nodes} {i}", fault if i == 3 else None)
                draw = random.Random(f"common {seed} {nodes} {i}")
                of_gpu = {f"gpu{gpu}": draw.gauss(0, common) for gpu in range(4)}
                values = [value * math.exp((1 if one.is_time else -1) * sum(of_gpu[gpu] for gpu in one.gpus)) for one, value in zip(series, values)]
                drawn.put_in_tar(tar, f"n{i}", drawn.files(series, f"n{i}", values, {"driver": str(i % 3)}))
        return {int(slow["node"][1:]) for slow in berth(path)[0]["slow"]}

    print("\n| nodes | fleets | healthy: fleets with a false alarm | a pair 10 % slower: found | with noise of GPUs: false alarm | found |\n|---|---|---|---|---|---|")
    for nodes, fleets in ((5, 60), (8, 60), (12, 40), (30, 30), (200, 12)):
        cells = []
        for noise in (0, common):
            alarms = sum(bool(named(nodes, seed, None, noise)) for seed in range(fleets))
            found = sum(3 in named(nodes, seed, drawn.Fault(loss, ("gpu1", "gpu2")), noise) for seed in range(fleets))
            cells += [alarms, found]
        print(f"| {nodes} | {fleets} | " + " | ".join(map(str, cells)) + " |", flush=True)


def speed(series, folder, what, nodes=10000, kinds=64):
    """Wall time and memory; the values of so many drawn nodes are repeated."""
    path = pathlib.Path(folder, "speed.tar")
    drew = [drawn.draw_node(series, i) for i in range(kinds)]
    files = [{"x.baseline": drawn.baseline(series, "NAME", values)} if what == "baselines" else drawn.files(series, "NAME", values, {"driver": "570.1"})
             for values in drew]
    named = "x.baseline" if what == "baselines" else "node.json"
    with tarfile.open(path, "w") as tar:
        for i in range(nodes):
            name, kind = f"n{i:05}", files[i % kinds]
            drawn.put_in_tar(tar, name, {**kind, named: kind[named].replace("NAME", name, 1)})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told, wall = berth(path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{told['nodes']:,} {what}, {told['values']:,} values, {path.stat().st_size / 1e9:.1f} GB: {wall:.1f} s, "
          f"{after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.1f} s of processors, {after.ru_maxrss / 1e3:.0f} MB at most so far")
    path.unlink()


if __name__ == "__main__":
    SERIES = drawn.all_series(1900)
    with tempfile.TemporaryDirectory() as FOLDER:
        if "speed" not in sys.argv[1:]:
            recall(SERIES, FOLDER)
            small(FOLDER)
        speed(SERIES, FOLDER, "records")
        speed(SERIES, FOLDER, "baselines")
