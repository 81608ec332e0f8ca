"""Bind's plans: engines of copies, figures that follow from the price, errors of requests.

Prints TAP.
"""
import contextlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES  # noqa: E402
from built_node import Built  # noqa: E402
from node import Node, cpus_of, has_links_alone  # noqa: E402
from reasons import codes, texts  # noqa: E402
from tap import run_tests  # noqa: E402

WITH_GPUS = ["mi250x", "mi300a", "gh200-quad", "h200x1", "h200x2", "h200x4"]
PATTERNS = ["pairs", "ring", "allreduce", "alltoall", "grid2d", "grid3d"]
MIB, GIB = 1 << 20, 1 << 30


class Asked(Node):
    def __init__(self, name):
        super().__init__(NODES / name)
        self.gpus = len(self.has("gpu"))
        self.is_amd = any((self.place[gpu]["details"] or {}).get("vendor") == "amd" for gpu in self.has("gpu"))

    def ask(self, **request):
        return self.peer.call("io.berth.Placement.Bind", {"allowed": {}, **request})

    def bind(self, **request):
        error, answer = self.ask(**request)
        assert error is None, (request, error, answer)
        return answer


@contextlib.contextmanager
def on(names):
    """Each node in turn: a daemon at a time."""
    def each():
        for name in names:
            with Asked(name) as node:
                yield node
    yield each()


def coded(answer, code, key="warnings"):
    return [reason for reason in answer[key] if reason["code"] == code]


def requests_for(node):
    tasks = sorted({1, 2, 3, 4, node.gpus} & set(range(1, node.gpus + 1)))
    for count, pattern, size in itertools.product(tasks, PATTERNS, (64 << 10, 64 * MIB)):
        if pattern != "grid3d" or count == node.gpus:
            yield {"tasks": count, "pattern": pattern, "bytes": size}
    for count in tasks:
        yield {"tasks": count, "host_bytes": GIB}
        yield {"tasks": count, "pattern": "ring", "bytes": MIB, "host_bytes": 64 * MIB}
    if node.gpus >= 4:
        yield {"tasks": node.gpus // 2, "gpus_per_task": 2, "pattern": "ring", "bytes": GIB}
    yield {"tasks": node.gpus + 1, "tasks_per_gpu": 2, "pattern": "ring", "bytes": 64 * MIB}
    yield {"tasks": 1, "ranks": [1], "world": 3, "pattern": "ring", "bytes": 64 * MIB}


def time_of(answer):
    return answer["predicted"]["time_ns"] if answer["predicted"] is not None else None


def about(text, value, tell=""):
    """True when a printed figure is the value, rounded."""
    last = 10.0 ** -(len(text.partition(".")[2]))
    assert abs(float(text) - value) <= 0.51 * last + 1e-9 * abs(value) or abs(float(text) / value - 1) < 0.0051, (text, value, tell)


def best_is_never_worse_than_one_way_of_copying():
    """Except on MI250X with link rates of kernels only: published rates go first, however fast
    those are.
    """
    compared = []
    for name in WITH_GPUS:
        with Asked(name) as node:
            for request in requests_for(node):
                best, engine, kernel = told = [node.bind(**request, mechanism=mechanism) for mechanism in ("best", "copy_engine", "kernel")]
                if coded(best, "collective", "reasons"):  # the time is a library's
                    continue
                ways = [time_of(way) for way in (engine, kernel) if time_of(way) is not None]
                is_slower = len(ways) > 0 and time_of(best) > min(ways) * (1 + 1e-9)
                assert not is_slower or ([has_links_alone(way) for way in told] == [False, False, True] and abs(time_of(best) / time_of(engine) - 1) < 1e-9), (name, request)
                compared += [is_slower and name] * len(ways)
    assert len(compared) > 300 and set(compared) == {False, "mi250x"}, (len(compared), set(compared))


def the_environment_has_the_runtime_copy_as_was_priced():
    """On MI250X, where copy engines were published, which happen without a word, and of kernels links tell."""
    ring = {"tasks": 4, "pattern": "ring", "bytes": 64 * MIB}
    with Asked("mi250x") as node:
        for mechanism, value, code in [("best", "1", "copies-by-engine"), ("kernel", "0", "copies-by-kernel"), ("copy_engine", "1", "copies-by-engine")]:
            answer = node.bind(**ring, mechanism=mechanism)
            assert all(task["environment"]["HSA_ENABLE_PEER_SDMA"] == value for task in answer["tasks"]), (mechanism, answer["tasks"])
            assert [reason["numbers"] for reason in coded(answer, code, "reasons")] == [{"between_gpus": 4, "with_host": 0}], (mechanism, texts(answer, "reasons"))
            assert [reason["subjects"] for reason in coded(answer, "kernels-of-runtime", "reasons")] == [["HSA_ENABLE_PEER_SDMA"]] * (mechanism == "kernel"), texts(answer, "reasons")
        answer = node.bind(tasks=2)
        assert not any(name.startswith("HSA_") for task in answer["tasks"] for name in task["environment"]), "without traffic nothing was priced"
        # How gpus copy to each other says nothing of copies with the host.
        host = [node.bind(tasks=2, host_bytes=GIB, mechanism=mechanism) for mechanism in ("copy_engine", "kernel")]
        times = [{name: value for name, value in answer["predicted"].items() if name != "id"} for answer in host]
        assert times[0] == times[1] and host[0]["tasks"] == host[1]["tasks"], host
    with on(["h200x4", "mi300a"]) as nodes:
        for node in nodes:
            for task in node.bind(tasks=4, pattern="ring", bytes=64 * MIB)["tasks"]:
                assert any(name.startswith("HSA_") for name in task["environment"]) == node.is_amd, task


def numbers_follow_from_the_price(node, request, answer):
    seen = {"last": 0, "start": 0, "share": 0, "how": 0}
    for code, price in (("last-transfer", "predicted"), ("in-order-last-transfer", "baseline")):
        for last in coded(answer, code, "reasons"):
            if coded(answer, "collective", "reasons"):  # the time is a library's
                continue
            seen["last"] += 1
            numbers, (begin, end, by) = last["numbers"], last["subjects"]
            assert abs(numbers["time_ns"] / answer[price]["time_ns"] - 1) < 1e-4 and 0 < numbers["alone_ns"] <= numbers["time_ns"] * (1 + 1e-6) and numbers["moved_bytes"] > 0, (request, last, answer[price])
            assert begin != end and (by == "nic") == ("nic" in begin + end), last
    for start in coded(answer, "last-starts", "reasons")[:1]:
        seen["start"] += 1
        assert 0.09 * answer["predicted"]["time_ns"] < sum(start["numbers"].values()) <= max(answer["predicted"]["time_ns"], (answer["baseline"] or answer["predicted"])["time_ns"]), (request, start)
    said = codes(answer, "reasons")
    assert "last-transfer" not in said or not any(code.startswith("in-order") for code in said[:said.index("last-transfer")]), said
    for share in coded(answer, "limit-shared") + coded(answer, "limit-shared-nominal") + coded(answer, "in-order-limit-shared", "reasons"):
        seen["share"] += 1
        numbers = share["numbers"]
        assert numbers["transfers"] >= 2 and numbers["alone_bytes_per_s"] > 0 and share["subjects"] and numbers["together_bytes_per_s"] > 0, share
    seen["how"] += len(coded(answer, "copies-by-engine", "reasons") + coded(answer, "copies-by-kernel", "reasons"))
    for how in coded(answer, "other-mechanism-behind", "reasons"):
        assert how["numbers"]["time_ns"] < answer["predicted"]["time_ns"] and answer["predicted"]["source"] != how["subjects"][1] != "measured", (request, how, answer["predicted"])
    for how in coded(answer, "other-mechanism", "reasons"):
        assert how["numbers"]["time_ns"] > answer["predicted"]["time_ns"], (request, how, answer["predicted"])
    for how in coded(answer, "other-mechanism", "reasons") + coded(answer, "other-mechanism-behind", "reasons"):
        other = time_of(node.bind(**request, mechanism=how["subjects"][0].replace(" ", "_")))
        assert 0.965 * other - 0.005 <= how["numbers"]["time_ns"] <= 20 * other, (request, how, other)
    # Where the last to end is slowed by what it shares, it gets at least its share of that.
    first, last = coded(answer, "limit-shared"), coded(answer, "last-transfer", "reasons")
    if first and last and answer["predicted"]["bottleneck"] in first[0]["subjects"] and request.get("bytes", 0) >= 64 * MIB and not request.get("host_bytes"):
        numbers = last[0]["numbers"]
        assert numbers["moved_bytes"] / numbers["time_ns"] >= 0.9e-9 * first[0]["numbers"]["together_bytes_per_s"] / first[0]["numbers"]["transfers"], (request, first[0], last[0])
    return seen


def what_few_bytes_take_adds_up_from_what_is_said():
    """Tests each size on each node: where start-up dominates, a rate means little, and why has the
    overhead.
    """
    total = 0
    with on(WITH_GPUS) as nodes:
        for node in nodes:
            for pattern, size in itertools.product(("ring", "alltoall"), (1, 4 << 10, 16 << 10, 64 << 10, MIB)):
                request = {"tasks": max(2, node.gpus // 2), "pattern": pattern, "bytes": size} if node.gpus > 1 else {"tasks": 1, "host_bytes": size}
                answer = node.bind(**request)
                if answer["predicted"] is None:
                    continue
                assert len(coded(answer, "last-transfer", "reasons")) == 1, (size, answer["reasons"])
                total += numbers_follow_from_the_price(node, request, answer)["start"]
            if node.gpus == 4:
                with_start = node.bind(tasks=2, gpus_per_task=2, pattern="ring", bytes=4096)
                metrics = [reason["metric"] for reason in with_start["evidence"]]
                assert not coded(with_start, "last-starts", "reasons") or "transfer_overhead" in metrics, (metrics, texts(with_start, "reasons"))
    assert total > 10, total


def what_was_not_measured_of_the_launchers_order_is_said():
    with on(["h200x4-hand"]) as nodes:
        for node in nodes:
            answer = node.bind(tasks=3, flows=[{"from": 2, "to": 0, "bytes": 64 * MIB}])
            assert answer["baseline"]["time_ns"] > 2 * answer["predicted"]["time_ns"] and answer["baseline"]["source"] == "nominal", answer["baseline"]
            stated = [reason["subjects"] for reason in answer["warnings"] if reason["code"] == "transfer-stated"]
            assert stated == [["in order, gpu2>gpu0"]], answer["warnings"]
            assert coded(answer, "in-order-last-transfer", "reasons"), texts(answer, "reasons")


def a_lower_bound_does_not_go_before_a_whole_price():
    with Asked("h200x4-hand") as node: # where it is known of gpu0 to gpu1 alone what starting a copy costs
        before = 0
        for size in (1, 4 << 10, 64 << 10, MIB, 15 * MIB, 16 * MIB, 128 * MIB, 256 * MIB, GIB):
            for allowed in ({}, {"allowed": {"gpus": ["gpu0", "gpu1"]}}):
                answer = node.bind(tasks=2, flows=[{"from": 0, "to": 1, "bytes": size}], **allowed)
                assert [task["gpus"] for task in answer["tasks"]] == [["gpu0"], ["gpu1"]] and (answer["predicted"]["low_ns"] is None) == (answer["predicted"]["high_ns"] is None), (size, answer)
                assert answer["predicted"]["time_ns"] >= before, (size, before, answer["predicted"])
                said = coded(answer, "unproven-starts", "reasons")
                assert answer["proven_optimal"] == (answer["gap"] is not None and answer["gap"] <= 0.03) == (not said), (size, answer["gap"], texts(answer, "reasons"))
            before = answer["predicted"]["time_ns"]
        few = node.bind(tasks=2, flows=[{"from": 0, "to": 1, "bytes": 64 << 10}], mechanism="copy_engine")
        assert few["predicted"]["source"] == "measured", few["predicted"]
    with Asked("mi250x") as node:
        for mechanism, code in (("best", "copies-by-engine"), ("kernel", "copies-by-kernel")):
            answer = node.bind(tasks=4, pattern="ring", bytes=1024, mechanism=mechanism, allowed={"gpus": ["gpu0", "gpu1", "gpu6", "gpu7"]})
            assert answer["proven_optimal"] and answer["predicted"]["low_ns"] == answer["predicted"]["time_ns"] and coded(answer, code, "reasons"), (code, answer)


def every_number_of_a_sentence_follows_from_the_price():
    total = {"last": 0, "start": 0, "share": 0, "how": 0}
    with on(WITH_GPUS) as nodes:
        for node in nodes:
            for request in requests_for(node):
                answer = node.bind(**request)
                if answer["predicted"] is not None:
                    for key, count in numbers_follow_from_the_price(node, request, answer).items():
                        total[key] += count
    assert total["last"] > 150 and total["share"] > 30 and total["how"] > 100, total


def an_answer_is_short_and_says_the_same_once():
    masked = lambda line: re.sub(r"(?<=[a-z])\d+", "#", line)
    with on(WITH_GPUS) as nodes:
        for node in nodes:
            for request in requests_for(node):
                answer = node.bind(**request)
                assert len(answer["evidence"]) <= 6 and len(texts(answer, "reasons")) <= 9 and len(texts(answer, "warnings")) <= 12, (request, answer)
                assert not any("more warnings than fit" in line for line in texts(answer, "warnings")), request
                for line in texts(answer, "reasons") + texts(answer, "warnings"):
                    assert len(line) < 199, line
                said = [masked(line) for line in texts(answer, "warnings") if "together" not in line]
                assert len(set(said)) == len(said), (request, texts(answer, "warnings"))
                transfers = [item for item in answer["evidence"] if "gpu" in item["metric"]]
                assert not transfers or answer["evidence"][0] in transfers or answer["evidence"][0]["metric"] in ("transfer_overhead", "copy_latency", "collective_bandwidth"), (request, [item["metric"] for item in answer["evidence"]])


def gpus_are_named_where_that_is_surely_right():
    with Asked("gh200-quad") as node:
        tasks = node.bind(tasks=4, pattern="ring", bytes=MIB)["tasks"]
        assert [(task["gpus"][0], task["environment"]) for task in tasks] == [(f"gpu{i}", {"CUDA_VISIBLE_DEVICES": str(i), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) for i in range(4)], tasks
        # gpu0 may be hidden from the tasks: then gpu2 would be number 1.
        answer = node.bind(tasks=2, allowed={"gpus": ["gpu2", "gpu3"]})
        assert all(task["environment"] == {} for task in answer["tasks"]) and [reason["subjects"] for reason in coded(answer, "visible-unset")] == [["gpu2", "gpu3"]], answer
        answer = node.bind(tasks=1, allowed={"gpus": ["gpu0", "gpu3"]}, visible="own")
        assert answer["tasks"][0]["environment"]["CUDA_VISIBLE_DEVICES"] == "0", answer
    with Asked("mi250x") as node:
        for gpus, wanted in (([4, 5, 6, 7], 4 * [None]), ([0, 1], ["0", "1"]), ([0, 1, 3], ["0", "1", None])):
            answer = node.bind(tasks=len(gpus), order="rank", allowed={"gpus": [f"gpu{i}" for i in gpus]})
            assert [task["environment"].get("ROCR_VISIBLE_DEVICES") for task in answer["tasks"]] == wanted, answer["tasks"]
            assert any("no uuid of its own" in line for line in texts(answer, "warnings")) == (None in wanted), texts(answer, "warnings")


def a_device_that_is_cut_gives_place_to_its_slices():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(shutil.copytree(NODES / "h200x4", pathlib.Path(folder) / "node"))
        lines = [json.loads(line) for line in (path / "facts.jsonl").read_text().splitlines()]
        whole = next(line for line in lines if line.get("gpu") == "gpu3")
        whole["mig"] = "on"
        slices = [{"record": "device", "gpu": f"gpu{4 + i}", "vendor": "nvidia", "pci": whole["pci"], "uuid": f"MIG-00000000-0000-0000-0000-00000000003{i}", "partition": "mig",
                   "model": "NVIDIA H200 MIG 3g.71gb", "bytes": 71000000000} for i in range(2)]
        at = lines.index(whole) + 1
        (path / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:at] + slices + lines[at:]))
        with Asked(path) as node:
            assert node.gpus == 6
            answer = node.bind(tasks=5)
            gpus = [task["gpus"] for task in answer["tasks"]]
            assert sorted(gpus) == [["gpu0"], ["gpu1"], ["gpu2"], ["gpu4"], ["gpu5"]], gpus
            assert [left["subjects"] for left in coded(answer, "gpu-left-out")] == [["gpu3"]], texts(answer, "warnings")
            assert [task["environment"]["CUDA_VISIBLE_DEVICES"] for task in answer["tasks"] if task["gpus"] == ["gpu4"]] == [slices[0]["uuid"]], answer["tasks"]
            error, reply = node.ask(tasks=6)
            assert error.endswith(".NotEnough") and "gpu3 is cut into slices" in str(reply), (error, reply)


def cores_away_from_their_gpu_are_told():
    with Asked("mi250x") as node:
        for cpus, wanted in (("0-47", ["task 0", "task 1"]), ("0-47,56-63", ["task 0"]), ("0-63", [])):
            answer = node.bind(tasks=8, cores_per_task=4, order="rank", allowed={"cpus": cpus})
            away = coded(answer, "cores-away")
            assert away == ([{"code": "cores-away", "subjects": wanted, "numbers": {"near": 8, "allowed": 0, "others": 0}, "text": away[0]["text"]}] if wanted else []), (cpus, away)


def every_task_gets_its_share_of_what_is_near():
    with Asked("mi250x") as node:
        for cpus, gpus, wanted in (("0-31", 8, 8), ("0-15", 4, 4), ("0-47", 8, 8), ("8-15,24-31", 8, 4), ("0-63", 8, 8)):
            allowed = {"cpus": cpus, "gpus": [f"gpu{i}" for i in range(0, 8, 8 // gpus)]}
            answer = node.bind(tasks=4, host_bytes=GIB, allowed=allowed)
            assert [len(re.findall(r"\d+", task["cpus"])) > 0 and sum(int(b or a) - int(a) + 1 for a, b in re.findall(r"(\d+)(?:-(\d+))?", task["cpus"])) for task in answer["tasks"]] == 4 * [wanted], (cpus, answer["tasks"])
            assert not coded(answer, "cores-scarce"), texts(answer, "warnings")
        # One task finds less than the others.
        answer = node.bind(tasks=8, order="rank", allowed={"cpus": "0-49,56-63"})
        assert [(reason["subjects"], reason["numbers"]) for reason in coded(answer, "cores-scarce")] == [(["task 0"], {"each": 2})], texts(answer, "warnings")
        assert answer["tasks"][0]["cpus"].startswith("48-49") and not coded(answer, "cores-away"), answer
    with Asked("epyc-2s") as node:
        for tasks in (1, 2, 3, 4):
            assert not coded(node.bind(tasks=tasks), "cores-in-l3s"), tasks
        assert coded(node.bind(tasks=2, cores_per_task=15), "cores-in-numas")


def what_is_not_known_is_said():
    """Start-up times of few bytes; and transfers without measurements, beside which others have a
    price.
    """
    for name, pattern, bound in (("mi250x", "pairs", False), ("gh200-quad", "ring", True)):
        with Asked(name) as node:
            for size, small in ((4096, True), (64 * MIB, False)):
                answer = node.bind(tasks=2, pattern=pattern, bytes=size)
                predicted = answer["predicted"]
                assert ("transfer-small" in codes(answer, "warnings")) == small, answer["warnings"]
                assert (predicted["low_ns"], predicted["high_ns"]) == (predicted["time_ns"] if small or bound else None, None), predicted
    for name, words in (("gh200-quad", "no nic or memory"), ("h200x4", "nic0 to gpu0")):
        with Asked(name) as node:
            ring = {"tasks": 4, "pattern": "ring", "bytes": 64 * MIB}
            whole, part = node.bind(**ring), node.bind(**ring, ranks=[4, 5, 6, 7], world=16)
            assert part["predicted"]["low_ns"] == part["predicted"]["time_ns"] <= time_of(whole) * (1 + 1e-9) and part["predicted"]["high_ns"] is None, part["predicted"]
            assert any(line.startswith("2 of the 5 transfers are not in the time, which is at least this: ") and words in line for line in texts(part, "warnings")), texts(part, "warnings")
            answer = node.bind(tasks=1, ranks=[1], world=3, pattern="ring", bytes=64 * MIB)
            assert answer["predicted"] is None and any("no time is predicted" in line for line in texts(answer, "warnings")), answer


def engines_of_one_gpu_over_separate_links_were_not_measured_together():
    """They are priced as concurrent, with a warning."""
    for name, apart in (("h200x4", False), ("gh200-quad", True), ("mi250x", True)):
        with Asked(name) as node:
            for request, is_engine in (({"tasks": 4, "pattern": "alltoall"}, True), ({"tasks": 4, "pattern": "alltoall"}, False), ({"tasks": 4, "pattern": "pairs"}, True)):
                answer = node.bind(**request, bytes=256 * MIB, mechanism="copy_engine" if is_engine else "kernel")
                is_one = request["pattern"] == "pairs"
                assert bool(coded(answer, "engines-apart")) == (apart and is_engine and not is_one), (name, request, texts(answer, "warnings"))
                assert bool(coded(answer, "kernels-together", "reasons")) != is_engine, texts(answer, "reasons")
                assert is_one or coded(answer, "launch-order", "reasons"), texts(answer, "reasons")


def a_guess_at_the_drivers_way_is_told():
    """Bind's plan and the launcher's own order."""
    with Asked("mi250x") as node:
        for request, ours, order in (({"tasks": 2, "gpus_per_task": 2, "pattern": "pairs", "bytes": 256 * MIB}, False, True),
                                     ({"tasks": 8, "pattern": "alltoall", "bytes": 16 * MIB, "mechanism": "kernel"}, True, False),
                                     ({"tasks": 2, "pattern": "pairs", "bytes": 16 * MIB, "mechanism": "kernel"}, False, False)):
            answer = node.bind(**request)
            pairs = [pair for reason in answer["warnings"] if reason["code"] == "path-unknown" for pair in reason["subjects"]]
            in_order = [pair for pair in pairs if pair.startswith("in order, ")]
            assert (len(pairs) > len(in_order)) == ours and (in_order != []) == order, (request, answer["warnings"])
            assert request.get("mechanism") != "kernel" or "transfer-stated" in codes(answer, "warnings"), answer["warnings"]


def where_nothing_moves_a_reason_says_why():
    with on(WITH_GPUS + ["epyc-2s", "knl-like"]) as nodes:
        for node in nodes:
            for request in ({"tasks": 1}, {"tasks": 2}, {"tasks": max(node.gpus, 1)}):
                error, answer = node.ask(**request)
                if error is not None:
                    continue
                why = "cores-nearest" if answer["tasks"][0]["gpus"] else "tasks-spread"
                assert coded(answer, why, "reasons"), (node.name, request, texts(answer, "reasons"))
    with Asked("mi250x") as node:
        assert [reason["subjects"] for reason in coded(node.bind(tasks=8), "cores-nearest", "reasons")] == [[f"task {i}" for i in range(8)]]
        assert coded(node.bind(tasks=2), "gpus-spread", "reasons")
    with Asked("mi300a") as node:
        answer = node.bind(tasks=1, allowed={"gpus": ["gpu0"], "cpus": "24-47"})
        assert coded(answer, "cores-away") and not coded(answer, "cores-nearest", "reasons"), texts(answer, "reasons")


def copies_within_gpus_have_a_lower_bound_alone():
    """What tasks on one GPU send each other has no price here: at least 0 is no measured 0."""
    with Asked("h200x4") as node:
        answer = node.bind(tasks=8, tasks_per_gpu=2, pattern="pairs", bytes=1 << 28)
    assert answer["predicted"]["source"] == "lower_bound" and answer["predicted"]["high_ns"] is None, answer["predicted"]


def what_is_wrong_with_a_request_is_named():
    huge, pattern = 1 << 62, {"pattern": "ring", "bytes": 1}
    cases = [
        ({"tasks": 0}, "InvalidParameter", "tasks"), ({"tasks": -1}, "InvalidParameter", "tasks"), ({"tasks": huge}, "InvalidParameter", "1000000"),
        ({"tasks": 9}, "NotEnough", "9 tasks with 1 gpu each need 9; allowed and there: gpu0-gpu7"),
        ({"tasks": 2, "gpus_per_task": 5}, "NotEnough", "need 10; allowed and there: gpu0-gpu7"), ({"tasks": 2, "gpus_per_task": -1}, "InvalidParameter", "gpus_per_task"),
        ({"tasks": 3, "allowed": {"gpus": ["gpu1", "gpu4", "gpu5"]}, "gpus_per_task": 2}, "NotEnough", "need 6; allowed and there: gpu1, gpu4-gpu5"),
        ({"tasks": 1, "gpus_per_task": 1, "allowed": {"gpus": []}}, "NothingAllowed", "8 gpus are there and none is allowed"),
        ({"tasks": 2, "allowed": {"gpus": []}, "pattern": "pairs", "bytes": MIB}, "NothingAllowed", "8 gpus are there and none is allowed"),
        ({"tasks": 2, "allowed": {"gpus": []}, "flows": [{"from": 0, "to": 1, "bytes": MIB}]}, "NothingAllowed", "8 gpus are there and none is allowed"),
        *(({"tasks": 2, **wrong}, "InvalidParameter", "'" + name + "'") for name, wrong in (("host_bytes", {"host_bytes": 1 << 63}), ("host_bytes", {"host_bytes": -(1 << 63) - 1}), ("tasks", {"tasks": 1 << 64}),
          ("bytes", {"pattern": "ring", "bytes": 1 << 63}), ("flows[0].bytes", {"flows": [{"from": 0, "to": 1, "bytes": 10 ** 400}]}), ("ranks[1]", {"ranks": [0, 1 << 63]}))),
        ({"tasks": 1, "allowed": {"gpus": ["gpu8"]}}, "NoSuchPlace", "no place gpu8; of that kind it has gpu0 to gpu7"), ({"tasks": 1, "allowed": {"memory": ["numa4"]}}, "NoSuchPlace", "it has numa0 to numa3"),
        ({"tasks": 1, "allowed": {"gpus": ["numa0"]}}, "NoSuchPlace", "numa0 is no gpu; there are gpu0 to gpu7"), ({"tasks": 1, "allowed": {"gpus": [""]}}, "NoSuchPlace", "berth topo"),
        ({"tasks": 1, "allowed": {"gpus": ["0000:00:00.0"]}}, "NoSuchPlace", "berth topo"),
        ({"tasks": 1, "allowed": {"cpus": ""}}, "NothingAllowed", "cpu"), ({"tasks": 1, "allowed": {"cpus": "4000"}}, "NothingAllowed", '"4000"; there are 0-127'),
        ({"tasks": 1, "allowed": {"memory": []}}, "NothingAllowed", "memory"), ({"tasks": 2, "allowed": {"cpus": "0"}}, "NotEnough", "2 tasks with 1 core each need 2; allowed: 1"),
        ({"tasks": 2, "cores_per_task": 100}, "NotEnough", "64"), ({"tasks": 1, "threads_per_core": 3}, "NotEnough", "widest has 2"),
        ({"tasks": 2, "flows": [{"from": 0, "to": 2, "bytes": 1}]}, "InvalidParameter", "rank 0 to rank 2; there are ranks 0 to 1"),
        ({"tasks": 2, "flows": [{"from": -1, "to": 0, "bytes": 1}]}, "InvalidParameter", "rank -1"), ({"tasks": 2, "flows": [{"from": 0, "to": 1, "bytes": -1}]}, "InvalidParameter", "-1 bytes"),
        ({"tasks": 2, "flows": [{"from": 0, "to": 1, "bytes": huge}]}, "InvalidParameter", "4 EiB in one iteration; at most 1 EiB"),
        ({"tasks": 2, "bytes": 5}, "InvalidParameter", "no pattern"), ({"tasks": 2, "pattern": "ring", "bytes": huge}, "InvalidParameter", "4 EiB"),
        ({"tasks": 2, "pattern": "ring", "bytes": -1}, "InvalidParameter", "-1 bytes"), ({"tasks": 2, "host_bytes": huge}, "InvalidParameter", "4 EiB"), ({"tasks": 2, "host_bytes": -7}, "InvalidParameter", "-7 bytes"),
        ({"tasks": 2, "pattern": "ring", "bytes": 65 << 30}, "NotEnough", "65 GiB in one iteration do not fit in the memory of one gpu: 64 GiB"),
        ({"tasks": 2, "gpus_per_task": 2, "pattern": "ring", "bytes": 129 << 30}, "NotEnough", "the memory of a task's gpus: 128 GiB"), ({"tasks": 2, "host_bytes": 513 << 30}, "NotEnough", "the host memory of this node: 512 GiB"),
        ({"tasks": 2, "ranks": [0]}, "InvalidParameter", "1 rank for 2 tasks"), ({"tasks": 2, "ranks": [3, 3], "world": 8}, "InvalidParameter", "twice"),
        ({"tasks": 2, "ranks": [6, 8], "world": 8, **pattern}, "InvalidParameter", "8 is no rank of the job, which has 8"), ({"tasks": 2, "ranks": [6, 7], **pattern}, "InvalidParameter", "world"),
        ({"tasks": 2, "world": 1}, "InvalidParameter", "world"), ({"tasks": 2, "pattern": "star", "bytes": 1}, "InvalidParameter", "pattern"),
        ({"tasks": 4, "gpus_per_task": 2, "tasks_per_gpu": 2}, "InvalidParameter", "tasks_per_gpu"), ({"tasks": 20, "tasks_per_gpu": 2}, "NotEnough", "up to 2 on one, need 10; allowed and there: gpu0-gpu7"),
    ]
    with Asked("mi250x") as node:
        plain = node.bind(tasks=2)
        for request, wanted, words in cases:
            error, reply = node.ask(**request)
            assert error is not None and error.endswith("." + wanted) and words in str(reply) and not ("EiB" in words and re.search(r"\d{10}", str(reply))), (request, error, reply)
        assert node.bind(tasks=2) == plain, "nothing is lost"


def tasks_that_may_use_no_gpu_are_told_so():
    with Asked("mi250x") as node:
        for more in ({}, {"host_bytes": MIB}):
            answer = node.bind(tasks=2, allowed={"gpus": []}, **more)
            assert [reason["numbers"] for reason in coded(answer, "gpus-not-allowed")] == [{"gpus": 8}] and all(task["gpus"] == [] for task in answer["tasks"]), answer
        for request in ({"tasks": 2}, {"tasks": 2, "gpus_per_task": 0, "allowed": {"gpus": []}}, {"tasks": 2, "gpus_per_task": 0, "allowed": {"gpus": []}, "pattern": "ring", "bytes": MIB}):
            assert not coded(node.bind(**request), "gpus-not-allowed"), request


def tasks_without_gpus_have_a_price_where_what_they_stream_is_known():
    """The price equals Allocate's for all cores of a memory's tasks.

    It is never more than with the cores in order; twice the bytes take twice as long.
    """
    asked = 0
    with on(WITH_GPUS + ["epyc-2s", "knl-like"]) as nodes:
        for node in nodes:
            memories = [place["name"] for place in node.daemon.call("io.berth.Fabric.GetNode")["places"] if place["kind"] == "numa"][:4]
            for tasks, cores, allowed in itertools.product((1, 2, 4), (1, 4), [{}] + [{"memory": [memory]} for memory in memories]):
                error, answer = node.ask(tasks=tasks, gpus_per_task=0, cores_per_task=cores, host_bytes=GIB, allowed=allowed)
                if error is not None or answer["predicted"] is None:
                    assert error is not None or coded(answer, "streams-unknown"), (tasks, answer)
                    continue
                asked += 1
                assert answer["baseline"] is None or time_of(answer) <= answer["baseline"]["time_ns"] * 1.0101, answer
                assert answer["evidence"] and coded(answer, "streams-last", "reasons"), answer
                twice = node.bind(tasks=tasks, gpus_per_task=0, cores_per_task=cores, host_bytes=2 * GIB, allowed=allowed)
                assert abs(time_of(twice) / time_of(answer) - 2) < 1e-9 and [t["cpus"] for t in twice["tasks"]] == [t["cpus"] for t in answer["tasks"]], (answer, twice)
                memory = answer["tasks"][0]["memory"][0]
                if all(task["memory"] == [memory] for task in answer["tasks"]):
                    access = {"by": memory, "reads_bytes": tasks * GIB, "writes_bytes": tasks * GIB, "cores": tasks * cores}
                    error, reply = node.peer.call("io.berth.Placement.Allocate", {"bytes": tasks * GIB, "kinds": ["system"], "accesses": [access], "allowed": {"memory": [memory]}})
                    touched = any(v["metric"] == "allocation" for v in reply["options"][0]["evidence"]) if error is None else True
                    assert touched or allowed or abs(reply["options"][0]["predicted"]["time_ns"] / time_of(answer) - 1) < 1e-5, (answer, reply)
            answer = node.bind(tasks=2, gpus_per_task=0, cores_per_task=1, pattern="ring", bytes=MIB)
            assert coded(answer, "exchange-unknown") if answer["predicted"] is None else "cpu_pingpong" in str(answer["evidence"]), answer
    assert asked > 30, asked


def numbers_beyond_64_bits_are_answered():
    """Sends the requests as they are written, over one open connection."""
    with Asked("mi250x") as node:
        for number in ("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e400", "-1e309", "9" * 500):
            node.peer.socket.sendall(b'{"method":"io.berth.Placement.Bind","parameters":{"key":"\\"9223372036854775808","tasks":2,"pattern":"ring","bytes":%s}}\0' % number.encode())
            reply = node.peer.receive()
            assert reply["error"] == "org.varlink.service.InvalidParameter" and reply["parameters"]["parameter"] == "bytes", (number, reply)
            assert "9223372036854775807" in reply["parameters"]["detail"], (number, reply)
        error, _ = node.ask(tasks=2, host_bytes=(1 << 63) - 1)
        assert error is not None and node.bind(tasks=2), "the connection goes on"


def write_zen(folder, llcs):
    """A Zen node: L3s of four cores in one NUMA node. A pair in one L3 takes 48 ns, one across 197."""
    cores, index = 4 * llcs, itertools.count(1)

    def sets(first, count):
        mask = f"0x{((1 << count) - 1) << first:08x}"
        return f'cpuset="{mask}" complete_cpuset="{mask}" nodeset="0x1" complete_nodeset="0x1" gp_index="{next(index)}"'

    def core(n):
        return f'<object type="Core" os_index="{n}" {sets(n, 1)}><object type="PU" os_index="{n}" {sets(n, 1)}/></object>'

    def llc(n):
        return f'<object type="L3Cache" cache_size="16777216" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0" {sets(4 * n, 4)}>' + "".join(map(core, range(4 * n, 4 * n + 4))) + "</object>"

    xml = (f'<object type="Machine" os_index="0" allowed_cpuset="0x{(1 << cores) - 1:08x}" allowed_nodeset="0x1" {sets(0, cores)}><object type="Package" os_index="0" {sets(0, cores)}>'
           f'<object type="NUMANode" os_index="0" local_memory="{64 * GIB}" {sets(0, cores)}/>' + "".join(map(llc, range(llcs))) + "</object></object>")
    records = [{"record": "run", "schema": 1, "probe": "cpu", "backend": "cpu", "started_at": 1790000000, "source": "measured", "conditions": {}}]
    for a, b in itertools.permutations(range(cores), 2):
        ns = 48 if a // 4 == b // 4 else 197
        records.append({"record": "value", "metric": "cpu_pingpong", "from": f"core{a}", "to": f"core{b}", "value": ns, "low": ns - 1, "high": ns + 1, "n": 10})
    folder.mkdir()
    (folder / "topology.xml").write_text('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">' + xml + "</topology>\n")
    (folder / "node.json").write_text(json.dumps({"name": folder.name, "origin": "standin", "hwloc": "topology.xml", "measurements": "measurements.jsonl"}))
    (folder / "measurements.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def tasks_that_exchange_bytes_share_an_l3():
    """Where that leaves out more than half of their cores they keep an even share."""
    with tempfile.TemporaryDirectory() as top:
        for llcs, is_shared in ((2, True), (4, False)):
            folder = write_zen(pathlib.Path(top) / f"zen-{llcs}", llcs)
            said = subprocess.run([BIN / "berth", "--node", folder, *"bind --why -n 2 --flow 0:1:1M".split()], capture_output=True, text=True, check=True).stdout
            cpus = [cpus_of(line.split()[1]) for line in said.splitlines() if re.match(r" +[01]  [0-9]", line)]
            words = " ".join(said.split())
            assert len(cpus) == 2, said
            if is_shared:
                assert {cpu // 4 for task in cpus for cpu in task} in ({0}, {1}) and len(cpus[0]) == len(cpus[1]) == 2, said
                assert "2 cores a task, so that tasks that exchange bytes share an L3; 4 each (cores_per_task) use more cores" in words, said
            else:
                assert len(cpus[0]) == len(cpus[1]) == 8, said


def the_launchers_order_stands_where_it_takes_less_as_copies_go():
    """The search took 4 to 3 by the measured engine, then all by kernel, where that is fastest."""
    kernel = (0, 3, 50.9e9, {"bytes": "4096"}), (0, 3, 9.83e9, {"bytes": "1048576"}), (3, 1, 8.88e9), (3, 4, 415e9), (4, 0, 51.5e9), (4, 2, 51e9)
    with tempfile.TemporaryDirectory() as folder:
        with Asked(Built([{"cores": 8, "ports": [["gpu"]] * 5}], values=[("gpu_gpu_copy_engine", "gpu4", "gpu3", 50e9), *(("gpu_gpu_kernel", f"gpu{a}", f"gpu{b}", *rest) for a, b, *rest in kernel)]).write(folder)) as node:
            answer = node.bind(tasks=5, flows=[{"from": 4, "to": 3, "bytes": 10**6}])
            assert "copies-by-kernel" in codes(answer, "reasons"), answer["reasons"]
            assert time_of(answer) <= answer["baseline"]["time_ns"], (answer["predicted"], answer["baseline"])


if __name__ == "__main__":
    run_tests([tasks_that_exchange_bytes_share_an_l3, best_is_never_worse_than_one_way_of_copying, the_environment_has_the_runtime_copy_as_was_priced, what_few_bytes_take_adds_up_from_what_is_said, what_was_not_measured_of_the_launchers_order_is_said, a_lower_bound_does_not_go_before_a_whole_price, every_number_of_a_sentence_follows_from_the_price,
               an_answer_is_short_and_says_the_same_once, gpus_are_named_where_that_is_surely_right,
               a_device_that_is_cut_gives_place_to_its_slices, cores_away_from_their_gpu_are_told, every_task_gets_its_share_of_what_is_near, what_is_not_known_is_said,
               engines_of_one_gpu_over_separate_links_were_not_measured_together, a_guess_at_the_drivers_way_is_told, where_nothing_moves_a_reason_says_why, copies_within_gpus_have_a_lower_bound_alone, what_is_wrong_with_a_request_is_named,
               tasks_that_may_use_no_gpu_are_told_so, tasks_without_gpus_have_a_price_where_what_they_stream_is_known, numbers_beyond_64_bits_are_answered, the_launchers_order_stands_where_it_takes_less_as_copies_go])
