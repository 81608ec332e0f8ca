"""A node under load: who is slow is named, equal ones are healthy, and nobody else is disturbed. Prints TAP."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, GPU_RUN, NODES, RUN, alive, cells, fake_gpu_probe, fake_probe, started, until  # noqa: E402
from claiming import DENIED, as_nobody, claimed, release  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection  # noqa: E402
from virtual_node import described, probe_folder  # noqa: E402

LOAD = "io.berth.Health.Load"
BUSY = "io.berth.Health.Busy"
END = json.dumps({"record": "end", "status": "complete", "elapsed_ns": 5})
PCI = [f"0000:00:{number:02x}.0" for number in range(6, 10)]  # tests/nodes/h200x4


def load(daemon, **request):
    """The replies to one request."""
    with Connection(daemon.socket, timeout=120) as asker:
        return list(asker.stream(LOAD, request))


def loaded(daemon, **request):
    replies = load(daemon, **request)
    assert all(error is None for error, _ in replies), replies[-1]
    daemon.wait_ready()
    return replies[-1][1]


def named(reply):
    return {(finding["place"], finding["code"]): finding for finding in reply["findings"]}


@contextlib.contextmanager
def virtual(*lines):
    """A daemon over four virtual H200 with these lines in their description, measured by the real probe."""
    with described("h200x4", *lines) as description, probe_folder(description) as probes, tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(probes) / "berth-probe-cpu").unlink()  # this machine's cores are no part of that node
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "h200x4", node)
        (node / "measurements.jsonl").write_text("")
        about = json.loads((node / "node.json").read_text())
        (node / "node.json").write_text(json.dumps({**about, "origin": "standin"}))
        with Daemon("--node", node, config=f"probe_dir = {probes}\nprobe_at_start = no\n") as daemon:
            daemon.wait_ready()
            yield daemon


def record(place, rate, **more):
    return json.dumps({"record": "load", "place": place, "at_ns": 1, "bytes_per_s": rate, **more})


def script(*records, run=GPU_RUN):
    return "cat <<'EOT'\n" + "\n".join([run, *records, END]) + "\nEOT\n"


@contextlib.contextmanager
def scripted(text, facts=""):
    """A daemon over four H200 whose probe is that script."""
    with fake_gpu_probe(text, facts=facts, node="h200x4") as (node, probes):
        with Daemon("--node", node, config=f"probe_dir = {probes}\nprobe_at_start = no\n") as daemon:
            daemon.wait_ready()
            yield daemon, probes


def equal_gpus_are_healthy_and_nothing_is_kept():
    with virtual("noise 0.01 7") as daemon:
        before, values = daemon.status()["basis"], cells(daemon, "memory_bandwidth")
        reply = loaded(daemon, duration_s=5)
        assert reply["verdict"] == "healthy" and reply["reason"] == "healthy: 4 places under load, none out of line", reply
        assert reply["findings"] == [] and not reply["drain"] and reply["origin"] == "standin" and reply["elapsed_s"] <= reply["duration_s"] == 5
        assert [place["place"] for place in reply["places"]] == ["gpu0", "gpu1", "gpu2", "gpu3"]
        for place in reply["places"]:
            works = {work["work"]: work for work in place["works"]}
            assert set(works) == {"copy", "product"} and place["intervals"] == 50, place
            for work, unit, rate in (("copy", "bytes_per_s", 4.18e12), ("product", "flop_per_s", 4.43e13)):
                one = works[work]
                assert one["unit"] == unit and abs(one["rate"] / rate - 1) < 0.02 and abs(one["rate"] / one["others"] - 1) < 0.02, one
                assert len(one["rates"]) == 10 and 0 < one["deviation"] < 0.02 * one["rate"], one
            assert place["clocks_mhz"] == [] and place["power_w"] is None and place["throttle"] == {}, place
        assert daemon.status()["basis"] == before and cells(daemon, "memory_bandwidth") == values
        assert daemon.call("io.berth.Health.Check")["findings"] == []


def a_slow_gpu_is_named():
    for rate, verdict, severity in ((3.6e12, "degraded", "warning"), (2.5e12, "unhealthy", "critical")):
        with virtual(f"path kernel * 2 own rate={rate / 2} ns=2200 uses=hbm{{device}}") as daemon:
            reply = loaded(daemon, duration_s=5)
            assert reply["verdict"] == verdict and reply["reason"].startswith(f"{verdict}: gpu2: "), reply["reason"]
            found = named(reply)
            assert list(found) == [("gpu2", "slow-under-load")], found
            slow = found["gpu2", "slow-under-load"]
            assert slow["severity"] == severity and abs(slow["value"] / rate - 1) < 0.02 and abs(slow["expected"] / 4.18e12 - 1) < 0.02, slow
            assert daemon.call("io.berth.Health.Check")["findings"] == [], "it is no finding of Check"


def clocks_that_are_held_down_and_a_slow_end_are_findings():
    rows = []
    for i in range(20):
        rows += [record(pci, 4e12 + 1e9 * (i % 3), clock_mhz=1980, power_w=600, temperature_c=60, throttle="power-cap") for pci in PCI[:3]]
        rows.append(record(PCI[3], 4e12 - 4e10 * i, clock_mhz=1980 - 20 * i, power_w=500, temperature_c=70 + i, throttle="hardware-thermal,power-cap" if i >= 10 else "none"))
    with scripted(script(*rows)) as (daemon, probes):
        reply = loaded(daemon, duration_s=5)
        found = named(reply)
        assert set(found) == {("gpu3", "slow-under-load"), ("gpu3", "slows-under-load"), ("gpu3", "throttled")}, found
        assert "hardware-thermal in 50 % of the intervals" in found["gpu3", "throttled"]["text"], found
        assert found["gpu3", "slows-under-load"]["text"].startswith("18 % slower copies at the end"), found
        last, first = reply["places"][3], reply["places"][0]
        assert last["clocks_mhz"][0] == 1970 and last["clocks_mhz"][9] == 1610 and last["temperature_c"] == 89 and last["power_w"] == 500, last
        assert last["throttle"] == {"hardware-thermal": 0.5, "power-cap": 0.5} and first["throttle"] == {"power-cap": 1}, reply
        assert started(probes)[-1].split()[:3] == ["--child", "--load-ns", "5000000000"], started(probes)


def a_load_too_short_to_judge_is_unknown():
    with scripted(script(*[record(pci, 4e12) for pci in PCI for _ in range(19)])) as (daemon, _):
        reply = loaded(daemon, duration_s=5)
        assert reply["verdict"] == "unknown" and len(reply["places"]) == 4 and reply["findings"] == [], reply


def probes_that_fail_are_findings():
    one = record(PCI[0], 4e12)
    for text, code in ((f"echo '{GPU_RUN}'\nexit 70\n", "probe-failed"), (f"echo '{GPU_RUN}'\nkill -SEGV $$\n", "probe-crashed"),
                       (script("no record"), "probe-garbage"), (script(record("gpu77", 1e12)), "probe-garbage"), (script(record(PCI[0], -1)), "probe-garbage"),
                       (f"echo '{GPU_RUN}'\nyes '{one}' | head -n 9000\necho '{END}'\n", "probe-garbage")):
        with scripted(text) as (daemon, _):
            reply = loaded(daemon, duration_s=5)
            assert reply["verdict"] == "degraded" and [finding["code"] for finding in reply["findings"]] == [code], (code, reply)


def a_lost_gpu_advises_to_drain():
    lost = json.dumps({"record": "finding", "code": "gpu-lost", "from": PCI[1], "to": PCI[1], "why": "transfer: unspecified launch failure"})
    with scripted(script(lost)) as (daemon, _):
        reply = loaded(daemon, duration_s=5)
        assert reply["drain"] and reply["verdict"] == "unhealthy" and reply["reason"].startswith("unhealthy: gpu1: transfer"), reply
    with virtual("fault cuLaunchKernel 500 2 lost") as daemon:
        reply = loaded(daemon, duration_s=5)
        assert reply["drain"] and ("gpu2", "gpu-lost") in named(reply), reply


def a_gpu_in_use_is_left_out():
    facts = f"echo '{json.dumps({'record': 'device', 'gpu': 'gpu2', 'pci': PCI[2], 'processes': 2})}'"
    with scripted(script(*[record(PCI[0], 4e12) for _ in range(20)], json.dumps({"record": "load", "place": PCI[1], "why": "out of memory"})), facts=facts) as (daemon, probes):
        reply = loaded(daemon, duration_s=5)
        assert reply["left_out"] == [{"what": "gpu2", "why": "2 processes are on it"}, {"what": "gpu1", "why": "out of memory"}], reply
        arguments = started(probes)[-1].split()
        assert arguments[arguments.index("--without") + 1] == PCI[2], arguments


WAITS = f"echo '{GPU_RUN}'\nwhile :; do echo '{record(PCI[0], 4e12)}'; sleep 0.1; done\n"


def nothing_is_under_load_beside_a_claim():
    with scripted(WAITS) as (daemon, _):
        for places, more in (("numa0", {}), ("gpu1", {"purpose": "profiling"})):
            claim = claimed(daemon, places, **more)
            error, reply = load(daemon, duration_s=60)[-1]
            assert error == BUSY and claim["claim"] in reply["by"], (error, reply)
            release(daemon, claim=claim["claim"])
        for places, more in (("numa0", {}), ("gpu1", {"purpose": "profiling"})):
            with Connection(daemon.socket, timeout=60) as asker:
                replies = asker.stream(LOAD, {"duration_s": 60})
                first = next(replies)
                assert first[0] is None and first[1]["verdict"] is None and first[1]["places"] == [], first
                assert daemon.status()["state"] == "probing"
                begin = time.monotonic()
                claim = claimed(daemon, places, **more)
                assert time.monotonic() - begin < 20
                error, reply = list(replies)[-1]
                assert error == BUSY and claim["claim"] in reply["by"], (error, reply)
            release(daemon, claim=claim["claim"])
            daemon.wait_ready()


def one_runs_at_a_time_and_cancel_ends_it():
    with scripted(WAITS) as (daemon, _), Connection(daemon.socket, timeout=60) as asker:
        replies = asker.stream(LOAD, {"duration_s": 60})
        next(replies)
        for method in (LOAD, "io.berth.Health.Probe"):
            with Connection(daemon.socket) as other:
                error, reply = other.call(method, {})
                assert error == BUSY and reply["by"] == "probe", (method, error, reply)
        daemon.call("io.berth.Health.CancelProbe")
        assert list(replies)[-1][0] == "io.berth.Health.Unavailable"
        daemon.wait_ready()


def a_load_ends_with_its_caller():
    with scripted(WAITS) as (daemon, _):
        for end in (signal.SIGINT, signal.SIGKILL):
            command = subprocess.Popen([BIN / "berth", "--socket", daemon.socket, "health", "--load", "1m"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert until(lambda: daemon.status()["state"] == "probing")
            begin = time.monotonic()
            command.send_signal(end)
            out, err = command.communicate(timeout=30)
            assert command.returncode == (130 if end == signal.SIGINT else -end) and out == "", (command.returncode, out, err)
            assert until(lambda: daemon.status()["state"] == "ready") and time.monotonic() - begin < 30
            assert end == signal.SIGKILL or err.endswith("berth: the load has ended, nothing is known of it\n"), err


def a_daemon_that_stops_ends_it():
    with scripted(f"echo $$ >>{{0}}/pid\n{WAITS}".replace("{0}", "$(dirname $0)")) as (daemon, probes), Connection(daemon.socket, timeout=60) as asker:
        replies = asker.stream(LOAD, {"duration_s": 60})
        next(replies)
        pid = until(lambda: (pathlib.Path(probes) / "pid").exists() and (pathlib.Path(probes) / "pid").read_text().strip())
        code, seconds = daemon.stop()
        assert code == 0 and seconds < 20 and not alive(int(pid)), (code, seconds, daemon.said())


def users_without_the_right_are_refused():
    with scripted(WAITS) as (daemon, _):
        os.chmod(daemon.directory, 0o755)
        replies = as_nobody((daemon.socket, LOAD, {"duration_s": 1}))
        if replies is None:
            raise LeftOut("only root can become another user")
        assert replies[0][0] == DENIED, replies
        assert daemon.status()["state"] == "ready"


def a_recorded_node_has_no_load():
    with Daemon("--node", NODES / "mi250x") as daemon:
        assert load(daemon, duration_s=5)[-1][0] == "io.berth.Health.Unavailable"
        for wrong in (4, 3601, -1):
            assert load(daemon, duration_s=wrong)[-1][0] == "org.varlink.service.InvalidParameter"


def memory_alone_says_what_it_left_out():
    """The real probe on this machine for five seconds, and a scripted one."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "berth-probe-cpu").symlink_to(BIN / "berth-probe-cpu")
        with Daemon(config=f"probe_dir = {folder}\nprobe_at_start = no\n") as daemon:
            daemon.wait_ready()
            has_gpus = any(place["kind"] == "gpu" for place in daemon.call("io.berth.Fabric.GetNode")["places"])
            reply = loaded(daemon, duration_s=5)
            assert reply["places"] and all(place["place"].startswith("numa") and place["works"][0]["rate"] > 1e8 and len(place["works"]) == 1 for place in reply["places"]), reply
            assert has_gpus or {"what": "gpus", "why": "the node has none"} in reply["left_out"], reply
            assert cells(daemon, "memory_bandwidth") == []
    rows = [record("numa0", 1e11 + 1e8 * (i % 2)) for i in range(20)]
    with fake_probe(script(*rows, run=RUN)) as probes, Daemon(config=f"probe_dir = {probes}\nprobe_at_start = no\n") as daemon:
        daemon.wait_ready()
        done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "health", "--load", "5"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and lines[0] == "healthy: 1 place under load, none out of line" and lines[2].split()[:4] == ["numa0", "copy", "100", "GB/s"], done
        assert max(map(len, lines)) <= 80, lines


def the_command_prints_the_verdict_first():
    rows = [record(pci, 3e12 if pci == PCI[1] else 4e12 + 1e9 * (i % 2), clock_mhz=1980, power_w=700, temperature_c=66, throttle="power-cap") for i in range(20) for pci in PCI]
    with scripted(script(*rows)) as (daemon, _):
        done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "health", "--load", "5s"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80"})
        assert done.returncode == 2 and done.stdout.startswith("unhealthy: gpu1: 25 % slower copies under load than the median of its kind\n"), done
        assert "[slow-under-load]" in done.stdout and "do: berth health --load 3m again" in done.stdout, done.stdout
        for words in (["--load", "soon"], ["--load", "0"], ["--load", "4"], ["--load", "3m", "gpu0"]):
            done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "health", *words], capture_output=True, text=True)
            assert done.returncode == 64 and done.stderr.count("\n") == 1, done
        done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "--json", "health", "--load", "5"], capture_output=True, text=True)
        assert done.returncode == 2 and json.loads(done.stdout.splitlines()[-1])["verdict"] == "unhealthy", done


TESTS = [equal_gpus_are_healthy_and_nothing_is_kept, a_slow_gpu_is_named, clocks_that_are_held_down_and_a_slow_end_are_findings,
         a_load_too_short_to_judge_is_unknown, probes_that_fail_are_findings, a_lost_gpu_advises_to_drain, a_gpu_in_use_is_left_out,
         nothing_is_under_load_beside_a_claim, one_runs_at_a_time_and_cancel_ends_it, a_load_ends_with_its_caller, a_daemon_that_stops_ends_it, users_without_the_right_are_refused,
         a_recorded_node_has_no_load, memory_alone_says_what_it_left_out, the_command_prints_the_verdict_first]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
