#!/usr/bin/env python3
"""Tests of the units without systemd as PID 1; tests/package/boot.sh boots it. Prints TAP."""
import configparser
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import under_filter
from berthd import BIN, Daemon, NODES, until
from tap import LeftOut, run_tests
from varlink import call
from virtual_node import probe_folder

SYSTEMD = HERE.parent.parent / "systemd"


def needs(program):
    if shutil.which(program) is None:
        raise LeftOut(f"{program} is not here; make check installs it (systemd)")


def unit(folder):
    """The units in a folder, with the programs that were built."""
    text = (SYSTEMD / "berthd.service.in").read_text().replace("@BINDIR@", str(BIN))
    (folder / "berthd.service").write_text(text)
    shutil.copy(SYSTEMD / "berthd.socket", folder)
    return folder / "berthd.service"


def systemd_finds_nothing_wrong_with_the_units():
    needs("systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        service = unit(pathlib.Path(folder))
        # It ends with 0 even for keys that it does not know.
        done = subprocess.run(["systemd-analyze", "verify", service, service.with_suffix(".socket")], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout + done.stderr == "", done
        done = subprocess.run(["systemd-analyze", "--no-pager", "security", "--offline=yes", "--threshold=20", service], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


REFUSED = ("io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "add_key", "request_key", "keyctl", "process_vm_readv", "process_vm_writev", "kcmp", "vmsplice",
           "ptrace", "bpf", "perf_event_open", "mount", "init_module", "kexec_load", "pidfd_getfd")


@contextlib.contextmanager
def under_the_units_filter():
    """Words of a command that runs another one under the filter, and the environment its programs
    need.
    """
    needs("systemd-analyze")
    if not under_filter.HEADER.exists():
        raise LeftOut("the numbers of system calls are known for x86-64 alone")
    # LeakSanitizer stops the other threads with ptrace, which the filter refuses; the rest of the sanitizer works.
    options = {"ASAN_OPTIONS": "detect_leaks=0"}
    with tempfile.TemporaryDirectory() as folder:
        yield [sys.executable, HERE.parent / "lib/under_filter.py", unit(pathlib.Path(folder))], options


def give_environment(folder, options):
    """The daemon hands no environment on to its probes: those in the folder become scripts that set it."""
    for program in folder.glob("berth-probe-*"):
        hidden = program.rename(folder / f"real-{program.name}")
        words = " ".join(f"{name}={value}" for name, value in options.items())
        program.write_text(f"#!/bin/sh\n{words} exec {hidden} \"$@\"\n")
        program.chmod(0o755)


def the_units_filter_leaves_what_daemon_and_probes_need():
    """The filter refuses all other calls: each is made with arguments that fail in another way
    without it.
    """
    with under_the_units_filter() as (filtered, options), probe_folder("mi250x") as probes:
        probes = pathlib.Path(probes)
        (probes / "berth-probe-gpu").unlink()
        (probes / "berth-probe-gpu").symlink_to(BIN / "berth-probe-gpu")
        give_environment(probes, options)
        known = under_filter.numbers()
        code = "import ctypes, sys; c = ctypes.CDLL(None, use_errno=True); print([c.syscall(int(n), -1, -1, -1, -1, -1, -1) == -1 and ctypes.get_errno() for n in sys.argv[1:]])"
        done = subprocess.run([*filtered, sys.executable, "-c", code, *(str(known[name]) for name in REFUSED)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str([1] * len(REFUSED)), (REFUSED, done.stdout)
        with Daemon(under=filtered, environment=options, config=f"probe_dir = {probes}\n") as daemon:
            daemon.wait_ready(100)
            status = daemon.status()
            assert daemon.call("io.berth.Fabric.GetMatrix", {"metric": "memory_latency"})["cells"] and status["store"] == "ok" and not status["problems"], (status, daemon.said())
            # A probe of a busy machine may run out of its time before its first value.
            assert until(lambda: daemon.call("io.berth.Health.Probe", {"metrics": ["memory_latency"]})["measured"] > 0, 100), daemon.said()
            assert daemon.stop()[0] == 0, daemon.said()


def measured_by(probes, *under):
    """Results of a run: metric, ends and axes of each value, and the flows of each set."""
    metrics = "host_gpu_copy_engine,gpu_gpu_copy_engine,host_gpu_kernel,gpu_gpu_kernel,copy_latency"
    places = "0000:c1:00.0,0000:c6:00.0"  # two GPUs make every kind of call
    command = [probes / "berth-probe-gpu", "--budget-ns", "200000000000", "--metrics", metrics, "--places", places]
    done = subprocess.run([*under, *command], capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and records[-1]["status"] == "complete", (done.returncode, done.stderr[-2000:])
    about = ("metric", "from", "to", "axes", "flows")
    return {json.dumps({key: record.get(key) for key in about}, sort_keys=True) for record in records
            if record["record"] in ("value", "set", "skip")}


def the_units_filter_leaves_what_amds_driver_and_probe_need():
    """On a virtual node of eight GCDs by HIP: the same cells and sets as without it, measured by a daemon."""
    with under_the_units_filter() as (filtered, options), probe_folder("mi250x") as probes:
        probes = pathlib.Path(probes)
        give_environment(probes, options)
        plain, under = (measured_by(probes, *words) for words in ((), filtered))
        assert len(plain) > 100 and under == plain, plain ^ under
        node = probes / "node"
        shutil.copytree(NODES / "mi250x", node)
        about = json.loads((node / "node.json").read_text())
        (node / "node.json").write_text(json.dumps({**about, "origin": "standin"}))
        with Daemon("--node", node, "--no-probe", under=filtered, environment=options,
                    config=f"probe_dir = {probes}\n") as daemon:
            reply = daemon.call("io.berth.Health.Probe", {"metrics": ["gpu_gpu_copy_engine", "host_gpu_copy_engine"], "places": ["gpu0", "gpu1"]})
            assert reply["measured"] > 10 and reply["left_out"] == 0 and not daemon.status()["problems"], (reply, daemon.said())
            assert daemon.stop()[0] == 0, daemon.said()


def memory_has_a_limit_above_the_daemons_budgets():
    """The memory of a probe does not end the daemon."""
    lines = configparser.ConfigParser(strict=False, interpolation=None)
    lines.optionxform = str
    lines.read(SYSTEMD / "berthd.service.in")
    service = lines["Service"]
    shown = subprocess.run([BIN / "berthd", "--check-config", "--config", "/dev/null"], capture_output=True, text=True, check=True).stdout
    budgets = dict(line.split(" = ") for line in shown.splitlines() if line.startswith(("max_input_bytes", "max_unsent_bytes")))
    in_all = sum(int(budgets[name]) for name in ("max_input_bytes_in_all", "max_unsent_bytes_in_all"))
    assert service["MemoryMax"].endswith("G") and int(service["MemoryMax"][:-1]) << 30 > 4 * in_all > 0, (service["MemoryMax"], budgets)
    assert service["OOMPolicy"] == "continue"


def the_wait_at_boot_ends_before_the_service_managers_patience():
    lines = configparser.ConfigParser(strict=False, interpolation=None)
    lines.optionxform = str
    lines.read(SYSTEMD / "berthd.service.in")
    service = lines["Service"]
    command = service["ExecStartPost"].split()
    assert command[0].startswith("-") and command[command.index("status") + 1] == "--wait", command
    assert int(command[command.index("--timeout") + 1]) + 10 < int(service["TimeoutStartSec"])


def the_users_groups_are_made():
    needs("systemd-sysusers")
    with tempfile.TemporaryDirectory() as root:
        etc = pathlib.Path(root) / "etc"
        etc.mkdir()
        (etc / "group").write_text("root:x:0:\nvideo:x:44:\nrender:x:106:\n")
        (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        subprocess.run(["systemd-sysusers", f"--root={root}", SYSTEMD / "berthd.sysusers"], check=True, capture_output=True)
        user = next(line for line in (etc / "passwd").read_text().splitlines() if line.startswith("berth:")).split(":")
        assert user[5] == "/var/lib/berth" and user[6].endswith("nologin") and user[2] != "0", user
        groups = {line.split(":")[0]: line.split(":")[3] for line in (etc / "group").read_text().splitlines()}
        assert groups["render"] == groups["video"] == "berth" and "berth" in groups, groups


def the_first_caller_starts_the_daemon():
    """systemd-socket-activate listens, starts berthd for the first connection, and that one is answered."""
    needs("systemd-socket-activate")
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/s"
        process = subprocess.Popen(["systemd-socket-activate", "--listen", path, BIN / "berthd", "--no-probe", "--state-dir", folder,
                                    "--socket", folder + "/unused"], stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            assert until(lambda: os.path.exists(path))
            time.sleep(0.1)
            running = subprocess.run(["ps", "-o", "comm=", "-p", str(process.pid)], capture_output=True, text=True).stdout
            assert "berthd" not in running, "nobody has asked yet"
            done = subprocess.run([BIN / "berth", "--socket", path, "status", "--wait", "--timeout", "20"], capture_output=True, text=True)
            assert done.returncode == 0, done
            running = subprocess.run(["ps", "-o", "comm=", "-p", str(process.pid)], capture_output=True, text=True).stdout
            assert running.strip() == "berthd" and not os.path.exists(folder + "/unused"), running
            error, _ = call(path, "io.berth.Fabric.GetStatus")
            assert error is None
        finally:
            process.terminate()
            process.wait(10)


def heard_until(manager, word, count=1):
    """The lines that come until one has come so many times."""
    lines = []
    while lines.count(word) < count:
        lines += manager.recv(4096).decode().split("\n")
    return lines


def the_watchdog_hears_a_daemon_that_works_and_none_that_hangs():
    with tempfile.TemporaryDirectory() as folder:
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(folder + "/notify")
        manager.settimeout(20)
        with Daemon("--no-probe", environment={"NOTIFY_SOCKET": folder + "/notify", "WATCHDOG_USEC": "400000"}) as daemon:
            assert "READY=1" in heard_until(manager, "WATCHDOG=1", 3)
            daemon.process.send_signal(signal.SIGHUP)
            heard_until(manager, "RELOADING=1")
            heard_until(manager, "READY=1")
            daemon.process.send_signal(signal.SIGSTOP)
            assert until(lambda: " T " in pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text())
            manager.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                while manager.recv(4096):
                    pass
            time.sleep(1)
            with contextlib.suppress(BlockingIOError):
                assert not manager.recv(4096), "a daemon that hangs was heard"
            manager.settimeout(20)
            daemon.process.send_signal(signal.SIGCONT)
            heard_until(manager, "WATCHDOG=1")
            daemon.process.terminate()
            heard_until(manager, "STOPPING=1")


if __name__ == "__main__":
    sys.exit(run_tests([
        systemd_finds_nothing_wrong_with_the_units, the_units_filter_leaves_what_daemon_and_probes_need,
        the_units_filter_leaves_what_amds_driver_and_probe_need, memory_has_a_limit_above_the_daemons_budgets, the_wait_at_boot_ends_before_the_service_managers_patience,
        the_users_groups_are_made, the_first_caller_starts_the_daemon,
        the_watchdog_hears_a_daemon_that_works_and_none_that_hangs]) != 0)
