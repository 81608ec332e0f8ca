"""Every bottleneck is found by its name as schema/io.berth.Placement.varlink documents. Prints TAP.
"""
import itertools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES  # noqa: E402
from node import Node  # noqa: E402
from tap import run_tests  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
NAMES = [node.name for node in sorted(NODES.iterdir()) if node.is_dir() and not node.name.startswith("broken")]
# By what is behind the place: of which kinds it is.
OF_A_PLACE = {"memory": {"numa"}, "memory:read": {"numa"}, "memory:write": {"numa"}, "host-port": {"module"}, "host-link": {"gpu"}, "hive": {"gpu"}, "pcie-port": {"gpu"}, "gpu-port": {"numa"}, "port": {"gpu"}, "out": {"gpu"}, "in": {"gpu"}}
OF_A_PLACE.update({f"{port}:{way}": OF_A_PLACE[port] for port in ("host-port", "gpu-port", "host-link", "hive", "pcie-port") for way in ("out", "in")})


class Looked(Node):
    """With the bottlenecks that its answers named, each with the first request."""

    def __init__(self, folder):
        super().__init__(folder)
        self.links = {frozenset((link["from"], link["to"])) for link in self.told["links"]}
        self.shared = {shared["name"] for shared in self.peer.call("io.berth.Fabric.GetContention")[1]["shared"]}
        self.seen = {}

    def kind_of(self, name):
        return self.place[name]["kind"] if name in self.place else None

    def look(self, method, **request):
        error, answer = self.ask(method, request)
        if error is not None:
            assert error in ("NotMeasured", "NotEnough", "InvalidParameter"), (request, error, answer)
            return
        told = [answer["predicted"], answer["baseline"]] if method == "Bind" else [option["predicted"] for option in answer["options"]]
        for prediction in told:
            if prediction is not None and prediction["bottleneck"] is not None:
                self.seen.setdefault(prediction["bottleneck"], (method, request))

    def both_is_measured(self, a, b):
        for metric, (x, y) in itertools.product(("gpu_gpu_copy_engine", "gpu_gpu_kernel", "host_gpu_copy_engine", "host_gpu_kernel"), ((a, b), (b, a))):
            matrix = self.peer.call("io.berth.Fabric.GetMatrix", {"metric": metric, "from": [x], "to": [y], "where": {"direction": "both"}})
            if matrix[0] is None and matrix[1]["cells"]:
                return True
        return False

    def can_be_looked_up(self, name):
        if name in self.shared:  # what sets show
            return True
        link = re.fullmatch(r"([a-z0-9]+)-([a-z0-9]+):link(:out|:in|)", name)
        if link is not None:
            return frozenset(link.group(1, 2)) in self.links
        both = re.fullmatch(r"([a-z0-9]+)-([a-z0-9]+):both", name)
        if both is not None:
            return self.kind_of(both[1]) in ("gpu", "numa") and self.kind_of(both[2]) in ("gpu", "numa") and self.has_both
        place, _, part = name.partition(":")
        return self.kind_of(place) in OF_A_PLACE.get(part, set())

    @property
    def has_both(self):
        """True with a measurement in both directions, or a published rate of kernels that copy both
        ways. Both also apply to similar pairs.
        """
        places = self.has("gpu") + self.has("numa")
        copies = self.peer.call("io.berth.Fabric.GetMatrix", {"metric": "memory_bandwidth", "from": self.has("gpu"), "to": self.has("gpu"), "where": {"operation": "copy"}})
        return any(self.both_is_measured(a, b) for a, b in itertools.combinations(places, 2)) or \
            any(cell["source"] == "published" and cell["from"] != cell["to"] for cell in copies[1].get("cells", []))


def ask_much(node):
    gpus, numas = node.has("gpu"), node.has("numa")
    for tasks in sorted({1, 2, max(len(gpus) // 2, 1), max(len(gpus), 1)}):
        for host in (0, 64 << 10, GIB):
            for pattern, mechanism in itertools.product(("none", "pairs", "ring", "alltoall"), ("best", "kernel", "copy_engine")):
                traffic = {"pattern": pattern, "bytes": GIB if host else 256 * MIB} if pattern != "none" else {}
                if traffic or host:
                    node.look("Bind", tasks=tasks, host_bytes=host, mechanism=mechanism, **traffic)
    for start, end in itertools.permutations(gpus + numas, 2):
        if start not in gpus and end not in gpus:
            continue
        others = [gpu for gpu in gpus if gpu not in (start, end)][:1]
        beside = [{"concurrent": [{"from": start, "to": other, "bytes": GIB}]} for other in others if start in gpus]  # kernels of one gpu, where they are faster
        for more in ({}, {"overlap": True}, {"both_directions": True}, *beside, {"concurrent": [{"from": end, "to": start, "bytes": GIB}]}, {"concurrent": [{"from": gpus[-1], "to": numas[0], "bytes": GIB}]}):
            node.look("Route", bytes=GIB, **{"from": start, "to": end}, **more)


def every_bottleneck_can_be_looked_up():
    kinds = set()
    for name in NAMES:
        with Looked(NODES / name) as node:
            ask_much(node)
            for bottleneck, asked in node.seen.items():
                assert node.can_be_looked_up(bottleneck), (name, bottleneck, asked)
                kinds.add("sets" if bottleneck in node.shared else re.sub(r"^.*?(:|$)", "", bottleneck))
    assert {"sets", "memory", "link:in", "link:out", "host-port:out", "both"} <= kinds, kinds


def the_schema_and_the_manual_name_them_all():
    schema = (NODES.parent.parent / "schema/io.berth.Placement.varlink").read_text()
    advice = (NODES.parent.parent / "docs/ADVICE.md").read_text()
    for part in ("memory", "host-port", "gpu-port", "pcie-port", "host-link", "hive", "port", "link", "both"):
        assert ":" + part in schema and ":" + part in advice, part


if __name__ == "__main__":
    sys.exit(1 if run_tests([every_bottleneck_can_be_looked_up, the_schema_and_the_manual_name_them_all]) else 0)
