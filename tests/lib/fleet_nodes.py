"""Draws the records of many nodes of one hardware, some of them slow.

The median of each series is what tests/nodes/h200x4 measured. A node's value differs from it by noise of the node, of the
metric on the node, and of the series. The last is Student's t with five degrees of freedom, whose tails are longer than a
normal one's.
"""
import io
import json
import math
import pathlib
import random
import tarfile

NODE = pathlib.Path(__file__).resolve().parent.parent / "nodes/h200x4"
FINGERPRINT = "0123456789abcdef0123456789abcdef"
STARTED = 1790000000
LOWER = {"cpu_pingpong", "memory_latency", "copy_latency", "gpu_pingpong", "shared_write", "collective_latency",
         "transfer_overhead", "matrix_product", "numa_distance"}
NOISE = {False: 0.006, True: 0.02}  # of a rate, and of a time: standard deviation of the logarithm
COMMON = 0.003
# a normal number over one of these is Student's t with five degrees of freedom and a deviation of one
SCALES = [math.sqrt(0.6) / math.sqrt(random.Random(i).gammavariate(2.5, 0.4)) for i in range(4096)]
XML = ('<?xml version="1.0" encoding="UTF-8"?>\n<topology version="2.0">\n<object type="Machine">\n'
       '<info name="DMIBIOSVersion" value="{bios}"/>\n<info name="CPUModel" value="Drawn CPU"/>\n</object>\n</topology>\n')


class Series:
    """A series of the class: its key, as a line begins, and its median."""

    def __init__(self, record):
        self.metric, self.ends = record["metric"], {record["from"], record["to"]}
        self.gpus = frozenset(end for end in self.ends if end.startswith("gpu"))
        self.is_time, self.value = self.metric in LOWER, record["value"]
        self.axes = record["axes"]
        self.key = json.dumps({key: record[key] for key in ("record", "metric", "from", "to", "axes")},
                              separators=(",", ":"))[:-1]


def all_series(most=1900):
    """The first so many series, those of GPUs before those of cores."""
    lines = map(json.loads, (NODE / "measurements.jsonl").read_text().splitlines())
    found = [Series(line) for line in lines if line["record"] == "value" and line["value"] > 0]
    return sorted(found, key=lambda series: not series.gpus)[:most]


class Fault:
    """A loss of speed, by a share: of a pair of GPUs, of all that a GPU does, or of all GPUs."""

    def __init__(self, loss, gpus=()):
        self.loss, self.gpus = loss, frozenset(gpus)

    def hits(self, series):
        return bool(series.gpus) and (self.gpus == series.gpus if len(self.gpus) == 2 else self.gpus <= series.gpus)


def draw_node(series, seed, fault=None):
    """A value of each series."""
    draw = random.Random(seed)
    common, of_metric, values = COMMON * draw.gauss(0, 1), {}, []
    for one in series:
        if one.metric not in of_metric:
            of_metric[one.metric] = COMMON * draw.gauss(0, 1)
        tail = SCALES[int(draw.random() * len(SCALES))]
        x = common + of_metric[one.metric] + NOISE[one.is_time] * draw.gauss(0, 1) * tail
        if fault is not None and fault.hits(one):
            x -= math.log(1 - fault.loss)
        values.append(one.value * math.exp(x if one.is_time else -x))
    return values


def files(series, name, values, software, bios="1.0", interval=0.002, fingerprint=FINGERPRINT):
    """The files of a node's folder, by their names."""
    node = {"name": name, "fingerprint": fingerprint, "origin": "standin", "hwloc": "topology.xml",
            "measurements": "measurements.jsonl", "software": software}
    lines = [f'{{"record":"run","schema":1,"probe":"all","backend":"store","started_at":{STARTED},"source":"measured"}}\n']
    lines += [f'{one.key},"value":{value:.6g},"low":{value * (1 - interval):.6g},"high":{value * (1 + interval):.6g},"n":9}}\n'
              for one, value in zip(series, values)]
    return {"node.json": json.dumps(node), "topology.xml": XML.format(bios=bios), "measurements.jsonl": "".join(lines)}


def baseline(series, name, values, samples=16):
    """A baseline file: samples of each series, within 0.2 % of its value."""
    draw = random.Random(name)
    lines = [{"record": "baseline", "schema": 1, "machine": name, "fingerprint": FINGERPRINT, "written_at_s": STARTED}]
    for one, value in zip(series, values):
        near = [float(f"{value * draw.gauss(1, 0.002):.6g}") for _ in range(samples)]
        lines.append({**json.loads(one.key + "}"), "record": "expected", "begun_s": STARTED, "accepted": False, "values": near})
    lines.append({"record": "end", "count": len(values)})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def put_in_tar(archive, name, contents):
    for file, text in contents.items():
        entry = tarfile.TarInfo(f"{name}/{file}")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))


def write_folder(folder, contents):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for file, text in contents.items():
        (folder / file).write_text(text)
