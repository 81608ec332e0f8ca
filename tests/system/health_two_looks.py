"""Two looks: a worse value is a finding when a second measurement confirms it. Whole daemons that
measure again by themselves, on a stand-in's node with a job, so that only users measure. A fast
clock makes the time between short. Prints TAP.
"""
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, GPU_RUN, RUN, fake_gpu_probe, fake_probe, fast_clock, until  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

TIMES = 20000
GPUS = [f"gpu{i}" for i in range(8)]
RATE = {"gpu_gpu_copy_engine": 40e9, "gpu_gpu_kernel": 150e9}
LINK = {"gpu0", "gpu1"}
JOB = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_12"


class Machine:
    """A node whose next measurement can be chosen."""

    def __init__(self, folder, probes):
        self.folder, self.probes = folder, probes
        self.config = f"probe_dir = {probes}\nduty_percent = 0.1\n"
        self.runs = 0
        (folder / JOB).mkdir(parents=True)

    def says(self, link=1.0, stream=1.0, axpy=None):
        """Shares of the rates: of the link, of copies in gpu3's memory, of another test there, which a
        quick run leaves out.
        """
        self.runs += 1
        lines = []

        def add(metric, places, rate, axes=None):
            rate *= 1 + 0.001 * ((7 * len(lines) + 3 * self.runs) % 5 - 2)  # 0.14 % from run to run
            lines.append({"record": "value", "metric": metric, "from": places[0], "to": places[1], "axes": axes or {},
                          "value": rate, "low": 0.998 * rate, "high": 1.002 * rate, "n": 9})
        for a in GPUS:
            add("gpu_stream", (a, a), 1.3e12 * (stream if a == "gpu3" else 1))
            for b in GPUS:
                for metric, rate in RATE.items():
                    if a != b:
                        add(metric, (a, b), rate * (link if {a, b} == LINK else 1))
        if axpy is not None:
            add("gpu_stream", ("gpu3", "gpu3"), 1.2e12 * axpy, {"test": "bs2"})
        lines = [json.loads(GPU_RUN), *lines, {"record": "end", "status": "complete", "elapsed_ns": 5}]
        (self.probes / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def daemon(self):
        return Daemon("--node", self.folder, config=self.config, environment=fast_clock(TIMES))


@contextlib.contextmanager
def machine(**said):
    with fake_gpu_probe('cat "${0%/*}/lines"\n') as (folder, probes):
        node = Machine(folder, probes)
        node.says(**said)
        yield node


def measure(daemon):
    with Connection(daemon.socket) as asker:
        replies = list(asker.stream("io.berth.Health.Probe", {"profile": "quick"}))
    assert replies[-1][0] is None, replies[-1]
    daemon.wait_ready()


def probe(daemon, node, times=1, **said):
    """Measures some virtual minutes or hours later."""
    for _ in range(times):
        node.says(**said)
        time.sleep(0.05)
        measure(daemon)


def check(daemon):
    return daemon.call("io.berth.Health.Check")


def past(daemon):
    return daemon.call("io.berth.Health.ListFindings")["findings"]


def berth(daemon, *arguments):
    return subprocess.run([BIN / "berth", "--socket", daemon.socket, *arguments], capture_output=True, text=True, timeout=20)


def times_of(daemon, below):
    """When the link was measured below that share."""
    asked = {"metric": "gpu_gpu_copy_engine", "from": "gpu0", "to": "gpu1"}
    return [point["measured_at_s"] for point in daemon.call("io.berth.Fabric.History", asked)["points"]
            if point["value"] < below * RATE["gpu_gpu_copy_engine"]]


def is_quiet(daemon):
    reply = check(daemon)
    return (reply["verdict"], reply["drain"], reply["findings"], past(daemon)) == ("healthy", False, [], [])


def is_mended(daemon, since_s):
    reply = check(daemon)
    return (reply["verdict"], reply["findings"], reply["unconfirmed"]) == ("healthy", [], []) and all(
        one["since_s"] == since_s < one["cleared_s"] for one in past(daemon))


def one_look_is_no_finding_and_the_next_good_one_drops_it():
    with machine() as node, node.daemon() as daemon:
        daemon.wait_ready()
        probe(daemon, node, 6)
        assert is_quiet(daemon) and check(daemon)["unconfirmed"] == [], check(daemon)
        probe(daemon, node, link=0.9)
        reply = check(daemon)
        assert is_quiet(daemon), (reply, past(daemon))
        [seen] = reply["unconfirmed"]
        assert LINK & {seen["place"]} and seen["code"] == "slower-than-baseline", seen
        told = berth(daemon, "health")
        assert told.returncode == 0 and told.stdout.startswith("healthy: ") and "seen once" in told.stdout, told
        assert "do: wait until berthd has measured it again, or berth probe two minutes after that" in " ".join(told.stdout.split()), told
        assert "looks: 1 in a row beyond that limit\n" in berth(daemon, "health", "--why").stdout, told
        page = berth(daemon, "report", "-o", "-").stdout
        assert ">Seen once</h2>" in page and ">What to do</h2>" not in page, page[:3000]
        assert ", seen once" in berth(daemon, "history", *(seen["cell"][key] for key in ("metric", "from", "to"))).stdout
        probe(daemon, node)
        assert is_quiet(daemon) and check(daemon)["unconfirmed"] == [], check(daemon)
        # What was dropped counts as no first look.
        probe(daemon, node, link=0.9)
        assert is_quiet(daemon) and len(times_of(daemon, 0.96)) == 2, check(daemon)


def the_second_look_is_one_finding_since_the_first():
    with machine() as node, node.daemon() as daemon:
        daemon.wait_ready()
        probe(daemon, node, 6)
        probe(daemon, node, link=0.92)
        [first_s] = times_of(daemon, 0.96)
        assert is_quiet(daemon), check(daemon)
        probe(daemon, node, link=0.92)
        reply = check(daemon)
        [finding] = reply["findings"]
        assert (reply["verdict"], reply["drain"], reply["unconfirmed"]) == ("degraded", False, []), reply
        assert finding["since_s"] == first_s and finding["place"] in LINK and set(finding["text"].split()) & LINK, finding
        # Both metrics, either way.
        assert "; with it 3 more values of " in finding["text"], finding
        [one] = past(daemon)
        series = {f"{metric} {way}" for metric in RATE for way in ("gpu0 gpu1", "gpu1 gpu0")}
        assert (one["since_s"], one["series"], {slow["series"] for slow in one["slow"]}) == (first_s, 4, series), one
        told = berth(daemon, "health")
        assert told.returncode == 1 and "seen once" not in told.stdout, told
        # Equal looks add nothing.
        probe(daemon, node, 3, link=0.92)
        assert len(check(daemon)["findings"]) == len(past(daemon)) == 1 and not check(daemon)["drain"], check(daemon)
        probe(daemon, node)
        assert len(past(daemon)) == 1 and is_mended(daemon, first_s), past(daemon)


def a_restart_keeps_the_first_look():
    """On this machine, with a scripted probe of its cores; a daemon's own probes are looks, too."""
    with fake_probe('cat "${0%/*}/lines"\n') as folder, contextlib.ExitStack() as stack:
        def says(share):
            value = {"record": "value", "metric": "memory_bandwidth", "from": "llc0", "to": "numa0", "value": 100e9 * share,
                     "low": 99.8e9 * share, "high": 100.2e9 * share, "n": 9}
            lines = [json.loads(RUN), value, {"record": "end", "status": "complete", "elapsed_ns": 5}]
            (pathlib.Path(folder) / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))

        def low():
            asked = {"metric": "memory_bandwidth", "from": "llc0", "to": "numa0"}
            return [point["measured_at_s"] for point in daemon.call("io.berth.Fabric.History", asked)["points"] if point["value"] < 96e9]

        def started_at(ahead_s, directory=None):
            """Two virtual minutes are four seconds."""
            config = f"probe_dir = {folder}\nduty_percent = 0.1\n"
            daemon = stack.enter_context(Daemon(directory=directory, config=config, environment=fast_clock(30, ahead_s)))
            daemon.wait_ready()
            return daemon

        says(1)
        daemon = started_at(0)
        for share in [1] * 6 + [0.92]:
            says(share)
            measure(daemon)
        [first_s] = low()
        directory = daemon.directory
        assert is_quiet(daemon) and len(check(daemon)["unconfirmed"]) == 1, check(daemon)
        daemon.stop(signal.SIGKILL)
        daemon = started_at(int(first_s - time.time()) + 30, directory)
        assert is_quiet(daemon) and len(check(daemon)["unconfirmed"]) == 1, check(daemon)
        time.sleep(4.5)
        measure(daemon)
        reply = check(daemon)
        [finding] = reply["findings"]
        assert len(low()) > 1 and (finding["since_s"], reply["unconfirmed"]) == (first_s, []), (reply, low())
        later_s = low()[-1]
        daemon.stop(signal.SIGKILL)
        daemon = started_at(int(later_s - time.time()) + 30, directory)
        assert check(daemon)["unconfirmed"] == [] and [one["since_s"] for one in check(daemon)["findings"]] == [first_s], check(daemon)
        says(1)
        measure(daemon)
        assert is_mended(daemon, first_s), (check(daemon), past(daemon))


def three_low_runs_drain_once_they_are_confirmed():
    with machine() as node, node.daemon() as daemon:
        daemon.wait_ready()
        probe(daemon, node, 6)
        for run in range(3):
            probe(daemon, node, link=0.7)
            assert check(daemon)["drain"] == (run == 2), (run, check(daemon))
        assert check(daemon)["verdict"] == "unhealthy", check(daemon)


def the_first_day_has_two_looks_too():
    """A gpu's memory far below that of the others is a finding by the second measurement."""
    with machine(stream=0.6) as node, node.daemon() as daemon:
        daemon.wait_ready()
        assert is_quiet(daemon) and [one["place"] for one in check(daemon)["unconfirmed"]] == ["gpu3"], check(daemon)
        probe(daemon, node, stream=0.6)
        [finding] = check(daemon)["findings"]
        assert (finding["code"], finding["place"], check(daemon)["verdict"]) == ("slower-than-peers", "gpu3", "degraded"), finding
        told = berth(daemon, "health", "--why").stdout
        assert "do: berth matrix gpu_stream --intervals" in told and told.endswith("\nfor gpus of the stand-in driver, not real ones\n") and "\nevery slow value by itself: berth history --all\n" in told, told
        assert berth(daemon, "health").returncode == 1


def a_cell_that_later_runs_leave_out_is_found_by_one_look():
    with machine(axpy=1) as node, node.daemon() as daemon:
        daemon.wait_ready()
        probe(daemon, node, 6, axpy=1)
        probe(daemon, node, axpy=0.92)
        assert is_quiet(daemon) and len(check(daemon)["unconfirmed"]) == 1, check(daemon)

        def later():
            probe(daemon, node)
            return check(daemon)["findings"]
        [finding] = until(later)  # an hour later
        assert finding["place"] == "gpu3" and "test=bs2" in finding["text"], finding
        probe(daemon, node, axpy=1)
        assert check(daemon)["findings"] == [], check(daemon)


if __name__ == "__main__":
    sys.exit(run_tests([
        one_look_is_no_finding_and_the_next_good_one_drops_it,
        the_second_look_is_one_finding_since_the_first,
        a_restart_keeps_the_first_look,
        three_low_runs_drain_once_they_are_confirmed,
        the_first_day_has_two_looks_too,
        a_cell_that_later_runs_leave_out_is_found_by_one_look,
    ]))
