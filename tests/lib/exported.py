"""Exports of test nodes, and the tools that read them."""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from berthd import BIN, HERE, NODES
from tap import LeftOut

SHARED = pathlib.Path(os.environ.get("BERTH_NODES", HERE.parent.parent.parent / "shared/nodes"))
RUN = ('{"record":"run","schema":1,"probe":"all","backend":"store",'
       '"started_at":1790000000,"source":"%s"}')


def nodes():
    """Folders of nodes: the valid ones of the tests, and others where there are any."""
    own = [path for path in sorted(NODES.iterdir()) if path.is_dir()
           and not path.name.startswith("broken")]
    return own + [path for path in sorted(SHARED.iterdir())
                  if (path / "node.json").exists()] if SHARED.is_dir() else own


def run(*command, text=None, environment=None):
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True,
                          text=True, timeout=120, env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


def berth(node, *arguments):
    return run(BIN / "berth", "--node", node, *arguments)


@functools.lru_cache(maxsize=None)
def export(node, *arguments):
    status, text, said = berth(node, "export", *arguments)
    assert status == 0 and said == "", (node, arguments, status, said)
    return text


@functools.lru_cache(maxsize=None)
def ask(node, *arguments):
    status, text, said = berth(node, "--json", *arguments)
    assert status == 0, (node, arguments, said)
    return json.loads(text)


def tool(name):
    path = shutil.which(name)
    if path is None:
        raise LeftOut(f"{name} is not installed")
    return path


def places(node, kind):
    return {place["name"]: place for place in ask(node, "topo")["places"] if place["kind"] == kind}


def vendors(node):
    return {gpu["details"].get("vendor") for gpu in places(node, "gpu").values()}


def has_xml(node):
    description = {"hwloc": "?"}
    if (node / "node.json").exists():
        description = json.loads((node / "node.json").read_text())
    return "hwloc" in description


class made:
    """A copy of a test node with the test's own measurements, or a folder with only this XML."""

    def __init__(self, base=None, records=None, source="measured", name=None, xml=None):
        self.base, self.records, self.source, self.name, self.xml = base, records, source, name, xml

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-export-"))
        if self.xml is not None:
            (self.folder / "topology.xml").write_text(self.xml)
            return self.folder
        shutil.copytree(NODES / self.base, self.folder, dirs_exist_ok=True)
        description = json.loads((self.folder / "node.json").read_text())
        description["measurements"] = "measurements.jsonl"
        if self.name is not None:
            description["name"] = self.name
        (self.folder / "node.json").write_text(json.dumps(description))
        (self.folder / "measurements.jsonl").write_text("\n".join([RUN % self.source,
                                                                   *map(json.dumps, self.records
                                                                        or [])]) + "\n")
        return self.folder

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def value(metric, start, to, number, **axes):
    return {"record": "value", "metric": metric, "from": start, "to": to, "axes": axes,
            "value": number, "n": 9}


def cells(node, metric):
    """Cells at the metric's default axes."""
    defaults = {m["name"]: m["defaults"] for m in ask(node, "matrix")["metrics"]}[metric]
    return [cell for cell in ask(node, "matrix", metric)["cells"] if cell["axes"] == defaults]
