#!/usr/bin/env python3
"""Measures background measuring on this machine, with the real probes; GPUs are a stand-in's.

claims N       prints the milliseconds until N claims were granted that each stopped a probe
openings N     prints the milliseconds from the opening of a GPU to the end of the probe, N times
duty SECONDS   prints the share of this time that it took, and the daemon's wake-ups
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES, Daemon, fast_clock, until  # noqa: E402
from varlink import Connection  # noqa: E402
from virtual_node import probe_folder  # noqa: E402

WEEK = 604800  # the clock is fast
BEFORE_S = 0.3  # most time from the begin of a probe to the claim
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def measured(config, **more):
    """A daemon that has measured four virtual GPUs, and the cores of this machine."""
    with probe_folder("h200x4") as probes, tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "h200x4", node)
        (node / "measurements.jsonl").write_text("")
        description = json.loads((node / "node.json").read_text())
        (node / "node.json").write_text(json.dumps({**description, "origin": "standin"}))
        with Daemon("--node", node, config=f"probe_dir = {probes}\n{config}", **more) as daemon:
            daemon.wait_ready(120)
            yield daemon, node


def child(pid):
    """The first child, found without a process that would count as load."""
    with contextlib.suppress(OSError):
        return next(iter(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()), None)
    return None


def claims(count):
    """Each claim comes at a random time of a probe's life."""
    times = []
    with measured("freshness_s = 60\nduty_percent = 100\n", environment=fast_clock(3600)) as (daemon, _):
        while len(times) < count:
            probe = until(lambda: (guardian := child(daemon.process.pid)) and child(guardian), 60)
            assert probe, daemon.status()
            time.sleep(random.uniform(0, BEFORE_S))
            is_alive = pathlib.Path(f"/proc/{probe}").exists()
            with Connection(daemon.socket) as asker:
                begin = time.monotonic()
                error, reply = asker.call("io.berth.Placement.Claim",
                                          {"places": ["gpu0"], "purpose": "compute", "ttl_s": WEEK})
                took = time.monotonic() - begin
                assert error is None and not (is_alive and pathlib.Path(f"/proc/{probe}").exists())
                asker.call("io.berth.Placement.Release", {"claim": reply["claim"]["claim"]})
            if is_alive:
                times.append(took * 1e3)
    tell("claims", times)


def tell(what, times):
    times.sort()
    print(f"{what} {len(times)}\nmedian_ms {statistics.median(times):.1f}\n"
          f"p99_ms {times[min(len(times) - 1, int(0.99 * len(times)))]:.1f}\nmost_ms {times[-1]:.1f}")


def openings(count):
    """A process on a GPU appears among the files that AMD's driver would have, beside the node."""
    times = []
    with measured("freshness_s = 60\nduty_percent = 100\n", environment=fast_clock(3600)) as (daemon, node):
        process = node / "sys/class/kfd/kfd/proc/4711"
        while len(times) < count:
            probe = until(lambda: (guardian := child(daemon.process.pid)) and child(guardian), 60)
            assert probe, daemon.status()
            time.sleep(random.uniform(0, BEFORE_S))
            process.mkdir(parents=True)
            begin = time.monotonic()
            alive = pathlib.Path(f"/proc/{probe}")
            was_alive = alive.exists()
            while alive.exists():
                time.sleep(0.0005)
            took = time.monotonic() - begin
            process.rmdir()
            if was_alive and daemon.status()["measuring"]["waits"] == "a process opened a gpu":
                times.append(took * 1e3)
    tell("openings", times)


def duty(seconds):
    """Nobody asks meanwhile."""
    with measured("freshness_s = 60\nduty_percent = 0.1\n") as (daemon, _):
        base = pathlib.Path(f"/proc/{daemon.process.pid}")

        def wakes():
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (base / "status").read_text(), re.MULTILINE)[1])

        def cpu_s(first):
            return sum(int(n) for n in (base / "stat").read_text().rsplit(")", 1)[1].split()[first:first + 2]) / TICKS
        time.sleep(2)
        begin, woke, own, children = time.monotonic(), wakes(), cpu_s(11), cpu_s(13)
        time.sleep(seconds)
        took, woke, own, children = time.monotonic() - begin, wakes() - woke, cpu_s(11) - own, cpu_s(13) - children
        status = daemon.status()["measuring"]
        spent = status["last_hour"] * 3600
        resident = int(re.search(r"^VmRSS:\s*(\d+)", (base / "status").read_text(), re.MULTILINE)[1])
    print(f"seconds {took:.0f}\nspent_s {spent:.3f}\nspent_percent {100 * spent / took:.4f}\n"
          f"probes_cpu_s {children:.3f}\ndaemon_cpu_s {own:.3f}\nwake_ups {woke}\nresident_kib {resident}\n"
          f"last {status['last']}\nwaits {status['waits']}")


if __name__ == "__main__":
    parts = {"claims": claims, "openings": openings, "duty": duty}
    if len(sys.argv) != 3 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    parts[sys.argv[1]](int(sys.argv[2]))
