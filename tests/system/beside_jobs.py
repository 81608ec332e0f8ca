"""Old values of gpus that nobody uses are measured again beside a job (measure_beside_jobs): what
is measured, what it yields to, and what becomes of its values. A fast clock makes idle hours short.
Prints TAP.
"""
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, GPU_RUN, cells, findings, fake_gpu_probe, fast_clock, probe_of, started, until  # noqa: E402
from claiming import claimed, release  # noqa: E402
from tap import run_tests  # noqa: E402
from top import Terminal  # noqa: E402

WEEK = 604800  # the clock is fast
SOON_S = 10  # of a busy machine
END = json.dumps({"record": "end", "status": "complete", "elapsed_ns": 5})
LOCAL = {"gpu_stream", "gpu_gpu_copy_engine"}
# Measures what it is asked for: each gpu's own memory, its link with the host, its pairs. In the
# background (--places) it hangs while there is a file for that.
PROBE = f"""
import itertools, json, pathlib, sys, time
here, arguments = pathlib.Path(sys.argv[1]), sys.argv[2:]
def of(key):
    return arguments[arguments.index(key) + 1].split(",") if key in arguments else []
gpus = [gpu for gpu in json.loads((here / "names").read_text()) if gpu not in of("--without")]
metrics, places = of("--metrics") or ["host_gpu_kernel", "gpu_stream", "gpu_gpu_copy_engine"], of("--places") or gpus
print('{GPU_RUN}', flush=True)
if of("--places") and (here / "hang").exists():
    print(json.dumps({{"record": "progress", "done": 1, "total": 8, "cell": "gpu_stream gpu0 gpu0"}}), flush=True)
    time.sleep(60)
slow = 0.7 if (here / "slow").exists() else 1
for one, other in itertools.product(["numa0", *gpus], gpus):
    metric = "gpu_stream" if one == other else "host_gpu_kernel" if one == "numa0" else "gpu_gpu_copy_engine"
    if metric in metrics and (one in places or other in places):
        rate = slow * 1e11
        print(json.dumps({{"record": "value", "metric": metric, "from": one, "to": other, "value": rate, "low": 0.99 * rate,
                           "high": 1.01 * rate, "n": 9}}))
time.sleep(0.02)
print('{END}')
"""


def names_of(node):
    with Daemon("--node", node) as daemon:
        return [place["pci"] for place in daemon.call("io.berth.Fabric.GetNode")["places"] if place["kind"] == "gpu"]


class Node:
    """A daemon over a stand-in's node that has measured all."""

    def __init__(self, daemon, probes, folder):
        self.daemon, self.probes, self.folder = daemon, probes, folder
        self.names = json.loads((probes / "names").read_text())

    def processes(self, *gpus):
        """A process is on each of these gpus, as the drivers tell."""
        records = [{"record": "device", "gpu": f"gpu{i}", "pci": name, "processes": int(i in gpus)}
                   for i, name in enumerate(self.names)]
        (self.probes / "new").write_text("\n".join([GPU_RUN, *map(json.dumps, records), END, ""]))
        (self.probes / "new").rename(self.probes / "facts")

    def units(self):
        """(metrics, gpu, gpus left out) of each run in the background."""
        def option(line, key):
            found = re.search(f"{key} (\\S+)", line)
            return found[1].split(",") if found else []

        def gpus(names):
            return {f"gpu{self.names.index(name)}" for name in names}
        return [(set(option(line, "--metrics")), *gpus(option(line, "--places")), gpus(option(line, "--without")))
                for line in started(self.probes) if "--places" in line]

    def measuring(self):
        return self.daemon.status()["measuring"]

    def waits(self, why):
        assert until(lambda: self.measuring()["waits"] == why, 60), (why, self.measuring(), self.units(), self.daemon.said())

    def times(self, metric):
        """When each pair of places was measured."""
        return {(c["from"], c["to"]): c["measured_at_s"] for c in cells(self.daemon, metric) if c["source"] == "measured"}


@contextlib.contextmanager
def node(config="measure_beside_jobs = yes\n", name="h200x4", busy=(), times=20000, duty="duty_percent = 0.1\n"):
    with fake_gpu_probe('exec python3 "${0%/*}/probe.py" "${0%/*}" "$@"\n', facts="cat ${0%/*}/facts", node=name) as (folder, probes):
        (probes / "probe.py").write_text(PROBE)
        (folder / "measurements.jsonl").write_text("")
        (probes / "names").write_text(json.dumps(names_of(folder)))
        with Daemon("--node", folder, config=f"probe_dir = {probes}\n{duty}{config}", wait=False,
                    environment=fast_clock(times)) as daemon:
            its = Node(daemon, probes, folder)
            its.processes()
            daemon.wait_for_socket()
            daemon.wait_ready()
            its.processes(*busy)
            yield its


def without_the_key_nothing_is_measured_beside_a_process():
    with node("", busy=(2, 3)) as its:
        its.waits("gpu2 in use by 1 process")
        time.sleep(0.5)  # hours
        assert its.units() == [] and its.measuring()["beside"] is None, its.units()


def gpus_that_nobody_uses_are_measured_beside_a_process():
    with node(busy=(2, 3)) as its:
        before = {metric: its.times(metric) for metric in (*LOCAL, "host_gpu_kernel")}
        assert until(lambda: its.measuring()["beside"] == "gpu2 in use by 1 process", 60), its.measuring()
        assert until(lambda: len(its.units()) > 5, 60), its.daemon.said()
        assert all(metrics <= LOCAL and gpu in ("gpu0", "gpu1") and out == {"gpu2", "gpu3"} for metrics, gpu, out in its.units()), its.units()
        idle = {("gpu0", "gpu0"), ("gpu1", "gpu1"), ("gpu0", "gpu1"), ("gpu1", "gpu0")}
        after = {metric: its.times(metric) for metric in before}
        renewed = {pair for metric in before for pair in before[metric] if after[metric][pair] > before[metric][pair]}
        assert renewed == idle, renewed
        assert findings(its.daemon) == {}, findings(its.daemon)
        points = its.daemon.call("io.berth.Fabric.History", {"metric": "gpu_stream", "from": "gpu0", "to": "gpu0"})["points"]
        assert "beside" not in points[0]["conditions"] and points[-1]["conditions"]["beside"] == "gpu2 in use by 1 process", points
        its.processes()  # the job ends: all are measured, not beside it
        assert until(lambda: its.times("host_gpu_kernel")[("numa0", "gpu2")] > before["host_gpu_kernel"][("numa0", "gpu2")], 60), its.measuring()
        assert until(lambda: its.measuring()["beside"] is None)
        its.processes(0, 1, 2, 3)
        its.waits("gpu0 in use by 1 process")
        begun = len(its.units())
        time.sleep(0.5)  # hours
        assert len(its.units()) == begun, its.units()[begun:]


def pairs_whose_links_others_may_use_are_not_measured():
    """Some pairs of these gpus have no link of their own: traffic goes over other gpus."""
    with node(name="mi250x", busy=(2, 3)) as its:
        assert until(lambda: len(its.units()) > 8, 60), its.daemon.said()
        assert all(metrics == {"gpu_stream"} and gpu not in ("gpu2", "gpu3") and out == {"gpu2", "gpu3"} for metrics, gpu, out in its.units()), its.units()
        assert len({gpu for _, gpu, _ in its.units()}) == 6, its.units()


def jobs_and_load_are_measured_beside_while_cpus_are_free():
    with node() as its:
        job = its.folder / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_12"
        job.mkdir(parents=True)
        assert until(lambda: its.measuring()["beside"] == "job_12 is on the node", 60), its.measuring()
        (its.folder / "proc").mkdir()
        (its.folder / "proc/loadavg").write_text("99.00 1.00 1.00 1/99 1\n")
        its.waits("the node has a load of 99.00")
        begun = len(its.units())
        assert all(metrics <= LOCAL for metrics, _, _ in its.units()), its.units()
        time.sleep(0.5)  # hours
        assert len(its.units()) == begun
        (its.folder / "proc/loadavg").write_text("9.00 1.00 1.00 1/99 1\n")
        assert until(lambda: len(its.units()) > begun, 60), its.measuring()


def a_job_that_starts_on_an_idle_gpu_stops_it():
    with node(busy=(2, 3)) as its:
        job = its.folder / "sys/class/kfd/kfd/proc/4711"
        job.mkdir(parents=True)
        (its.probes / "hang").touch()
        _, probe = until(lambda: its.units() and probe_of(its.daemon), 60)
        for _ in range(10):  # its own openings are counted when the daemon has read its first lines
            its.daemon.status()
            time.sleep(0.05)
        # The process beside it goes, then one comes: as many as before.
        job.rmdir()
        time.sleep(0.2)
        assert pathlib.Path(f"/proc/{probe}").exists()
        job.mkdir()
        assert until(lambda: not pathlib.Path(f"/proc/{probe}").exists(), SOON_S), its.daemon.said()
        its.waits("a process opened a gpu")
        its.processes(0, 2, 3)
        begun = len(its.units())
        (its.probes / "hang").unlink()
        assert until(lambda: len(its.units()) > begun, 60), its.measuring()
        assert all(gpu == "gpu1" and metrics == {"gpu_stream"} for metrics, gpu, _ in its.units()[begun:]), its.units()


def a_gpu_that_no_driver_names_is_nobodys_guess():
    """Somebody has a gpu open, and the drivers tell of no process on any."""
    with node() as its:
        (its.folder / "sys/class/kfd/kfd/proc/4711").mkdir(parents=True)
        its.waits("gpus in use by 1 process")
        time.sleep(0.5)  # hours
        assert its.units() == []


def claimed_gpus_are_left_out():
    with node() as its:
        (its.probes / "hang").touch()
        job = claimed(its.daemon, "gpu2", "gpu3", ttl_s=WEEK)["claim"]
        _, probe = until(lambda: its.units() and probe_of(its.daemon), 60)
        assert its.measuring()["beside"].startswith(f"claim {job}"), its.measuring()
        claimed(its.daemon, "core0", ttl_s=WEEK)
        assert pathlib.Path(f"/proc/{probe}").exists(), "a claim of other places stops nothing"
        assert its.measuring()["waits"] is None
        gpu = its.units()[-1][1]
        begin = time.monotonic()
        claimed(its.daemon, gpu, ttl_s=WEEK)
        assert time.monotonic() - begin < SOON_S
        assert not pathlib.Path(f"/proc/{probe}").exists(), "the answer comes after its end"
        begun = len(its.units())
        (its.probes / "hang").unlink()
        assert until(lambda: len(its.units()) > begun, 60), its.measuring()
        other = {"gpu0": "gpu1", "gpu1": "gpu0"}[gpu]
        assert all(out == {gpu, "gpu2", "gpu3"} and at == other and metrics <= LOCAL for metrics, at, out in its.units()[begun:]), its.units()
        last = claimed(its.daemon, other, ttl_s=WEEK)
        assert until(lambda: (its.measuring()["waits"] or "").startswith("claim ")), its.measuring()
        begun = len(its.units())
        time.sleep(0.5)  # hours
        assert len(its.units()) == begun
        release(its.daemon, claim=last["claim"])
        assert until(lambda: len(its.units()) > begun, 60), its.measuring()


def a_value_that_differs_waits_for_an_idle_node():
    """It is neither kept nor a finding; the cell is measured first when the job has ended."""
    with node(busy=(2, 3)) as its:
        (its.probes / "slow").touch()
        before = its.times("gpu_stream")
        assert until(lambda: {gpu for _, gpu, _ in its.units()} == {"gpu0", "gpu1"} and its.measuring()["waits"], 60), its.measuring()
        begun = len(its.units())
        time.sleep(0.5)  # hours
        assert len(its.units()) == begun, "what is in doubt is not measured beside a job"
        assert its.times("gpu_stream") == before and findings(its.daemon) == {}
        its.processes()
        assert until(lambda: len(its.units()) > begun, 60), its.measuring()
        assert until(lambda: its.times("gpu_stream") != before, 60), its.measuring()
        measured = [c["value"] for c in cells(its.daemon, "gpu_stream") if c["from"] == "gpu0" and c["source"] == "measured"]
        assert measured == [0.7e11], measured


def status_and_top_say_beside_what_it_measures():
    with node(busy=(2,)) as its:
        (its.probes / "hang").touch()
        assert until(lambda: its.units() and its.measuring()["beside"], 60)
        shown = subprocess.run([BIN / "berth", "--socket", its.daemon.socket, "status"], capture_output=True, text=True, check=True).stdout
        assert re.search(r"^ *beside +gpu2 in use by 1 process; idle gpus only$", shown, re.MULTILINE), shown
        top = Terminal(its.daemon.socket)
        top.until("background: ", "beside gpu2 in use by", "1 process: idle gpus only")
        top.key("q")
        assert top.end() == 0


if __name__ == "__main__":
    sys.exit(run_tests([without_the_key_nothing_is_measured_beside_a_process, gpus_that_nobody_uses_are_measured_beside_a_process,
                        pairs_whose_links_others_may_use_are_not_measured, jobs_and_load_are_measured_beside_while_cpus_are_free,
                        a_job_that_starts_on_an_idle_gpu_stops_it, a_gpu_that_no_driver_names_is_nobodys_guess,
                        claimed_gpus_are_left_out, a_value_that_differs_waits_for_an_idle_node,
                        status_and_top_say_beside_what_it_measures], at_once=4) > 0)
