"""Times that programs report: whose predictions they correct, by how much, and what is refused.

Prints TAP.
"""
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, RUN, Daemon, fake_probe, until  # noqa: E402
from claiming import INVALID, PLACEMENT, as_nobody  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402

ASK = ("bind", "-n", "4", "--pattern", "ring", "--bytes", "64M", "--cpus", "0-127", "--gpus", "0-7")
RING = {"tasks": 4, "pattern": "ring", "bytes": 1 << 26, "mechanism": "copy_engine"}


def node(name="mi250x"):
    return Daemon("--node", NODES / name, "--no-probe")


def ring(daemon):
    return daemon.call(PLACEMENT + "Bind", RING)["predicted"]


def report(daemon, answer, ns, **more):
    return call(daemon.socket, PLACEMENT + "Report", {"answer": answer, "observed_ns": ns, **more})


def report_all(daemon, predicted, factors):
    for factor in factors:
        error, reply = report(daemon, predicted["id"], round(predicted["time_ns"] * factor))
        assert error is None, reply
    return reply["kind"]


def eight_that_agree_correct_it():
    with node() as daemon:
        before = ring(daemon)
        assert before["correction"] is None and before["id"], before
        kind = report_all(daemon, before, [1.4] * 7)
        assert kind["reports"] == 7 and kind["correction"] is None and ring(daemon) == before, kind
        kind = report_all(daemon, before, [1.5])
        after = ring(daemon)
        assert math.isclose(kind["correction"]["factor"], 1.4, rel_tol=0.01), kind
        assert after["correction"] == {**kind["correction"], "reports": 8, "by": "own"}, after
        assert math.isclose(after["time_ns"], before["time_ns"] * after["correction"]["factor"], rel_tol=1e-9)
        assert after["low_ns"] < after["time_ns"] < after["high_ns"], after
        assert after["id"] == before["id"] and after["source"] == before["source"]
        assert ring(daemon) == after, "the same question with the same correction"


def reports_that_disagree_do_not():
    with node() as daemon:
        before = ring(daemon)
        kind = report_all(daemon, before, [0.6, 1.7] * 10)
        assert kind["reports"] == 20 and kind["correction"] is None and ring(daemon) == before, kind


def the_factor_is_bounded_and_the_interval_shows_the_rest():
    with node() as daemon:
        before = ring(daemon)
        report_all(daemon, before, [9] * 10)
        after = ring(daemon)
        assert math.isclose(after["correction"]["factor"], 2) and after["high_ns"] > 9 * before["time_ns"], after


def another_mechanism_is_another_kind():
    with node() as daemon:
        ask = {**RING, "mechanism": "best"}
        other = daemon.call(PLACEMENT + "Bind", ask)["predicted"]
        assert other["source"] == ring(daemon)["source"], "or the source makes the kinds differ"
        report_all(daemon, ring(daemon), [1.4] * 8)
        assert ring(daemon)["correction"] and daemon.call(PLACEMENT + "Bind", ask)["predicted"] == other


def a_measured_prediction_stays():
    with node("h200x4") as daemon:
        ask = {"from": "gpu0", "to": "gpu1", "bytes": 1 << 30}
        before = daemon.call(PLACEMENT + "Route", ask)["options"][0]["predicted"]
        assert before["source"] == "measured", before
        kind = report_all(daemon, before, [1.5] * 20)
        assert kind["correction"] is None and math.isclose(kind["error_after"], 0.5, rel_tol=0.01), kind
        assert daemon.call(PLACEMENT + "Route", ask)["options"][0]["predicted"] == before


def nonsense_is_refused():
    with node() as daemon:
        good = ring(daemon)
        ns = round(good["time_ns"])
        refused = [("answer", (good["id"] + "x", ns)), ("answer", ("0" + good["id"], ns)), ("answer", ("f" * 80, ns)), ("answer", ("-1-0-0-1-1-0", ns)),
                   ("answer", ("", ns)), ("answer", ("-----", ns)), ("answer", (good["id"].replace("-", "-0", 1), ns)),
                   ("observed_ns", (good["id"], 0)), ("observed_ns", (good["id"], -5)), ("observed_ns", (good["id"], 2**62)), ("observed_ns", (good["id"], ns * 101))]
        for parameter, arguments in refused:
            error, reply = report(daemon, *arguments)
            assert error == INVALID and reply["parameter"] == parameter and "\n" not in reply["detail"], (arguments, error, reply)
        for size in (0, -1, 1, (1 << 28) + 1):
            error, reply = report(daemon, good["id"], ns, bytes=size)
            assert error == INVALID and reply["parameter"] == "bytes", (size, reply)
        with Connection(daemon.socket) as connection:
            for text in ("1e400", "1.5", "null", '"5"', "[5]", "99999999999999999999"):
                connection.socket.sendall(f'{{"method":"{PLACEMENT}Report","parameters":{{"answer":"{good["id"]}","observed_ns":{text}}}}}\0'.encode())
                reply = connection.receive()
                if reply is None:  # broken JSON ends the connection
                    break
                assert reply["error"] == INVALID, (text, reply)
        assert daemon.call(PLACEMENT + "ListReports")["kinds"] == []
        error, reply = report(daemon, good["id"], 2 * ns, bytes=1 << 27)
        assert error is None and reply["kind"]["error_before"] < 1e-6, reply


def users_correct_their_own_and_root_all():
    with node() as daemon:
        os.chmod(daemon.directory, 0o755)
        its = [daemon.socket, PLACEMENT + "Bind", RING]
        replies = as_nobody(its, uid=1001)
        if replies is None:
            raise LeftOut("not root: cannot become somebody else")
        theirs = replies[0][1]["predicted"]
        mine = ring(daemon)
        told = [daemon.socket, PLACEMENT + "Report", {"answer": theirs["id"], "observed_ns": round(1.8 * theirs["time_ns"])}]
        foreign = [daemon.socket, PLACEMENT + "Report", {"answer": mine["id"], "observed_ns": round(mine["time_ns"])}]
        done = as_nobody(*[told] * 8, foreign, its, uid=1001)
        assert done[8][0] == "org.varlink.service.PermissionDenied", done[8]
        assert math.isclose(done[9][1]["predicted"]["correction"]["factor"], 1.8, rel_tol=0.001), done[9]
        assert ring(daemon) == mine, "another user's"
        assert as_nobody(its, uid=1002)[0][1]["predicted"]["correction"] is None
        report_all(daemon, mine, [0.8] * 8)
        (_, other), = as_nobody(its, uid=1002)
        assert other["predicted"]["correction"]["by"] == "root" and other["predicted"]["time_ns"] < mine["time_ns"], other["predicted"]
        assert as_nobody(its, uid=1001)[0][1]["predicted"]["correction"]["by"] == "own"


def a_flood_takes_no_more_memory():
    if any(name in (BIN / "berthd").read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        raise LeftOut("a sanitizer keeps what is freed: resident memory is not the daemon's use")
    with node() as daemon:
        def resident():
            return int(next(line for line in open(f"/proc/{daemon.process.pid}/status") if line.startswith("VmRSS")).split()[1])
        with Connection(daemon.socket) as connection:
            def flood(rounds):
                for n in range(rounds):
                    ask = {"tasks": 2 + n % 3, "pattern": ("ring", "pairs", "alltoall", "allreduce")[n % 4], "bytes": 1 << 10 + n % 20}
                    error, reply = connection.call(PLACEMENT + "Bind", ask)
                    if error is None and reply["predicted"]:
                        connection.call(PLACEMENT + "Report", {"answer": reply["predicted"]["id"], "observed_ns": round(reply["predicted"]["time_ns"]) + 1})
            flood(200)
            before = resident()
            flood(1000)
            assert resident() < before + 1024, (before, resident())
        assert len(daemon.call(PLACEMENT + "ListReports")["kinds"]) == 32


def fifty_reports_of_another_sharing_leave_a_third_of_the_error():
    """The truth: what shares a node takes more time the more tasks there are; the node's published figures do not know it."""
    draw = random.Random(7)

    def truth(ask, predicted):
        return predicted * (1 + 0.18 * math.log2(ask["tasks"])) * (1 + draw.gauss(0, 0.02))

    asks = [{"tasks": tasks, "pattern": pattern, "bytes": 1 << 26, "mechanism": "copy_engine"} for tasks in (2, 4, 8) for pattern in ("ring", "alltoall")]
    with node() as daemon:
        rows = {False: [], True: []}
        for told in (False, True):
            for ask in asks:
                plain = None
                for _ in range(50):
                    predicted = daemon.call(PLACEMENT + "Bind", ask)["predicted"]
                    plain = predicted["time_ns"] / (predicted["correction"] or {"factor": 1})["factor"]
                    took = truth(ask, plain)
                    if told:
                        report(daemon, predicted["id"], round(took))
                rows[told].append(abs(math.log(truth(ask, plain) / daemon.call(PLACEMENT + "Bind", ask)["predicted"]["time_ns"])))
        before, after = (statistics.median(rows[told]) for told in (False, True))
        assert after <= before / 3, (before, after)
        print(f"# median error before {before:.3f}, after 50 reports {after:.3f}")


def a_measurement_ends_them_only_where_it_changes_values():
    with tempfile.TemporaryDirectory() as folder:
        value = pathlib.Path(folder) / "value"
        value.write_text("90")
        script = f"""echo '{RUN}'
for place in numa0; do echo '{{"record":"value","metric":"memory_latency","from":"core0","to":"numa0","axes":{{"bytes":"memory"}},"value":'$(cat {value})',"n":9}}'; done
echo '{{"record":"end","status":"complete","elapsed_ns":1}}'
"""
        ask = {"bytes": 1 << 20, "accesses": [{"by": "core0", "reads_bytes": 1 << 26, "writes_bytes": 0, "pattern": "random"}]}
        with fake_probe(script) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
            daemon.wait_ready()
            predicted = daemon.call(PLACEMENT + "Allocate", ask)["options"][0]["predicted"]
            assert report(daemon, predicted["id"], round(predicted["time_ns"]))[0] is None
            for latency, kinds in (("91", 1), ("140", 0)):
                value.write_text(latency)
                daemon.call("io.berth.Health.Probe")
                assert until(lambda: daemon.call("io.berth.Fabric.GetMatrix", {"metric": "memory_latency"})["cells"][0]["value"] == float(latency))
                assert len(daemon.call(PLACEMENT + "ListReports")["kinds"]) == kinds, latency
            error, reply = report(daemon, predicted["id"], round(predicted["time_ns"]))
            assert error == INVALID and "values have changed" in reply["detail"], reply


def the_command_reports_and_lists():
    with node() as daemon:
        berth = [BIN / "berth", "--socket", daemon.socket]

        def run(*words, **more):
            return subprocess.run([*berth, *words], capture_output=True, text=True, **more)
        assert run("report-time").stdout.startswith("no reports; ")
        answer = run("--json", *ASK).stdout
        ns = round(json.loads(answer)["predicted"]["time_ns"])
        told = run("report-time", "-", f"{ns * 1.3 / 1e6}ms", input=answer)
        assert told.returncode == 0 and told.stdout.startswith("1 report of this kind"), told
        for _ in range(8):
            told = run("report-time", json.loads(answer)["predicted"]["id"], f"{round(ns * 1.3)}ns", "64M")
        assert "multiplied by 1.30" in told.stdout, told
        shown = run("report-time").stdout
        assert "ring" in shown and "30 %" in shown and max(map(len, shown.splitlines())) <= 80, shown
        assert "9 reports, factor 1.30" in run(*ASK).stdout
        for words in (("x",), ("x", "3"), ("x", "0ms"), ("x", "1parsec"), ("x", "3ms", "many")):
            assert run("report-time", *words).returncode == 64, words
        assert run("report-time", "x", "3ms").returncode == 64 and run("report-time", "-", "3ms", input="{}").returncode == 64


TESTS = [
    eight_that_agree_correct_it,
    reports_that_disagree_do_not,
    the_factor_is_bounded_and_the_interval_shows_the_rest,
    another_mechanism_is_another_kind,
    a_measured_prediction_stays,
    nonsense_is_refused,
    users_correct_their_own_and_root_all,
    a_flood_takes_no_more_memory,
    a_measurement_ends_them_only_where_it_changes_values,
    fifty_reports_of_another_sharing_leave_a_third_of_the_error,
    the_command_reports_and_lists,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
