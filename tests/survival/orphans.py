"""kill -9 of the daemon at any moment of a probe: whatever it started is gone soon after, wherever that was between fork and end.
BERTH_KILLS=60 times with the real probe, whose processes are known by the file that they run. Prints TAP."""
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, until  # noqa: E402
from survival import Survivor, run_tap, scratch, seeded  # noqa: E402

KILLS = int(os.environ.get("BERTH_KILLS", 60))
LATEST_S = 0.3
GONE_S = 5  # much more than it takes: only what hangs on fails


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


def in_a_folder_of_their_own(folder):
    for name in ("berthd", "berth-probe-cpu"):
        shutil.copy(BIN / name, folder / name)
    return Survivor(folder / "d", config="quick_budget_ms = 5000\n", program=folder / "berthd")


def no_probe_outlives_a_killed_daemon():
    seed = seeded("the moments")
    choice = random.Random(seed)
    folder = scratch()
    survivor = in_a_folder_of_their_own(folder)
    probing = 0
    for _ in range(KILLS):
        shutil.rmtree(survivor.state, ignore_errors=True)
        survivor.start()
        if choice.random() < 0.5:  # half of them right after the fork
            until(lambda: len(running(folder)) > 1, 2)
            time.sleep(choice.uniform(0, 0.004))
        else:
            time.sleep(choice.uniform(0, LATEST_S))
        probing += len(running(folder)) > 1
        survivor.kill()
        until(lambda: not running(folder), GONE_S)
        assert not running(folder), running(folder)
    print(f"# {KILLS} kills, {probing} of them with a probe at work")
    assert probing > KILLS / 10
    shutil.rmtree(folder)


def a_stopped_probe_that_is_stuck_goes_with_the_daemon():
    """One that cannot act on any signal but SIGKILL: stopped, as one that waits for a driver."""
    folder = scratch()
    survivor = in_a_folder_of_their_own(folder)
    survivor.start()
    probe = until(lambda: [pid for pid, path in running(folder).items() if path.endswith("cpu")])
    assert probe, survivor.said()
    time.sleep(0.1)
    os.kill(probe[0], 19)  # SIGSTOP
    survivor.kill()
    until(lambda: not running(folder), GONE_S)
    assert not running(folder), running(folder)
    shutil.rmtree(folder)


def a_probe_whose_daemon_was_gone_before_it_looked_ends_at_once():
    ours, its = socket.socketpair()
    ours.close()
    probe = subprocess.run([BIN / "berth-probe-cpu", "--child"], stdout=its, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                           timeout=60, check=False)
    its.close()
    assert probe.returncode > 0 and "the process that started this one is gone" in probe.stderr, (probe.returncode, probe.stderr)


if __name__ == "__main__":
    run_tap([no_probe_outlives_a_killed_daemon, a_stopped_probe_that_is_stuck_goes_with_the_daemon,
             a_probe_whose_daemon_was_gone_before_it_looked_ends_at_once])
