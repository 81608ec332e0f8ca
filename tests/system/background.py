"""Values that got old are measured again in the background: its budget, its order, and all that it
yields to. A fast clock makes idle hours short. Prints TAP.
"""
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, GPU_RUN, RUN, cells, findings, fake_gpu_probe, fast_clock, least, probe_of, started, until, wakes  # noqa: E402
from claiming import claimed, release  # noqa: E402
from gpu import devices, mi250x_pcis  # noqa: E402
from tap import run_tests  # noqa: E402
from top import Terminal  # noqa: E402
from varlink import Connection  # noqa: E402

WEEK = 604800  # the clock is fast
SOON_S = 10  # of a busy machine; without a reason, a probe that hangs ends after 20 s
END = {"record": "end", "status": "complete", "elapsed_ns": 5}
GPUS = [f"gpu{i}" for i in range(8)]
HANGS = {"record": "progress", "done": 1, "total": 8, "cell": "gpu_stream gpu0 gpu0"}
# Measures two metrics of each gpu that it is asked for. In the background (--places) it hangs while
# there is a file for that; where there is one for times, it notes its begin and its end.
SCRIPT = f"""
here=${{0%/*}}
metrics=host_gpu_kernel,gpu_stream
places={','.join(GPUS)}
asked= slow=
IFS=,
[ ! -e $here/times ] || date +%s.%N >> $here/begun
[ ! -e $here/slow ] || read -r slow < $here/slow
while [ $# -gt 0 ]; do
    case $1 in
    --metrics) metrics=$2 ;;
    --places) asked=$2 places=$2 ;;
    esac
    shift
done
echo '{GPU_RUN}'
if [ -n "$asked" ] && [ -e $here/hang ]; then
    echo '{json.dumps(HANGS)}'
    exec sleep 60
fi
for place in $places; do
    rate=2e10 low=1.98e10 high=2.02e10
    [ "$slow" != $place ] || rate=1.5e10 low=1.48e10 high=1.52e10
    case $metrics in *host_gpu_kernel*)
        echo '{{"record":"value","metric":"host_gpu_kernel","from":"numa0","to":"'$place'","value":'$rate',"low":'$low',"high":'$high',"n":9}}' ;;
    esac
    case $metrics in *gpu_stream*)
        echo '{{"record":"value","metric":"gpu_stream","from":"'$place'","to":"'$place'","value":1e12,"low":0.9e12,"high":1.1e12,"n":9}}' ;;
    esac
done
sleep 0.02
echo '{json.dumps(END)}'
[ ! -e $here/times ] || date +%s.%N >> $here/ended
"""


@contextlib.contextmanager
def node(config="", facts="", times=20000):
    """A daemon over a stand-in's node that has measured all, its probes and its folder."""
    with fake_gpu_probe(SCRIPT, facts=facts) as (folder, probes):
        environment = fast_clock(times) if times > 1 else {}
        with Daemon("--node", folder, config=f"probe_dir = {probes}\nduty_percent = 0.1\n{config}",
                    environment=environment) as daemon:
            daemon.wait_ready()
            yield daemon, probes, folder


def measuring(daemon):
    return daemon.status()["measuring"]


def units(probes):
    return [line for line in started(probes) if "--places" in line]


def times_of(probes, name):
    return [float(line) for line in (probes / name).read_text().split()]


def an_hour_costs_no_more_than_the_duty():
    with node("freshness_s = 60\n", times=3600) as (daemon, probes, _):
        (probes / "times").touch()
        first = until(lambda: measuring(daemon)["last_at_s"])
        # Two hours: the budget has been used up to its edge for long.
        assert until(lambda: measuring(daemon)["last_at_s"] > first + 2 * 3600, 120), daemon.said()
        status = measuring(daemon)
        # On a busy machine the last unit may take longer than those before it.
        assert 0.0002 < status["last_hour"] <= 0.001 + status["last_cost_ns"] / 3.6e12, status
        assert status["budget"] == 0.001 and status["last_day"] < status["last_hour"], status
        # The probes' own times, which the daemon does not tell. One may not have ended yet.
        begun, ended = times_of(probes, "begun"), times_of(probes, "ended")
        assert len(units(probes)) > 10, units(probes)
        own = sum(end - begin for begin, end in zip(begun, ended))
        hours = (measuring(daemon)["last_at_s"] - first) / 3600
        assert 0 < own <= 3.6 * (hours + 1), (own, hours)


def no_value_starves_in_a_day():
    """Each value is measured again soon after freshness_s, and each gpu as often as the others."""
    with node() as (daemon, probes, _):
        first = measuring(daemon)["oldest_at_s"]
        assert until(lambda: (measuring(daemon)["last_at_s"] or 0) > first + 86400, 120), daemon.said()
        now = measuring(daemon)["last_at_s"]
        assert now - measuring(daemon)["oldest_at_s"] < 14400 + 3600, measuring(daemon)
        for metric in ("host_gpu_kernel", "gpu_stream"):
            measured = [c for c in cells(daemon, metric) if c["source"] == "measured"]
            assert len(measured) == len(GPUS), measured
            assert all(now - c["measured_at_s"] < 14400 + 3600 for c in measured), measured
        times = [sum(f"--places {pci} " in line + " " for line in units(probes)) for pci in
                 {re.search(r"--places (\S+)", line)[1] for line in units(probes)}]
        assert len(times) == len(GPUS) and max(times) - min(times) <= 1, times


def metrics_of_a_gpu_are_measured_together_and_nothing_else():
    with node() as (daemon, probes, _):
        assert until(lambda: len(units(probes)) >= 8, 60), daemon.said()
        assert all("--metrics host_gpu_kernel,gpu_stream " in line and "--profile quick" in line
                   for line in units(probes)[:8]), units(probes)
        assert len({re.search(r"--places (\S+)", line)[1] for line in units(probes)[:8]}) == 8
        assert re.fullmatch(r"(host_gpu_kernel and 1 other|gpu_stream and 1 other) at gpu[0-7]",
                            measuring(daemon)["last"]), measuring(daemon)


def a_link_that_gets_slower_is_a_finding_the_same_day():
    """On the second day one link loses a quarter. Its change is looked at twice, and from another
    gpu, long before those values are old; nothing else is a finding.
    """
    with node() as (daemon, probes, _):
        begin = measuring(daemon)["oldest_at_s"]
        pci = mi250x_pcis()[3]
        assert until(lambda: (measuring(daemon)["last_at_s"] or 0) > begin + 86400, 120), daemon.said()
        assert findings(daemon) == {}, findings(daemon)
        (probes / "slow").write_text(pci)
        changed, before = measuring(daemon)["last_at_s"], len(units(probes))
        assert until(lambda: findings(daemon), 60), daemon.said()
        found = daemon.call("io.berth.Health.Check")["findings"]
        assert len(found) == 1 and "host_gpu_kernel from numa0 to gpu3" in found[0]["text"], found
        assert changed <= found[0]["since_s"] < changed + 14400 + 3600, (found, changed)
        since = found[0]["since_s"]
        assert until(lambda: measuring(daemon)["last_at_s"] > since + 3600, 60)
        places = [re.search(r"--places (\S+)", line)[1] for line in units(probes)[before:]]
        listed = units(probes)[before:]
        looks = [i for i, place in enumerate(places) if place == pci and pci in places[i + 1:i + 7]]  # one that ran meanwhile has none
        assert looks, ("a second look", places)
        first = looks[0]
        second = places.index(pci, first + 1)
        assert any("--metrics host_gpu_kernel " in line for line in listed[first + 1:second]), ("from another gpu", listed)
        measured = next(c for c in cells(daemon, "host_gpu_kernel") if c["to"] == "gpu3" and c["source"] == "measured")
        assert measured["value"] == 1.5e10, measured
        assert len(findings(daemon)) == 1, findings(daemon)


def a_claim_stops_it_at_once():
    with node() as (daemon, probes, _):
        (probes / "hang").touch()
        guardian, probe = until(lambda: units(probes) and probe_of(daemon), 60)
        assert daemon.status()["state"] == "ready" and measuring(daemon)["waits"] is None
        begin = time.monotonic()
        claim = claimed(daemon, "core0", ttl_s=WEEK)
        took = time.monotonic() - begin
        assert took < SOON_S, took
        assert not pathlib.Path(f"/proc/{probe}").exists(), "the answer comes after its end"
        begun = len(units(probes))
        assert until(lambda: (measuring(daemon)["waits"] or "").startswith(f"claim {claim['claim']}")), measuring(daemon)
        time.sleep(0.5)  # hours
        assert len(units(probes)) == begun, "nothing is measured beside a claim"
        (probes / "hang").unlink()
        release(daemon, claim=claim["claim"])
        assert until(lambda: measuring(daemon)["last"], 30), measuring(daemon)


def a_users_probe_wins():
    with node() as (daemon, probes, _):
        (probes / "hang").touch()
        assert until(lambda: units(probes) and probe_of(daemon), 60)
        begin = time.monotonic()
        with Connection(daemon.socket) as asker:
            replies = list(asker.stream("io.berth.Health.Probe", {"profile": "quick"}))
        assert time.monotonic() - begin < SOON_S
        assert replies[-1][0] is None and replies[-1][1]["measured"] == 16, replies[-1]
        assert "--places" not in started(probes)[-1], started(probes)


def a_load_wins():
    with node() as (daemon, probes, _):
        (probes / "hang").touch()
        _, probe = until(lambda: units(probes) and probe_of(daemon), 60)
        begin = time.monotonic()
        with Connection(daemon.socket) as asker:
            replies = list(asker.stream("io.berth.Health.Load", {"duration_s": 5}))
        assert time.monotonic() - begin < SOON_S and not pathlib.Path(f"/proc/{probe}").exists()
        assert replies[-1][0] is None and "--load-ns" in started(probes)[-1], (replies, started(probes))


def a_gpu_in_use_is_waited_for():
    busy = devices((mi250x_pcis()[3], 1))
    with node(facts=f"if [ -e ${{0%/*}}/busy ]; then\n{busy}\nfi") as (daemon, probes, _):
        (probes / "busy").touch()
        assert until(lambda: measuring(daemon)["waits"] == "gpu3 in use by 1 process", 60), measuring(daemon)  # null while it asks again
        assert until(lambda: measuring(daemon)["next_at_s"], 10) and measuring(daemon)["last"] is None
        time.sleep(0.5)  # hours
        assert units(probes) == [], "nothing is measured beside a process"
        (probes / "busy").unlink()
        assert until(lambda: measuring(daemon)["last"], 30), measuring(daemon)
        assert measuring(daemon)["waits"] is None


def a_process_that_opens_a_gpu_stops_it():
    with node() as (daemon, probes, folder):
        (probes / "hang").touch()
        _, probe = until(lambda: units(probes) and probe_of(daemon), 60)
        # Its own openings are counted when the daemon has read its first line.
        assert until(lambda: pathlib.Path(f"/proc/{probe}/comm").read_text() == "sleep\n")
        for _ in range(5):
            daemon.status()
            time.sleep(0.02)
        (folder / "sys/class/kfd/kfd/proc/4711").mkdir(parents=True)
        assert until(lambda: not pathlib.Path(f"/proc/{probe}").exists(), SOON_S), daemon.said()
        assert until(lambda: measuring(daemon)["waits"] == "a process opened a gpu"), measuring(daemon)
        assert until(lambda: measuring(daemon)["waits"] == "gpus in use by 1 process", 30), measuring(daemon)
        begun = len(units(probes))
        (probes / "hang").unlink()
        (folder / "sys/class/kfd/kfd/proc/4711").rmdir()
        assert until(lambda: len(units(probes)) > begun, 30), measuring(daemon)


def jobs_and_load_are_waited_for():
    with node() as (daemon, probes, folder):
        job = folder / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_12"
        job.mkdir(parents=True)
        assert until(lambda: measuring(daemon)["waits"] == "job_12 is on the node", 60), measuring(daemon)
        (folder / "proc").mkdir()
        (folder / "proc/loadavg").write_text("99.00 1.00 1.00 1/99 1\n")
        job.rmdir()
        assert until(lambda: measuring(daemon)["waits"] == "the node has a load of 99.00", 30), measuring(daemon)
        assert units(probes) == []
        (folder / "proc/loadavg").write_text("0.00 1.00 1.00 1/99 1\n")
        assert until(lambda: units(probes), 30), measuring(daemon)


def a_probe_that_is_gone_holds_up_no_other():
    """The GPU probe of a stand-in can be absent; the cores are measured in any case."""
    cpu = SCRIPT[:SCRIPT.index("for place")].replace(GPU_RUN, RUN) + f"""
echo '{json.dumps({"record": "value", "metric": "memory_latency", "from": "numa0", "to": "numa0", "value": 90, "low": 89, "high": 91, "n": 9})}'
echo '{json.dumps(END)}'
echo x >> $here/cores
"""
    with fake_gpu_probe(SCRIPT) as (folder, probes):
        (probes / "berth-probe-cpu").write_text("#!/bin/sh\n" + cpu)
        (probes / "berth-probe-cpu").chmod(0o755)
        with Daemon("--node", folder, config=f"probe_dir = {probes}\nduty_percent = 0.1\n",
                    environment=fast_clock(20000)) as daemon:
            daemon.wait_ready()
            (probes / "berth-probe-gpu").unlink()
            assert until(lambda: (probes / "cores").read_text().count("x") > 3, 30), measuring(daemon)
            assert measuring(daemon)["last"] == "memory_latency at numa0", measuring(daemon)


def it_sleeps_until_a_value_is_old():
    """Without a fast clock: no wake-up in some seconds, in which nobody asks."""
    with node(times=1) as (daemon, probes, _):
        assert 14400 - 60 < measuring(daemon)["next_at_s"] - time.time() <= 14400
        time.sleep(1.5)
        assert least(lambda: wakes(daemon.process.pid, 3), 2) <= 1
        assert units(probes) == []


def it_can_be_switched_off():
    with node("") as (daemon, _, _):
        assert measuring(daemon)["budget"] == 0.001
    for config, arguments in (("duty_percent = 0\n", []), ("duty_percent = 1\n", ["--no-probe"]),
                              ("duty_percent = 1\nprobe_at_start = no\n", [])):
        with fake_gpu_probe(SCRIPT) as (folder, probes):
            with Daemon("--node", folder, *arguments, config=f"probe_dir = {probes}\n{config}") as daemon:
                daemon.wait_ready()
                assert measuring(daemon) is None, config


def a_reload_switches_it_off_and_on():
    with node("freshness_s = 60\n") as (daemon, probes, _):
        config = daemon.config.read_text()

        def reload(percent):
            daemon.config.write_text(config.replace("duty_percent = 0.1", f"duty_percent = {percent}"))
            daemon.process.send_signal(signal.SIGHUP)

        assert until(lambda: len(units(probes)) > 2, 60), measuring(daemon)
        (probes / "hang").touch()
        begun = len(units(probes))
        _, probe = until(lambda: len(units(probes)) > begun and probe_of(daemon), 60)
        reload(0)
        assert until(lambda: not pathlib.Path(f"/proc/{probe}").exists(), SOON_S), daemon.said()
        (probes / "hang").unlink()
        assert until(lambda: measuring(daemon) is None), measuring(daemon)
        begun = len(units(probes))
        time.sleep(0.5)  # hours
        assert len(units(probes)) == begun
        reload(0.1)
        assert until(lambda: len(units(probes)) > begun + 2, 60), measuring(daemon)


def status_and_top_say_what_it_did():
    with node() as (daemon, probes, _):
        assert until(lambda: measuring(daemon)["last"], 60)
        claim = claimed(daemon, "core0", ttl_s=WEEK)
        shown = subprocess.run([BIN / "berth", "--socket", daemon.socket, "status"],
                               capture_output=True, text=True, check=True).stdout
        rows = dict(line.split(None, 1) for line in shown.splitlines() if line.strip())
        assert re.fullmatch(r"(host_gpu_kernel|gpu_stream).* at gpu[0-7], took [0-9.]+ m?s", rows["background"]), shown
        assert re.fullmatch(r"[0-9.e-]+ % of the last hour, [0-9.e-]+ % of the last day; budget 0.1 %", rows["duty"]), shown
        assert f"claim {claim['claim']}" in shown and "oldest" in rows and "next" in rows, shown
        assert all(len(line) <= 80 for line in shown.splitlines()), shown
        top = Terminal(daemon.socket)
        top.until("background: ", "(budget 0.1 %)", "waits for claim")
        top.key("q")
        assert top.end() == 0


if __name__ == "__main__":
    sys.exit(run_tests([an_hour_costs_no_more_than_the_duty, no_value_starves_in_a_day,
                        metrics_of_a_gpu_are_measured_together_and_nothing_else,
                        a_link_that_gets_slower_is_a_finding_the_same_day,
                        a_claim_stops_it_at_once, a_users_probe_wins, a_load_wins,
                        a_gpu_in_use_is_waited_for,
                        a_process_that_opens_a_gpu_stops_it, jobs_and_load_are_waited_for,
                        a_probe_that_is_gone_holds_up_no_other,
                        it_sleeps_until_a_value_is_old, it_can_be_switched_off,
                        a_reload_switches_it_off_and_on, status_and_top_say_what_it_did], at_once=4) > 0)
