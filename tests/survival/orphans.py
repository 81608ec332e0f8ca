"""kill -9 of the daemon at any moment of a probe: whatever it started is gone soon after, wherever that was between fork and end.
BERTH_KILLS=60 times with the real probe, half as often with each of some that do all to stay. Their processes are known by the
file that they run. Prints TAP."""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, RUN, alive, children, probe_of, until  # noqa: E402
from varlink import call  # noqa: E402
from survival import Survivor, scratch, seeded  # noqa: E402
from tap import run_tests  # noqa: E402

KILLS = int(os.environ.get("BERTH_KILLS", 60))
LATEST_S = 0.3
GONE_S = 5  # much more than it takes: only what hangs on fails

# Probes; DIR/ is where they and the programs that they run are. Each ignores whatever can be ignored.
STUBBORN = "echo '" + RUN + "'\nwhile :; do DIR/sleep 0.01; done\n"
# Children, grandchildren and theirs, in its session, in sessions of their own, and left by their parents.
FAMILY = "echo '" + RUN + """'
for i in 1 2 3; do
    DIR/sleep 1000 &
    (DIR/setsid DIR/sh -c '(DIR/sleep 1001 &); (DIR/setsid DIR/sh -c "(DIR/setsid DIR/sleep 1002 &)" &); exec DIR/sleep 1003' >/dev/null 2>&1 &)
done
while :; do DIR/sleep 0.01; done
"""
# One that is somewhere else all the time: each starts the next in a session of its own and is gone.
WANDERER = "[ -n \"$HOP\" ] || echo '" + RUN + """'
HOP=yes DIR/setsid "$0" >/dev/null 2>&1 &
[ -n "$HOP" ] || exec DIR/sleep 1000
"""
# It ends; what it leaves does not.
LEAVER = "(DIR/setsid DIR/sleep 1000 >/dev/null 2>&1 &)\necho '" + RUN + "'\necho '{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":5}'\n"


def running(folder):
    """Processes that run a program of this folder."""
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                path = os.readlink(process / "exe")
                is_zombie = (process / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                continue
            if path.startswith(f"{folder}/") and not is_zombie:
                found[int(process.name)] = path
    return found


@contextlib.contextmanager
def in_a_folder_of_their_own(script=None):
    """The folder and a daemon. Whatever should still be there afterwards finds nothing more to run."""
    folder = scratch()
    for path in (BIN / "berthd", BIN / "berth-probe-cpu", *(pathlib.Path(shutil.which(name)) for name in ("sh", "sleep", "setsid"))):
        shutil.copy(path, folder / path.name)
    if script is not None:
        script = f"#!DIR/sh\ntrap '' HUP INT QUIT TERM USR1 USR2\n{script}".replace("DIR", str(folder))
        (folder / "berth-probe-cpu").write_text(script)
    survivor = Survivor(folder / "d", config="quick_budget_ms = 5000\n", program=folder / "berthd")
    try:
        yield folder, survivor
    finally:
        survivor.kill()
        shutil.rmtree(folder)


def all_gone(folder):
    """Some are between two processes at any moment: looked at more than once."""
    return until(lambda: not any(running(folder) for _ in range(3)), GONE_S)


def kill_at_any_moment(choice, kills, script=None):
    """How often it was killed with something at work besides the daemon, and the most processes that then were there."""
    with in_a_folder_of_their_own(script) as (folder, survivor):
        probing = most = 0
        for _ in range(kills):
            shutil.rmtree(survivor.state, ignore_errors=True)
            survivor.start()
            if choice.random() < 0.5:  # half of them right after the fork
                until(lambda: len(running(folder)) > 1, 2)
                time.sleep(choice.uniform(0, 0.004))
            else:
                time.sleep(choice.uniform(0, LATEST_S))
            there = len(running(folder))
            probing += there > 1
            most = max(most, there)
            survivor.kill()
            assert all_gone(folder), running(folder)
    return probing, most


def no_probe_outlives_a_killed_daemon():
    probing, _ = kill_at_any_moment(random.Random(seeded("the moments")), KILLS)
    print(f"# {KILLS} kills, {probing} of them with a probe at work")
    assert probing > KILLS / 10


def nothing_that_a_probe_started_does():
    choice = random.Random(seeded("the moments"))
    for name, script in {"stubborn": STUBBORN, "with a family": FAMILY, "wandering": WANDERER, "leaving something": LEAVER}.items():
        kills = max(10, KILLS // 2)
        probing, most = kill_at_any_moment(choice, kills, script)
        print(f"# {name}: {kills} kills, {probing} of them with a probe at work, of up to {most - 1} processes")
        assert probing > kills / 10 or script == LEAVER, "that one is over soon"


def nothing_outlives_a_stopped_daemon_either():
    for script in (STUBBORN, FAMILY, WANDERER):
        with in_a_folder_of_their_own(script) as (folder, survivor):
            survivor.start()
            assert until(lambda: len(running(folder)) > 3 - (script == STUBBORN)), survivor.said()
            assert survivor.stop() == 0
            assert not running(folder), running(folder)


def what_a_probe_left_is_gone_when_its_run_is_over():
    with in_a_folder_of_their_own(LEAVER) as (folder, survivor):
        survivor.start()
        assert survivor.connect(), survivor.said()
        assert until(lambda: call(survivor.socket, "io.berth.Fabric.GetStatus")[1]["state"] == "ready"), survivor.said()
        assert list(running(folder)) == [survivor.process.pid], running(folder)
        assert children(survivor.process.pid) == [], "not a zombie either"
        assert "complete, 0 values" in survivor.said(), survivor.said()


def a_stopped_guardian_is_woken_by_the_death_of_the_daemon():
    with in_a_folder_of_their_own(FAMILY) as (folder, survivor):
        survivor.start()
        assert until(lambda: len(running(folder)) > 10), survivor.said()
        os.kill(children(survivor.process.pid)[0], signal.SIGSTOP)
        survivor.kill()
        assert all_gone(folder), running(folder)


def a_killed_guardian_takes_the_probe_along_and_the_daemon_tells():
    with in_a_folder_of_their_own(STUBBORN) as (folder, survivor):
        survivor.start()
        guardian, probe, *_ = probe_of(survivor)
        assert pathlib.Path(f"/proc/{guardian}/comm").read_text() == "berth-guardian\n"
        os.kill(guardian, signal.SIGKILL)
        assert until(lambda: not alive(probe))
        assert until(lambda: "crashed (signal 9, Killed)" in survivor.said()), survivor.said()
        assert survivor.process.poll() is None and until(lambda: list(running(folder)) == [survivor.process.pid]), running(folder)


def a_stopped_probe_that_is_stuck_goes_with_the_daemon():
    """One that cannot act on any signal but SIGKILL: stopped, as one that waits for a driver."""
    with in_a_folder_of_their_own() as (folder, survivor):
        survivor.start()
        probe = until(lambda: [pid for pid, path in running(folder).items() if path.endswith("cpu")])
        assert probe, survivor.said()
        time.sleep(0.1)
        os.kill(probe[0], 19)  # SIGSTOP
        survivor.kill()
        assert all_gone(folder), running(folder)


def a_probe_whose_daemon_was_gone_before_it_looked_ends_at_once():
    ours, its = socket.socketpair()
    ours.close()
    probe = subprocess.run([BIN / "berth-probe-cpu", "--child"], stdout=its, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                           timeout=60, check=False)
    its.close()
    assert probe.returncode > 0 and "the process that started this one is gone" in probe.stderr, (probe.returncode, probe.stderr)


if __name__ == "__main__":
    sys.exit(run_tests([no_probe_outlives_a_killed_daemon, nothing_that_a_probe_started_does, nothing_outlives_a_stopped_daemon_either,
             what_a_probe_left_is_gone_when_its_run_is_over, a_stopped_probe_that_is_stuck_goes_with_the_daemon,
             a_stopped_guardian_is_woken_by_the_death_of_the_daemon, a_killed_guardian_takes_the_probe_along_and_the_daemon_tells,
             a_probe_whose_daemon_was_gone_before_it_looked_ends_at_once]) > 0)
