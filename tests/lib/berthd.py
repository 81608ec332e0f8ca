"""A private berthd for a test, real or with a probe that is a script."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
from tap import LeftOut
from varlink import call

BIN = pathlib.Path(os.environ.get("BIN", HERE.parent.parent / "build/bin")).resolve()
NODES = HERE.parent / "nodes"
REPORT = re.compile(r"^.*((ERROR|WARNING): \w+Sanitizer|: runtime error: )", re.MULTILINE)
RUN = ('{"record":"run","schema":1,"probe":"cpu","backend":"cpu",'
       '"started_at":1790000000,"conditions":{}}')


class Daemon:
    """A private berthd in a directory of its own."""

    def __init__(self, *arguments, directory=None, config="", environment=None, pass_fds=(),
                 wait=True, under=()):
        """under: words of a command that runs the daemon, such as valgrind's."""
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="berth-test-"))
        self.socket = str(self.directory / "s")
        self.state = self.directory / "state"
        self.state.mkdir(exist_ok=True)
        self.config = self.directory / "berth.conf"
        # Values measured in the background would come between what a test counts.
        quiet = "" if "duty_percent" in config else "duty_percent = 0\n"
        # A client's milliseconds are minutes of a fast clock.
        patient = ("idle_timeout_s = 0\nunread_timeout_s = 86400\nhalf_message_timeout_s = 3600\n"
                   if "FAST_CLOCK" in (environment or {}) else "")
        self.config.write_text(quiet + patient + config)
        self.log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen([*under, BIN / "berthd", "--config", self.config,
                                         "--socket", self.socket, "--state-dir", self.state,
                                         *arguments], stderr=self.log, stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})},
                                        pass_fds=pass_fds)
        if wait:
            self.wait_for_socket()

    def wait_for_socket(self):
        end = time.monotonic() + 30  # for a busy machine
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                call(self.socket, "io.berth.Fabric.GetStatus")
                return
            if self.process.poll() is not None:
                raise AssertionError(f"berthd ended with {self.process.returncode}: {self.said()}")
            time.sleep(0.01)
        raise AssertionError("berthd does not answer: " + self.said())

    def said(self):
        """The log; with a sanitizer's report only that report."""
        log = (self.directory / "log").read_text(errors="replace")
        report = REPORT.search(log)
        return log[report.start():] if report else log

    def call(self, method, parameters=None):
        error, reply = call(self.socket, method, parameters)
        assert error is None, (error, reply)
        return reply

    def status(self):
        return self.call("io.berth.Fabric.GetStatus")

    def wait_ready(self, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.status()["state"] == "ready":
                return
            time.sleep(0.02)
        raise AssertionError("not ready: " + self.said())

    def stop(self, number=signal.SIGTERM):
        begin = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(30)
        return code, time.monotonic() - begin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        # A later one in the same directory may have removed it.
        if (self.directory / "log").exists() and REPORT.search(log := self.said()):
            print(log, flush=True)  # the runner prints it first
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def fast_clock(times, ahead_s=0):
    """The environment of a daemon whose idle time passes so many times faster (tests/standin), and
    whose clock begins so far ahead.
    """
    if any(name in (BIN / "berthd").read_bytes() for name in (b"__asan_init", b"__tsan_init")):
        raise LeftOut("a sanitizer asks for the time before the library can say it")
    return {"LD_PRELOAD": str(BIN.parent / "standin/fast_clock.so"), "FAST_CLOCK": str(times),
            "FAST_CLOCK_AHEAD": str(ahead_s)}


@contextlib.contextmanager
def fake_probe(script):
    """A folder with a berth-probe-cpu that is this shell script."""
    with tempfile.TemporaryDirectory(prefix="berth-probe-") as folder:
        path = pathlib.Path(folder) / "berth-probe-cpu"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        yield folder


GPU_RUN = RUN.replace('"probe":"cpu","backend":"cpu"', '"probe":"gpu","backend":"cuda"')


@contextlib.contextmanager
def fake_gpu_probe(script, facts="", origin="standin", node="mi250x"):
    """A copy of a node as a stand-in's, and a folder with a berth-probe-gpu that is this shell
    script; with --facts it runs the other script.
    """
    with tempfile.TemporaryDirectory(prefix="berth-gpu-") as folder:
        copy, probes = pathlib.Path(folder) / "node", pathlib.Path(folder) / "probes"
        shutil.copytree(NODES / node, copy)
        description = json.loads((copy / "node.json").read_text())
        (copy / "node.json").write_text(json.dumps({**description, "origin": origin}))
        probes.mkdir()
        path = probes / "berth-probe-gpu"
        path.write_text(f"#!/bin/sh\nif [ \"$1\" = --facts ]; then\n:\n{facts}\nexit 0\nfi\n"
                        f"echo \"$*\" >> {folder}/started\n{script}")
        path.chmod(0o755)
        yield copy, probes


def started(probes):
    """Arguments of each start of the fake GPU probe for measuring."""
    path = pathlib.Path(probes).parent / "started"
    return path.read_text().splitlines() if path.exists() else []


def findings(daemon):
    return {finding["code"]: finding
            for finding in daemon.call("io.berth.Health.Check")["findings"]}


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=20):
    """Returns the first result of the condition that is true, or its result at the end of the time.
    """
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def least(measure, limit, rounds=3):
    """The least result of a measurement that is made again while it reaches the limit: other
    programs may disturb some rounds, a fault is in each.
    """
    found = measure()
    while found >= limit and rounds > 1:
        found, rounds = min(found, measure()), rounds - 1
    return found


def wakes(pid, seconds):
    """Times that a thread of the process goes to sleep again within that time."""
    def count():
        texts = [(task / "status").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.MULTILINE)[1])
                   for text in texts)
    before = count()
    time.sleep(seconds)
    return count() - before


def children(pid):
    return [int(p) for p in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)],
                                           capture_output=True, text=True).stdout.split()]


def probe_of(daemon):
    """The daemon's guardian and the guardian's probe, as soon as both exist."""
    def look():
        guardian = children(daemon.process.pid)
        probe = guardian and children(guardian[0])
        return probe and guardian + probe
    return until(look)


def cells(daemon, metric):
    return daemon.call("io.berth.Fabric.GetMatrix", {"metric": metric})["cells"]
