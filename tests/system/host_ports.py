"""Tasks that copy with the host, on generated nodes with gpus that share a NUMA node or a PCIe
port. Prints TAP.
"""
import contextlib
import itertools
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from node import Node  # noqa: E402
from reasons import texts  # noqa: E402
from tap import run_tests  # noqa: E402

SIZE = 256 << 20
GPU = 15.753846  # GB/s that a gpu's own link states


def mask(first, count):
    return f"0x{((1 << count) - 1) << first:08x}"


def topology(packages, port_speed, nics, inner):
    """A node with one NUMA node a package, and PCIe ports. packages has the ports of each package,
    as the number of gpus behind a port. 0 is one gpu on the root without a bridge; [2, 2] two
    switches at a port, with links of the rate inner. nics: one behind each port that has a
    bridge.
    """
    index, bus, lines, count = itertools.count(1), itertools.count(1), [], len(packages)

    def sets(first, cpus, node, nodes):
        return f'cpuset="{mask(first, cpus)}" complete_cpuset="{mask(first, cpus)}" nodeset="{mask(node, nodes)}" complete_nodeset="{mask(node, nodes)}" gp_index="{next(index)}"'

    def gpu():
        return f'<object type="PCIDev" pci_busid="0000:{next(bus):02x}:00.0" pci_type="0302 [10de:1db8] [0000:0000] a1" pci_link_speed="{GPU}" gp_index="{next(index)}"/>'

    def nic():
        number = next(bus)
        return (f'<object type="PCIDev" pci_busid="0000:{number:02x}:00.0" pci_type="0200 [15b3:1017] [0000:0000] 00" pci_link_speed="{GPU}" gp_index="{next(index)}">'
                f'<object type="OSDev" gp_index="{next(index)}" name="eth{number}" osdev_type="2"/></object>')

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
            if isinstance(gpus, list):
                inside = bridge("".join(bridge(bridge("".join(bridge(gpu(), GPU) for _ in range(behind)), inner), inner) for behind in gpus), port_speed)
            else:
                inside = gpu() if gpus == 0 else bridge("".join([bridge(gpu(), GPU) for _ in range(gpus)] + [nic() for _ in range(nics)]), port_speed)
            lines.append(f'<object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[{first:02x}-ff]" gp_index="{next(index)}">{inside}</object>')
        lines.append("</object>")
    return '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n' + "\n".join(lines) + "\n</object>\n</topology>\n"


@contextlib.contextmanager
def asked(packages, port_speed=GPU, records=(), nics=0, inner=GPU):
    with tempfile.TemporaryDirectory(prefix="berth-ports-") as name:
        folder = pathlib.Path(name)
        (folder / "node.json").write_text(json.dumps({"name": "ports", "origin": "standin", "hwloc": "topology.xml", **({"measurements": "measurements.jsonl"} if records else {})}))
        (folder / "topology.xml").write_text(topology(packages, port_speed, nics, inner))
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


def time_of(answer):
    return answer["predicted"]["time_ns"]


def is_about_a_port(text):
    return text is not None and ("pcie-port" in text or "PCIe port" in text)


def gpus_behind_one_port_share_it():
    """Two gpus a port, two ports a package; a port that is idle says less than its gpus do, or nothing."""
    for speed, nics in itertools.product((GPU, 2.0, 0), (0, 1)):
        with asked([[2, 2], [2, 2]], speed, nics=nics) as node:
            assert len(node.has("nic")) == 4 * nics and all("pcie_port" in node.place[nic]["details"] for nic in node.has("nic"))
            ports = [node.place[gpu]["details"].get("pcie_port") for gpu in node.has("gpu")]
            assert len(set(ports)) == 4 and None not in ports and ports == sorted(ports), ports
            two, four, eight = (bind(node, tasks) for tasks in (2, 4, 8))
            assert gpus_of(two) == [0, 4], (speed, gpus_of(two))
            assert len({gpu // 2 for gpu in gpus_of(four)}) == 4, (speed, gpus_of(four))
            assert time_of(two) == time_of(four) and abs(time_of(eight) / time_of(two) - 2) < 0.02, (speed, time_of(two), time_of(four), time_of(eight))
            assert is_about_a_port(eight["predicted"]["bottleneck"]) and not any("slows another" in reason for reason in texts(eight, "reasons")), eight
            assert any(is_about_a_port(reason) for reason in texts(two, "reasons")), texts(two, "reasons")  # why not the order
            assert any(is_about_a_port(warning) and "not measured" in warning for warning in texts(eight, "warnings")), texts(eight, "warnings")


def a_port_that_is_wide_enough_slows_nobody():
    with asked([[2, 2], [2, 2]], 2 * GPU) as node:
        assert abs(time_of(bind(node, 8)) / time_of(bind(node, 2)) - 1) < 0.02 and not is_about_a_port(bind(node, 8)["predicted"]["bottleneck"])


def own_ports_are_not_shared():
    with asked([[1] * 4, [0] * 4]) as node:
        assert not any("pcie_port" in node.place[gpu]["details"] for gpu in node.has("gpu"))
        assert time_of(bind(node, 8)) == time_of(bind(node, 2))


def switches_behind_switches_are_ports_too():
    """Two gpus a switch, two switches a host port.

    First each port is wide enough for all four gpus, then one is not.
    """
    with asked([[[2, 2]], [[2, 2]]], 4 * GPU) as node:
        assert len({node.place[gpu]["details"]["pcie_port"] for gpu in node.has("gpu")}) == 2
        assert len({node.place[gpu]["details"]["pcie_port2"] for gpu in node.has("gpu")}) == 4
        two, four, eight = (bind(node, tasks) for tasks in (2, 4, 8))
        assert len({gpu // 2 for gpu in gpus_of(four)}) == 4, gpus_of(four)
        assert time_of(two) == time_of(four) and abs(time_of(eight) / time_of(two) - 2) < 0.02, (time_of(two), time_of(four), time_of(eight))
        assert "pcie-port2" in eight["predicted"]["bottleneck"] and any("pcie-port2" in warning for warning in texts(eight, "warnings")), eight
        for target, shares in (("gpu1", False), ("gpu2", True)):  # behind the same switch, and behind another one
            error, answer = node.ask("Route", {"from": "gpu0", "to": target, "bytes": SIZE, "concurrent": [{"from": "gpu1", "to": "numa0", "bytes": SIZE}]})
            assert error is None and shares == ("pcie-port2" in (answer["options"][0]["predicted"]["bottleneck"] or "")), (target, error, answer["options"][0])
    with asked([[[2, 2]], [[2, 2]]], GPU, inner=2 * GPU) as node:  # the outer one is the narrower
        assert abs(time_of(bind(node, 8)) / time_of(bind(node, 2)) - 4) < 0.05 and "gpu0:pcie-port:" in bind(node, 8)["predicted"]["bottleneck"]
    with asked([[[4]], [[4]]], 4 * GPU) as node:  # behind the same gpus the narrowest counts
        assert abs(time_of(bind(node, 8)) / time_of(bind(node, 2)) - 4) < 0.05 and not any("pcie_port2" in node.place[gpu]["details"] for gpu in node.has("gpu"))


def peers_behind_one_port_do_not_use_it():
    with asked([[2, 2], [2, 2]]) as node:
        error, answer = node.ask("Route", {"from": "gpu0", "to": "gpu1", "bytes": SIZE, "concurrent": [{"from": "gpu0", "to": "numa0", "bytes": SIZE}]})
        assert error is None, error
        seen = set()
        for option in answer["options"]:
            is_direct = all(not segment["via"] for segment in option["segments"])
            assert is_about_a_port(option["predicted"]["bottleneck"]) != is_direct, option
            seen.add(is_direct)
        assert seen == {True, False}, answer["options"]


def measured(rates, together):
    """One copy from memory to gpu0 alone, and those to gpu0 and gpu1 at once."""
    yield {"record": "run", "schema": 1, "probe": "gpu", "backend": "standin", "started_at": 1790000000, "conditions": {}}
    for gpu in range(8):
        for ends in ((f"numa{gpu // 4}", f"gpu{gpu}"), (f"gpu{gpu}", f"numa{gpu // 4}")):
            yield {"record": "value", "metric": "host_gpu_copy_engine", "from": ends[0], "to": ends[1], "axes": {}, "value": rates, "low": 0.99 * rates, "high": 1.01 * rates, "n": 9}
    for a, b in (((0, 1), (2, 3), (4, 5), (6, 7)) if together else ()):
        for back in (False, True):
            flows = [{"from": f"gpu{g}" if back else f"numa{g // 4}", "to": f"numa{g // 4}" if back else f"gpu{g}", "bytes_per_s": together, "low": 0.99 * together, "high": 1.01 * together} for g in (a, b)]
            yield {"record": "set", "metric": "host_gpu_copy_engine_concurrent", "flows": flows}


def what_copies_got_together_goes_before_the_port():
    def ask(together):
        with asked([[2, 2], [2, 2]], GPU, list(measured(12e9, together))) as node:
            return time_of(bind(node, 8, mechanism="copy_engine")) / time_of(bind(node, 2, mechanism="copy_engine")), gpus_of(bind(node, 2, mechanism="copy_engine"))
    longer, gpus = ask(None)  # a port is no wider than what one copy through it gets
    assert abs(longer - 2) < 0.02 and gpus == [0, 4], (longer, gpus)
    longer, gpus = ask(7e9)
    assert abs(longer - 12 / 7) < 0.03 and gpus == [0, 4], (longer, gpus)
    longer, gpus = ask(12e9)  # whatever the bridge says, they do not slow each other
    assert abs(longer - 1) < 0.02, (longer, gpus)


if __name__ == "__main__":
    sys.exit(1 if run_tests([ties_spread_over_numa_nodes, gpus_behind_one_port_share_it, a_port_that_is_wide_enough_slows_nobody, own_ports_are_not_shared, switches_behind_switches_are_ports_too, peers_behind_one_port_do_not_use_it,
                             what_copies_got_together_goes_before_the_port]) else 0)
