"""Whole daemons over a real socket with a real database: starting, stopping, probes that misbehave, restarts. Prints TAP."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, RUN, alive, cells, fake_probe, findings, probe_of, until  # noqa: E402
from reasons import left_out  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402


def measures_stores_and_serves_again_after_a_restart():
    with Daemon() as daemon:
        daemon.wait_ready()
        before = {metric: cells(daemon, metric) for metric in ("memory_bandwidth", "memory_latency")}
        measured = [cell for cell in before["memory_bandwidth"] if cell["value"]]
        assert measured, before
        for cell in measured:
            assert cell["source"] == "measured" and cell["low"] <= cell["value"] <= cell["high"] and cell["repetitions"] >= 1, cell
        assert daemon.stop()[0] == 0
        database = sqlite3.connect(daemon.state / "berth.db")
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM run").fetchone() == (1,)
        database.close()
        with Daemon(directory=daemon.directory) as again:
            assert again.status()["state"] == "ready", "a second start after the same boot must not measure"
            for metric, was in before.items():
                assert cells(again, metric) == was, metric


def a_part_that_was_measured_is_not_taken_for_all():
    with Daemon("--no-probe") as daemon:
        with Connection(daemon.socket) as asker:
            list(asker.stream("io.berth.Health.Probe", {"metrics": ["memory_latency"]}))
        daemon.wait_ready()
        assert cells(daemon, "memory_latency") and not cells(daemon, "memory_bandwidth")
        daemon.stop()
        with Daemon(directory=daemon.directory) as again:
            again.wait_ready()
            assert cells(again, "memory_bandwidth"), again.said()


def a_second_daemon_on_the_same_socket_goes_away():
    with Daemon("--no-probe") as daemon:
        second = subprocess.run([BIN / "berthd", "--socket", daemon.socket, "--state-dir", daemon.state, "--no-probe"], capture_output=True,
                                text=True, timeout=10)
        assert second.returncode != 0
        assert len(second.stderr.splitlines()) == 1 and daemon.socket in second.stderr, second.stderr
        daemon.status()


def a_stale_socket_is_replaced():
    with Daemon("--no-probe") as daemon:
        daemon.stop(signal.SIGKILL)
        assert os.path.exists(daemon.socket)
        with Daemon("--no-probe", directory=daemon.directory) as again:
            again.status()


def something_else_at_the_path_is_left_alone():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "s"
        path.write_text("precious")
        result = subprocess.run([BIN / "berthd", "--socket", path, "--state-dir", folder, "--no-probe"], capture_output=True, text=True, timeout=10)
        assert result.returncode != 0 and len(result.stderr.splitlines()) == 1, result
        assert path.read_text() == "precious"


LONG_PROBE = "echo '" + RUN + "'\nexec sleep 60\n"


def sigterm_while_probing_stops_at_once():
    with fake_probe(LONG_PROBE) as folder, Daemon(config=f"probe_dir = {folder}\n") as daemon:
        probe = probe_of(daemon)
        assert len(probe) == 2, (probe, daemon.said())
        assert daemon.status()["state"] == "probing"
        code, seconds = daemon.stop()
        assert code == 0 and seconds < 10, (code, seconds)
        assert not any(alive(pid) for pid in probe)


def sigkill_takes_the_real_probe_along():
    with Daemon(config="quick_budget_ms = 20000\n") as daemon:
        probe = probe_of(daemon)
        assert probe, daemon.said()
        time.sleep(0.1)
        daemon.stop(signal.SIGKILL)
        assert until(lambda: not any(alive(pid) for pid in probe))


def misbehaving_probes_cost_one_run():
    cases = {
        "probe-timeout": "echo '" + RUN + "'\ntrap '' TERM\nexec sleep 60\n",
        "probe-crashed": "echo '" + RUN + "'\nkill -SEGV $$\n",
        "probe-failed": "echo '" + RUN + "'\nexit 0\n",
        "probe-garbage": "echo '" + RUN + "'\nexec yes rubbish\n",
        "probe-left": "echo '" + RUN + "'\necho '{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":5}'\n"
                      "trap 'exit 0' USR1\nsetsid sh -c 'kill -USR1 $PPID; exec sleep 20' &\nwhile :; do sleep 0.01; done\n",
    }
    for code, script in cases.items():
        with fake_probe(script) as folder, Daemon(config=f"probe_dir = {folder}\nprobe_silence_s = 1\n") as daemon:
            daemon.wait_ready()
            found = findings(daemon)
            assert code in found, (code, found, daemon.said())
            assert found[code]["severity"] == "warning"
            # It is remembered: the next start tells of it too.
            daemon.stop()
            with Daemon("--no-probe", directory=daemon.directory) as again:
                assert code in findings(again), (code, findings(again))


def a_gigabyte_of_output_is_cut():
    with fake_probe("echo '" + RUN + "'\nexec head -c 1000000000 /dev/zero\n") as folder, Daemon(config=f"probe_dir = {folder}\n") as daemon:
        daemon.wait_ready()
        assert "probe-garbage" in findings(daemon)
        peak = next(line for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        assert int(peak.split()[1]) < 64 * 1024, peak


def a_missing_probe_is_a_finding():
    with Daemon(config="probe_dir = /nonexistent\n") as daemon:
        daemon.wait_ready()
        assert "could not be started" in findings(daemon)["probe-failed"]["text"]


def who_asks_is_told_why_nothing_was_measured():
    """A program that fails to start in its interpreter or linker is reported to its caller, the log
    and health.
    """
    for script, said in (("echo 'error while loading shared libraries: libnuma.so.1' >&2\nexit 127\n", "berth-probe-cpu ended with status 127: error while loading shared libraries: libnuma.so.1"),
                         (None, "berth-probe-cpu could not be started (No such file or directory)")):
        with fake_probe(script or "") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
            if script is None:
                (pathlib.Path(folder) / "berth-probe-cpu").write_text("#!/nonexistent/sh\n")
            with Connection(daemon.socket) as asker:
                last = list(asker.stream("io.berth.Health.Probe"))[-1][1]
            assert last["measured"] == 0 and left_out(last) == [said], last
            assert "berth-probe-cpu: failed, 0 values measured, 0 left out in " in daemon.said() and said in daemon.said(), daemon.said()
            assert findings(daemon)["probe-failed"]["text"] == said
            asked = subprocess.run([BIN / "berth", "--socket", daemon.socket, "probe"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
            assert asked.stdout == f"{said}\n0 values measured, 0 left out\n", asked
            assert asked.returncode == 75 and asked.stderr.splitlines()[-1].startswith("berth: nothing was measured: "), asked
            asked = subprocess.run([BIN / "berth", "--socket", daemon.socket, "--json", "probe"], capture_output=True, text=True)
            assert asked.returncode == 75 and json.loads(asked.stdout.splitlines()[-1])["measured"] == 0, asked
            assert daemon.status()["problems"] == ["probe-failed at machine0: " + said], daemon.status()
            shown = subprocess.run([BIN / "berth", "--socket", daemon.socket, "status"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}).stdout
            assert "problems probe-failed at machine0: " + said in " ".join(shown.split()), shown


def status_tells_of_no_problem_where_there_is_none():
    value = '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","value":90.5,"low":90,"high":91,"n":9}'
    end = '{"record":"end","status":"complete","elapsed_ns":1}'
    with fake_probe(f"echo '{RUN}'\necho '{value}'\necho '{end}'\n") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        status = daemon.status()
        assert (status["problems"], status["last_probe_at_s"]) == ([], None), status
        asked = subprocess.run([BIN / "berth", "--socket", daemon.socket, "probe"], capture_output=True, text=True)
        assert (asked.returncode, asked.stdout) == (0, "1 value measured, 0 left out\n"), asked
        status = daemon.status()
        assert status["problems"] == [] and status["last_probe_at_s"] >= status["started_at_s"], status


def values_measured_before_a_crash_are_kept():
    value = '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","value":90.5,"low":90,"high":91,"n":9}'
    with fake_probe(f"echo '{RUN}'\necho '{value}'\nkill -SEGV $$\n") as folder, Daemon(config=f"probe_dir = {folder}\n") as daemon:
        daemon.wait_ready()
        assert [cell["value"] for cell in cells(daemon, "memory_latency")] == [90.5]


def probes_can_be_asked_for_followed_and_cancelled():
    script = "echo '" + RUN + "'\necho '{\"record\":\"progress\",\"done\":1,\"total\":4}'\nexec sleep 60\n"
    with fake_probe(script) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        assert daemon.status()["state"] == "ready"
        with Connection(daemon.socket) as asker:
            replies = asker.stream("io.berth.Health.Probe")
            first = next(replies)
            while first[1]["total"] != 4:
                first = next(replies)
            assert first[1]["done"] == 1
            error, reply = call(daemon.socket, "io.berth.Health.Probe")
            assert error == "io.berth.Health.Busy" and reply["by"] == "probe", (error, reply)
            assert daemon.status()["state"] == "probing" and daemon.status()["progress"] == 0.25
            begin = time.monotonic()
            daemon.call("io.berth.Health.CancelProbe")
            rest = list(replies)
            assert rest and rest[-1][0] is None, rest
            assert time.monotonic() - begin < 10
        daemon.wait_ready()
        assert "probe-cancelled" not in findings(daemon)
        error, reply = call(daemon.socket, "io.berth.Health.CancelProbe")
        assert error == "io.berth.Health.Unavailable", (error, reply)
        for parameters, wanted in (({"metrics": ["nonsense"]}, "io.berth.Health.NoSuchMetric"), ({"places": ["gpu99"]}, "io.berth.Health.NoSuchPlace"),
                                   ({"budget_ns": -1}, "org.varlink.service.InvalidParameter"),
                                   ({"profile": "slow"}, "org.varlink.service.InvalidParameter")):
            error, reply = call(daemon.socket, "io.berth.Health.Probe", parameters)
            assert error == wanted, (parameters, error, reply)


def what_was_measured_and_what_was_left_out_are_counted_apart():
    records = [RUN, '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","value":90.5,"low":90,"high":91,"n":9}',
               '{"record":"skip","metric":"memory_latency","from":"core0","to":"numa0","why":"time budget"}',
               '{"record":"skip","metric":"memory_bandwidth","from":"numa0","to":"numa0","why":"time budget"}',
               '{"record":"end","status":"complete","elapsed_ns":1}']
    script = "".join(f"echo '{record}'\n" for record in records)
    with fake_probe(script) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        for _ in range(2):  # a second request counts its own alone
            with Connection(daemon.socket) as asker:
                last = list(asker.stream("io.berth.Health.Probe"))[-1][1]
            assert (last["measured"], last["left_out"], len(last["skipped"])) == (1, 2, 2), last
        assert "berth-probe-cpu: complete, 1 values measured, 2 left out in " in daemon.said(), daemon.said()


def a_probe_runs_on_when_its_caller_goes():
    value = '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","value":90.5,"low":90,"high":91,"n":9}'
    end = '{"record":"end","status":"complete","elapsed_ns":1}'
    with fake_probe(f"echo '{RUN}'\nsleep 0.3\necho '{value}'\necho '{end}'\n") as folder, \
            Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        with Connection(daemon.socket) as asker:
            asker.send("io.berth.Health.Probe", {}, more=True)
            assert asker.receive()
        daemon.wait_ready()
        assert [cell["value"] for cell in cells(daemon, "memory_latency")] == [90.5]


def watchers_hear_of_a_new_snapshot():
    value = '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","value":90.5,"low":90,"high":91,"n":9}'
    end = '{"record":"end","status":"complete","elapsed_ns":1}'
    with fake_probe(f"echo '{RUN}'\necho '{value}'\necho '{end}'\n") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        with Connection(daemon.socket) as watcher:
            events = watcher.stream("io.berth.Fabric.Watch")
            first = next(events)[1]
            assert "node" in first["changed"]
            daemon.call("io.berth.Health.Probe")
            second = next(events)[1]
            assert second["changed"] == ["memory_latency"] and second["snapshot"] != first["snapshot"], second


def sighup_reads_the_configuration_again():
    with Daemon("--no-probe", config="max_connections = 3\n") as daemon:
        first = daemon.status()["basis"]["snapshot"]
        daemon.config.write_text("max_conections = 4\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert until(lambda: "stays as it was" in daemon.said()), daemon.said()
        assert "did you mean" in daemon.said(), daemon.said()
        daemon.config.write_text("max_connections = 20\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert until(lambda: "read again" in daemon.said()), daemon.said()
        connections = [Connection(daemon.socket) for _ in range(10)]
        for connection in connections:
            assert connection.call("io.berth.Fabric.GetStatus")[0] is None
            connection.socket.close()
        assert until(lambda: daemon.status()["basis"]["snapshot"] != first), "the node is looked at again"


def others_may_read_but_not_probe():
    if os.geteuid() != 0:
        raise LeftOut("not root: cannot become somebody else")
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            errors = []
            with contextlib.suppress(Exception):
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                for method in ("Fabric.GetStatus", "Health.Check", "Health.Probe", "Health.AddRun", "Health.CancelProbe", "Health.AcceptBaseline"):
                    errors.append(str(call(daemon.socket, "io.berth." + method)[0]))
            os.write(writer, " ".join(errors).encode())
            os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        errors = os.read(reader, 4096).decode().split()
        os.close(reader)
        denied = "org.varlink.service.PermissionDenied"
        assert errors == ["None", "None", denied, denied, denied, denied], errors
        assert call(daemon.socket, "io.berth.Health.AcceptBaseline") == (
            None, {"accepted": 0, "in_line": 0, "file": None, "not_written": None, "left_out": 0, "why_left_out": None})


def the_service_manager_hears_of_it():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/notify"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(path)
        manager.settimeout(20)
        with Daemon("--no-probe", environment={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"}) as daemon:
            heard = []
            begin = time.monotonic()
            while heard.count("WATCHDOG=1") < 4:
                heard += manager.recv(4096).decode().split("\n")
            assert heard[0] == "READY=1" and any(line.startswith("STATUS=serving ") for line in heard), heard
            assert time.monotonic() - begin > 0.2, "each half of the time that the manager waits"
            daemon.process.terminate()
            while "STOPPING=1" not in heard:
                heard += manager.recv(4096).decode().split("\n")


def the_socket_may_come_from_the_service_manager():
    with tempfile.TemporaryDirectory() as folder:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(folder + "/activated")
        listener.listen()
        # The child must find it as fd 3 and its own pid in LISTEN_PID.
        script = f'exec 3<&{listener.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"'
        process = subprocess.Popen(["bash", "-c", script, BIN / "berthd", "--no-probe", "--state-dir", folder, "--socket", folder + "/unused"],
                                   pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL)
        listener.close()
        try:
            error, reply = call(folder + "/activated", "io.berth.Fabric.GetStatus")
            assert error is None and not os.path.exists(folder + "/unused")
        finally:
            process.terminate()
            process.wait()
        assert os.path.exists(folder + "/activated"), "the service manager's socket is not ours to remove"


def without_a_place_to_write_it_serves_from_memory():
    with tempfile.TemporaryDirectory() as folder:
        blocked = pathlib.Path(folder) / "file"
        blocked.write_text("")
        with Daemon("--no-probe", "--state-dir", blocked / "state") as daemon:
            assert daemon.status()["store"] == "memory_only"
            assert any(code.startswith("store") for code in findings(daemon)), findings(daemon)


def a_recorded_node_is_served_and_not_measured():
    with Daemon("--node", NODES / "mi250x") as daemon:
        assert daemon.status()["state"] == "ready"
        assert daemon.status()["basis"]["origin"] in ("recorded", "reconstructed")
        error, reply = call(daemon.socket, "io.berth.Health.Probe")
        assert error == "io.berth.Health.Unavailable" and "not this machine" in reply["detail"], (error, reply)
        assert not (daemon.state / "berth.db").exists()


def what_it_records_it_can_serve():
    lines = [{"record": "value", "metric": "memory_bandwidth", "from": "numa0", "to": "numa0", "axes": {"operation": how, "threads": threads},
              "value": value, "low": value / 1.0123456789, "high": value * 1.1, "n": 9}
             for (how, threads), value in {("read", "1"): 12345678901.234, ("write", "1"): 1e9 / 3, ("copy", "all"): 4.0e12}.items()]
    script = "\n".join(f"echo '{line}'" for line in (RUN, *map(json.dumps, lines), '{"record":"end","status":"complete"}'))
    with fake_probe(script) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon, tempfile.TemporaryDirectory() as folder:
        daemon.wait_ready()
        with Connection(daemon.socket) as connection:
            for error, reply in connection.stream("io.berth.Fabric.Record"):
                assert error is None, (error, reply)
                path = pathlib.Path(folder) / reply["file"]
                assert path.resolve().is_relative_to(pathlib.Path(folder).resolve()), path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(reply["text"])
        assert json.loads((pathlib.Path(folder) / "node.json").read_text())["origin"] == "recorded"
        with Daemon("--node", folder) as again:
            node, copy = daemon.call("io.berth.Fabric.GetNode"), again.call("io.berth.Fabric.GetNode")
            assert copy["basis"]["origin"] == "recorded" and copy["name"] == node["name"]
            strip = lambda places: [{k: v for k, v in place.items() if k != "details"} for place in places]
            assert strip(copy["places"]) == strip(node["places"])
            numbers = lambda d: [(c["from"], c["to"], c["axes"], c["value"]) for c in cells(d, "memory_bandwidth") if c["value"]]
            was, now = numbers(daemon), numbers(again)
            assert len(was) == len(now) == len(lines), (was, now)
            for a, b in zip(was, now):
                assert a[:3] == b[:3] and abs(a[3] - b[3]) <= 1e-6 * a[3], (a, b)


def more_names_than_a_program_takes_are_no_run():
    with fake_probe(f"echo '{RUN}'\necho '{{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":1}}'\n") as folder:
        with Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
            for count in (21000, 22000):
                error, reply = call(daemon.socket, "io.berth.Health.Probe", {"places": ["core0"] * count})
                wanted = (None, None) if count * 6 < 131072 else ("org.varlink.service.InvalidParameter", "places")
                assert (error, reply.get("parameter")) == wanted, (count, error, reply)
                assert "probe-failed" not in findings(daemon)


def closed_standard_descriptors_are_not_taken():
    with tempfile.TemporaryDirectory(prefix="berth-test-") as directory:
        path = directory + "/s"
        process = subprocess.Popen(["/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', BIN / "berthd", "--node", NODES / "mi300a", "--socket", path])
        try:
            def answers():
                with contextlib.suppress(OSError):
                    return call(path, "io.berth.Fabric.GetStatus")[0] is None
                return process.poll() is not None
            assert until(answers) and process.poll() is None
        finally:
            process.terminate()
            assert process.wait(10) == 0, process.returncode


def no_plugin_of_hwloc_is_loaded():
    """Debian's hwloc has GPU components as plugins, which pull drivers into the process.

    This plugin only reports that it was loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        mark = pathlib.Path(folder) / "loaded"
        source = f'#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) {{ open("{mark}", O_CREAT | O_WRONLY, 0600); }}\n'
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder + "/hwloc_opencl.so"], input=source, text=True, check=True)
        with Daemon("--no-probe", environment={"HWLOC_PLUGINS_PATH": folder}):
            assert not mark.exists(), "the daemon loads plugins"


def wrong_words_get_one_line():
    for arguments, code, word in ((["--nonsense"], 64, "berthd: no option --nonsense (berthd --help)"), (["--config"], 64, "berthd: --config needs a value (berthd --help)"), (["extra"], 64, "extra"), (["--config", "/nonexistent"], 78, "/nonexistent"),
                                  (["--node", "/nonexistent"], 69, "/nonexistent"), (["--socket", "/" + "x" * 200], 78, "107"),
                                  (["--socket", "/nonexistent/s"], 78, "/nonexistent")):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([BIN / "berthd", "--socket", folder + "/s", "--state-dir", folder, *arguments], capture_output=True, text=True,
                                    timeout=10)
        assert result.returncode == code, (arguments, result)
        assert len(result.stderr.splitlines()) == 1 and word in result.stderr, (arguments, result.stderr)
    with tempfile.TemporaryDirectory() as folder:
        (path := pathlib.Path(folder) / "c").write_text("admin_group = nobody-knows-it\n")
        result = subprocess.run([BIN / "berthd", "--check-config", "--config", path], capture_output=True, text=True, timeout=10)
        assert result.returncode == 0 and "max_message_bytes = 1048576" in result.stdout and "nobody-knows-it" in result.stderr, result
        path.write_text("socket = /x\n\nbad = 1\n")
        result = subprocess.run([BIN / "berthd", "--check-config", "--config", path], capture_output=True, text=True, timeout=10)
        assert result.returncode == 78 and f"{path}:3:" in result.stderr, result
    for word in ("--help", "--version"):
        assert subprocess.run([BIN / "berthd", word], capture_output=True, timeout=10).returncode == 0


def what_json_cannot_keep_closes_with_a_line_in_the_log():
    with Daemon("--no-probe") as daemon:
        for number, text in enumerate((b"NaN", b"1e400-5", b'"\\u0000"'), 1):
            with Connection(daemon.socket) as asker:
                asker.socket.sendall(b'{"method":"io.berth.Placement.Claim","parameters":{"places":["core0"],"ttl_s":' + text + b"}}\0")
                assert asker.receive() is None, text
            assert until(lambda: daemon.said().count("a connection of uid") == number), (text, daemon.said())
        for text in (b"1e400", b"12345678901234567890"):
            with Connection(daemon.socket) as asker:
                asker.socket.sendall(b'{"method":"io.berth.Placement.Claim","parameters":{"places":["core0"],"purpose":"compute","ttl_s":' + text + b"}}\0")
                reply = asker.receive()
                assert reply["error"] == "org.varlink.service.InvalidParameter" and reply["parameters"]["parameter"] == "ttl_s", (text, reply)
                asker.socket.sendall(b'{"method":"io.berth.Placement.ListClaims","oneway":true,"parameters":{"x":' + text + b'}}\0{"method":"io.berth.Placement.ListClaims"}\0')
                assert asker.receive()["parameters"]["claims"] == [], "who wants no answer gets none"
        assert daemon.status()["state"] == "ready"


TESTS = [
    measures_stores_and_serves_again_after_a_restart,
    a_part_that_was_measured_is_not_taken_for_all,
    a_second_daemon_on_the_same_socket_goes_away,
    a_stale_socket_is_replaced,
    something_else_at_the_path_is_left_alone,
    sigterm_while_probing_stops_at_once,
    sigkill_takes_the_real_probe_along,
    misbehaving_probes_cost_one_run,
    a_gigabyte_of_output_is_cut,
    a_missing_probe_is_a_finding, who_asks_is_told_why_nothing_was_measured,
    status_tells_of_no_problem_where_there_is_none,
    values_measured_before_a_crash_are_kept,
    probes_can_be_asked_for_followed_and_cancelled,
    what_was_measured_and_what_was_left_out_are_counted_apart,
    a_probe_runs_on_when_its_caller_goes,
    watchers_hear_of_a_new_snapshot,
    sighup_reads_the_configuration_again,
    others_may_read_but_not_probe,
    the_service_manager_hears_of_it,
    the_socket_may_come_from_the_service_manager,
    without_a_place_to_write_it_serves_from_memory,
    a_recorded_node_is_served_and_not_measured,
    what_it_records_it_can_serve,
    more_names_than_a_program_takes_are_no_run,
    closed_standard_descriptors_are_not_taken,
    no_plugin_of_hwloc_is_loaded,
    wrong_words_get_one_line,
    what_json_cannot_keep_closes_with_a_line_in_the_log,
]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
