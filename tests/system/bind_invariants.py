"""Invariants of Bind's choices, by random requests to whole daemons, also for parts of nodes.

Prints TAP.
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES  # noqa: E402
from node import Node, cpus_of  # noqa: E402
from reasons import texts  # noqa: E402
from tap import run_tests  # noqa: E402

WITH_GPUS = ["mi250x", "mi300a", "gh200-quad", "h200x1", "h200x2", "h200x4"]
PATTERNS = ["pairs", "ring", "allreduce", "alltoall", "grid2d", "grid3d"]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SHARED = NODES.parent.parent.parent / "shared/nodes"
SAME = 1e-9 * 4  # what the planner takes for equal
IN_ORDER = 1.03  # GPUs in order stand where others are not surely faster by more


def text_of(cpus):
    return ",".join(str(cpu) for cpu in sorted(cpus))


class Asked(Node):
    def __init__(self, name):
        self.name = name
        super().__init__(NODES / name if (NODES / name).is_dir() else SHARED / name)
        self.gpus = self.has("gpu")
        self.cores = [cpus_of(self.place[core]["cpus"]) for core in self.has("core")]

    def ask(self, request):
        return self.peer.call("io.berth.Placement.Bind", request)

    def bind(self, request):
        error, answer = self.ask(request)
        assert error is None, (self.name, request, error, answer)
        return answer


def traffic(draw, tasks):
    """Draws the description of a step in one of its possible forms."""
    size = draw.choice([4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB])
    sort = draw.choice(["pattern", "pattern", "host", "both", "flows"])
    request = {}
    if sort in ("pattern", "both"):
        request |= {"pattern": draw.choice(PATTERNS), "bytes": size}
    if sort in ("host", "both"):
        request["host_bytes"] = draw.choice([size, 64 * MIB])
    if sort == "flows":
        ends = [(draw.randrange(tasks), draw.randrange(tasks)) for _ in range(draw.randint(1, 6))]
        request["flows"] = [{"from": a, "to": b, "bytes": draw.choice([size, MIB, 64 * MIB])} for a, b in ends if a != b]
    return request


def drawn(draw, node):
    """A request that some of the gpus and cores are enough for, and which those are."""
    each = draw.choice([1, 1, 1, 1, 2, 3]) if len(node.gpus) > 2 else 1
    gpus = sorted(draw.sample(node.gpus, draw.randint(min(len(node.gpus), each), len(node.gpus))), key=node.gpus.index)
    tasks = draw.randint(1, min(8, len(gpus) // each))
    request = {"tasks": tasks, **traffic(draw, tasks)}
    if each > 1:
        request["gpus_per_task"] = each
    if draw.random() < 0.2:
        request["order"] = "rank"
    if draw.random() < 0.2:
        request["mechanism"] = draw.choice(["copy_engine", "kernel"])
    return request, gpus


def with_places(request, gpus, cores=None):
    allowed = {"gpus": gpus}
    if cores is not None:
        allowed["cpus"] = text_of(set().union(*cores))
    return {**request, "allowed": allowed}


def time_of(answer):
    return answer["predicted"]["time_ns"] if answer["predicted"] is not None else None


def on_each(count, check, names=WITH_GPUS):
    """Runs check(node, draw) this often on each node; returns the sum of the results."""
    total = 0
    for name in names:
        with Asked(name) as node:
            draw = random.Random(f"bind {name}")
            total += sum(check(node, draw) or 0 for _ in range(count))
    return total


def one_gpu_more_never_makes_a_step_longer():
    def check(node, draw):
        request, gpus = drawn(draw, node)
        others = [gpu for gpu in node.gpus if gpu not in gpus]
        if not others:
            return 0
        more = sorted(gpus + [draw.choice(others)], key=node.gpus.index)
        few, many = node.bind(with_places(request, gpus)), node.bind(with_places(request, more))
        if time_of(few) is None:
            return 0
        assert few["proven_optimal"] and many["proven_optimal"], (node.name, request, gpus, more)
        assert time_of(many) <= time_of(few) * IN_ORDER, (node.name, request, gpus, time_of(few), more, time_of(many))
        return 1
    assert on_each(80, check) > 120


def a_choice_is_valid_and_no_worse_than_in_order():
    def check(node, draw):
        request, gpus = drawn(draw, node)
        cores = draw.sample(node.cores, draw.randint(request["tasks"], len(node.cores)))
        request = with_places(request, gpus, cores)
        answer = node.bind(request)
        used, cpus = [gpu for task in answer["tasks"] for gpu in task["gpus"]], [cpus_of(task["cpus"]) for task in answer["tasks"]]
        assert len(used) == len(set(used)) == request["tasks"] * request.get("gpus_per_task", 1) and set(used) <= set(gpus), (node.name, request, used)
        taken = [sum(core <= task for core in cores) for task in cpus]
        assert sum(len(task) for task in cpus) == len(set().union(*cpus)) and all(sum(len(core & task) > 0 for core in node.cores) == count for task, count in zip(cpus, taken)), (node.name, request, cpus)
        assert len(set(taken)) == 1 and taken[0] >= 1, (node.name, request, taken)
        if request.get("order") == "rank":
            assert used == sorted(used, key=node.gpus.index), (node.name, request, used)
        if answer["predicted"] is not None:
            assert answer["baseline"] is None or time_of(answer) <= answer["baseline"]["time_ns"] * (1 + SAME), (node.name, request, answer["predicted"], answer["baseline"])
            assert answer["proven_optimal"] or answer["gap"] is not None or any(line.startswith("not proven to be the best: ") for line in texts(answer, "reasons")), (node.name, request, texts(answer, "reasons"))
        assert node.bind(request) == answer
        return 1
    on_each(60, check)


def what_keeps_a_choice_from_being_proven_is_said():
    with Asked("mi250x") as node:
        # So many sizes that the search takes some for others.
        flows = [{"from": a, "to": b, "bytes": MIB + 1000 * (9 * a + b)} for a in range(9) for b in range(9) if a != b]
        many = node.bind({"allowed": {}, "tasks": 9, "tasks_per_gpu": 2, "flows": flows})
        assert not many["proven_optimal"] and many["gap"] is None and any("no bound" in line for line in texts(many, "reasons")), texts(many, "reasons")
        # The module of two tasks' first gpus has cores for one task: the other has remote memory.
        few = with_places({"tasks": 2, "gpus_per_task": 3, "host_bytes": 256 * KIB, "flows": [{"from": 0, "to": 1, "bytes": MIB}]}, node.gpus,
                          [node.cores[core] for core in (0, 1, 16, 32, 48)])
        part = node.bind(few)
        assert not part["proven_optimal"] and part["gap"] is None and any("a task has other memory than" in line for line in texts(part, "reasons")), texts(part, "reasons")


def twice_the_bytes_leave_the_choice():
    def check(node, draw):
        request, gpus = drawn(draw, node)
        large = {key: value for key, value in request.items() if key not in ("flows", "bytes", "host_bytes")}
        sizes = {"bytes": 256 * MIB} if "bytes" in request else {}
        sizes |= {"host_bytes": GIB} if "host_bytes" in request else {}
        flows = [{**flow, "bytes": 64 * MIB * (1 + i % 3)} for i, flow in enumerate(request.get("flows", []))]
        one = with_places({**large, **sizes, **({"flows": flows} if flows else {})}, gpus)
        two = with_places({**large, **{key: 2 * value for key, value in sizes.items()}, **({"flows": [{**flow, "bytes": 2 * flow["bytes"]} for flow in flows]} if flows else {})}, gpus)
        first, second = node.bind(one), node.bind(two)
        assert [task["gpus"] for task in first["tasks"]] == [task["gpus"] for task in second["tasks"]], (node.name, one, [task["gpus"] for task in first["tasks"]], [task["gpus"] for task in second["tasks"]])
        return 1
    on_each(50, check)


def no_task_is_torn_while_one_place_has_room():
    """Over NUMA nodes, and over packages: whatever is allowed, with gpus and without."""
    draw, seen = random.Random(5), set()
    for name, numa, package, cores in (("mi250x", 16, 64, 64), ("epyc-2s", 8, 16, 32), ("h100x4-spr", 14, 56, 112)):
        if name == "h100x4-spr" and not (SHARED / name).is_dir():
            continue
        with Asked(name) as node:
            for _ in range(60):
                allowed = sorted(draw.sample(range(cores), draw.randint(cores // 3, cores)))
                tasks = draw.randint(1, 6 if len(node.gpus) == 0 else min(6, len(node.gpus)))
                each = draw.randint(1, len(allowed) // tasks)
                request = {"tasks": tasks, "cores_per_task": each, "threads_per_core": 1, "gpus_per_task": draw.randint(0, 1) if len(node.gpus) > 0 else 0, "allowed": {"cpus": text_of(allowed)}}
                answer = node.bind({"allowed": {}, **request})
                for size in (numa, package):
                    rooms = [sum(cpu // size == i for cpu in allowed) for i in range(cores // size)]
                    fits = sum(room // each for room in rooms) >= tasks
                    for task in answer["tasks"] if fits else []:
                        assert len({cpu // size for cpu in cpus_of(task["cpus"])}) == 1, (name, request, answer["tasks"])
                    seen.add((name, size, request["gpus_per_task"], fits))
    assert {("mi250x", 16, 1, True), ("mi250x", 16, 0, True), ("epyc-2s", 8, 0, True), ("epyc-2s", 16, 0, True)} <= seen, seen
    with Asked("mi250x") as node:
        for tasks, each, gpus in ((2, 32, 1), (2, 32, 0), (4, 16, 2)):
            answer = node.bind({"tasks": tasks, "cores_per_task": each, "threads_per_core": 1, "gpus_per_task": gpus, "allowed": {}})
            assert all(len({cpu // 16 for cpu in cpus_of(task["cpus"])}) == each // 16 for task in answer["tasks"]), answer["tasks"]


def memory_is_next_to_the_gpu_where_about_as_many_cores_are():
    for name, request, wanted in (("mi250x", {"tasks": 1, "cores_per_task": 40, "allowed": {"gpus": ["gpu0"]}}, ["numa3"]),
                                  ("mi250x", {"tasks": 1, "cores_per_task": 12, "allowed": {"gpus": ["gpu0"], "cpus": "0-7,48-51"}}, ["numa3"]),
                                  ("mi250x", {"tasks": 1, "cores_per_task": 11, "allowed": {"gpus": ["gpu0"], "cpus": "0-7,48-50"}}, ["numa0"]),
                                  ("h100x4-spr", {"tasks": 4, "cores_per_task": 28}, ["numa3", "numa1", "numa7", "numa5"])):
        if (NODES / name).is_dir() or (SHARED / name).is_dir():
            with Asked(name) as node:
                answer = node.bind({"allowed": {}, **request})
                assert [task["memory"] for task in answer["tasks"]] == [[place] for place in wanted], (name, answer["tasks"])


def where_there_is_no_proof_a_reason_says_why():
    with Asked("mi250x") as node:
        for request in ({"tasks": 4, "gpus_per_task": 2, "pattern": "allreduce", "bytes": 64 * MIB, "host_bytes": 8 * MIB}, {"tasks": 19, "tasks_per_gpu": 3, "pattern": "grid3d", "bytes": 256 * MIB},
                        {"tasks": 8, "pattern": "ring", "bytes": 64 * MIB}):
            answer = node.bind({"allowed": {}, **request})
            assert answer["proven_optimal"] != any(line.startswith("not proven to be the best: ") for line in texts(answer, "reasons")), (request, texts(answer, "reasons"))


def dozens_of_different_flows_take_as_long_whoever_is_who():
    """Up to 40 are proven; of more the gap is known, because only so many choices are looked at."""
    pairs = [(a, b) for a in range(8) for b in range(8) if a != b]
    names = [3, 6, 0, 5, 7, 1, 4, 2]
    with Asked("mi250x") as node:
        for count in (24, 40, 56):
            flows = [(*pairs[i * 25 % 56], (1 + i * i * 37 % 251) * MIB + i) for i in range(count)]
            answers = [node.bind({"allowed": {}, "tasks": 8, "flows": [{"from": a, "to": b, "bytes": size} for a, b, size in each]}) for each in (flows, [(names[a], names[b], size) for a, b, size in flows])]
            assert all(answer["proven_optimal"] or count > 40 and answer["gap"] < 1 for answer in answers), [(answer["gap"], texts(answer, "reasons")) for answer in answers]
            assert abs(answers[0]["predicted"]["time_ns"] / answers[1]["predicted"]["time_ns"] - 1) < 0.005, (count, answers)


if __name__ == "__main__":
    run_tests([one_gpu_more_never_makes_a_step_longer, a_choice_is_valid_and_no_worse_than_in_order, what_keeps_a_choice_from_being_proven_is_said, twice_the_bytes_leave_the_choice,
               no_task_is_torn_while_one_place_has_room, memory_is_next_to_the_gpu_where_about_as_many_cores_are,
               where_there_is_no_proof_a_reason_says_why, dozens_of_different_flows_take_as_long_whoever_is_who])
