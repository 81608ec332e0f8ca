"""The error of Bind's predictions before and after reports, on virtual nodes whose transfers share otherwise than the daemon expects.

The daemon measures each node without concurrent transfers, and so predicts sharing from structure. The truth is the stand-in driver's, with another discipline and noise. Each request's iteration is
carried out and reported 50 times, in turn with the others; the errors are of later repeats, which nobody reported."""
import math
import pathlib
import random
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import advice_bind  # noqa: E402
import advice_nodes  # noqa: E402
import advice_requests  # noqa: E402
from advice import METRICS, daemon_over  # noqa: E402
from advice_execute import Virtual  # noqa: E402
from advice_node import Node  # noqa: E402
from varlink import Connection  # noqa: E402

ALONE = [metric for metric in METRICS if not metric.endswith("_concurrent")]
CASES = [(node, discipline) for node in ("mi250x", "hgx-8", "h200x4") for discipline in ("stepped", "unfair", "proportional")]
REQUESTS, REPORTS, LATER, NOISE = 6, 50, 20, 0.02
BIND, REPORT = "io.berth.Placement.Bind", "io.berth.Placement.Report"


def placed(node, answer):
    gpus = tuple(tuple(task["gpus"]) for task in answer["tasks"])
    return gpus, tuple(next((m for m in task["memory"] if m in node.numas), node.numa_of[task["gpus"][0]]) for task in answer["tasks"])


def asked(node, asker, draw, count, is_wanted):
    """Requests with their answers, of those that are predicted, not measured, and wanted."""
    found = []
    for _ in range(40 * count):
        request = advice_requests.bind(draw, node)
        error, answer = asker.call(BIND, request)
        predicted = None if error else answer["predicted"]
        if predicted and predicted["source"] != "measured" and predicted["time_ns"] > 0 and is_wanted(predicted):
            found.append((request, answer))
        if len(found) == count:
            break
    return found


def repeats(node, run, request, answer, count):
    """Times of the answer's iteration, each with noise of its own."""
    step = advice_bind.steps(node, run, request, [placed(node, answer)])[0]
    return run.callers(advice_bind.callers_of(request)).run([step], count)[0]


def off(predicted, times):
    return abs(math.log(statistics.median(times) / predicted["time_ns"]))


def judge(name, discipline):
    described, draw = advice_nodes.listed()[name], random.Random(f"{name} {discipline}")
    with tempfile.TemporaryDirectory(prefix="berth-reports-") as folder:
        folder = pathlib.Path(folder)
        text = advice_nodes.description(described, "maxmin", 0.01, 1)
        with daemon_over(folder, described, text, 0.01, 1) as daemon, Connection(daemon.socket, timeout=120) as asker:
            list(asker.stream("io.berth.Health.Probe", {"metrics": ALONE}))
            daemon.wait_ready(60)
            node = Node(daemon.call("io.berth.Fabric.GetNode"), text)
            run = Virtual(folder / "truth.node", advice_nodes.description(described, discipline, NOISE, 2))
            cases = asked(node, asker, draw, REQUESTS, lambda predicted: True)
            took = [repeats(node, run, request, answer, REPORTS + LATER) for request, answer in cases]
            for turn in range(REPORTS):
                for (_, answer), times in zip(cases, took):
                    asker.call(REPORT, {"answer": answer["predicted"]["id"], "observed_ns": round(times[turn])})
            same = [(off(answer["predicted"], times[REPORTS:]), off(asker.call(BIND, request)[1]["predicted"], times[REPORTS:])) for (request, answer), times in zip(cases, took)]
            other = []
            for request, answer in asked(node, asker, draw, REQUESTS, lambda predicted: predicted["correction"]):
                predicted, times = answer["predicted"], repeats(node, run, request, answer, LATER)
                plain = {"time_ns": predicted["time_ns"] / predicted["correction"]["factor"]}
                other.append((off(plain, times), off(predicted, times)))
            run.close()
    return same, other


def cells(rows):
    """How many, and both medians."""
    if not rows:
        return "0 | - | -"
    before, after = (math.expm1(statistics.median(row[i] for row in rows)) for i in (0, 1))
    return f"{len(rows)} | {before:.1%} | {after:.1%}"


def main():
    print("| node | sharing | reported | before | after | others of these kinds | before | after |\n|---|---|---|---|---|---|---|---|")
    same, other = [], []
    for name, discipline in CASES:
        its, others = judge(name, discipline)
        same += its
        other += others
        print(f"| {name} | {discipline} | {cells(its)} | {cells(others)} |", flush=True)
    print(f"| all | | {cells(same)} | {cells(other)} |")
    before, after = (statistics.median(row[i] for row in same) for i in (0, 1))
    return after > before / 3


if __name__ == "__main__":
    sys.exit(main())
