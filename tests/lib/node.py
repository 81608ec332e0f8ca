"""A daemon over a node folder, one connection to it, and the places of the node."""
from berthd import Daemon
from varlink import Connection


class Node:
    def __init__(self, folder):
        self.folder, self.daemon = folder, Daemon("--node", folder)
        self.peer = Connection(self.daemon.socket, timeout=60)
        self.told = self.peer.call("io.berth.Fabric.GetNode")[1]
        self.place = {place["name"]: place for place in self.told["places"]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.__exit__()
        self.daemon.__exit__()

    def has(self, kind):
        """Names of all places of a kind, in their order."""
        return [name for name, place in self.place.items() if place["kind"] == kind]

    def ask(self, method, request):
        """Returns the error's name without its interface, or None, and the parameters."""
        error, answer = self.peer.call("io.berth.Placement." + method, request)
        return error and error.split(".")[-1], answer


def cpus_of(listed):
    """The members of a list such as "0-3,8", as a set; empty for None."""
    found = set()
    for part in filter(None, (listed or "").strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def has_links_alone(answer):
    """True when a transfer between gpus of the node is priced by link rates."""
    return any(value["source"] == "nominal" and value["metric"].startswith("gpu_gpu")
               for value in answer["evidence"] or [])
