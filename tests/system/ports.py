"""Where tasks that copy with the host go on gpus that share a NUMA node or a PCIe port, on nodes of its own making. Prints TAP."""
import contextlib
import itertools
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from node import Node  # noqa: E402
from tap import run_tests  # noqa: E402

SIZE = 256 << 20
GPU = 15.753846  # GB/s that a gpu's own link states


def mask(first, count):
    return f"0x{((1 << count) - 1) << first:08x}"


def topology(packages, port_speed):
    """A NUMA node a package, with PCIe ports; packages: for each its ports, as the number of gpus behind it, 0: one gpu on the root without a bridge."""
    index, bus, lines, count = itertools.count(1), itertools.count(1), [], len(packages)

    def sets(first, cpus, node, nodes):
        return f'cpuset="{mask(first, cpus)}" complete_cpuset="{mask(first, cpus)}" nodeset="{mask(node, nodes)}" complete_nodeset="{mask(node, nodes)}" gp_index="{next(index)}"'

    def gpu():
        return f'<object type="PCIDev" pci_busid="0000:{next(bus):02x}:00.0" pci_type="0302 [10de:1db8] [0000:0000] a1" pci_link_speed="{GPU}" gp_index="{next(index)}"/>'

    def bridge(inside, speed):
        number = next(bus)
        return (f'<object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[{number:02x}-ff]" pci_busid="0000:{number:02x}:00.0" pci_type="0604 [10b5:9797] [0000:0000] aa"'
                f' pci_link_speed="{speed}" gp_index="{next(index)}">' + inside + "</object>")

    lines.append(f'<object type="Machine" os_index="0" allowed_cpuset="{mask(0, 8 * count)}" allowed_nodeset="{mask(0, count)}" {sets(0, 8 * count, 0, count)}>')
    for package, ports in enumerate(packages):
        lines.append(f'<object type="Package" os_index="{package}" {sets(8 * package, 8, package, 1)}><object type="NUMANode" os_index="{package}" local_memory="{64 << 30}" {sets(8 * package, 8, package, 1)}/>')
        for cpu in range(8 * package, 8 * package + 8):
            lines.append(f'<object type="Core" os_index="{cpu}" {sets(cpu, 1, package, 1)}><object type="PU" os_index="{cpu}" {sets(cpu, 1, package, 1)}/></object>')
        for gpus in ports:
            first = next(bus)
            inside = gpu() if gpus == 0 else bridge("".join(bridge(gpu(), GPU) for _ in range(gpus)), port_speed)
            lines.append(f'<object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[{first:02x}-ff]" gp_index="{next(index)}">{inside}</object>')
        lines.append("</object>")
    return '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n' + "\n".join(lines) + "\n</object>\n</topology>\n"


@contextlib.contextmanager
def asked(packages, port_speed=GPU, records=()):
    with tempfile.TemporaryDirectory(prefix="berth-ports-") as name:
        folder = pathlib.Path(name)
        (folder / "node.json").write_text(json.dumps({"name": "ports", "origin": "standin", "hwloc": "topology.xml", **({"measurements": "measurements.jsonl"} if records else {})}))
        (folder / "topology.xml").write_text(topology(packages, port_speed))
        (folder / "measurements.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        with Node(folder) as node:
            yield node


def bind(node, tasks, **more):
    error, answer = node.ask("Bind", {"tasks": tasks, "host_bytes": SIZE, "allowed": {}, **more})
    assert error is None, (tasks, error, answer)
    return answer


def gpus_of(answer):
    return [int(task["gpus"][0][3:]) for task in answer["tasks"]]


def ties_spread_over_numa_nodes():
    """Four gpus on each of two NUMA nodes, each on a root port of its own: any choice takes as long."""
    with asked([[0] * 4, [0] * 4]) as node:
        for tasks, order in itertools.product((2, 3, 4, 6), ("free", "rank")):
            gpus = gpus_of(bind(node, tasks, order=order))
            here = sum(gpu < 4 for gpu in gpus)
            assert abs(2 * here - tasks) <= 1, (tasks, order, gpus)
        assert gpus_of(bind(node, 2)) == [0, 4]
        assert gpus_of(bind(node, 2, host_bytes=0, pattern="ring", bytes=SIZE))[0] == 0
    with asked([[0] * 2] * 8) as node:  # more than a search looks at whole
        gpus = gpus_of(bind(node, 8))
        assert len({gpu // 2 for gpu in gpus}) == 8, gpus


if __name__ == "__main__":
    sys.exit(1 if run_tests([ties_spread_over_numa_nodes]) else 0)
