"""Invariants of Route: random requests on all test nodes, each repeated for parts of the node.

Parts have fewer gpus and less memory; requests are also repeated with overlap. Prints TAP.
ROUTE_REQUESTS=N sets the number for each node, ROUTE_SEED=N another seed. ROUTE_NODES=FOLDER
selects the nodes in that folder; BERTH_NODES names the folder of more nodes.
"""
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES  # noqa: E402
from node import Node  # noqa: E402
from tap import run_tests  # noqa: E402

SHARED = pathlib.Path(os.environ.get("BERTH_NODES", NODES.parent.parent.parent / "shared/nodes"))
REQUESTS, SEED = int(os.environ.get("ROUTE_REQUESTS", "40")), os.environ.get("ROUTE_SEED", "1")
SHOWN = int(os.environ.get("ROUTE_SHOWN", "5"))  # of what does not hold
SIZES = [64 << 10, 200_000, 500_000, 1 << 20, 3_000_000, 8 << 20, 20_000_000, 64 << 20, 200_000_000, 1 << 30, 4 << 30]
LITTLE_SLACK = 1 + 1e-9
JUMP = 1.06  # what is further from the price of up to five bytes less is no rounding
SHARES_SLACK = 1.001  # several ways end together to a thousandth
# Codes of reasons about an option that is faster than the first one.
PASSED_OVER = ("gains-little", "not-measured-together")


class Checked(Node):
    """A daemon over a node folder, and the errors of its answers."""

    def __init__(self, folder, broken):
        super().__init__(folder)
        self.name, self.broken = folder.name, broken
        self.gpus = sorted(self.has("gpu"), key=lambda name: int(name[3:]))
        self.numas = sorted(self.has("numa"), key=lambda name: int(name[4:]))

    def route(self, request, part):
        """None for a refusal; otherwise an answer that is sound, with the prices that other parts
        of the node have.
        """
        error, answer = self.peer.call("io.berth.Placement.Route", {**request, "allowed": {"gpus": part[0], "memory": part[1]}})
        return None if error is not None else answer

    def breaks(self, what, request, *more):
        self.broken[f"{self.name}: {what}"].append((request, *more))


def drawn(draw, node):
    """Draws any two ends and concurrent transfers; at least one end of each transfer is a gpu."""
    def transfer(size):
        start = draw.choice(node.gpus)
        target = draw.choice([place for place in node.gpus + node.numas[:4] if place != start])
        start, target = draw.choice([(start, target), (target, start)])
        return {"from": start, "to": target, "bytes": size}
    size = draw.choice(SIZES)
    request = transfer(size)
    if draw.random() < 0.3:
        request["both_directions"] = True
    if draw.random() < 0.5:
        request["concurrent"] = [transfer(draw.choice([size, size, draw.choice(SIZES)])) for _ in range(draw.randint(1, 3))]
    return request


def parts_of(draw, node, request):
    """Parts of the node with all ends, each with more gpus than the one before, and with all of the
    host's memory or the same part of it.
    """
    ends = {transfer[key] for transfer in [request, *request.get("concurrent", [])] for key in ("from", "to")}
    memory = [numa for numa in node.numas if numa in ends or draw.random() < 0.5] if draw.random() < 0.2 else node.numas
    more = [gpu for gpu in node.gpus if gpu not in ends]
    draw.shuffle(more)
    counts = sorted({*draw.sample(range(len(more) + 1), min(3, len(more) + 1)), len(more)})
    return [([gpu for gpu in node.gpus if gpu in ends or gpu in more[:count]], memory) for count in counts]


def time_of(option):
    return option["predicted"]["time_ns"]


def is_at_least(option):
    return option["predicted"]["high_ns"] is None and option["predicted"]["low_ns"] == time_of(option)


def is_nominal(option):
    return any(value["source"] == "nominal" for value in option["evidence"])


def is_ordered(answer):
    """True when options with a known time are sorted, followed by the others, sorted too."""
    times = [time_of(option) for option in answer["options"][1:]]
    return sum(later < before for before, later in zip(times, times[1:])) <= 1


def is_explained(answer):
    first = time_of(answer["options"][0])
    return any(reason["code"] in PASSED_OVER for reason in answer["reasons"]) or not any(time_of(option) * LITTLE_SLACK < first for option in answer["options"][1:])


def ask_all(node, draw):
    """Asks one request of all parts; returns the number of answers."""
    request = drawn(draw, node)
    prices, shown = {}, 0
    strict_before = lax_before = part_before = None
    for part in parts_of(draw, node, request):
        lax, strict = node.route(request, part), node.route({**request, "overlap": True}, part)
        for answer in filter(None, (lax, strict)):
            shown += 1
            if not is_ordered(answer):
                node.breaks("alternatives are not in the order of their times", request, part)
            if not is_explained(answer):
                node.breaks("nothing says why a slower one leads", request, part)
            for option in answer["options"]:
                way = tuple((segment["mechanism"], *segment["via"]) for segment in option["segments"])
                if prices.setdefault(way, (option["predicted"], option["segments"])) != (option["predicted"], option["segments"]):
                    node.breaks("one way has two prices", request, part, way, prices[way][0], option["predicted"])
        for before, after in ((lax_before, lax), (strict_before, strict)):
            if before and after and time_of(after["options"][0]) > time_of(before["options"][0]) * LITTLE_SLACK:
                node.breaks("with more gpus it takes longer", request, part_before, part, after is strict, time_of(before["options"][0]), time_of(after["options"][0]))
        if lax and strict and time_of(lax["options"][0]) > time_of(strict["options"][0]) * LITTLE_SLACK:
            what = "a lower bound" if is_at_least(strict["options"][0]) else "nominal" if is_nominal(strict["options"][0]) and not is_nominal(lax["options"][0]) else "less"
            node.breaks(f"with overlap it takes {what}", request, part, time_of(lax["options"][0]), time_of(strict["options"][0]))
        lax_before, strict_before, part_before = lax, strict, part
    return shown


def folders():
    named = os.environ.get("ROUTE_NODES")
    if named:
        return sorted(folder for folder in pathlib.Path(named).iterdir() if (folder / "node.json").exists())
    return sorted(folder for parent in (NODES, SHARED) if parent.is_dir() for folder in parent.iterdir() if (folder / "node.json").exists())


def say(broken):
    for what, found in broken.items():
        print(f"# {what}: {len(found)} times, as in", *(f"\n#   {one}" for one in found[:SHOWN]), flush=True)


def what_holds_for_every_answer():
    broken, asked = collections.defaultdict(list), 0
    for folder in folders():
        try:
            node = Checked(folder, broken)
        except AssertionError:
            continue  # a folder that is refused
        with node:
            draw = random.Random(f"{SEED} {folder.name}")
            shown = sum(ask_all(node, draw) for _ in range(REQUESTS)) if node.gpus and len(node.gpus + node.numas) > 1 else 0
            asked += shown
            if os.environ.get("ROUTE_REQUESTS"):
                print(f"# {folder.name}: {shown} answers", flush=True)
    say(broken)
    assert not broken, f"{sum(map(len, broken.values()))} of {asked} answers"
    assert asked >= 500, asked


def sizes_near(draw):
    """A few bytes more, and many more; ways in pieces begin at 16 MiB."""
    size = draw.choice([int(2 ** draw.uniform(4, 33)), int(2 ** draw.uniform(4, 33)), 1 << draw.randint(4, 32), (16 << 20) * draw.randint(1, 3)])
    return sorted({size, size + 1, size + 2, size + 5, size + size // 20, size + size // 2, 3 * size})


def ask_near(node, draw):
    """Asks one request for sizes near each other.

    The time of each listed path does not fall with more bytes, and barely rises for a few more.
    """
    request = {**drawn(draw, node), "concurrent": [], "overlap": draw.random() < 0.2}
    prices, shown = {}, 0
    for size in sizes_near(draw):
        answer = node.route({**request, "bytes": size}, (node.gpus, node.numas))
        for option in answer["options"] if answer else []:
            way = tuple((segment["mechanism"], *segment["via"]) for segment in option["segments"])
            prices.setdefault(way, []).append((size, time_of(option)))
            shown += 1
    for way, its in prices.items():
        slack = SHARES_SLACK if len(way) > 1 else LITTLE_SLACK
        for (less, sooner), (more, later) in zip(its, its[1:]):
            if later * slack < sooner:
                node.breaks("more bytes take less by the same way", request, way, (less, sooner), (more, later))
            if more - less < 6 and later > JUMP * sooner * more / less:
                node.breaks("a few bytes more take much longer by the same way", request, way, (less, sooner), (more, later))
    return shown


def what_a_way_takes_follows_its_bytes():
    broken, asked = collections.defaultdict(list), 0
    for folder in folders():
        try:
            node = Checked(folder, broken)
        except AssertionError:
            continue  # a folder that is refused
        with node:
            draw = random.Random(f"near {SEED} {folder.name}")
            asked += sum(ask_near(node, draw) for _ in range(REQUESTS)) if node.gpus and len(node.gpus + node.numas) > 1 else 0
    say(broken)
    assert not broken, f"{sum(map(len, broken.values()))} of {asked} prices"
    assert asked >= 500, asked


def what_did_not_hold_once():
    """Two earlier errors.

    One more gpu, which only the fastest split uses, is slow beside concurrent transfers. Copy
    engines beat one kernel by less than a fifth.
    """
    with Checked(NODES / "mi250x", {}) as node:
        def lead(start, target, size, gpus, **more):
            answer = node.route({"from": f"gpu{start}", "to": f"gpu{target}", "bytes": size, **more}, ([f"gpu{g}" for g in gpus], node.numas))
            return time_of(answer["options"][0])
        beside = {"concurrent": [{"from": "gpu5", "to": "gpu7", "bytes": 64 << 20}]}
        times = [lead(5, 3, 64 << 20, gpus, **beside) for gpus in ((0, 3, 5, 6, 7), (0, 1, 3, 5, 6, 7), range(8))]
        assert times == sorted(times, reverse=True), times
        assert lead(6, 0, 1 << 30, range(8)) <= lead(6, 0, 1 << 30, range(8), overlap=True)


def without_both_directions(folder):
    """The node h200x2 without any number of both directions between its gpus."""
    shutil.copytree(NODES / "h200x2", folder)
    lines = (folder / "measurements.jsonl").read_text().splitlines(keepends=True)
    (folder / "measurements.jsonl").write_text("".join(
        line for line in lines if not ('"metric":"gpu_gpu' in line and ('"direction":"both' in line or '"record":"set"' in line))))
    return folder


def no_lower_bound_leads_a_measured_route():
    """A detour with an unknown slowdown is twice as fast by its lower bound alone."""
    with tempfile.TemporaryDirectory() as folder, Node(without_both_directions(pathlib.Path(folder) / "node")) as node:
        for size in (64 << 20, 256 << 20, 1 << 30):
            request = {"from": "gpu0", "to": "numa0", "bytes": size, "both_directions": True, "allowed": {}}
            first, second = node.ask("Route", request)[1]["options"][:2]
            assert not is_at_least(first) and first["predicted"]["source"] == "measured" and first["segments"][0]["via"] == [], first
            assert is_at_least(second) and not second["may_lead"], second
            assert is_at_least(node.ask("Route", {**request, "allow_unmeasured": True})[1]["options"][0])


if __name__ == "__main__":
    sys.exit(run_tests([what_did_not_hold_once, no_lower_bound_leads_a_measured_route, what_a_way_takes_follows_its_bytes, what_holds_for_every_answer]) > 0)
