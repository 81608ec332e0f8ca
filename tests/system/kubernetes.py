"""berth export nfd and dra by the rules of their readers, written from the published API (resource.k8s.io/v1) and the guide of Node Feature Discovery. Prints TAP."""
import calendar
import json
import pathlib
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES  # noqa: E402
from exported import berth, cells, export, made, nodes, places, run, tool, value  # noqa: E402
from tap import run_tests  # noqa: E402

LABEL_VALUE = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
LABEL_KEY = re.compile(r"berth\.io/(?=.{1,63}$)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
DNS_LABEL = re.compile(r"(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
IDENTIFIER = re.compile(r"(?=.{1,32}$)[A-Za-z_][A-Za-z0-9_]*")
QUANTITY = re.compile(r"[0-9]+([KMGTPE]i|[numkMGTPE])?")


def labels(text):
    """Labels of a feature file as NFD reads it, and its time of expiry."""
    found, expiry = {}, None
    assert len(text.encode()) <= 65536 and text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# +"):
            directive, _, said = line[3:].partition("=")
            assert directive == "expiry-time" and not found, line
            expiry = calendar.timegm(time.strptime(said, "%Y-%m-%dT%H:%M:%SZ"))
        elif not line.startswith("#"):
            key, equals, its = line.partition("=")
            assert equals and LABEL_KEY.fullmatch(key) and LABEL_VALUE.fullmatch(its) and key not in found, line
            found[key.removeprefix("berth.io/")] = its
    return found, expiry


def features_of_every_node():
    for node in nodes():
        found, expiry = labels(export(node, "nfd"))
        health = json.loads(berth(node, "--json", "health")[1])
        assert 600 < expiry - time.time() <= 900 + 60, expiry
        assert found["verdict"] == health["verdict"] and found["drain"] == str(health["drain"]).lower(), (node, found)
        assert found["origin"] in ("recorded", "reconstructed", "standin") and re.fullmatch("[0-9a-f]{8}", found["hardware"]), found
        cut = sum("mig" in gpu["details"].get("partition", "") for gpu in places(node, "gpu").values())
        assert int(found["gpus"]) >= len(places(node, "gpu")) - cut, (node, found)
        assert ("slowest-pair-gbps" in found) == ("slowest-pair-source" in found) and ("slowest-pair" not in found or "slowest-pair-gbps" in found), found


def the_slowest_pair_is_that_of_the_matrix():
    pairs = {(c["from"], c["to"]): c["value"] for c in cells(NODES / "h200x4", "gpu_gpu_copy_engine") if c["value"]}
    found, _ = labels(export(NODES / "h200x4", "nfd"))
    assert found["slowest-pair-gbps"] == str(int(min(pairs.values()) / 1e9)) and found["slowest-pair-source"] == "measured", found
    assert "slowest-pair" not in found, "pairs within a tenth are equal"
    records = [value("gpu_gpu_copy_engine", f"gpu{a}", f"gpu{b}", 2e10 if {a, b} == {1, 6} else 1e11, direction="write") for a in range(8) for b in range(8) if a != b]
    with made("mi250x", records) as node:
        found, _ = labels(export(node, "nfd"))
    assert (found["slowest-pair"], found["slowest-pair-gbps"], found["slowest-pair-source"]) == ("gpu1.gpu6", "20", "measured"), found


def typed(its, required, optional=()):
    """A JSON object with these members and types."""
    assert isinstance(its, dict) and set(required) <= its.keys() <= set(required) | set(optional), its.keys()
    assert all(type(its[key]) is kind for key, kind in {**dict(required), **dict(optional)}.items() if key in its), its


def qualified(name):
    domain, slash, identifier = name.rpartition("/")
    assert IDENTIFIER.fullmatch(identifier) and (not slash or (SUBDOMAIN.fullmatch(domain) and len(domain) <= 63)), name


def sliced(text):
    """A ResourceSlice that the API takes; its devices by name, with their attributes as plain values."""
    its = json.loads(text)
    typed(its, {"apiVersion": str, "kind": str, "metadata": dict, "spec": dict})
    assert (its["apiVersion"], its["kind"]) == ("resource.k8s.io/v1", "ResourceSlice")
    typed(its["metadata"], {"name": str})
    assert SUBDOMAIN.fullmatch(its["metadata"]["name"])
    spec = its["spec"]  # exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection
    typed(spec, {"driver": str, "pool": dict, "nodeName": str, "devices": list})
    assert SUBDOMAIN.fullmatch(spec["driver"]) and len(spec["driver"]) <= 63 and SUBDOMAIN.fullmatch(spec["nodeName"])
    typed(spec["pool"], {"name": str, "generation": int, "resourceSliceCount": int})
    assert SUBDOMAIN.fullmatch(spec["pool"]["name"]) and spec["pool"]["generation"] >= 0 and spec["pool"]["resourceSliceCount"] == 1
    assert len(spec["devices"]) <= 128
    found = {}
    for device in spec["devices"]:
        typed(device, {"name": str, "attributes": dict}, {"capacity": dict})
        assert DNS_LABEL.fullmatch(device["name"]) and device["name"] not in found
        assert len(device["attributes"]) + len(device.get("capacity", {})) <= 32
        for name, attribute in device["attributes"].items():
            qualified(name)
            kind, = attribute
            assert type(attribute[kind]) is {"int": int, "bool": bool, "string": str, "version": str}[kind], attribute
            assert kind == "int" or 0 < len(attribute[kind].encode()) <= 64, attribute
        for name, capacity in device.get("capacity", {}).items():
            qualified(name)
            typed(capacity, {"value": str})
            assert QUANTITY.fullmatch(capacity["value"]), capacity
        found[device["name"]] = {name.rpartition("/")[2]: next(iter(attribute.values())) for name, attribute in device["attributes"].items()}
    return spec, found


def a_slice_of_every_node():
    for node in nodes():
        spec, found = sliced(export(node, "dra"))
        gpus = places(node, "gpu")
        assert found.keys() <= gpus.keys() and (found or not gpus or any(gpu["details"] for gpu in gpus.values())), node
        for name, attributes in found.items():
            gpu = gpus[name]
            assert attributes.get("pciBusID") == gpu["pci"] and attributes["place"] == name, attributes
            assert attributes.get("numaNode") == (int(gpu["numa"].removeprefix("numa")) if gpu["numa"] else None), attributes
        assert spec["pool"]["generation"] > 0 or node.name not in ("h200x4", "h100x4")


def groups(records, level, base="mi250x"):
    with made(base, records) as node:
        found = sliced(export(node, "dra"))[1]
    return {name: attributes.get(f"pairGroup{level}") for name, attributes in found.items()}, found


def pairs(rate):
    return [value("gpu_gpu_copy_engine", f"gpu{a}", f"gpu{b}", rate(a, b), direction="write") for a in range(8) for b in range(8) if a != b and rate(a, b)]


def pairs_of_one_class_are_groups():
    fast, found = groups(pairs(lambda a, b: 2e11 if a // 2 == b // 2 else 9e10 if a // 4 == b // 4 else 3e10), 1)
    assert fast == {f"gpu{n}": f"gpu{n // 2 * 2}" for n in range(8)}, fast
    assert {attributes["pairGroup2"] for attributes in found.values()} == {"gpu0", "gpu4"} and {attributes["pairGroup3"] for attributes in found.values()} == {"gpu0"}
    assert found["gpu5"]["pairGroup2GBps"] == 90 and found["gpu5"]["slowestPairGBps"] == 30 and found["gpu5"]["pairSource"] == "measured", found["gpu5"]
    # a ring has no groups: each GPU would be in two; nor has a class that a rate beyond a tenth divides
    ring, found = groups(pairs(lambda a, b: 2e11 if (a - b) % 8 in (1, 7) else 3e10), 1)
    assert set(ring.values()) == {None} and {attributes["pairGroup2"] for attributes in found.values()} == {"gpu0"}, ring
    near, _ = groups(pairs(lambda a, b: 1e11 if a // 4 == b // 4 else 9.2e10), 1)
    far, _ = groups(pairs(lambda a, b: 1e11 if a // 4 == b // 4 else 8.8e10), 1)
    assert set(near.values()) == {"gpu0"} and set(far.values()) == {"gpu0", "gpu4"}, (near, far)
    # the slower direction counts, and a pair that is not known is no pair
    one_way, _ = groups(pairs(lambda a, b: 1e11 if a < b else 3e10 if (a, b) == (7, 0) else 1e11), 1)
    unknown, found = groups(pairs(lambda a, b: 1e11 if {a, b} != {0, 7} else None), 1)
    assert set(one_way.values()) == set(unknown.values()) == {None}, (one_way, unknown)


def text_from_outside_stays_within_the_rules():
    for name in ("Host_A.Example.COM", "-x-", "a..b", ".", "\u00e9" * 30 + "z", "x" * 64, 'q"\\'):
        with made("h200x1", [], name=name) as node:
            sliced(export(node, "dra"))
            labels(export(node, "nfd"))
    with made("h200x1") as node:
        facts = (node / "facts.jsonl").read_text()
        (node / "facts.jsonl").write_text(facts.replace('"NVIDIA H200"', '"' + "\\u00e9 =|\\n#" * 30 + '"'))
        _, found = sliced(export(node, "dra"))
        said, _ = labels(export(node, "nfd"))
        assert len(found["gpu0"]["model"].encode()) <= 64 and "gpu-model" not in said or LABEL_VALUE.fullmatch(said["gpu-model"]), said


def the_drop_in_of_the_guide_is_one_that_systemd_takes():
    """It writes the labels, in the sandbox of the unit."""
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    section = (root / "docs/KUBERNETES.md").read_text().split("## Labels of a node")[1].split("\n## ")[0]
    drop_in = re.search(r"```\n(\[Unit\]\n.*?)```", section, re.S)[1]
    command = re.search(r"^ExecStart=/usr/bin/(berth export nfd -o (\S+))$", drop_in, re.M)
    folder = pathlib.Path(command[2]).parent
    assert f"ReadWritePaths={folder}\n" in drop_in and f"ConditionPathIsDirectory={folder}\n" in drop_in and "ExecStart=\n" in drop_in, drop_in
    with tempfile.TemporaryDirectory(prefix="berth-drop-in-") as work:
        work = pathlib.Path(work)
        (work / "berth-export.service.d").mkdir()
        (work / "berth-export.service").write_text((root / "systemd/berth-export.service.in").read_text().replace("@BINDIR@", str(BIN)))
        (work / "berth-export.service.d/nfd.conf").write_text(drop_in.replace("/usr/bin", str(BIN)))
        shutil.copy(root / "systemd/berthd.socket", work)
        (work / "berthd.service").write_text((root / "systemd/berthd.service.in").read_text().replace("@BINDIR@", str(BIN)))
        status, out, said = run(tool("systemd-analyze"), "verify", work / "berth-export.service")
        assert (status, out + said) == (0, ""), out + said
        assert berth(NODES / "h200x1", *command[1].split()[1:-1], work / "labels")[0] == 0 and labels((work / "labels").read_text())


if __name__ == "__main__":
    sys.exit(run_tests([features_of_every_node, the_slowest_pair_is_that_of_the_matrix, a_slice_of_every_node, pairs_of_one_class_are_groups,
                        text_from_outside_stays_within_the_rules, the_drop_in_of_the_guide_is_one_that_systemd_takes], at_once=2) > 0)
