"""Refusals of Bind, Allocate and Route on every test node, by command and socket: each is a named
error in one line with the available resources. Prints TAP.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES  # noqa: E402
from node import Node  # noqa: E402
from tap import run_tests  # noqa: E402

MIB, GIB, PIB = 1 << 20, 1 << 30, 1 << 50
EXIT = {"InvalidParameter": 64, "NothingAllowed": 65, "NotEnough": 65, "NoSuchPlace": 65, "NotMeasured": 65, "Unavailable": 65}  # schema/errors.def; of a recording, which will not have it later, 65
NAMES = [node.name for node in sorted(NODES.iterdir()) if node.is_dir() and not node.name.startswith("broken")]


class Refusing(Node):
    """A test node with the contents of each place, and its refusals."""

    def __init__(self, folder):
        super().__init__(folder)
        self.capacity = {name: place.get("capacity_bytes") for name, place in self.place.items()}

    def memory_is_known(self, kind):
        return bool(self.has(kind)) and all(self.capacity[name] is not None for name in self.has(kind))

    def refuses(self, method, request, error, *words):
        """On the socket: that error, in one line, with those words; sizes are told in one way, as people write them."""
        named, reply = self.ask(method, request)
        assert named is not None, (method, request, "is answered", str(reply)[:300])
        detail = reply["detail"]
        assert named == error and "\n" not in detail and len(detail) < 256, (method, request, named, reply)
        assert all(word in detail for word in words), (method, request, words, detail)
        assert not (re.search(r"\d{10}", detail) and "iB" in detail), detail
        return reply

    def command_refuses(self, words_of_command, error, *words):
        """By the command: the same in one line of standard error, and its exit status."""
        done = subprocess.run([BIN / "berth", "--node", self.folder, *map(str, words_of_command)], capture_output=True, text=True, timeout=60)
        assert done.returncode == EXIT[error] and done.stdout == "" and done.stderr.count("\n") == 1, (words_of_command, done)
        assert done.stderr.startswith("berth: ") and all(word in done.stderr for word in words), (words_of_command, words, done.stderr)


def all_nodes():
    for name in NAMES:
        with Refusing(NODES / name) as node:
            yield node


def span(names):
    """The daemon's text for the available places of a kind."""
    runs = []
    for name in names:
        letters, number = re.fullmatch(r"([a-z]+)(\d+)", name).groups()
        if runs and int(number) == int(runs[-1][1].removeprefix(letters)) + 1:
            runs[-1][1] = name
        else:
            runs.append([name, name])
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in runs)


def flows_to_ranks_that_do_not_exist():
    for node in all_nodes():
        for flow, said in (({"from": 0, "to": 9, "bytes": MIB}, "rank 0 to rank 9"), ({"from": -1, "to": 1, "bytes": MIB}, "rank -1 to rank 1")):
            node.refuses("Bind", {"tasks": 2, "flows": [flow]}, "InvalidParameter", "flows", said, "there are ranks 0 to 1")
        node.refuses("Bind", {"tasks": 2, "flows": [{"from": 0, "to": 0, "bytes": MIB}]}, "InvalidParameter", "flows[0]", "from rank 0 to itself")
        node.command_refuses(["bind", "-n", 2, "--flow", "0:9:1M"], "InvalidParameter", "rank 0 to rank 9; there are ranks 0 to 1")


def more_transfers_meanwhile_than_are_weighed():
    """An array with garbage from the stack behind it: 108 items ended the daemon."""
    for node in all_nodes():
        ends = [*node.has("gpu"), *node.has("numa")][:2]
        transfer = {"from": ends[0], "to": ends[-1], "bytes": MIB}
        for count in (101, 108, 500, 10_000):
            node.refuses("Route", {**transfer, "concurrent": [transfer] * count}, "InvalidParameter", "concurrent: more than 100 items")


def more_gpus_than_there_are():
    for node in all_nodes():
        gpus = node.has("gpu")
        there = ("allowed and there: " + gpus[0],) if gpus else ("this node has none",)
        reply = node.refuses("Bind", {"tasks": 2, "gpus_per_task": 99}, "NotEnough", "2 tasks with 99 gpus each need 198", *there)
        assert reply["requested"] == 198 and reply["available"] == len(gpus), reply
        node.command_refuses(["bind", "-n", 2, "-g", 99], "NotEnough", "need 198", *there)
        if gpus:
            node.command_refuses(["bind", "-n", 1, "-g", 99], "NotEnough", "1 task with 99 gpus needs 99; ")
            node.command_refuses(["bind", "-n", 1, "--gpus", ""], "InvalidParameter", 'not "": this node has ' + span(gpus))
        else:
            node.command_refuses(["bind", "-n", 1, "--gpus", ""], "InvalidParameter", 'not "": this node has none')
        if node.has("core"):
            node.command_refuses(["bind", "-n", 1, "-g", 0, "-c", 9999], "NotEnough", "9999 cores each need 9999")
        node.refuses("Bind", {"tasks": 2, "gpus_per_task": 0, "cores_per_task": 9999}, "NotEnough", str(len(node.has("core"))))
        node.refuses("Bind", {"tasks": 2, "gpus_per_task": 0, "threads_per_core": 99}, "NotEnough", "the widest has")
        if node.has("core"):
            node.refuses("Allocate", {"bytes": GIB, "accesses": [{"by": "core0", "reads_bytes": 1, "writes_bytes": 0, "cores": 999}]}, "NotEnough", "core0 has 1")


def empty_allowed_sets():
    for node in all_nodes():
        gpus, memories = node.has("gpu"), node.has("numa")
        for method, request in (("Bind", {"tasks": 1}), ("Allocate", {"bytes": MIB})):
            said = ("allowed.memory is empty", span(memories), *((span(gpus),) if gpus else ()))
            node.refuses(method, {**request, "allowed": {"memory": []}}, "NothingAllowed", *said)
            node.refuses(method, {**request, "allowed": {"cpus": ""}}, "NothingAllowed", "allowed.cpus", "there are 0")
        node.refuses("Allocate", {"bytes": MIB, "kinds": []}, "NothingAllowed", "system, pinned, managed and device")
        node.refuses("Allocate", {"bytes": MIB, "kinds": ["device"], "allowed": {"gpus": []}}, "NothingAllowed", "no gpu", "system memory")
        if gpus:
            for traffic in ({"gpus_per_task": 1}, {"pattern": "ring", "bytes": MIB}):
                node.refuses("Bind", {"tasks": 2, **traffic, "allowed": {"gpus": []}}, "NothingAllowed", "none is allowed (allowed.gpus)", "gpus_per_task 0")
            node.refuses("Route", {"from": gpus[0], "to": memories[0], "bytes": MIB, "allowed": {"gpus": []}}, "NothingAllowed", gpus[0] + " is not among the gpus that are allowed: none")
            node.refuses("Route", {"from": gpus[0], "to": memories[0], "bytes": MIB, "allowed": {"memory": []}}, "NothingAllowed", "allowed.memory is empty", span(memories))


def absurd_sizes():
    for node in all_nodes():
        host, gpus = sum(node.capacity[name] for name in node.has("numa")), node.has("gpu")
        is_known = not gpus or node.memory_is_known("gpu")
        traffic = [{"pattern": "ring", "bytes": 800 * PIB}, {"flows": [{"from": 0, "to": 1, "bytes": 800 * PIB}]}] if is_known else []
        for request in ({"host_bytes": 800 * PIB}, {"host_bytes": host + 1}, *traffic):
            reply = node.refuses("Bind", {"tasks": 2, **request}, "NotEnough", "in one iteration do not fit in the ")
            assert reply["resource"] == "bytes of memory" and reply["requested"] > reply["available"] > 0, reply
        node.command_refuses(["bind", "-n", 1, "--host-bytes", "1000000T"], "NotEnough", "977 PiB in one iteration do not fit in the host memory of this node")
        node.refuses("Bind", {"tasks": 1, "host_bytes": 1 << 61}, "InvalidParameter", "2 EiB in one iteration; at most 1 EiB is weighed")
        node.refuses("Allocate", {"bytes": 800 * PIB}, "NotEnough", "800 PiB do not fit in one memory: the largest has ")
        node.command_refuses(["alloc", "1000000T"], "NotEnough", "977 PiB do not fit in one memory: the largest has ")
        node.refuses("Allocate", {"bytes": 0}, "InvalidParameter", "bytes: 0 is not from 1")
        node.command_refuses(["alloc", "99999999T"], "InvalidParameter", "less than 4 EiB")
        if node.has("core"):
            node.refuses("Allocate", {"bytes": MIB, "accesses": [{"by": "core0", "reads_bytes": 1 << 62, "writes_bytes": 0}]}, "InvalidParameter", "4 EiB", "at most 1 EiB is weighed")
            node.command_refuses(["alloc", "1G", "--by", "core0:reads=999999999999T"], "InvalidParameter", "less than 4 EiB, not reads=999999999999T")
        if gpus:
            few = [name for name in gpus[:1] if node.capacity[name] is not None]
            for name in few:
                least = min(node.capacity[name], node.capacity["numa0"])
                for size in (800 * PIB, least + 1):
                    reply = node.refuses("Route", {"from": name, "to": "numa0", "bytes": size}, "NotEnough", " do not fit in the memory of ", ", which has ")
                    assert reply["requested"] == size and reply["available"] in (node.capacity[name], node.capacity["numa0"]), reply
            node.refuses("Route", {"from": gpus[0], "to": "numa0", "bytes": MIB, "concurrent": [{"from": gpus[0], "to": "numa0", "bytes": 800 * PIB}]}, "NotEnough", "800 PiB do not fit in the memory of ")
            node.refuses("Route", {"from": gpus[0], "to": "numa0", "bytes": 0}, "InvalidParameter", "bytes: 0 is not from 1")
            node.command_refuses(["route", gpus[0], "numa0", "1000000T"], "NotEnough", "977 PiB do not fit in the memory of ")


def places_that_are_not_there():
    for node in all_nodes():
        for kind in ("gpu", "numa", "core"):
            names, other = node.has(kind), f"{kind}7777"
            said = ("no place " + other, "of that kind it has " + span(names)) if names else (f"this node has no {kind}, and so no place {other}", "it has " + span(node.has("numa")))
            node.refuses("Allocate", {"bytes": MIB, "accesses": [{"by": other, "reads_bytes": 1, "writes_bytes": 0}]}, "NoSuchPlace", *said)
            node.refuses("Route", {"from": other, "to": "numa0", "bytes": MIB}, "NoSuchPlace", *said)
            node.command_refuses(["route", other, "numa0", "1M"], "NoSuchPlace", *said)
            node.command_refuses(["alloc", "1M", "--by", other + ":reads=1M"], "NoSuchPlace", *said)
        node.refuses("Route", {"from": "GPU-0123", "to": "numa0", "bytes": MIB}, "NoSuchPlace", "no place GPU-0123; it has ", span(node.has("gpu") or node.has("numa")))
        node.refuses("Bind", {"tasks": 1, "allowed": {"gpus": ["gpu7777"]}}, "NoSuchPlace", *((span(node.has("gpu")),) if node.has("gpu") else ("this node has no gpu",)))
        node.refuses("Bind", {"tasks": 1, "allowed": {"memory": ["core0"]}}, "InvalidParameter", "core0 has no memory: NUMA nodes and gpus have")
        node.refuses("Route", {"from": "numa0", "to": "core0", "bytes": MIB}, "InvalidParameter", "core0 is no memory: a gpu or a NUMA node is")
        node.refuses("Route", {"from": "", "to": "numa0", "bytes": MIB}, "NoSuchPlace", "no place \"\"; it has ")
        for gpu in node.has("gpu")[:1]:
            for start, said in (("core0", "from: core0 is no memory"), (gpu, f"to: the bytes are in {gpu} already")):
                node.refuses("Route", {"from": gpu, "to": "numa0", "bytes": MIB, "concurrent": [{"from": start, "to": gpu, "bytes": MIB}]}, "InvalidParameter", "concurrent[0]." + said)


def words_that_are_none_of_several():
    for node in all_nodes():
        for method, request, said in (("Bind", {"tasks": 1, "mechanism": "teleport"}, "mechanism: it must be one of best, copy_engine and kernel"),
                                      ("Bind", {"tasks": 1, "pattern": "star"}, "pattern: it must be one of none, pairs, ring, grid2d, grid3d, alltoall and allreduce"),
                                      ("Allocate", {"bytes": MIB, "kinds": ["swap"]}, "kinds[0]: it must be one of system, pinned, managed and device")):
            node.refuses(method, request, "InvalidParameter", said)


def gpus_that_are_lost():
    for name in ("mi250x", "h200x4", "gh200-quad", "mi300a"):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(NODES / name, folder, dirs_exist_ok=True)
            with Refusing(folder) as node:
                pci = node.place["gpu0"]["pci"]
            told, about = pathlib.Path(folder) / "facts.jsonl", json.loads((pathlib.Path(folder) / "node.json").read_text())
            run = {"record": "run", "schema": 1, "probe": "gpu", "backend": "facts", "started_at": 1795343201, "conditions": {}}
            lost = {"record": "device", "gpu": "gpu0", "pci": pci, "state": "lost"}
            lines = told.read_text().splitlines() if told.exists() else [json.dumps(run)]
            told.write_text("\n".join([line for line in lines if '"gpu":"gpu0"' not in line] + [json.dumps(lost)]) + "\n")
            (pathlib.Path(folder) / "node.json").write_text(json.dumps({**about, "facts": "facts.jsonl"}))
            with Refusing(folder) as node:
                there = node.has("gpu")[1:]
                node.refuses("Bind", {"tasks": len(there) + 1}, "NotEnough", there[0], there[-1], "gpu0 is lost")
                node.refuses("Allocate", {"bytes": MIB, "accesses": [{"by": "gpu0", "reads_bytes": MIB, "writes_bytes": 0}]}, "Unavailable", "gpu0 is lost", ", ".join(there))
                node.refuses("Route", {"from": "gpu0", "to": "numa0", "bytes": MIB}, "Unavailable", "gpu0 is lost", ", ".join(there))
                node.refuses("Route", {"from": there[0], "to": "numa0", "bytes": MIB, "concurrent": [{"from": "numa0", "to": "gpu0", "bytes": MIB}]}, "Unavailable", "gpu0 is lost", ", ".join(there))
                node.command_refuses(["route", "gpu0", "numa0", "1M"], "Unavailable", "gpu0 is lost", ", ".join(there))
                node.command_refuses(["alloc", "1M", "--by", "gpu0:reads=1M"], "Unavailable", "there are: " + ", ".join(there))


def memory_of_a_gpu_that_is_not_allowed():
    with Refusing(NODES / "gh200-quad") as node:
        node.refuses("Route", {"from": "gpu2", "to": "numa28", "bytes": MIB, "allowed": {"gpus": ["gpu0", "gpu2"]}}, "NothingAllowed", "gpu3 is not among the gpus that are allowed: gpu0, gpu2")
        node.command_refuses(["route", "numa28", "gpu2", "1M", "--gpus", "0,2"], "NothingAllowed", "gpu3 is not among the gpus that are allowed: gpu0, gpu2")


def accesses_by_a_gpu_that_is_not_allowed():
    for node in all_nodes():
        gpus = node.has("gpu")
        if len(gpus) > 1:
            node.refuses("Allocate", {"bytes": MIB, "accesses": [{"by": gpus[0], "reads_bytes": MIB, "writes_bytes": 0}], "allowed": {"gpus": gpus[1:2]}}, "NothingAllowed", f"{gpus[0]} is not among the gpus that are allowed: {gpus[1]}")
            node.command_refuses(["alloc", "1M", "--by", gpus[0] + ":reads=1M", "--gpus", "1"], "NothingAllowed", gpus[0] + " is not among the gpus that are allowed")


def one_of_several_is_named():
    with Refusing(NODES / "h200x4") as node:
        good = {"by": "gpu0", "reads_bytes": MIB, "writes_bytes": 0}
        for method, request, parameter in (("Allocate", {"bytes": MIB, "accesses": [good, {**good, "reads_bytes": -1}]}, "accesses[1].reads_bytes"), ("Allocate", {"bytes": MIB, "accesses": [good, {**good, "reads_bytes": 0}]}, "accesses[1]"),
                                           ("Allocate", {"bytes": MIB, "accesses": [{**good, "cores": 1}]}, "accesses[0]"), ("Bind", {"tasks": 2, "flows": [{"from": 0, "to": 1, "bytes": 1}, {"from": 0, "to": 2, "bytes": 1}]}, "flows[1]"),
                                           ("Bind", {"tasks": 2, "flows": [{"from": 0, "to": 1, "bytes": -1}]}, "flows[0]"),
                                           ("Route", {"from": "gpu0", "to": "gpu1", "bytes": 1, "concurrent": [{"from": "gpu2", "to": "gpu3", "bytes": MIB}, {"from": "gpu2", "to": "gpu2", "bytes": MIB}]}, "concurrent[1].to"),
                                           ("Route", {"from": "gpu0", "to": "gpu1", "bytes": 1, "concurrent": [{"from": "gpu2", "to": "gpu3", "bytes": 0}]}, "concurrent[0].bytes")):
            reply = node.refuses(method, request, "InvalidParameter", parameter + ": ")
            assert reply["parameter"] == parameter, reply
        node.command_refuses(["route", "gpu0", "gpu1", "1M", "--concurrent", "gpu2:gpu2:1M"], "InvalidParameter", "--concurrent: the bytes are in gpu2 already")
        node.refuses("Allocate", {"bytes": 0}, "InvalidParameter", "bytes: 0")


def keys_that_do_not_fit_on_a_line():
    with Refusing(NODES / "h200x4") as node:
        for method, request in (("Bind", {"tasks": 1}), ("Claim", {"places": ["gpu0"], "purpose": "compute", "ttl_s": 60}), ("Release", {})):
            for key in ("a\n", "\x1b[1m", "a\x7f"):
                node.refuses(method, {**request, "key": key}, "InvalidParameter", "key: it has a control character")
            for key in ("", 300 * "a"):
                node.refuses(method, {**request, "key": key}, "InvalidParameter", "key: it has 1 to ")


def a_node_whose_cores_are_not_known():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(NODES / "mi250x/kfd", folder + "/kfd")
        (pathlib.Path(folder) / "node.json").write_text(json.dumps({"name": "bare", "origin": "reconstructed", "kfd": "kfd"}))
        with Refusing(folder) as node:
            assert not node.has("core") and len(node.has("gpu")) == 8, node.place
            node.refuses("Bind", {"tasks": 2}, "Unavailable", "the cores of this node are not known", "berth route")
            node.command_refuses(["bind", "-n", 2], "Unavailable", "the cores of this node are not known")
            node.command_refuses(["route", "gpu0", "numa1", "1M"], "NotMeasured", "neither measurements nor links say", "nothing says what goes between numa1 and numa3")
            node.refuses("Allocate", {"bytes": MIB}, "Unavailable", "the cores of this node are not known: say who uses the memory")
            node.refuses("Allocate", {"bytes": MIB, "accesses": [{"by": "core0", "reads_bytes": 1, "writes_bytes": 0}]}, "NoSuchPlace", "this node has no core, and so no place core0", span(node.has("gpu")))


def a_node_without_any_link():
    """Sanitized builds check that nothing is copied from nowhere at the start."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(NODES / "mi250x/kfd", folder + "/kfd")
        for path in [path for path in pathlib.Path(folder).rglob("properties") if "_links" in str(path)]:
            path.unlink()
        (pathlib.Path(folder) / "node.json").write_text(json.dumps({"name": "bare", "origin": "reconstructed", "kfd": "kfd"}))
        with Refusing(folder) as node:
            assert node.told["links"] == [], node.told["links"]
            node.refuses("Bind", {"tasks": 2}, "Unavailable", "the cores of this node are not known")


if __name__ == "__main__":
    os.environ.pop("BERTH_SOCKET", None)
    sys.exit(1 if run_tests([flows_to_ranks_that_do_not_exist, more_transfers_meanwhile_than_are_weighed, more_gpus_than_there_are, empty_allowed_sets, absurd_sizes, places_that_are_not_there, words_that_are_none_of_several, gpus_that_are_lost, memory_of_a_gpu_that_is_not_allowed, accesses_by_a_gpu_that_is_not_allowed,
                             one_of_several_is_named, keys_that_do_not_fit_on_a_line,
                             a_node_whose_cores_are_not_known, a_node_without_any_link]) else 0)
