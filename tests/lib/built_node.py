"""Writes node folders from a short description; figures are invented, the origin is standin.

A test chooses round figures, so that the right answer can be calculated by hand.
"""
import itertools
import json
import pathlib

STATED = 16.0  # GB/s that a PCIe link states


def mask(members):
    """The bitmap of these numbers as hwloc writes it."""
    bits, words = sum(1 << number for number in members), []
    while bits or not words:
        words.append(f"0x{bits & 0xffffffff:08x}")
        bits >>= 32
    return ",".join(reversed(words))


class Built:
    """NUMA nodes with cores, GPUs and NICs.

    numa: a dict for each NUMA node.
      cores: number of cores (0: memory without cores). l3: cores of one L3; default all.
      package: its package; default one of its own. gib: its memory; default 64.
      ports: a list of "gpu" and "nic" for each PCIe port of the host. A single device sits on the
      root without a switch.
    bus: PCI bus numbers of the GPUs, in the order of the ports; GPUs are numbered by them.
    distance: rows of the firmware's NUMA distances.
    links: (from, to, kind, GB/s); nvlink, xgmi, c2c. down: pairs whose link is down.
    values: (metric, from, to, value, {axes}) in SI units. sets: (metric, [(from, to, value)]).
    published: values that are published rather than measured.
    """

    def __init__(self, numa, *, bus=None, distance=None, links=(), down=(), values=(), sets=(),
                 published=(), stated=STATED, gpu_gib=32):
        self.numa, self.distance, self.links, self.down = numa, distance, links, down
        self.values, self.sets, self.published = list(values), list(sets), list(published)
        self.stated, self.gpu_gib = stated, gpu_gib
        self.index = itertools.count(1)
        gpus = sum(port.count("gpu") for node in numa for port in node.get("ports", ()))
        self.buses = list(bus or range(0x10, 0x10 + gpus))
        first = itertools.accumulate([0] + [node["cores"] for node in numa])
        self.cpus = [list(range(begin, begin + node["cores"])) for begin, node in zip(first, numa)]

    def sets_of(self, cpus, nodes):
        cpuset, nodeset = mask(cpus), mask(nodes)
        return (f'cpuset="{cpuset}" complete_cpuset="{cpuset}" nodeset="{nodeset}" '
                f'complete_nodeset="{nodeset}" gp_index="{next(self.index)}"')

    def device(self, kind, bus):
        place, index = f'pci_busid="0000:{bus:02x}:00.0"', f'gp_index="{next(self.index)}"'
        speed = f'pci_link_speed="{self.stated}"'
        if kind == "gpu":
            return (f'<object type="PCIDev" {place} pci_type="0302 [10de:2335] [0000:0000] a1" '
                    f'{speed} {index}/>')
        return (f'<object type="PCIDev" {place} pci_type="0207 [15b3:1017] [0000:0000] 00" '
                f'{speed} {index}><object type="OSDev" gp_index="{next(self.index)}" '
                f'name="ib{bus - 0x80}" osdev_type="2"/></object>')

    def ports_of(self, node, gpus, nics, bridges):
        """The devices below one NUMA node's package."""
        for port in node.get("ports", ()):
            found = [self.device(kind, next(gpus if kind == "gpu" else nics)) for kind in port]
            root = next(bridges)
            if len(found) > 1:
                found = [f'<object type="Bridge" bridge_type="1-1" depth="1" '
                         f'bridge_pci="0000:[{root:02x}-ff]" pci_busid="0000:{root:02x}:00.0" '
                         f'pci_type="0604 [10b5:9797] [0000:0000] aa" '
                         f'pci_link_speed="{self.stated}" gp_index="{next(self.index)}">',
                         *found, "</object>"]
            yield (f'<object type="Bridge" bridge_type="0-1" depth="0" '
                   f'bridge_pci="0000:[{root:02x}-ff]" gp_index="{next(self.index)}">'
                   + "".join(found) + "</object>")

    def of_numa(self, number, devices):
        """hwloc's objects of one NUMA node: a group with its memory, caches, cores, devices."""
        node, cpus = self.numa[number], self.cpus[number]
        memory = node.get("gib", 64) << 30
        inside = [f'<object type="NUMANode" os_index="{number}" local_memory="{memory}" '
                  f'{self.sets_of(cpus, [number])}/>']
        size = node.get("l3", max(len(cpus), 1))
        for begin in range(0, len(cpus), size):
            part = cpus[begin:begin + size]
            cores = "".join(f'<object type="Core" os_index="{cpu}" {self.sets_of([cpu], [number])}>'
                            f'<object type="PU" os_index="{cpu}" {self.sets_of([cpu], [number])}/>'
                            '</object>' for cpu in part)
            inside.append('<object type="L3Cache" cache_size="33554432" depth="3" '
                          'cache_linesize="64" cache_associativity="16" cache_type="0" '
                          f'{self.sets_of(part, [number])}>{cores}</object>')
        return (f'<object type="Group" kind="0" subkind="0" {self.sets_of(cpus, [number])}>'
                + "".join(inside) + devices + "</object>")

    def topology(self):
        self.index = itertools.count(1)
        every, nodes = sum(self.cpus, []), list(range(len(self.numa)))
        gpus, nics, bridges = iter(self.buses), itertools.count(0x80), itertools.count(0xa0)
        lines = [f'<object type="Machine" os_index="0" allowed_cpuset="{mask(every)}" '
                 f'allowed_nodeset="{mask(nodes)}" {self.sets_of(every, nodes)}>']
        packages = [node.get("package", number) for number, node in enumerate(self.numa)]
        for package in dict.fromkeys(packages):
            own = [number for number in nodes if packages[number] == package]
            cpus = sum((self.cpus[number] for number in own), [])
            lines.append(f'<object type="Package" os_index="{package}" {self.sets_of(cpus, own)}>')
            for number in own:
                if self.cpus[number]:
                    devices = "".join(self.ports_of(self.numa[number], gpus, nics, bridges))
                    lines.append(self.of_numa(number, devices))
                else:
                    lines.append(f'<object type="NUMANode" os_index="{number}" local_memory="'
                                 f'{self.numa[number].get("gib", 64) << 30}" '
                                 f'{self.sets_of(cpus, [number])}/>')
            lines.append("</object>")
        lines.append("</object>")
        if self.distance:
            count = len(nodes)
            lines.append(f'<distances2 type="NUMANode" nbobjs="{count}" kind="5" '
                         'name="NUMALatency" indexing="os">'
                         f'<indexes length="{2 * count}">{" ".join(map(str, nodes))} </indexes>')
            flat = " ".join(str(value) for row in self.distance for value in row) + " "
            lines.append(f'<u64values length="{len(flat)}">{flat}</u64values></distances2>')
        return ('<?xml version="1.0" encoding="UTF-8"?>\n'
                '<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
                + "\n".join(lines) + "\n</topology>\n")

    def facts(self):
        yield {"record": "run", "schema": 1, "probe": "gpu", "backend": "cuda",
               "started_at": 1790000000, "conditions": {"driver": "1"}}
        for gpu, bus in enumerate(sorted(self.buses)):
            yield {"record": "device", "gpu": f"gpu{gpu}", "pci": f"0000:{bus:02x}:00.0",
                   "uuid": f"GPU-{gpu}", "model": "Stand-in", "bytes": self.gpu_gib << 30}
        for start, end, kind, rate in self.links:
            state = "down" if (start, end) in self.down else "up"
            yield {"record": "link", "from": start, "to": end, "kind": kind, "width": 1,
                   "nominal_bytes_per_s": rate * 1e9, "state": state}

    def measurements(self):
        for source, values in (("published", self.published), ("measured", self.values)):
            yield {"record": "run", "schema": 1, "probe": "gpu", "backend": "standin",
                   "started_at": 1790000000, "conditions": {}, "source": source}
            for metric, start, end, value, *axes in values:
                yield {"record": "value", "metric": metric, "from": start, "to": end,
                       "axes": axes[0] if axes else {}, "value": value, "low": 0.998 * value,
                       "high": 1.002 * value, "n": 9}
        for metric, flows in self.sets:
            yield {"record": "set", "metric": metric,
                   "flows": [{"from": start, "to": end, "bytes_per_s": rate, "low": 0.998 * rate,
                              "high": 1.002 * rate} for start, end, rate in flows]}

    def write(self, folder):
        folder = pathlib.Path(folder)
        description = {"name": "built", "origin": "standin", "hwloc": "topology.xml",
                       "measurements": "measurements.jsonl"}
        (folder / "topology.xml").write_text(self.topology())
        for name, records in (("facts", self.facts()), ("measurements", self.measurements())):
            lines = "".join(json.dumps(record) + "\n" for record in records)
            (folder / f"{name}.jsonl").write_text(lines)
        if self.buses:
            description["facts"] = "facts.jsonl"
        (folder / "node.json").write_text(json.dumps(description))
        return folder
