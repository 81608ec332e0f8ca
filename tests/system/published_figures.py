"""Figures of papers in the README of reconstructed nodes, against a daemon over the folder.

Prints TAP.
"""
import contextlib
import json
import math
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import Daemon, NODES  # noqa: E402
from tap import run_tests  # noqa: E402

FABRIC = "io.berth.Fabric."
PLACEMENT = "io.berth.Placement."
GIB = 1 << 30
UNITS = {"": 1, "GB/s": 1e9, "ns": 1, "us": 1e3, "GiB": 1 << 30}
KINDS = {"count", "memory", "link", "nolink", "value", "nominal", "peak", "bound", "none", "set"}
# How many rows a README has at least, and what is among them.
REQUIRED = {
    "mi250x": (40, "| 2.8 GB/s | T |", "| up to 32 MB | T |", "lower bound | 8.7 us | T |", "| 17.4 us | T |",
               "| at most 176 GB/s |", "| at most 88 GB/s |", "| at most 44 GB/s |"),
    "gh200-quad": (36, "| at most 90 GB/s |", "| at most 270 GB/s |", "| at most 450 GB/s |", "| 2682.8 GB/s |"),
    "mi300a": (10,), "epyc-2s": (6,), "knl-like": (8,), "memoryless-v1": (5,)}
TOLD = {"value": "published", "nominal": "nominal", "peak": "nominal"}  # whose source is what
BOUND = "_bound"  # what a bound of a metric's values is filed as


def reconstructed():
    """The test nodes of which a README says where their figures are from: all that are written from facts."""
    return [path.parent for path in sorted(NODES.glob("*/node.json"))
            if not path.parent.name.startswith("broken") and json.loads(path.read_text()).get("origin") == "reconstructed"]


def places_of(text):
    """gpu0 > gpu1 gpu2: from one to each; gpu0 <> gpu1: both ways; gpu0: within it. A list of pairs."""
    found = []
    for part in text.split(", "):
        first, sign, others = re.fullmatch(r"(\w+)(?: (<?>) ([\w ]+))?", part).groups()
        for other in (others or first).split():
            found += [(first, other)] + ([(other, first)] if sign == "<>" else [])
    return found


def axes_of(text):
    return dict(axis.split("=") for axis in text.split())


def number_of(text):
    """Parses "37.5 GB/s (37 to 38)" to the value and its range in base units.

    A row of kind bound has "at most" in front; none: a link without a rate.
    """
    if text == "none":
        return [None] * 3
    found = re.fullmatch(r"(?:at most )?([0-9.]+) ?(GB/s|ns|us|GiB|)(?: \(([0-9.]+) to ([0-9.]+)\))?", text)
    assert found, f"'{text}' is no number with a unit"
    value, unit, low, high = found.groups()
    return [float(part) * UNITS[unit] if part else None for part in (value, low, high)]


def rows_of(folder):
    """The rows whose first column is a kind: (kind, metric, pairs, axes, value, low, high, mark, where)."""
    rows = []
    for line in (folder / "README.md").read_text().splitlines():
        columns = [column.strip() for column in line.strip().strip("|").split("|")]
        if not line.startswith("|") or columns[0] not in KINDS:
            continue
        assert len(columns) == 7, "not seven columns: " + line
        kind, metric, where_from, axes, value, mark, source = columns
        assert mark in ("T", "P", "D") and source, f"no mark or source: {line}"
        numbers = number_of(value) if kind in ("count", "memory", "link", "value", "nominal", "peak", "bound", "set") else [None] * 3
        pairs = [tuple(flow.split(" > ")) for flow in where_from.split(" + ")] if kind == "set" else places_of(where_from)
        rows.append((kind, metric, pairs, axes_of(axes), *numbers, line))
    return rows


class Answers:
    """Answers of a daemon over a folder."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.node = daemon.call(FABRIC + "GetNode")
        self.place = {place["name"]: place for place in self.node["places"]}

    def cell(self, metric, pair, axes):
        cells = self.daemon.call(FABRIC + "GetMatrix", {"metric": metric, "from": [pair[0]], "to": [pair[1]], "where": axes})["cells"]
        return next((cell for cell in cells if cell["value"] is not None), None)

    def advised(self, metric, pair, axes):
        """The highest rate that Bind and Route expect of a pair and mechanism; of both directions
        together where axes name them. None: no rate.
        """
        mechanism = {"gpu_gpu_copy_engine": "copy_engine", "gpu_gpu_kernel": "kernel"}.get(metric)
        if metric == "memory_bandwidth":
            return self.accessed(pair, axes.get("operation", "read"))
        if mechanism is None:
            return None
        both = axes.get("direction") == "both"
        moved = GIB * (2 if both else 1)
        flows = [{"from": 0, "to": 1, "bytes": GIB}] + ([{"from": 1, "to": 0, "bytes": GIB}] if both else [])
        bound = self.daemon.call(PLACEMENT + "Bind", {"tasks": 2, "flows": flows, "mechanism": mechanism, "allowed": {"gpus": list(pair)}})
        asked = {"from": pair[0], "to": pair[1], "bytes": GIB, "both_directions": both}
        direct = [option["predicted"]["time_ns"] for option in self.daemon.call(PLACEMENT + "Route", asked)["options"]
                  if [(part["mechanism"], part["via"]) for part in option["segments"]] == [(mechanism, [])]]
        return max(moved / time_ns * 1e9 for time_ns in [bound["predicted"]["time_ns"], *direct])

    def accessed(self, pair, how):
        """The highest rate that Allocate expects of accesses, and of a gpu's kernels Bind and Route, too."""
        use = {"by": pair[0], "reads_bytes": GIB if how == "read" else 0, "writes_bytes": GIB if how == "write" else 0}
        times = [option["predicted"]["time_ns"] for option in self.daemon.call(PLACEMENT + "Allocate", {"bytes": GIB, "accesses": [use]})["options"]
                 if option["memory"] == pair[1] and option["predicted"] is not None]
        ends = pair if how == "write" else pair[::-1]  # a kernel writes what it sends, and reads what it gets
        if "gpu" in pair[0]:
            routes = self.daemon.call(PLACEMENT + "Route", {"from": ends[0], "to": ends[1], "bytes": GIB})["options"]
            kernels = [option["predicted"]["time_ns"] for option in routes if [(part["mechanism"], part["via"]) for part in option["segments"]] == [("kernel", [])]]
            assert kernels, (pair, "Route has no kernel")
            times += kernels
            if "gpu" in pair[1]:
                times.append(self.daemon.call(PLACEMENT + "Bind", {"tasks": 2, "flows": [{"from": 0, "to": 1, "bytes": GIB}], "mechanism": "kernel", "allowed": {"gpus": list(pair)}})["predicted"]["time_ns"])
        return max(GIB / time_ns * 1e9 for time_ns in times)

    def link(self, pair, kind):
        return next((link for link in self.node["links"] if {link["from"], link["to"]} == set(pair) and link["kind"] == kind), None)

    def count(self, kind, place):
        """Places of that kind: all, those below the package or module, those next to the NUMA node.
        """
        def is_in(name):
            while name is not None and name != place:
                name = self.place[name]["parent"]
            return name == place
        of_numa = self.place[place]["kind"] == "numa"
        return sum(p["kind"] == kind and (p["numa"] == place if of_numa else is_in(p["name"])) for p in self.node["places"])


def near(value, expected):
    return value is not None and (value == expected or math.isclose(value, expected, rel_tol=1e-3))


def wrong_with(answers, kind, metric, pair, axes, value, low, high):
    """A contradiction of the daemon to the row, or None."""
    if kind == "count":
        found = answers.count(metric, pair[0])
        return None if found == value else found
    if kind == "memory":
        found = answers.place[pair[0]]["capacity_bytes"]
        return None if near(found, value) else found
    if kind in ("link", "nolink"):
        link = answers.link(pair, metric)
        if kind == "nolink":
            return link
        return None if link and (near(link["nominal_bytes_per_s"], value) if value else link["nominal_bytes_per_s"] is None) and ("width" not in axes or link["width"] == int(axes["width"])) else link or "no link"
    cell = answers.cell(metric, pair, axes)
    if kind == "none":
        return cell
    if kind == "bound":
        if metric == "memory_bandwidth":
            filed = answers.cell(metric + BOUND, pair, axes)
            if not filed or filed["source"] != "published" or not near(filed["value"], value):
                return filed or "no such bound"
        advised = answers.advised(metric, pair, axes)
        return cell if cell and cell["value"] > value * 1.001 else advised if advised is not None and advised > value * 1.001 else None
    if kind == "peak":  # a peak is never what was measured or published
        return cell if cell and cell["source"] == "nominal" and not near(cell["value"], value) else None
    same = cell and cell["source"] == TOLD[kind] and near(cell["value"], value) and all(near(cell[key], end) if end else cell[key] is None for key, end in (("low", low), ("high", high)))
    return None if same else cell or "no value"


def wrong_set(answers, metric, flows, axes, value):
    """The sum of a set's rates, where there is such a set."""
    for found in answers.daemon.call(FABRIC + "GetContention", {"metric": metric})["runs"]:
        if sorted((flow["from"], flow["to"]) for flow in found["flows"]) == sorted(flows) and all(flow["axes"].get(key) == axis for flow in found["flows"] for key, axis in axes.items()):
            total = sum(flow["bytes_per_s"] for flow in found["flows"])
            return None if abs(total / value - 1) < 0.005 else total
    return "no such set"


def differences(folder):
    """Rows that the daemon contradicts, and records that no row has."""
    rows, wrong = rows_of(folder), []
    with Daemon("--node", folder) as daemon:
        answers = Answers(daemon)
        for kind, metric, pairs, axes, value, low, high, line in rows:
            if kind == "set":
                said = [wrong_set(answers, metric, pairs, axes, value)]
            else:
                said = [wrong_with(answers, kind, metric, pair, axes, value, low, high) for pair in pairs]
            wrong += [f"{line}: {one}" for one in said if one is not None]
    told = {(TOLD[kind], metric, *pair, tuple(sorted(axes.items()))) for kind, metric, pairs, axes, *_ in rows if kind in TOLD for pair in pairs}
    told |= {("published", metric + BOUND, *pair, tuple(axis for axis in sorted(axes.items()) if axis != ("operation", "read")))
             for kind, metric, pairs, axes, *_ in rows if kind == "bound" for pair in pairs}
    source = None
    for line in (folder / "measurements.jsonl").read_text().splitlines() if (folder / "measurements.jsonl").exists() else ():
        record = json.loads(line)
        source = record.get("source", "measured") if record["record"] == "run" else source
        if record["record"] == "value" and (source, record["metric"], record["from"], record["to"], tuple(sorted(record.get("axes", {}).items()))) not in told:
            wrong.append(f"no row says: {source} {line}")
        if record["record"] == "set" and not any(kind == "set" and sorted(pairs) == sorted((f["from"], f["to"]) for f in record["flows"]) for kind, _, pairs, *_ in rows):
            wrong.append(f"no row says: {line}")
    return rows, wrong


def what_papers_state_is_what_the_daemon_answers():
    compared = 0
    for folder in reconstructed():
        rows, wrong = differences(folder)
        assert rows and not wrong, "\n".join([folder.name, *wrong])
        count, *names = REQUIRED.get(folder.name, (1,))
        text = (folder / "README.md").read_text()
        assert len(rows) >= count and all(name in text for name in names), (folder.name, len(rows), [name for name in names if name not in text])
        compared += sum(len(pairs) for _, _, pairs, *_ in rows)
    assert compared > 300, compared


@contextlib.contextmanager
def changed(name, file, old, new):
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top) / name
        shutil.copytree(NODES / name, folder)
        text = (folder / file).read_text()
        assert old in text, (name, file, old)
        (folder / file).write_text(text.replace(old, new, 1))
        yield folder


def a_figure_that_differs_or_is_missing_fails():
    for name, file, old, new in (
            ("mi250x", "measurements.jsonl", '"value":28300000000.0', '"value":29300000000.0'),
            ("mi250x", "measurements.jsonl", '{"record":"value","metric":"host_gpu_copy_engine","from":"numa3","to":"gpu0","value":28300000000.0}\n', ""),
            ("mi250x", "measurements.jsonl", '"low":172000000000.0,"high":176000000000.0', '"low":171000000000.0,"high":176000000000.0'),
            ("mi250x", "measurements.jsonl", '"source":"nominal"', '"source":"published"'),
            ("mi250x", "README.md", "| 1400 GB/s |", "| 1500 GB/s |"),
            ("mi250x", "README.md", "| value | gpu_stream | gpu0 |", "| told | gpu_stream | gpu0 |"),
            ("mi250x", "README.md", "| 36 GB/s |", "| 50 GB/s |")):
        with changed(name, file, old, new) as folder:
            _, wrong = differences(folder)
            assert wrong, (name, file, old, new)


if __name__ == "__main__":
    sys.exit(run_tests([what_papers_state_is_what_the_daemon_answers, a_figure_that_differs_or_is_missing_fails]) > 0)
