"""Figures of tests/standin/nodes/*.md for each virtual node, against its description and the
measurements of the real GPU probe. Prints TAP.

A row of kind held names figures of the description, and there is one for each. A row of kind value,
bound or set is about measurements.
"""
import pathlib
import re
import sys

import published_figures as published
from published_figures import axes_of, places_of
from standin import LONG, called, check_curves, check_latencies, check_sets, check_values, is_near
from tap import run_tests
from virtual_node import NODES, described, ended, measured

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "ns": 1, "us": 1e3, "ms": 1e6, "GB/s": 1e9, "TFLOP/s": 1e12, "GHz": 1e6}  # the description has kHz
DEVICE = {"bytes", "multiprocessors", "threads", "khz", "l2", "engines"}
WORDS = {"name", "api", "driver", "device", "route"}  # lines without a figure


def number_of(text):
    found = re.fullmatch(r"(?:at most )?([0-9.]+) ?(\S*)", text)
    assert found, f"'{text}' is no number"
    return float(found[1]) * UNITS[found[2]]


def rows_of(text):
    """(kind, metric or figures, flows, axes, value, line); each has a mark and a source."""
    rows = []
    for line in text.splitlines():
        columns = [column.strip() for column in line.strip().strip("|").split("|")]
        if columns[0] not in ("held", "value", "bound", "set"):
            continue
        assert len(columns) == (5 if columns[0] == "held" else 7) and columns[-2] in ("T", "P", "R", "D", "A") and columns[-1], line
        if columns[0] == "held":
            rows.append(("held", re.findall("`(.*?)`", columns[1]), None, {}, number_of(columns[2]), line))
            continue
        kind, metric, where_from, axes, value = columns[:5]
        flows = [tuple(flow.split(" > ")) for flow in where_from.split(" + ")] if kind == "set" else places_of(where_from)
        rows.append((kind, metric, flows, axes_of(axes), number_of(value), line))
    return rows


def line_figures(words):
    """Contents of one line of a description: (name, number)."""
    kind, rest = words[0], words[1:]
    if kind == "numa":
        return [(f"numa {rest[0]} {what}", number) for what, number in zip(("bytes", "free"), rest[1:])]
    if kind == "devices":
        return [(f"devices {key}", number) for key, number in (word.split("=") for word in rest) if key in DEVICE]
    if kind == "resource":
        return [(f"resource {rest[0]}", rest[1])] + [(f"resource {rest[0]} {flows}", number) for flows, number in (word.split(":") for word in rest[2:])]
    if kind == "path":
        keys = [word.split("=") for word in rest if "=" in word]
        path = " ".join([kind, *rest[:4], *(word for word in rest if word.startswith("kind="))])
        return [(f"{path} {key}", number) for key, number in keys if key in ("rate", "share", "ns")]
    if kind == "chase":
        return [(" ".join(words[:3] + word.split(":")[:-1]), word.split(":")[-1]) for word in rest[2:]]
    if kind == "pingpong":
        return [(" ".join([*words[:3], flag]), number) for flag, number in zip(("from", "to", "reader"), rest[2:])]
    return [] if kind in WORDS else [(" ".join(words[:-1]), words[-1])]


def figures_of(text):
    """All figures of a description; later lines replace earlier ones."""
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    return {name: float(number) for words in lines if words for name, number in line_figures(words)}


def not_held(figures, rows):
    """Figures without a row, rows without a figure, and those that differ."""
    said = {name: value for kind, names, _, _, value, _ in rows if kind == "held" for name in names}
    return [f"{name}: {figures.get(name)} in the description, {said.get(name)} in the table" for name in sorted(figures.keys() | said.keys())
            if figures.get(name) is None or said.get(name) is None or abs(figures[name] - said[name]) > 1e-9 * said[name]]


class Found:
    """Measurements by names of places."""

    def __init__(self, node, records):
        pci = re.findall(r"^device \d+ pci=(\S+)", node.read_text(), re.M)
        name = {address: f"gpu{number}" for number, address in enumerate(pci)}
        self.cell, self.sets = {}, {}
        for record in records:
            if record["record"] == "value" and "value" in record:
                place = (name.get(record["from"], record["from"]), name.get(record["to"], record["to"]))
                self.cell[record["metric"], place, tuple(sorted(record["axes"].items()))] = record["value"]
            if record["record"] == "set":
                flows = sorted((name.get(flow["from"], flow["from"]), name.get(flow["to"], flow["to"])) for flow in record["flows"])
                if not any(flow["axes"] for flow in record["flows"]):
                    self.sets[record["metric"], tuple(flows)] = sum(flow["bytes_per_s"] for flow in record["flows"])


def not_measured(found, rows):
    """Rows that contradict a measurement or have none."""
    wrong = []
    for kind, metric, flows, axes, value, line in rows:
        if kind == "held":
            continue
        told = [found.sets.get((metric, tuple(sorted(flows))))] if kind == "set" else [found.cell.get((metric, flow, tuple(sorted(axes.items())))) for flow in flows]
        if any(one is None or (one > value * 1.001 if kind == "bound" else not is_near(one, value)) for one in told):
            wrong.append(f"{told}: {line}")
    return wrong


def not_published(found, folder):
    """Published values in the table of the reconstructed node that differ from the measurements
    here; and the number of values compared.
    """
    wrong, count = [], 0
    for kind, metric, pairs, axes, value, low, high, line in published.rows_of(folder):
        told = [found.cell.get((metric, pair, tuple(sorted(axes.items())))) for pair in pairs] if kind == "value" else []
        told = [one for one in told if one is not None]
        count += len(told)
        if any(one < (low or value) * 0.99 or one > (high or value) * 1.01 for one in told):
            wrong.append(f"{told}: {line}")
    return wrong, count


def table_of(name):
    return rows_of((NODES / f"{name}.md").read_text())


def whole(name, devices, numas):
    """Results of the quick profile: complete, and as described."""
    node = NODES / f"{name}.node"
    records = ended(measured(node, *LONG))
    assert not [record for record in records if record["record"] == "finding"]
    counts = check_values(node, records)
    pairs, calls = devices * (devices - 1), called(node)
    assert counts["gpu_gpu_copy_engine"] >= 2 * pairs and counts["gpu_gpu_kernel"] >= 3 * pairs, counts
    assert counts["host_gpu_copy_engine"] >= 2 * devices * numas and counts["host_gpu_kernel"] >= 2 * devices * numas, counts
    assert counts["memory_bandwidth"] == 3 * devices, counts
    assert check_latencies(node, records, calls["copy"] + calls["sync"] + calls["clock"]) >= 2 * (pairs + 2 * devices)
    assert check_sets(node, records) > devices * devices
    assert check_curves(node, records) >= devices
    assert sum("t0_chain_ns" in record for record in records) >= 2 * devices, "what pieces cost"
    return records


def compare(name, devices, numas):
    node, rows = NODES / f"{name}.node", table_of(name)
    records = whole(name, devices, numas)
    first = re.search(r"^device 0 pci=(\S+)", node.read_text(), re.M)[1]
    records += measured(node, "--profile", "full", "--metrics", "gpu_pingpong,host_gpu_kernel", "--places", first, *LONG)
    if name == "mi250x":
        records += measured(node, "--profile", "full", "--metrics", "host_gpu_kernel", "--places", first, "--variant", "xnack", *LONG, HSA_XNACK="1")
        records += measured(node, "--profile", "full", "--metrics", "host_gpu_kernel_concurrent", *LONG)
    found = Found(node, records)
    wrong = not_held(figures_of(node.read_text()), rows) + not_measured(found, rows)
    if name == "mi250x":
        contradicted, count = not_published(found, published.NODES / name)
        assert count > 120, count
        wrong += contradicted
    assert len(rows) > 50 and not wrong, "\n".join([name, *wrong])


def test_mi250x():
    """Eight GCDs: 50 GB/s of SDMA or three quarters of a single link, also over three hops; one port for two GCDs."""
    compare("mi250x", 8, 4)


def test_h200x4():
    """Four H200: their total rate with the host's memory is no constant."""
    compare("h200x4", 4, 1)


def test_gh200_quad():
    """Kernels reach the paper's rate of C2C, and at most its rate of NVLink."""
    compare("gh200-quad", 4, 4)


def test_mi300a():
    """The host's memory by a GPU is its own: a copy within passes it twice."""
    compare("mi300a", 4, 4)


def test_a_figure_that_differs_fails():
    """Detects a changed or missing row, by the description and by measurements alone."""
    for name, metric, old, new in (("mi250x", "gpu_gpu_copy_engine", "path engine * gpu peer rate=50e9", "path engine * gpu peer rate=48e9"),
                                   ("mi250x", "gpu_gpu_kernel", "resource both01 174e9", "resource both01 180e9"),
                                   ("mi250x", "copy_latency", "path engine * 1 7 ns=18000", "path engine * 1 7 ns=17000"),
                                   ("gh200-quad", "host_gpu_kernel", "path kernel read gpu near rate=418.5e9", "path kernel read gpu near rate=342e9"),
                                   ("h200x4", "host_gpu_copy_engine_concurrent", "resource hostwrites 110.9e9 3:157.2e9", "resource hostwrites 110.9e9 3:162e9")):
        node, rows = NODES / f"{name}.node", table_of(name)
        text = node.read_text()
        assert text.count(old) == 1 and len(not_held(figures_of(text.replace(old, new)), rows)) == 1, (name, old)
        some = [row for row in rows if row[1] == metric and row[3].get("kind") is None]
        with described(name) as changed:
            pathlib.Path(changed).write_text(text.replace(old, new))
            wrong = not_measured(Found(node, measured(changed, "--metrics", metric, *LONG)), some)
        assert wrong and len(wrong) < len(some), (name, old, wrong)
    text = (NODES / "mi250x.md").read_text()
    figures = figures_of((NODES / "mi250x.node").read_text())
    for old, new in (("| `migrate` | 2.8 GB/s |", "| `migrate` | 2.9 GB/s |"), ("| held | `migrate`", "| had | `migrate`"), ("`migrate`", "`migrates`")):
        assert old in text and not_held(figures, rows_of(text.replace(old, new))), (old, new)


if __name__ == "__main__":
    sys.exit(run_tests([test for name, test in list(globals().items()) if name.startswith("test_")]) > 0)
