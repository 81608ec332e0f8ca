"""Text from outside that is no UTF-8, at each door where it comes in: nobody is refused an answer for that. Prints TAP."""
import contextlib
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, NODES, RUN, Daemon, cells, fake_probe, findings, until  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import call  # noqa: E402


def answers_all(daemon):
    for method in ("Fabric.GetStatus", "Fabric.GetNode", "Health.Check"):
        error, reply = call(daemon.socket, "io.berth." + method)
        assert error is None, (method, error, reply)
    assert subprocess.run([BIN / "berth", "--socket", daemon.socket, "status", "--wait"], capture_output=True, timeout=20).returncode == 0


def the_database():
    """SQLite quotes bytes of a broken file in its errors."""
    with Daemon("--no-probe") as daemon:
        daemon.wait_ready()
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.state / "berth.db", isolation_level=None)) as file:
            file.execute("PRAGMA writable_schema = ON")
            file.execute("UPDATE sqlite_schema SET sql = CAST(x'435245415445205441424c4520ff80fe20' || sql AS TEXT),"
                         " name = CAST(x'6eff80' AS TEXT) WHERE name = 'series'")
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert again.status()["store"] == "set_aside"
            assert "?" in findings(again)["store-set-aside"]["text"], findings(again)
            answers_all(again)


def a_probe():
    """Bytes in place of records, and text of a failing probe, also cut in the middle of a
    character.
    """
    long = "\\303\\251" * 300
    for script in ("printf 'a\\377\\200b' >&2; exit 3\n", f"printf '{long}' >&2; exit 3\n", f"printf 'x{long}' >&2; exit 3\n",
                   f"echo '{RUN}'\nprintf '\\377\\376{{\\n'\nexit 0\n"):
        with fake_probe(script) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
            error, reply = call(daemon.socket, "io.berth.Health.Probe")
            assert error is None, (script, error, reply)
            daemon.wait_ready()
            assert until(lambda: any(code.startswith("probe-") for code in findings(daemon))), (script, findings(daemon))
            answers_all(daemon)


def numbers_that_are_none():
    """Values that JSON cannot hold are missing from a run, and whoever asked for it is told."""
    line = '{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","value":%s}'
    end = '{"record":"end","status":"complete","elapsed_ns":1000}'
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        script = f"echo '{RUN}'\necho '{line % number}'\necho '{end}'\n"
        with fake_probe(script) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
            error, reply = call(daemon.socket, "io.berth.Health.Probe")
            assert error is None and any("1 line that is no record," in item["why"] for item in reply["skipped"]), (number, error, reply)
            why = "the probe printed no value of it: "
            told = [(item["metric"], item["what"]) for item in reply["skipped"] if why in item["why"]]
            assert told == [("cpu_pingpong", "core0 core1")], reply
            cell, = cells(daemon, "cpu_pingpong")
            assert cell["value"] is None and cell["why_not"].startswith(why), cell
            for arguments in (["matrix", "cpu_pingpong"], ["probe", "cpu_pingpong"]):
                done = subprocess.run([BIN / "berth", "--socket", daemon.socket, *arguments],
                                      capture_output=True, text=True, timeout=20)
                assert why in done.stdout + done.stderr, (number, done)


def a_node_folder():
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "mi250x", copy)
        for path in copy.rglob("*"):
            if path.is_file() and path.name in ("name", "product_name", "model"):
                path.write_bytes(b"x\xff\x80\n")
        with Daemon("--node", copy) as daemon:
            answers_all(daemon)


def speeds_that_no_link_has():
    """hwloc's XML states speeds; one beyond every number is unknown."""
    for speed in ("1e300", "inf", "nan", "-5", "0"):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "node"
            shutil.copytree(NODES / "h200x2", copy)
            text = (copy / "topology.xml").read_text()
            changed = re.sub(r'pci_link_speed="[^"]*"', f'pci_link_speed="{speed}"', text)
            assert changed != text
            (copy / "topology.xml").write_text(changed)
            with Daemon("--node", copy) as daemon:
                answers_all(daemon)
                told = findings(daemon)
                assert "below-nominal" not in told, (speed, told)


def the_command_line():
    """Arguments and files that are named in an error."""
    for arguments in ([b"--config", b"/nonexistent\xff\x80"], [b"--node", b"/nonexistent\xff"]):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([BIN / "berthd", "--socket", folder + "/s", *arguments], capture_output=True, timeout=10)
        assert done.returncode not in (0, 75) and len(done.stderr.decode().splitlines()) == 1, done


TESTS = [the_database, a_probe, numbers_that_are_none, a_node_folder, speeds_that_no_link_has, the_command_line]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
