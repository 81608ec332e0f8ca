"""Verdicts on sound nodes: recorded, virtual and measured, reconstructed. Prints TAP."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES  # noqa: E402
from tap import run_tests  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent.parent / "standin"


def berth(*arguments):
    return subprocess.run([BIN / "berth", *map(str, arguments)], capture_output=True, text=True, timeout=200, env={**os.environ, "LANG": "C.UTF-8"})


def verdict(*arguments):
    """Exit status, verdict and findings of berth health."""
    done = berth("--json", *arguments, "health")
    check = json.loads(done.stdout)
    return done.returncode, check["verdict"], check["findings"]


@contextlib.contextmanager
def measured(name, *lines):
    """A daemon that serves the virtual node of that name, just measured by the real probes."""
    with tempfile.TemporaryDirectory(prefix="berth-health-") as folder:
        node, probes, description = (pathlib.Path(folder) / part for part in ("node", "probes", "description.node"))
        shutil.copytree(NODES / name, node)
        about = json.loads((node / "node.json").read_text())
        about.pop("measurements", None)
        (node / "node.json").write_text(json.dumps({**about, "origin": "standin"}))
        description.write_text("".join(line + "\n" for line in (f"include {HERE}/nodes/{name}.node", *lines)))
        probes.mkdir()
        program = probes / "berth-probe-gpu"
        program.write_text(f"#!/bin/bash\nSTANDIN={os.environ['STANDIN']} exec {HERE}/run.sh {description} {BIN}/berth-probe-gpu \"$@\"\n")
        program.chmod(0o755)
        with Daemon("--node", node, "--no-probe", config=f"probe_dir = {probes}\n") as daemon:
            done = berth("--socket", daemon.socket, "probe")
            assert done.returncode == 0, done.stderr
            yield daemon


def recorded_nodes_are_healthy():
    for name in ("h200x1", "h200x2", "h200x4", "h200x4-hand"):
        assert verdict("--node", NODES / name) == (0, "healthy", []), (name, verdict("--node", NODES / name))


def where_nothing_was_measured_is_unknown():
    folders = [NODES / name for name in ("epyc-2s", "gh200-quad", "knl-like", "memoryless-v1", "mi250x", "mi300a")]
    more = os.environ.get("BERTH_NODES")
    folders += [path.parent for path in sorted(pathlib.Path(more).glob("*/node.json"))] if more else []
    for folder in folders:
        assert verdict("--node", folder) == (3, "unknown", []), (folder, verdict("--node", folder))


def virtual_nodes_are_healthy():
    for name, *lines in (("mi250x",), ("gh200-quad",), ("h200x4",), ("mi300a",), ("mi250x", "noise 0.01 7"), ("gh200-quad", "noise 0.01 7")):
        with measured(name, *lines) as daemon:
            assert verdict("--socket", daemon.socket) == (0, "healthy", []), (name, lines, verdict("--socket", daemon.socket))


def a_slow_gpu_is_one_finding():
    with measured("h200x4", "path engine * host 2 rate=9e9 ns=1900", "path engine * 2 host rate=9e9 ns=1900") as daemon:
        code, found, findings = verdict("--socket", daemon.socket)
        assert (code, found, len(findings)) == (1, "degraded", 1), (found, findings)
        assert "gpu2" in findings[0]["text"] and "more values of gpu2" in findings[0]["text"], findings


def what_sources_disagree_about_is_told_by_topo():
    topo = berth("--node", NODES / "h200x4", "topo").stdout
    assert "The sources disagree" in topo and "numa0, alone, has 6.8 GiB of memory" in topo, topo


TESTS = [recorded_nodes_are_healthy, where_nothing_was_measured_is_unknown, virtual_nodes_are_healthy, a_slow_gpu_is_one_finding,
         what_sources_disagree_about_is_told_by_topo]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
