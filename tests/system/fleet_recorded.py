"""berth fleet over 2,000 nodes whose records real daemons wrote after two virtual days alone.

Five daemons measure stand-in nodes in the background. Two stay healthy; two lose speed after the
first day; one was slow from its first measurement, which makes it its own baseline. Each of their
records becomes hundreds of nodes by drawn noise, and berth fleet has to name the slow ones and no
other. Prints TAP.
"""
import concurrent.futures
import json
import math
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import fleet_nodes as drawn  # noqa: E402
from berthd import BIN, cells, until  # noqa: E402
from tap import run_tests  # noqa: E402
from week_alone import DAY, RATE, check, measured_at, node  # noqa: E402

FRESHNESS = DAY // 2
NODES, SLOW = 2000, 20  # SLOW of each kind
# Name: what is lossy, and whether from the first measurement on. A loss of memory is one series alone,
# and at 8 % hardly any of its nodes is told from the tails of 2,000.
KINDS = {"healthy": (None, False), "sound": (None, False), "link": ("gpu0 gpu1 0.92", False),
         "memory": ("gpu5 gpu5 0.85", False), "day 0": ("gpu2 gpu6 0.92", True)}


def knows(daemon, lossy):
    """True when the latest values say so; on a busy machine the duty may not have allowed it yet."""
    *ends, speed = lossy.split()
    metric, usual = ("gpu_stream", 1.3e12) if ends[0] == ends[1] else ("gpu_gpu_copy_engine", RATE)
    rates = [cell["value"] for cell in cells(daemon, metric) if {cell["from"], cell["to"]} == set(ends)]
    return max(rates) < usual * (1 + float(speed)) / 2


def record(kind, folder):
    """The files of the record after two days; the second begins when the node is lossy."""
    lossy, is_from_start = KINDS[kind]
    path = pathlib.Path(folder, kind)
    # The noise that a seed draws is all that tells healthy nodes apart, so that each run has the same answer.
    files = {"still": str(1 + list(KINDS).index(kind)), **({"lossy": lossy} if is_from_start else {})}
    with node(FRESHNESS, **files) as (daemon, probes):
        begin = until(lambda: measured_at(daemon), 60)
        assert until(lambda: measured_at(daemon) > begin + DAY, 60), daemon.said()
        if lossy is not None:
            (probes / "lossy").write_text(lossy)
        assert until(lambda: measured_at(daemon) > begin + 2 * DAY and (lossy is None or knows(daemon, lossy)), 60), daemon.said()
        if is_from_start:
            assert check(daemon)["verdict"] == "healthy", "it has another value to compare with"
        subprocess.run([BIN / "berth", "--socket", daemon.socket, "record", path], check=True, capture_output=True)
    return {file: (path / file).read_text() for file in ("node.json", "topology.xml", "measurements.jsonl")}


class Recorded:
    """A record; draws nodes whose measured values differ by noise as in tests/lib/fleet_nodes.py."""

    def __init__(self, files):
        self.files, self.node, self.lines, is_measured = files, json.loads(files["node.json"]), [], False
        for line in files["measurements.jsonl"].splitlines(True):
            one = json.loads(line)
            if one["record"] == "run":
                is_measured = one["source"] == "measured"
            key = line[:line.index(',"value":')] if is_measured and one["record"] == "value" else None
            self.lines.append((one, key, line))
        self.drawn = sorted((key, one["metric"]) for one, key, _ in self.lines if key)  # the lines' order is that of measuring

    def draw(self, name, seed):
        draw = random.Random(seed)
        common, of_metric, factor, text = drawn.COMMON * draw.gauss(0, 1), {}, {}, []
        for key, metric in self.drawn:
            if metric not in of_metric:
                of_metric[metric] = drawn.COMMON * draw.gauss(0, 1)
            tail = drawn.SCALES[int(draw.random() * len(drawn.SCALES))]
            noise = drawn.NOISE[metric in drawn.LOWER] * draw.gauss(0, 1) * tail
            factor[key] = math.exp(common + of_metric[metric] + noise)
        for one, key, line in self.lines:
            if key:
                by = factor[key]
                line = f'{key},"value":{by * one["value"]:.7g},"low":{by * one["low"]:.7g},"high":{by * one["high"]:.7g},"n":{one["n"]}}}\n'
            text.append(line)
        return {**self.files, "node.json": json.dumps({**self.node, "name": name}), "measurements.jsonl": "".join(text)}


def two_thousand_nodes_left_alone_have_their_slow_ones_named():
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        records = {kind: Recorded(files) for kind, files in zip(KINDS, pool.map(lambda kind: record(kind, folder), KINDS))}
        slow_kinds = [kind for kind in KINDS if KINDS[kind][0] is not None]
        numbers = iter(random.Random(1).sample(range(NODES), SLOW * len(slow_kinds)))
        table = {f"n{next(numbers):04}": kind for kind in slow_kinds for _ in range(SLOW)}
        with tarfile.open(f"{folder}/fleet.tar", "w") as tar:
            for i in range(NODES):
                name = f"n{i:04}"
                kind = table.get(name, ("healthy", "sound")[i % 2])
                drawn.put_in_tar(tar, name, records[kind].draw(name, i))
        done = subprocess.run([BIN / "berth", "--json", "fleet", f"{folder}/fleet.tar"], capture_output=True, text=True, check=True)
        told = json.loads(done.stdout)
        assert (told["nodes"], told["compared"], told["left_out"], done.stderr) == (NODES, NODES, [], ""), (told["left_out"], done.stderr)
        named = {slow["node"]: slow["worst"] for slow in told["slow"]}
        assert set(named) == set(table), ({table[name] for name in set(table) - set(named)}, set(table) - set(named), {name: named[name] for name in set(named) - set(table)})
        for name, worst in named.items():
            lossy = KINDS[table[name]][0].split()
            assert {worst["from"], worst["to"] or worst["from"]} == set(lossy[:2]), (table[name], worst)
            assert abs(worst["loss"] - (1 - float(lossy[2]))) < 0.03, (table[name], worst)
        print(f"# {len(named)} of {len(table)} slow nodes named, {len(set(named) - set(table))} others; {told['values']} values", flush=True)


if __name__ == "__main__":
    sys.exit(run_tests([two_thousand_nodes_left_alone_have_their_slow_ones_named]))
