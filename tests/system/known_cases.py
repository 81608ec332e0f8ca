"""Asks each case of tests/known and compares the answer with the known one. Prints TAP.

Starts one daemon for each node. A case with `todo` is known to fail: its line is "not ok ... # TODO
reason", and the program fails when such a case passes, so that its mark is removed.
Arguments: parts of the names of cases.
"""
import contextlib
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent)]
from berthd import NODES  # noqa: E402
from node import Node, cpus_of  # noqa: E402
from known import allocate, bind, route  # noqa: E402

EXACT = 0.01  # of a time that is calculated by hand


def numbers(task):
    return [int(gpu[3:]) for gpu in task["gpus"]]


def gpus_of(answer):
    return [numbers(task) for task in answer["tasks"]]


def is_near(time_ns, expected, share=EXACT):
    return abs(time_ns / expected - 1) <= share


class Differs(Exception):
    """An answer that is not the known one."""


def expect(is_right, *said):
    if not is_right:
        raise Differs(" ".join(map(str, said)))


# ---- the facts that a case may state; each check gets the answer, the stated value, and `ask` ----

def time_is(predicted, stated):
    expect(predicted is not None, "no time instead of", stated)
    expect(is_near(predicted["time_ns"], stated), predicted["time_ns"], "ns instead of", stated)


def b_gpus(answer, stated, _):
    """GPUs of each task, in the order of the tasks."""
    expect(gpus_of(answer) == stated, gpus_of(answer), "instead of", stated)


def b_gpus_among(answer, stated, _):
    """All GPUs in use are one of these sets."""
    used = set(sum(gpus_of(answer), []))
    expect(used in [set(gpus) for gpus in stated], sorted(used), "is none of", stated)


def b_pairs_among(answer, stated, _):
    """Tasks 2i and 2i+1 have one of these pairs of GPUs."""
    used = sum(gpus_of(answer), [])
    pairs = [set(used[i:i + 2]) for i in range(0, len(used), 2)]
    expect(all(pair in [set(some) for some in stated] for pair in pairs), used, "pairs", stated)


def b_partners_among(answer, stated, _):
    """The GPUs of these pairs of tasks are one of these sets."""
    pairs, sets = stated
    for pair in pairs:
        used = set(sum((numbers(answer["tasks"][task]) for task in pair), []))
        expect(used in [set(some) for some in sets], pair, "have", sorted(used), "none of", sets)


def b_one_each(answer, stated, _):
    """Each of these groups has GPUs of so many tasks."""
    groups, count = stated
    used = sum(gpus_of(answer), [])
    found = [sum(gpu in group for gpu in used) for group in groups]
    expect(all(some == count for some in found), used, "has", found, "instead of", count, "each")


def b_cpus_of_gpu(answer, stated, _):
    """The CPUs of the task of each GPU are among these; the memory is that NUMA node's, if named.
    """
    for task in answer["tasks"]:
        cpus, *memory = stated[numbers(task)[0]]
        expect(cpus_of(task["cpus"]) <= cpus_of(cpus), task["gpus"], task["cpus"], "not in", cpus)
        expect(not memory or task["memory"] == memory, task["gpus"], task["memory"], memory)


def b_cpus(answer, stated, _):
    """The CPUs of each task are exactly these."""
    found = [cpus_of(task["cpus"]) for task in answer["tasks"]]
    expect(found == [cpus_of(cpus) for cpus in stated], [t["cpus"] for t in answer["tasks"]])


def b_cpu_groups(answer, stated, _):
    """Each task is inside one of these groups, and no group has more than so many tasks."""
    groups, most = [cpus_of(group) for group in stated[0]], stated[1]
    inside = [[i for i, group in enumerate(groups) if cpus_of(task["cpus"]) <= group]
              for task in answer["tasks"]]
    said = [task["cpus"] for task in answer["tasks"]]
    expect(all(len(some) == 1 for some in inside), said, "not inside one of", stated[0])
    flat = sum(inside, [])
    expect(max(map(flat.count, flat)) <= most, said, "more than", most, "in a group")


def b_same_group(answer, stated, _):
    """The tasks of each list are in the same group of CPUs."""
    groups, lists = [cpus_of(group) for group in stated[0]], stated[1]
    for tasks in lists:
        cpus = set().union(*(cpus_of(answer["tasks"][task]["cpus"]) for task in tasks))
        expect(any(cpus <= group for group in groups), tasks, "have", sorted(cpus))


def b_cores(answer, stated, _):
    """Each task has so many CPUs."""
    found = [len(cpus_of(task["cpus"])) for task in answer["tasks"]]
    expect(found == [stated] * len(found), found, "instead of", stated)


def b_memory(answer, stated, _):
    """The memory of each task."""
    found = [task["memory"] for task in answer["tasks"]]
    expect(found == [[name] for name in stated], found, "instead of", stated)


def b_nics_of_gpu(answer, stated, _):
    """The NICs of the task of each GPU."""
    for task in answer["tasks"]:
        expected = stated[numbers(task)[0]]
        expect(sorted(task["nics"]) == sorted(expected), task["gpus"], task["nics"], expected)


def b_slurm(answer, stated, _):
    """Slurm's options contain this."""
    expect(stated in answer["launcher"].get("slurm", "").split(), answer["launcher"].get("slurm"))


def b_time_ns(answer, stated, _):
    time_is(answer["predicted"], stated)


def b_time_about(answer, stated, _):
    """A time and the share by which it may be off."""
    expect(answer["predicted"] is not None, "no time instead of", stated)
    time_ns = answer["predicted"]["time_ns"]
    expect(is_near(time_ns, *stated), time_ns, "ns instead of", stated)


def b_neighbours_among(answer, stated, _):
    """Tasks that follow each other in a ring have one of these pairs of GPUs."""
    used = sum(gpus_of(answer), [])
    steps = [{a, b} for a, b in zip(used, used[1:] + used[:1])]
    expect(all(step in [set(pair) for pair in stated] for step in steps), used, "leaves", stated)


def b_regret_at_most(answer, stated, ask):
    """By the node's own model the choice takes at most this much longer than the best."""
    machine, request = ask.node, ask.request
    traffic = (request["pattern"], request["tasks"])
    took_s = machine.placed_s(traffic[0], sum(gpus_of(answer), []), request["bytes"])
    best_s = machine.best_s(*traffic, request["bytes"])
    expect(took_s <= (1 + stated) * best_s, gpus_of(answer), took_s, "s, the best", best_s)


def b_in_order_longer(answer, stated, _):
    """GPUs in order take so many times as long; a share, if the ratio is not exact."""
    ratio, *share = stated if isinstance(stated, tuple) else (stated,)
    times = [answer[key]["time_ns"] for key in ("baseline", "predicted")]
    expect(is_near(times[0] / times[1], ratio, *share), times, "instead of a ratio of", stated)


def b_proven(answer, stated, _):
    expect(answer["proven_optimal"] == stated, "proven:", answer["proven_optimal"])


def b_times_of(answer, stated, ask):
    """It takes `ratio` times as long as another request; a share, if the ratio is not exact."""
    other, ratio, *share = stated
    times = [some["predicted"] and some["predicted"]["time_ns"] for some in (answer, ask(other))]
    expect(all(times), "no time:", times)
    expect(is_near(times[0] / times[1], ratio, *share), times, "instead of a ratio of", ratio)


def named(option):
    """An option of Route in a word: split of several, else mechanism and what it leads through."""
    if len(option["segments"]) > 1:
        return "split"
    segment, = option["segments"]
    return " ".join([segment["mechanism"], *segment["via"]])


def r_first(answer, stated, _):
    found = [named(option) for option in answer["options"]]
    expect(found[0] == stated, found, "instead of first", stated)


def r_parts_at_most(answer, stated, _):
    """No option has more segments."""
    found = [len(option["segments"]) for option in answer["options"]]
    expect(max(found) <= stated, found, "instead of at most", stated)


def r_behind(answer, stated, _):
    """These options are there, and do not lead."""
    found = [named(option) for option in answer["options"]]
    expect(all(name in found[1:] for name in stated), found, "instead of behind", stated)


def r_absent(answer, stated, _):
    found = [named(option) for option in answer["options"]]
    expect(not set(found) & set(stated), found, "has some of", stated)


def r_time_ns(answer, stated, _):
    time_is(answer["options"][0]["predicted"], stated)


def r_time_about(answer, stated, _):
    """A time and the share by which it may be off."""
    time_ns = answer["options"][0]["predicted"]["time_ns"]
    expect(is_near(time_ns, *stated), time_ns, "ns instead of", stated)


def r_times_of(answer, stated, ask):
    """The first takes `ratio` times as long as the first of another request."""
    other, ratio = stated
    times = [some["options"][0]["predicted"]["time_ns"] for some in (answer, ask(other))]
    expect(is_near(times[0] / times[1], ratio), times, "instead of a ratio of", ratio)


def r_times(answer, stated, _):
    """The times of these options."""
    found = {named(option): option["predicted"] for option in answer["options"]}
    for name, expected in stated.items():
        expect(name in found, name, "is not among", list(found))
        time_is(found[name], expected)


def r_times_about(answer, stated, _):
    """The times of these options, each with the share by which it may be off."""
    found = {named(option): option["predicted"]["time_ns"] for option in answer["options"]}
    for name, about in stated.items():
        expect(name in found and is_near(found[name], *about), found, "instead of", stated)


def r_nominal_ns(answer, stated, _):
    """The first is nominal. It takes no less than by all that the links state, and
    no more than by a quarter of that, the least that copy engines are known to reach.
    """
    first = answer["options"][0]["predicted"]
    expect(stated * (1 - 1e-9) <= first["time_ns"] <= 4 * stated, first["time_ns"], stated)
    expect(first["source"] == "nominal", first)


def r_at_least_ns(answer, stated, _):
    first = answer["options"][0]["predicted"]
    expect(first["time_ns"] >= stated, first["time_ns"], "ns instead of at least", stated)


def r_by(answer, stated, _):
    """The source of the first option's time."""
    expect(answer["options"][0]["predicted"]["source"] == stated, answer["options"][0])


def r_crossover(answer, stated, _):
    """The least size from which another option leads."""
    found = [crossing["bytes"] for crossing in answer["crossovers"]]
    expect(found and is_near(min(found), stated, 0.02), found, "instead of", stated)


def r_b80(answer, stated, _):
    expect(answer["b80_bytes"] is not None and is_near(answer["b80_bytes"], stated, 0.02),
           answer["b80_bytes"], "instead of", stated)


def placed(option):
    return f"{option['kind']} {option['memory']}"


def a_first(answer, stated, _):
    found = [placed(option) for option in answer["options"]]
    expect(found[0] in ([stated] if isinstance(stated, str) else stated), found, stated)


def a_first_memory(answer, stated, _):
    """The first is in one of these memories: the names of one memory."""
    expect(answer["options"][0]["memory"] in stated, placed(answer["options"][0]), stated)


def a_memories(answer, stated, _):
    """Memories in the order of their best options begin with these."""
    found = list(dict.fromkeys(option["memory"] for option in answer["options"]))
    expect(found[:len(stated)] == stated, found, "instead of", stated)


def a_absent(answer, stated, _):
    found = [placed(option) for option in answer["options"]]
    expect(not set(found) & set(stated), found, "has some of", stated)


def a_time_ns(answer, stated, _):
    time_is(answer["options"][0]["predicted"], stated)


def a_time_about(answer, stated, _):
    """A time and the share by which it may be off."""
    time_ns = answer["options"][0]["predicted"]["time_ns"]
    expect(is_near(time_ns, *stated), time_ns, "ns instead of", stated)


def a_times(answer, stated, _):
    """The times of these options."""
    found = {placed(option): option["predicted"] for option in answer["options"]}
    for name, expected in stated.items():
        expect(name in found, name, "is not among", list(found))
        time_is(found[name], expected)


def a_at_least_ns(answer, stated, _):
    """The first is a lower bound, of this time."""
    first = answer["options"][0]["predicted"]
    time_is(first, stated)
    expect(first["low_ns"] is not None and first["high_ns"] is None, first)


METHODS = [("Bind", bind, "b_"), ("Route", route, "r_"), ("Allocate", allocate, "a_")]


def with_whole_node(node, request):
    """The request with the whole node allowed, or the part that it names."""
    cpus = [name[2:] for name in node.has("pu")]
    whole = {"cpus": ",".join(cpus), "gpus": node.has("gpu")}
    return {**request, "allowed": {**whole, **request.get("allowed", {})}}


# ---- what holds for every answer ----

def is_interval(predicted):
    """A time lies inside its interval."""
    if predicted is not None:
        low, time_ns, high = (predicted[key] for key in ("low_ns", "time_ns", "high_ns"))
        expect(time_ns >= 0 and (low is None or low <= time_ns * (1 + 1e-9)), predicted)
        expect(high is None or time_ns <= high * (1 + 1e-9), predicted)


def is_sound(answer):
    for option in answer.get("options", [answer]):
        is_interval(option["predicted"])
    if "tasks" in answer:
        cpus = [cpus_of(task["cpus"]) for task in answer["tasks"]]
        expect(all(cpus) and len(set().union(*cpus)) == sum(map(len, cpus)), "cores twice", cpus)
        if answer["predicted"] and answer["baseline"]:
            times = [answer[key]["time_ns"] for key in ("predicted", "baseline")]
            expect(times[0] <= times[1] * (1 + 1e-9), "longer than in order:", times)
    for option in answer.get("options", []):
        fractions = [segment["fraction"] for segment in option.get("segments", [])]
        expect(not fractions or abs(sum(fractions) - 1) < 1e-6, fractions, "do not add up to 1")


class Asker:
    """Asks a daemon requests of one method; knows the node and the request of the case."""

    def __init__(self, daemon, method, case):
        self.daemon, self.method = daemon, method
        self.node, self.request = case["node"], case["ask"]

    def __call__(self, request):
        error, answer = self.daemon.ask(self.method, with_whole_node(self.daemon, request))
        expect(error is None, error, answer)
        is_sound(answer)
        return answer


def check(node, method, prefix, case):
    ask = Asker(node, method, case)
    if "refused" in case["expect"]:
        error, answer = node.ask(method, with_whole_node(node, case["ask"]))
        expect(error == case["expect"]["refused"], error, answer)
        return
    answer = ask(case["ask"])
    for fact, stated in case["expect"].items():
        globals()[prefix + fact](answer, stated, ask)


def all_cases():
    """(method, prefix, case) of each node in turn, so that one daemon is asked all of its own."""
    found = [(method, prefix, case) for method, table, prefix in METHODS for case in table.CASES]
    nodes = list(dict.fromkeys(id(case["node"]) if not isinstance(case["node"], str)
                               else case["node"] for _, _, case in found))
    for node in nodes:
        yield [some for some in found if node in (some[2]["node"], id(some[2]["node"]))]


@contextlib.contextmanager
def asked(node):
    with tempfile.TemporaryDirectory(prefix="berth-known-") as folder:
        written = NODES / node if isinstance(node, str) else node.write(pathlib.Path(folder))
        with Node(written) as daemon:
            yield daemon


def main(wanted):
    number = failed = 0
    for cases in all_cases():
        cases = [some for some in cases
                 if not wanted or any(word in f"{some[0]} {some[2]['name']}" for word in wanted)]
        if not cases:
            continue
        with asked(cases[0][2]["node"]) as node:
            for method, prefix, case in cases:
                number, begin, why = number + 1, time.monotonic(), None
                try:
                    check(node, method, prefix, case)
                except (Differs, KeyError, TypeError, IndexError) as error:
                    why = f"{type(error).__name__}: {error}"
                name, todo = f"{method}: {case['name']}", case.get("todo")
                passed = (why is None) != bool(todo)
                failed += not passed
                print(f"{'not ' if why or not passed else ''}ok {number} - {name} # "
                      + (f"TODO {todo}" if todo and why else
                         f"{1000 * (time.monotonic() - begin):.0f} ms"), flush=True)
                if why or not passed:
                    print(f"#   {why or 'passes now: remove its todo'}\n#   asked "
                          f"{case['ask']}\n#   source: {case['source']}", flush=True)
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
