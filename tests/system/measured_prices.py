"""Measured parts of prices, and contradictory sets, in Allocate, Bind, Route and the command.

Prints TAP.
"""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES  # noqa: E402
from reasons import texts  # noqa: E402
from tap import run_tests  # noqa: E402

GIB = 1 << 30


def ask(daemon, user, **request):
    """Options of Allocate for a buffer that this user reads once."""
    return daemon.call("io.berth.Placement.Allocate", {"bytes": GIB, "allowed": {}, "accesses": [{"by": user, "reads_bytes": GIB, "writes_bytes": 0}], **request})


@contextlib.contextmanager
def a_gpu_measured_again(slower):
    """The four H200 with slower kernels between gpu0 and the host, by a later run.

    The sets keep their age.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(NODES / "h200x4", folder, dirs_exist_ok=True)
        path = pathlib.Path(folder) / "measurements.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        run = [record for record in records if record["record"] == "run"][-1]
        ours = [record for record in records if record["record"] == "value" and record["metric"] == "host_gpu_kernel" and "gpu0" in (record["from"], record["to"]) and not record["axes"]]
        assert len(ours) == 2, ours
        slow = [{**record, **{key: record[key] / slower for key in ("value", "low", "high")}} for record in ours]
        path.write_text("".join(json.dumps(record) + "\n" for record in records + [{**run, "started_at": run["started_at"] + 3600}] + slow))
        with Daemon("--node", folder) as daemon:
            yield daemon


def sets_that_contradict_a_newer_value_are_told_of():
    """Allocate reports them like Bind and Route, for a gpu that uses the buffer and a memory that
    may hold it; no others.
    """
    with a_gpu_measured_again(3) as daemon:
        for user, kinds, told in (("gpu0", ["pinned"], True), ("gpu0", ["device"], False), ("gpu1", ["pinned"], False), ("numa0", ["pinned"], False)):
            warnings = texts(ask(daemon, user, kinds=kinds), "warnings")
            said = [warning for warning in warnings if "contradict each other" in warning]
            assert len(said) == told and all("gpu0" in warning and "`berth probe`" in warning for warning in said), (user, kinds, warnings)
    with Daemon("--node", NODES / "h200x4") as daemon:
        assert not any("contradict each other" in warning for warning in texts(ask(daemon, "gpu0"), "warnings"))


def command(folder, *words):
    """Output of the berth command about a node."""
    return subprocess.run([BIN / "berth", "--node", folder, *words], capture_output=True, text=True, timeout=60).stdout


SOURCES = ["measured", "similar_pair", "reverse_direction", "published", "nominal", "lower_bound"]


def mark(source):
    """How the command marks a price that is not measured."""
    return "(" + source.replace("_", " ") + ")"


def a_price_says_its_source():
    """A price is measured only with measured values in why.

    The command marks all other prices, in tables, steps and reasons.
    """
    seen = set()
    for folder in sorted(path for path in NODES.iterdir() if path.is_dir() and not path.name.startswith("broken")):
        with Daemon("--node", folder) as daemon:
            gpus = [place["name"] for place in daemon.call("io.berth.Fabric.GetNode")["places"] if place["kind"] == "gpu"]
            for user in gpus[:2] + ["numa0"]:
                for words in [["alloc", "1G", "--by", user + ":reads=1G"]] + [["route", gpu, user, "1G"] for gpu in gpus[:3] if gpu != user]:
                    reply = json.loads(command(folder, "--json", *words))
                    if "error" in reply:
                        continue  # refused: nothing to price
                    prices = [(option["predicted"], option["evidence"]) for option in reply["options"] if option["predicted"] is not None]
                    for predicted, why in prices:
                        seen.add((words[0], predicted["source"]))
                        assert predicted["source"] != "measured" or all(item["source"] == "measured" for item in why), (folder, words, predicted, why)
                    said = command(folder, *words, "--why")
                    first, _, rest = said.partition("\n\n")
                    table = first.split("\n  ")[0] + " " + (rest.split("\n\n")[0] if len(reply["options"]) > 1 else "")
                    for source in SOURCES[1:]:
                        marked = sum(predicted["source"] == source for predicted, _ in prices)
                        shown = " ".join(table.split()).count(mark(source))  # equal memories of Allocate share a row
                        assert shown == marked or (words[0] == "alloc" and 0 < shown < marked), (folder, words, source, said)
            if len(gpus) > 1:
                words = ["bind", "-n", "2", "--pattern", "pairs", "--bytes", "1G", "--gpus", "0,1"]
                reply, said = json.loads(command(folder, "--json", *words)), command(folder, *words)
                seen.add(("bind", reply["predicted"]["source"]))
                step = " ".join(said[said.index("An iteration takes"):].split("\n\n")[0].split())
                ours, order = (reply[key]["source"] for key in ("predicted", "baseline"))
                marks = re.findall(r" \(([a-z ]*)\)(?=[;,.])", step)
                assert marks == [source.replace("_", " ") for source in (ours, order)[:1 if "as long as in rank" in step else 2] if source != "measured"], (folder, said)
                assert reply["predicted"]["source"] != "measured" or "(not measured)" not in said.split("Note")[0], (folder, said)
    print("#", seen)
    assert seen >= {(method, source) for method in ("alloc", "route", "bind") for source in ("measured", "published", "nominal")}, seen


if __name__ == "__main__":
    sys.exit(run_tests([sets_that_contradict_a_newer_value_are_told_of, a_price_says_its_source]) > 0)
