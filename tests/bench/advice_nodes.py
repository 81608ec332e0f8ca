"""Virtual nodes for the regret bench: the description that the stand-in driver follows, and the folder that the daemon discovers instead of a machine.

advice/nodes.json lists them. "base" is a folder in tests/nodes, and the description of that name in tests/standin/nodes unless "description" names another one in advice/.
"joined" is the kind of the description's links, as a driver shows them. "nvswitch" is what NVML would say of each GPU's links to the NVSwitches, bytes per second. "without" takes devices out and numbers the others anew; "links" sets what a link carries, of which the folder says nothing: only measuring shows it."""
import json
import pathlib
import random
import re
import shutil
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
DISCIPLINES = ("maxmin", "proportional", "unfair", "stepped")
NVIDIA = "0302 [10de:2335] [0000:0000] a1"


def listed():
    return {node["name"]: node for node in json.loads((HERE / "advice/nodes.json").read_text())}


def source(node):
    path = HERE / "advice" / node["description"] if "description" in node else HERE.parent / f"standin/nodes/{node['base']}.node"
    return [line.split("#")[0].split() for line in path.read_text().splitlines() if line.split("#")[0].split()]


def renumbered(words, numbers):
    """A line with devices' new numbers; None when one of them is gone."""
    places = {"device": (1,), "link": (1, 2), "route": range(1, len(words)), "path": (3, 4), "chase": (1, 2), "pingpong": (1, 2), "nopeer": (1, 2)}
    words = list(words)
    for at in places.get(words[0], ()):
        if at < len(words) and words[at].isdigit():
            if int(words[at]) not in numbers:
                return None
            words[at] = str(numbers[int(words[at])])
    return words


def stepped(words):
    """A resource that carries less the more use it: all but memory of the devices themselves."""
    if words[0] == "resource" and len(words) == 3 and not words[1].startswith("hbm"):
        rate = float(words[2])
        return words + [f"2:{rate * 0.92:g}", f"4:{rate * 0.84:g}"]
    return words


def description(node, discipline, noise, seed, more=()):
    """The lines of a description."""
    lines = source(node)
    count = sum(words[0] == "device" for words in lines)
    kept = [number for number in range(count) if number not in node.get("without", ())]
    memories = {device.get("memory_numa") for number, device in enumerate(devices("\n".join(map(" ".join, lines)))) if number not in kept}
    lines = [words for words in lines if words[0] != "numa" or words[1] not in memories]
    lines = [words for words in (renumbered(words, {old: new for new, old in enumerate(kept)}) for words in lines) if words]
    for pair, rate in node.get("links", {}).items():
        found = [words for words in lines if words[:3] == ["link", *pair.split()]]
        assert len(found) == 1, (node["name"], pair)
        found[0][3] = f"{rate:g}"
    if discipline == "stepped":
        lines = [stepped(words) for words in lines]
    else:
        lines.append(["discipline", discipline])
    if noise > 0:
        lines.append(["noise", str(noise), str(seed)])
    return "".join(" ".join(words) + "\n" for words in lines) + "".join(line + "\n" for line in more)


def devices(text):
    """Each device's keys and values, in the description's order."""
    common, found = {}, []
    for line in text.splitlines():
        words = line.split()
        if words and words[0] in ("devices", "device"):
            pairs = dict(word.split("=", 1) for word in words[1 if words[0] == "devices" else 2:])
            common.update(pairs if words[0] == "devices" else {})
            if words[0] == "device":
                found.append({**common, **pairs})
    return found


def capacity(words, users):
    """What a resource's line says that so many get together."""
    steps = [word.split(":") for word in words[3:]]
    return ([float(words[2])] + [float(rate) for count, rate in steps if int(count) <= users])[-1]


def core_records(text, noise, seed):
    """What a probe of the cores would find host memory to carry, by two of them and by all, where the description says what that is: the driver stands in for gpus only, and daemons know it of real nodes."""
    draw, found = random.Random(seed), {}
    numas = [words[1] for words in map(str.split, text.splitlines()) if words[0] == "numa"]
    for words in (line.split() for line in text.splitlines() if line.startswith("resource ")):
        for how in ("read", "write"):
            if re.fullmatch(r"ddr\{.*\}", words[1]) or words[1] == f"host{how}s":
                first, last = re.findall(r"\d+", words[1].partition("{")[2]) or (0, 0)
                found.update({(numa, how, threads): capacity(words, users) for numa in numas for threads, users in (("2", 2), ("all", 64)) if int(first) <= int(numa) <= int(last)})
    yield {"record": "run", "schema": 1, "probe": "cpu", "backend": "cpu", "started_at": 1790000000, "conditions": {}}
    for (numa, how, threads), rate in found.items():
        rate *= draw.gauss(1, noise)
        place = f"numa{numa}"
        yield {"record": "value", "metric": "memory_bandwidth", "from": place, "to": place, "axes": {"operation": how, "threads": threads}, "value": rate, "low": rate * (1 - noise), "high": rate * (1 + noise), "n": 9}
    yield {"record": "end", "status": "complete", "elapsed_ns": 1000000}


def bits(text):
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return value


def put_gpus(tree, wanted):
    """Each of the node's gpus below the smallest group, package or machine that has its NUMA node."""
    root = tree.getroot()
    parents = {child: parent for parent in root.iter() for child in parent}
    for device in [d for d in root.iter("object") if d.get("type") == "PCIDev" and re.match(r"03", d.get("pci_type", ""))]:
        parents[device].remove(device)
    pcis = {gpu["pci"] for gpu in wanted}
    for memory in (o for o in root.iter("object") if o.get("type") == "NUMANode"):
        if any(info.get("name") == "PCIBusID" and info.get("value") not in pcis for info in memory.findall("info")):
            memory.set("local_memory", "0")
    index = max(int(o.get("gp_index", 0)) for o in root.iter("object"))
    for gpu in wanted:
        numa = 1 << int(gpu["numa"])
        around = [o for o in root.iter("object") if o.get("type") in ("Group", "Package", "Machine") and bits(o.get("nodeset")) & numa]
        place = min(around, key=lambda o: bits(o.get("cpuset")).bit_count())
        domain, bus = gpu["pci"].split(":")[:2]
        index += 2
        bridge = ET.SubElement(place, "object", type="Bridge", bridge_type="0-1", depth="0", bridge_pci=f"{domain}:[{bus}-{bus}]", gp_index=str(index - 1))
        ET.SubElement(bridge, "object", type="PCIDev", pci_busid=gpu["pci"], pci_type=NVIDIA, pci_link_speed="63.0", gp_index=str(index))


def take_out(node, wanted):
    """AMD's: out of hwloc's tree and out of KFD's."""
    pcis = {gpu["pci"] for gpu in wanted}
    nodes, gone = node / "kfd/topology/nodes", set()
    for folder in nodes.iterdir():
        values = dict(line.split() for line in (folder / "properties").read_text().splitlines())
        location = int(values.get("location_id", 0))
        name = f"{int(values.get('domain', 0)):04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.{location & 7}"
        if int(values.get("simd_count", 0)) > 0 and name not in pcis:
            gone.add(folder.name)
    for folder in list(nodes.iterdir()):
        for link in list((folder / "io_links").iterdir()) if (folder / "io_links").exists() else []:
            values = dict(line.split() for line in (link / "properties").read_text().splitlines())
            if values["node_to"] in gone:
                shutil.rmtree(link)
        if folder.name in gone:
            shutil.rmtree(folder)
    tree = ET.parse(node / "topology.xml")
    parents = {child: parent for parent in tree.getroot().iter() for child in parent}
    for device in [o for o in tree.getroot().iter("object") if o.get("type") == "PCIDev" and "[1002:" in o.get("pci_type", "") and o.get("pci_busid") not in pcis]:
        parents[device].remove(device)
    return tree


def joined(text, wanted, kind):
    """The description's links by the gpus' names."""
    order = sorted(gpu["pci"] for gpu in wanted)
    names = [f"gpu{order.index(gpu['pci'])}" for gpu in wanted]
    for words in (line.split() for line in text.splitlines() if kind is not None and line.startswith("link ")):
        yield {"record": "link", "from": names[int(words[1])], "to": names[int(words[2])], "kind": kind, "width": 1, "nominal_bytes_per_s": float(words[3]), "state": "up"}


def facts(node, wanted, nvswitch, links):
    """What drivers would say, of the gpus that are there, by their new numbers."""
    numbers = {pci: f"gpu{i}" for i, pci in enumerate(sorted(gpu["pci"] for gpu in wanted))}
    records = [json.loads(line) for line in (node / "facts.jsonl").read_text().splitlines()] if (node / "facts.jsonl").exists() else []
    names = {r["gpu"]: numbers.get(r["pci"][-12:]) for r in records if r["record"] == "device"}
    kept = [r for r in records if r["record"] not in ("device", "link")]
    for gpu in sorted(wanted, key=lambda g: g["pci"]):
        kept.append({"record": "device", "gpu": numbers[gpu["pci"]], "vendor": "nvidia", "pci": gpu["pci"], "model": gpu["model"].replace("_", " "), "uuid": gpu["uuid"]})
    for link in (r for r in records if r["record"] == "link"):
        ends = {key: names.get(link[key], link[key]) for key in ("from", "to")}
        if all(ends.values()):
            kept.append({**link, **ends})
    if nvswitch is not None:
        kept += [{"record": "link", "from": gpu, "to": "switch0", "kind": "nvlink", "nominal_bytes_per_s": nvswitch, "state": "up"} for gpu in numbers.values()]
    return "".join(json.dumps(record) + "\n" for record in kept + links)


def write_folder(node, text, folder):
    """What the daemon discovers: the base's folder with the gpus of the description, and nothing measured."""
    base = HERE.parent / "nodes" / node["base"]
    shutil.copytree(base, folder)
    about = json.loads((folder / "node.json").read_text())
    about.pop("measurements", None)
    wanted = devices(text)
    if "kfd" in about:
        if "without" in node:
            take_out(folder, wanted).write(folder / "topology.xml", encoding="UTF-8", xml_declaration=True)
    elif "without" in node or "description" in node:
        tree = ET.parse(folder / "topology.xml")
        put_gpus(tree, wanted)
        tree.write(folder / "topology.xml", encoding="UTF-8", xml_declaration=True)
        (folder / "facts.jsonl").write_text(facts(folder, wanted, node.get("nvswitch"), list(joined(text, wanted, node.get("joined")))))
        about["facts"] = "facts.jsonl"
    (folder / "node.json").write_text(json.dumps({**about, "name": node["name"], "origin": "standin"}))
