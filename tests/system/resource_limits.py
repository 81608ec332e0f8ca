"""Limits that are too low, signals without a meaning, and leftovers of a probe. Prints TAP."""
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, RUN, Daemon, alive, fake_probe, until  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import call  # noqa: E402

SANITIZED = any(name in (BIN / "berthd").read_bytes() for name in (b"__asan_init", b"__tsan_init"))


def serves_or_says_why(limit, value, word):
    """Answers, or ends with one line that has this word."""
    with tempfile.TemporaryDirectory(prefix="berth-test-") as folder:
        process = subprocess.Popen([BIN / "berthd", "--node", NODES / "mi300a", "--socket", folder + "/s"], stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: resource.setrlimit(limit, (value, value)))

        def answers():
            try:
                return call(folder + "/s", "io.berth.Fabric.GetStatus")[0] is None
            except OSError:
                return process.poll() is not None
        assert until(answers, 10), (value, "it neither answers nor ends")
        if process.poll() is None:
            process.terminate()
            assert process.wait(10) == 0
            return True
        said = process.stderr.read()
        assert process.returncode > 0 and len(said.splitlines()) == 1 and word in said, (value, process.returncode, said)
        return False


def few_descriptors():
    assert [serves_or_says_why(resource.RLIMIT_NOFILE, count, "RLIMIT_NOFILE") for count in (10, 12, 15, 18, 30, 63, 64, 100)] == [False] * 6 + [True] * 2


def little_address_space():
    if SANITIZED:
        raise LeftOut("a sanitizer reserves terabytes of addresses, which RLIMIT_AS forbids (AddressSanitizer 15.4 TB before main)")
    assert not serves_or_says_why(resource.RLIMIT_AS, 20_000_000, "RLIMIT_AS")
    for megabytes in (16, 30, 50, 70, 90, 110, 150, 200):
        serves_or_says_why(resource.RLIMIT_AS, megabytes << 20, "RLIMIT_AS")
    assert serves_or_says_why(resource.RLIMIT_AS, 400 << 20, "")


def signals_that_mean_nothing():
    with Daemon("--no-probe") as daemon:
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGPIPE, signal.SIGXFSZ,
                       signal.SIGXCPU, signal.SIGPOLL, signal.SIGPWR, signal.SIGRTMIN, signal.SIGRTMAX):
            daemon.process.send_signal(number)
        time.sleep(0.1)
        assert daemon.status()["state"] == "ready"


def a_log_that_nobody_reads():
    """A full pipe as standard error loses lines; it does not stop the daemon."""
    with tempfile.TemporaryDirectory(prefix="berth-test-") as folder:
        config = pathlib.Path(folder) / "conf"
        config.write_text("")
        reader, writer = os.pipe()
        process = subprocess.Popen([BIN / "berthd", "--node", NODES / "mi300a", "--socket", folder + "/s", "--config", config], stderr=writer)
        try:
            assert until(lambda: os.path.exists(folder + "/s"), 10)
            call(folder + "/s", "io.berth.Fabric.GetStatus")
            filler = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)
            for size in (4096, 1):
                with contextlib.suppress(BlockingIOError):
                    while os.write(filler, b"x" * size):
                        pass
            for _ in range(3):
                process.send_signal(signal.SIGHUP)
                time.sleep(0.1)
                assert call(folder + "/s", "io.berth.Fabric.GetStatus")[0] is None
            os.set_blocking(reader, False)
            said = [os.read(reader, 1 << 20)]
            process.send_signal(signal.SIGHUP)

            def tells_of_the_lost():
                with contextlib.suppress(BlockingIOError):
                    said.append(os.read(reader, 1 << 20))
                return b"were lost" in b"".join(said)
            assert until(tells_of_the_lost)
        finally:
            process.kill()
            process.wait(10)
            for fd in (reader, writer, filler):
                os.close(fd)


def a_killed_guardian_leaves_nothing():
    """A probe that puts a process into a session of its own, kills its guardian, and is killed for that."""
    with tempfile.TemporaryDirectory() as folder:
        script = f"setsid sh -c 'echo $$ > {folder}/pid; exec sleep 300' </dev/null >/dev/null 2>&1 &\n" \
                 f"while [ ! -s {folder}/pid ]; do sleep 0.01; done\necho '{RUN}'\nkill -9 $PPID\nsleep 300\n"
        with fake_probe(script) as probes, Daemon("--no-probe", config=f"probe_dir = {probes}\n") as daemon:
            call(daemon.socket, "io.berth.Health.Probe")
            pid = int((pathlib.Path(folder) / "pid").read_text())
            assert until(lambda: not alive(pid)), "what the probe started outlives its run"
            assert daemon.status()["state"] == "ready"


def cpu_s():
    """CPU time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def more_objects_than_a_node_has():
    """A topology of 200,000 NICs, or of anything else, is refused before hwloc reads it for many seconds."""
    for kind in ('type="OSDev" osdev_type="2"', 'type="Misc"'):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "node"
            shutil.copytree(NODES / "mi300a", copy)
            text = (copy / "topology.xml").read_text()
            more = "".join(f'<object {kind} gp_index="{10_000_000 + i}" name="eth{i}"/>' for i in range(200_000))
            at = text.rindex("</object>")
            (copy / "topology.xml").write_text(text[:at] + more + text[at:])
            before = cpu_s()
            done = subprocess.run([BIN / "berthd", "--node", copy, "--socket", folder + "/s"], capture_output=True, text=True, timeout=60)
            assert done.returncode == 65 and "objects; at most" in done.stderr, done
            assert cpu_s() - before < 3


def a_folder_of_many_devices_is_soon_read():
    """Devices are compared with each other: those beyond what any node has are left out, and the daemon says so."""
    with tempfile.TemporaryDirectory(prefix="berth-test-") as folder:
        copy = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "gh200-quad", copy)
        run = (copy / "facts.jsonl").read_text().splitlines()[0]
        lines = [f'{{"record":"device","gpu":"gpu{i}","pci":"{i:08x}:01:00.0","model":"GH200","bytes":1073741824,"partition":"none"}}' for i in range(100_000)]
        (copy / "facts.jsonl").write_text("\n".join([run, *lines]) + "\n")
        begin = time.process_time()
        assert len([json.loads(line) for line in lines]) == 100_000
        reference_s = time.process_time() - begin
        with Daemon("--node", copy) as daemon:
            node = daemon.call("io.berth.Fabric.GetNode")
            used_s = processor_s(daemon)
        print(f"# {used_s:.2f} s of processor, {used_s / reference_s:.1f} times as long as python takes for the lines")
        assert any("there are more than 256 devices" in line for line in node["disagreements"]), node["disagreements"]
        assert sum(place["kind"] == "gpu" for place in node["places"]) == 256
        assert used_s < 10 * reference_s, (used_s, reference_s)


def processor_s(daemon):
    """Processor time of the daemon so far."""
    fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def a_folder_of_many_values_is_light():
    """The more there are the more they take: for each value a hundred bytes, and not the tree of its line as well. Nor more time than a few times what python takes for the lines."""
    if SANITIZED:
        raise LeftOut("a sanitizer keeps what is freed, and its shadow")

    def most(values):
        with tempfile.TemporaryDirectory(prefix="berth-test-") as folder:
            copy = pathlib.Path(folder) / "node"
            shutil.copytree(NODES / "epyc-2s", copy)
            lines = ['{"record":"run","schema":1,"probe":"cpu","backend":"cpu","started_at":1790000000,"conditions":{}}']
            lines += [f'{{"record":"value","metric":"cpu_copy","from":"core{i % 61}","to":"core{i % 61 + 1}","axes":{{"bytes":"{64 + i}"}},'
                      f'"value":{1e9 + i},"low":{1e9},"high":{2e9},"n":9}}' for i in range(values)]
            (copy / "measurements.jsonl").write_text("\n".join(lines) + "\n")
            about = json.loads((copy / "node.json").read_text())
            (copy / "node.json").write_text(json.dumps({**about, "measurements": "measurements.jsonl"}))
            begin = time.process_time()
            assert all([json.loads(line) for line in lines])
            reference_s = time.process_time() - begin
            with Daemon("--node", copy) as daemon:
                daemon.wait_ready()
                used_s = processor_s(daemon)
                cells = daemon.call("io.berth.Fabric.GetMatrix", {"metric": "cpu_copy", "from": ["core1"], "to": ["core2"]})["cells"]
                assert len(cells) >= min(values // 61, 1), cells
                status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
                return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024, used_s / reference_s
    (few, _), (many, times) = most(1000), most(151_000)
    print(f"# loading takes {times:.1f} times as long as python takes for the lines")
    assert times < 3, times
    print(f"# {(many - few) / 150_000:.0f} bytes a value")
    assert many - few < 150_000 * 160, (few, many)


def restarts_go_on():
    """A daemon that fails repeatedly (full disk, lock, driver) is restarted without a limit: a node
    must not lose its advice.
    """
    unit = (pathlib.Path(__file__).resolve().parents[2] / "systemd/berthd.service.in").read_text()
    settings = dict(re.findall(r"^([A-Za-z]+)=(.*)$", unit, re.MULTILINE))
    assert settings["Restart"] == "on-failure" and settings["StartLimitIntervalSec"] == "0", "no number of starts is the last one"
    assert int(settings["RestartSec"]) >= 2, "nor does a loop of them cost much"
    assert unit.index("StartLimitIntervalSec") < unit.index("[Service]"), "systemd reads it in [Unit]"


TESTS = [few_descriptors, little_address_space, signals_that_mean_nothing, a_log_that_nobody_reads, a_killed_guardian_leaves_nothing,
         more_objects_than_a_node_has, a_folder_of_many_devices_is_soon_read, a_folder_of_many_values_is_light, restarts_go_on]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
