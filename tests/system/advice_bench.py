"""Tests tests/bench/advice*: executor against a description, traffic and rivals, a small run.

Prints TAP.
"""
import contextlib
import io
import pathlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE / "lib"), str(HERE / "bench")]
import advice  # noqa: E402
import advice_bind  # noqa: E402
import advice_nodes  # noqa: E402
import advice_report  # noqa: E402
import advice_requests  # noqa: E402
import advice_route  # noqa: E402
from advice_execute import BUILD, ROUNDS, Virtual, flow, halves, hop, judged  # noqa: E402
from berthd import children, until  # noqa: E402
from tap import run_tests  # noqa: E402

SIZE = 1 << 28
PORT, WIDE, LINK = 28.3e9, 50e9, 50e9  # tests/standin/nodes/mi250x.node


class Gcds:
    """Links that rivals use for eight GCDs in four modules: those of a node of Frontier."""

    gpus = [f"gpu{i}" for i in range(8)]
    numas = [f"numa{i}" for i in range(4)]
    numa_of = {f"gpu{i}": f"numa{n}" for i, n in enumerate((3, 3, 1, 1, 0, 0, 2, 2))}
    memory_of = dict.fromkeys(gpus)
    reaches_malloc = is_one_memory = has_managed = False
    package_of = dict.fromkeys(numas, "package0")
    width = {gpu: {} for gpu in gpus}


for line in (HERE / "standin/nodes/mi250x.node").read_text().splitlines():
    if line.startswith("link"):
        _, left, right, speed = line.split()
        Gcds.width[f"gpu{left}"][f"gpu{right}"] = Gcds.width[f"gpu{right}"][f"gpu{left}"] = round(float(speed) / LINK)


def executor(folder, name="mi250x", discipline="maxmin", noise=0.0):
    return Virtual(pathlib.Path(folder) / f"{discipline}{noise}.node", advice_nodes.description(advice_nodes.listed()[name], discipline, noise, 7))


def near(value, expected, share=0.01):
    return abs(value / expected - 1) <= share


def carries_out_what_it_says():
    with tempfile.TemporaryDirectory() as folder:
        run = executor(folder)
        alone, kernel = run.run([("held", [flow(SIZE, [hop(kind, "gpu0", "gpu1")])], []) for kind in "ek"])
        assert near(alone, SIZE / WIDE * 1e9) and near(kernel, SIZE / (0.76 * 4 * LINK) * 1e9), (alone, kernel)
        one, same, other = run.run([("held", [flow(SIZE, [hop("e", "numa0", gpu)]) for gpu in gpus], []) for gpus in (["gpu4"], ["gpu4", "gpu5"], ["gpu4", "gpu6"])])
        assert near(one, SIZE / PORT * 1e9) and near(same, 2 * SIZE / PORT * 1e9), "two of a module share one port"
        assert near(other, 2 * SIZE / 51.2e9 * 1e9), "two modules share what numa0 gives"
        piece = 1 << 22
        whole, pieces = run.run([("call", [flow(SIZE, [hop("e", "gpu0", "gpu2"), hop("e", "gpu2", "gpu3")], chunk)], []) for chunk in (0, piece)])
        slow, fast = SIZE / 37.5e9, SIZE / WIDE
        assert near(whole, (slow + fast) * 1e9) and near(pieces, (slow + piece / WIDE) * 1e9 + SIZE // piece * 9500), "pieces follow each other, a whole does not"
        called, beside = run.run([("call", [flow(SIZE, [hop("e", "numa0", "gpu4")])], others) for others in ([], [flow(2 * SIZE, [hop("e", "numa0", "gpu5")])])])
        assert near(called, SIZE / PORT * 1e9) and near(beside, 2 * SIZE / PORT * 1e9)
        run.close()


def noise_is_what_was_asked_for():
    with tempfile.TemporaryDirectory() as folder:
        run = executor(folder, noise=0.01)
        times = run.run([("held", [flow(SIZE, [hop("e", "gpu0", "gpu1")])], [])], 200)[0]
        mean = sum(times) / len(times)
        deviation = (sum((t - mean) ** 2 for t in times) / len(times)) ** 0.5 / mean
        assert near(mean, SIZE / WIDE * 1e9) and 0.008 < deviation < 0.012, (mean, deviation)
        run.close()


def ways_of_sharing_differ():
    copies = {gpu: [flow(SIZE, [hop("e", "numa0", gpu)])] for gpu in ("gpu4", "gpu5", "gpu6")}
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for discipline in advice_nodes.DISCIPLINES:
            run = executor(folder, discipline=discipline)
            took[discipline] = [round(ns / 1e5) for ns in run.run([("call", copies[gpu], [copies[o][0] for o in copies if o != gpu]) for gpu in copies])]
            run.close()
    assert len(set(map(tuple, took.values()))) == 4, took


def traffic_is_the_contract_s():
    traffic = advice_requests.traffic
    assert traffic("pairs", 5, 10) == [(0, 1, 10), (1, 0, 10), (2, 3, 10), (3, 2, 10)]
    assert traffic("ring", 3, 10) == [(0, 1, 10), (1, 2, 10), (2, 0, 10)] and traffic("allreduce", 4, 100)[0] == (0, 1, 150)
    assert len(traffic("alltoall", 4, 1)) == 12
    assert [advice_requests.dims(*of) for of in ((12, 2), (8, 3), (7, 2), (6, 3))] == [[4, 3], [2, 2, 2], [7, 1], [3, 2, 1]]
    assert sorted(traffic("grid2d", 4, 1)) == sorted((a, b, 1) for a, b in ((0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0), (1, 3), (3, 1)))


def rivals_are_what_they_are_called():
    one = {"gpus_per_task": 1}
    pairs = {**one, "tasks": 4, "pattern": "pairs", "bytes": 1 << 20}
    assert advice_bind.in_order(Gcds, pairs) == (("gpu0",), ("gpu1",), ("gpu2",), ("gpu3",))
    assert advice_bind.in_order(Gcds, {**pairs, "tasks": 2, "allowed": {"gpus": ["gpu7", "gpu5", "gpu6"]}}) == (("gpu5",), ("gpu6",))
    assert advice_bind.in_order(Gcds, {**pairs, "tasks": 2, "gpus_per_task": 2}) == (("gpu0", "gpu1"), ("gpu2", "gpu3"))
    assert advice_bind.closest(Gcds, pairs) == (("gpu4",), ("gpu2",), ("gpu6",), ("gpu0",)), "a task for each NUMA node in turn, and its own GCD"
    assert advice_bind.closest(Gcds, {**pairs, "tasks": 2, "gpus_per_task": 2}) == (("gpu4", "gpu5"), ("gpu2", "gpu3")), "both GCDs of its module"
    ring = advice_bind.by_links(Gcds, {**one, "tasks": 4, "pattern": "ring", "bytes": 1 << 20})
    assert set(ring[:2]) == {("gpu0",), ("gpu1",)}, ring
    for own in (advice_bind.in_order, advice_bind.closest, advice_bind.by_links):
        chosen = own(Gcds, {**one, "tasks": 8, "pattern": "alltoall", "bytes": 1})
        assert sorted(gpu for gpu, in chosen) == Gcds.gpus, (own, chosen)
    way = advice_route.widest(Gcds, {"from": "gpu0", "to": "gpu7", "bytes": SIZE})
    assert [h[1:3] for h in way[0][1]] == [("gpu0", "gpu6"), ("gpu6", "gpu7")]


def the_best_is_found():
    """Four modules for tasks with much host traffic; two pairs with double links for a ring."""
    with tempfile.TemporaryDirectory() as folder:
        run, draw = executor(folder), random.Random(1)
        _, spread = advice_bind.ranking(Gcds, run, {"tasks": 4, "gpus_per_task": 1, "host_bytes": SIZE}, draw, [])[0]
        assert len({int(gpu[3:]) // 2 for gpu, in spread}) == 4, spread
        _, ring = advice_bind.ranking(Gcds, run, {"tasks": 4, "gpus_per_task": 1, "pattern": "ring", "bytes": SIZE, "mechanism": "kernel"}, draw, [])[0]
        assert {gpu for gpu, in ring} in ({"gpu0", "gpu1", "gpu6", "gpu7"}, {"gpu2", "gpu3", "gpu4", "gpu5"}), ring
        run.close()


def ranks(count=4):
    """Starts advice_run with processes as ranks.

    Each has its own clock on a virtual node, so the reported times mean nothing there.
    """
    command = [HERE / "standin/run.sh", "mi250x", BUILD / "bench/advice_run", "--bytes", str(1 << 20), "--ranks", str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "STANDIN": str(BUILD / "standin")})


def says(run, line):
    run.stdin.write(line + "\n")
    run.stdin.flush()
    return run.stdout.readline().split()


PAIR = "65536/0/e:0:1:0 ; 65536/0/k:1:0:1"
FOUR = "65536/0/e:0:1:0 ; 65536/0/e:1:2:1 65536/0/k:1:0:1 ; 65536/4096/e:2:3:2,e:3:h0:3 ; 65536/0/e:h0:3:3"


def ranks_carry_out_steps():
    with ranks() as run:
        for repeats, step in ((3, PAIR), (2, FOUR), (1, "65536/0/e:0:1:0"), (4, PAIR)):
            took = says(run, f"step {repeats} {step}")
            assert len(took) == repeats and all(map(float, took)), took
        assert len(children(run.pid)) == 4 and says(run, "held 1 65536/0/e:0:1:0") == says(run, "held 1 65536/0/e:0:1:0"), "one process carries out what is no step"
        rest, errors = run.communicate()
    assert (run.returncode, rest, errors) == (0, "", ""), errors


def a_rank_has_a_core_of_its_own():
    """Two cores for each rank where the machine has them; otherwise all may run everywhere."""
    allowed = os.sched_getaffinity(0)
    for count in (1, 2, min(len(allowed), 64)):
        with ranks(count) as run:
            says(run, "step 1 " + " ; ".join(["65536/0/e:0:1:0"] * count))
            bound = [os.sched_getaffinity(pid) for pid in children(run.pid)]
            run.communicate()
        if len(allowed) < 2 * count:
            assert bound == [allowed] * count, bound
        else:
            assert all(len(own) == 1 for own in bound) and len(set().union(*bound)) == count, bound


def a_rank_that_dies_is_one_line():
    for step in (None, f"step 1000000 {PAIR}\n"):
        with ranks() as run:
            says(run, f"step 1 {PAIR}")
            own = sorted(children(run.pid))
            run.stdin.write(step or "")
            run.stdin.flush()
            time.sleep(0.1 if step else 0)  # so that it has begun, mostly; the line is the same if it has not
            os.kill(own[1], signal.SIGKILL)
            rest, errors = run.communicate(f"step 1 {PAIR}\n", timeout=60)
        assert (run.returncode, errors) == (70, "advice_run: rank 1 was ended by signal 9\n"), (run.returncode, errors)
        assert until(lambda: not any(pathlib.Path(f"/proc/{pid}/exe").exists() for pid in own), 10)


def a_rank_says_why_it_cannot():
    for step, line in (("65536/0/e:0:1:0 ; 65536/0/e:1:9:1", "no such memory: 9"), ("4096/0/e:0:1:0 ; " * 4 + "4096/0/e:0:1:0", "a step of more callers than --ranks"), (";", "a step without flows")):
        with ranks() as run:
            rest, errors = run.communicate(f"step 1 {step}\n", timeout=60)
        assert (run.returncode, rest, errors) == (70, "", f"advice_run: {line}\n"), (run.returncode, rest, errors)


class Noisy:
    """An executor that replays the times of steps in each round."""

    def __init__(self, rounds):
        self.rounds = rounds

    def compared(self, steps):
        return {name: self.rounds[name] for name in steps}


def what_is_compared_comes_from_the_same_rounds():
    """Found the fastest of many by one low median, it takes no less than the advised one when both are carried out again."""
    run = Noisy({"advised": [[10, 11, 12], [12, 13, 14]], "fastest": [[10, 12, 12], [12, 12, 15]], "worst": [[30, 30, 30]] * 2, "in order": [[11, 11, 11]] * 2})
    row = {**judged(run, run, run.rounds, 9), "predicted": None}
    assert row["took_ns"] == 12 and row["best_ns"] == 12 and row["worst_ns"] == 30 and row["rivals"] == {"in order": 11} and len(row["again_ns"]) == 6, row
    assert near(row["halves"]["advised"], 1 - 11 / 13) and row["halves"]["fastest"] == 0 and near(advice_report.noise(row), 1 - 11 / 13), row
    assert halves([[1]]) is None and ROUNDS % 2 == 0
    with tempfile.TemporaryDirectory() as folder:
        noisy = executor(folder, noise=0.01)
        noisy.tries = 5
        rounds = noisy.compared({name: ("held", [flow(SIZE, [hop("e", "gpu0", gpu)])] if gpu else [], []) for name, gpu in (("advised", "gpu1"), ("in order", "gpu1"), ("fastest", "gpu2"), ("worst", ""))})
        assert rounds["advised"] == rounds["in order"] != rounds["fastest"] and [len(own) for own in rounds["fastest"]] == [5] * ROUNDS, rounds
        assert 0 < halves(rounds["advised"]) < 0.02 and rounds["worst"] == [[0.0] * 5] * ROUNDS and noisy.steps() == 2 * ROUNDS, "the same step is carried out once"
        noisy.close()


def a_bench_without_measurements_ends():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        described = advice_nodes.listed()["h200x4"]
        with advice.daemon_over(folder, described, advice_nodes.description(described, "maxmin", 0, 1), 0, 1) as daemon:
            advice.write_probe(folder / "probes/berth-probe-gpu", "echo 'cannot open shared object file' >&2; exit 127")
            try:
                advice.measure(daemon)
            except SystemExit as end:
                assert "could not measure" in end.code and "berth-probe-gpu ended with status 127: cannot open shared object file" in end.code and "\n" not in end.code, end.code
            else:
                raise AssertionError("the bench goes on with nominal figures")


def hives_and_sockets_are_among_its_nodes():
    """Two hives that PCIe joins, and two packages of three gpus as POWER9 has them: the bench draws requests for both."""
    listed = advice_nodes.listed()
    for name, gpus in (("hives-2x4", 8), ("sockets-2x3", 6)):
        words = [line.split() for line in advice_nodes.description(listed[name], "maxmin", 0, 1).splitlines() if line]
        devices = [line[1] for line in words if line[0] == "device"]
        joined = {frozenset(line[1:3]) for line in words if line[0] == "link" and set(line[1:3]) <= set(devices)}
        sides = [set(devices[:gpus // 2]), set(devices[gpus // 2:])]
        assert len(devices) == gpus and joined and all(pair <= sides[0] or pair <= sides[1] for pair in joined), (name, joined)


def twenty_requests():
    rows, steps = advice.judged([("gh200-quad", "maxmin", list(range(20)))], [{"noise": 0.01, "repeats": 5, "seed": 3, "allow_unmeasured": False}], 1)
    assert len(rows) == 20 and steps > 100 and all("error" not in row for row in rows), [row["error"] for row in rows if "error" in row]
    figures = advice_report.figures(rows)
    assert figures["median"] < 0.05 and figures["mean"] < 0.25, figures
    for method, most in (("bind", 0.02), ("alloc", 0.02)):
        mean = advice_report.figures([row for row in rows if row["method"] == method])["mean"]
        assert mean <= most, (method, mean)
    assert all(row["took_ns"] > 0 or not row["best"] for row in rows) and min(advice_report.regret(row) for row in rows) >= 0


def requests_are_drawn_from_the_seed():
    drawn = [[method(random.Random(seed), Gcds) for method in advice_requests.METHODS.values() for _ in range(20)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def figures_are_right():
    def row(took, best, predicted, again, order):
        return {"took_ns": took, "best_ns": best, "again_ns": again, "rivals": {"in order": order}, "predicted": predicted}

    def within(ns, share):
        return {"time_ns": ns, "low_ns": ns * (1 - share), "high_ns": ns * (1 + share)}

    figures = advice_report.figures([row(110, 100, within(110, 0.1), [100, 110, 130], 105), row(100, 100, within(50, 0.1), [100, 100, 100], 150), row(10, 10, None, [10], 10)])
    assert near(figures["mean"], 0.1 / 3) and near(figures["worst"], 0.1) and figures["behind"] == 1 and figures["predicted"] == 2
    assert near(figures["rivals"]["in order"], (0.05 + 0.5 + 0) / 3) and near(figures["median"], 0.25) and near(figures["coverage"], 2 / 6), figures
    assert figures["intervals"] == 2 and advice_report.missed(figures) == ["mean", "worst", "behind", "median", "p95", "coverage"], figures
    good = advice_report.figures([row(100, 100, within(100, 0.1), [100] * 19 + [150], 100)])
    assert near(good["coverage"], 0.95) and advice_report.missed(good) == [], good
    assert advice_report.missed(advice_report.figures([row(100, 100, None, [100], 100)])) == ["median", "p95", "coverage"], "without a prediction nothing is met"
    poor, split = {**row(100, 100, within(150, 0.1), [100], 100), "method": "bind"}, {**row(100, 100, within(100, 0.1), [100], 100), "method": "route", "any_ns": 50}
    lines = advice_report.summary([poor, {**split, "any_ns": 100}, split])
    assert lines[0] == "| figure | target | now | reason of a miss |" and len(lines) == 2 + 6 + 6 + 2, lines
    assert "| Bind: mean regret | 1 % | 0.0 % | |" in lines and "| Bind: prediction error, median | 2 % | **50.0 %** | |" in lines and "| Route: slower than in order | 0 | 0 of 2 | |" in lines, lines
    assert "| Route: mean regret | 1 % | 0.0 % | |" in lines and "| Route beside all that was found: mean regret | 1 % | **50.0 %** | |" in lines, lines


def rows_are_compared_with_earlier_ones():
    """Requests of one name under two seeds are different ones; those of one side alone, and failed ones, do not count."""
    def row(seed, name, took, chosen):
        return {"seed": seed, "name": name, "method": "bind", "chosen": chosen, "took_ns": took, "best_ns": 100, "again_ns": [took], "rivals": {"in order": 100}, "predicted": None}

    before = [row(1, "a/b/0", 100, "gpu0"), row(2, "a/b/0", 120, "gpu1"), row(1, "a/b/3", 100, "gpu0"), {"seed": 1, "name": "a/b/6", "method": "bind", "error": "x"}]
    now = [row(1, "a/b/0", 130, "gpu2"), row(2, "a/b/0", 100.5, "gpu3"), row(1, "a/b/9", 900, "gpu4"), row(1, "a/b/6", 900, "gpu5")]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        advice_report.show_beside(now, before)
    lines = said.getvalue().splitlines()
    assert any(" 2 requests in both" in line for line in lines), lines
    assert any(line.split()[:7] == ["bind", "before", "2", "|", "10.0", "20.0", "1"] for line in lines) and any(line.split()[:7] == ["bind", "now", "2", "|", "15.2", "30.0", "2"] for line in lines), lines
    assert [line for line in lines if "->" in line] == ["  0.0 % -> 30.0 %  seed 1 a/b/0 bind: gpu0 -> gpu2"] and any("more than 1 %: 1; fell by that: 1" in line for line in lines), lines


def seeds_are_read():
    assert advice.read_seeds("1-6") == [1, 2, 3, 4, 5, 6] and advice.read_seeds("4") == [4] and advice.read_seeds("1,4-5") == [1, 4, 5]


TESTS = [carries_out_what_it_says, noise_is_what_was_asked_for, ways_of_sharing_differ, traffic_is_the_contract_s, rivals_are_what_they_are_called, the_best_is_found,
         ranks_carry_out_steps, a_rank_has_a_core_of_its_own, a_rank_that_dies_is_one_line, a_rank_says_why_it_cannot, what_is_compared_comes_from_the_same_rounds, a_bench_without_measurements_ends,
         requests_are_drawn_from_the_seed, figures_are_right, rows_are_compared_with_earlier_ones, seeds_are_read, hives_and_sockets_are_among_its_nodes, twenty_requests]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
