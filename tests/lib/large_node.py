"""Writes a node folder with many cores and every cpu_pingpong between them.

large_node.py FOLDER [CORES]. The default is 288 cores and 82,656 cells. The structure is that of
two packages with cores in llcs of eight. Times are drawn, so the origin is standin.
"""
import json
import pathlib
import random
import sys

LLC_CORES = 8


def mask(first, count):
    """A cpuset in hwloc's format: 32 bits a word, highest first."""
    bits, words = ((1 << count) - 1) << first, []
    while bits or not words:
        words.append(f"0x{bits & 0xffffffff:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def topology(cores):
    lines, index = [], iter(range(1, 10 * cores))

    def sets(first, count, node, nodes):
        cpus, memory = mask(first, count), mask(node, nodes)
        return (f'cpuset="{cpus}" complete_cpuset="{cpus}" nodeset="{memory}" '
                f'complete_nodeset="{memory}" gp_index="{next(index)}"')

    lines.append(f'<object type="Machine" os_index="0" allowed_cpuset="{mask(0, cores)}" '
                 f'allowed_nodeset="{mask(0, 2)}" {sets(0, cores, 0, 2)}>')
    for package in range(2):
        first = package * cores // 2
        lines.append(f'<object type="Package" os_index="{package}" '
                     f'{sets(first, cores // 2, package, 1)}>')
        lines.append(f'<object type="NUMANode" os_index="{package}" local_memory="{256 << 30}" '
                     f'{sets(first, cores // 2, package, 1)}/>')
        for llc in range(first, first + cores // 2, LLC_CORES):
            lines.append(f'<object type="L3Cache" cache_size="{32 << 20}" depth="3" '
                         'cache_linesize="64" cache_associativity="16" cache_type="0" '
                         f'{sets(llc, LLC_CORES, package, 1)}>')
            for core in range(llc, llc + LLC_CORES):
                lines.append(f'<object type="Core" os_index="{core}" {sets(core, 1, package, 1)}>'
                             f'<object type="PU" os_index="{core}" {sets(core, 1, package, 1)}/>'
                             '</object>')
            lines.append("</object>")
        lines.append("</object>")
    lines.append("</object>")
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
            '<topology version="2.0">\n' + "\n".join(lines) + "\n</topology>\n")


def measurements(cores):
    draw = random.Random(288)
    yield {"record": "run", "schema": 1, "probe": "cpu", "backend": "cpu", "started_at": 1790000000,
           "source": "measured", "conditions": {}}
    for a in range(cores):
        for b in range(cores):
            if a == b:
                continue
            is_one_package = (a < cores // 2) == (b < cores // 2)
            near = 60 if a // LLC_CORES == b // LLC_CORES else 250 if is_one_package else 600
            value = round(near * draw.uniform(0.9, 1.1), 3)
            yield {"record": "value", "metric": "cpu_pingpong", "from": f"core{a}",
                   "to": f"core{b}", "axes": {}, "value": value, "low": round(value * 0.99, 3),
                   "high": round(value * 1.01, 3), "n": 6}


def write(folder, cores=288):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    node = {"name": f"cores-{cores}", "origin": "standin", "hwloc": "topology.xml",
            "measurements": "measurements.jsonl"}
    (folder / "node.json").write_text(json.dumps(node))
    (folder / "topology.xml").write_text(topology(cores))
    with open(folder / "measurements.jsonl", "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in measurements(cores))


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:]))
