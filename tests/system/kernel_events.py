#!/usr/bin/env python3
"""Errors that the kernel logged: berth-probe-events, its unit, and what a daemon makes of its file.

Prints TAP.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import under_filter  # noqa: E402
from berthd import BIN, Daemon, fake_probe, findings, GPU_RUN, NODES, RUN, until  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import call, Connection  # noqa: E402

PROBE = BIN / "berth-probe-events"
MACHINE = {"HWLOC_XMLFILE": str(NODES / "h200x4/topology.xml"), "HWLOC_THISSYSTEM": "1"}  # gpu0 is 0000:00:06.0
BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
XID = "NVRM: Xid (PCI:0000:00:{:02x}): {}, pid='<unknown>', name=<unknown>, text"
AER = "pcieport 0000:00:01.0: PCIe Bus Error: severity={}, type=Physical Layer, (Receiver ID)"
RESET = "amdgpu 0000:00:08.0: amdgpu: GPU reset begin!"


class Log:
    """The kernel's log of a test, and the file of berth-probe-events."""

    def __init__(self, folder):
        self.kmsg, self.events = pathlib.Path(folder) / "kmsg", pathlib.Path(folder) / "events.jsonl"
        self.booted, self.number = int(time.time()) - 7200, 100
        self.kmsg.write_text("")

    def say(self, *messages, at_s=3600, priority=4):
        with open(self.kmsg, "a") as file:
            for message in messages:
                file.write(f"{priority},{self.number},{at_s * 1000000},-;{message}\n SUBSYSTEM=pci\n")
                self.number += 1

    def read(self):
        done = subprocess.run([PROBE, "--kmsg", self.kmsg, "--booted", str(self.booted), "--output", self.events], capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


@contextlib.contextmanager
def daemon_of(folder, log, counters_s=1):
    with Daemon("--no-probe", config=f"counters_s = {counters_s}\nevents_file = {log.events}\n", environment=MACHINE, directory=folder) as daemon:
        yield daemon


def found(daemon, code):
    return sorted((f for f in daemon.call("io.berth.Health.Check")["findings"] if f["code"] == code), key=lambda f: f["text"])


def accept(daemon, **parameters):
    """Waits while the daemon looks at the node."""
    assert until(lambda: call(daemon.socket, "io.berth.Health.AcceptBaseline", parameters)[0] is None), daemon.said()


def lines_become_records_and_the_file_is_replaced_at_once():
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say("usb 1-1: new device", XID.format(6, 79), "x" * 100000, RESET)
        log.say(XID.format(7, 79), priority=12)  # a program's
        log.read()
        records = [json.loads(line) for line in log.events.read_text().splitlines()]
        assert records[0] == {"record": "boot", "id": BOOT} and records[-1] == {"record": "end"}, records
        assert records[1] == {"record": "event", "event": "xid", "at": "0000:00:06.0", "number": 79, "at_s": log.booted + 3600,
                              "sequence": 101, "text": XID.format(6, 79)}, records
        assert [r["event"] for r in records[1:-1]] == ["xid", "gpu-reset"], records
        before = log.events.stat()
        assert oct(before.st_mode & 0o777) == oct(0o644)
        log.read()
        assert log.events.stat().st_ino != before.st_ino and sorted(p.name for p in pathlib.Path(folder).iterdir()) == ["events.jsonl", "kmsg"]
        log.kmsg.write_text("".join(f"[{i:5d}.000001] {XID.format(6, 79)}\n" for i in range(9000)))  # as dmesg prints them
        log.read()
        records = [json.loads(line) for line in log.events.read_text().splitlines()]
        assert len(records) == 8192 + 2 and records[1]["sequence"] == 808, "the latest ones"
        done = subprocess.run([PROBE, "--kmsg", "/nonexistent"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "") and done.stderr == "berth-probe-events: /nonexistent: No such file or directory\n", done
        done = subprocess.run([PROBE, "--kmsg", log.kmsg, "--output", f"{folder}/none/file"], capture_output=True, text=True)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done


def events_are_findings_since_their_time():
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say(XID.format(6, 94), at_s=60)
        log.say(XID.format(6, 94), at_s=660)
        log.say(XID.format(7, 79), XID.format(7, 13), XID.format(7, 31), RESET, AER.format("Uncorrectable (Non-Fatal)"), *[AER.format("Correctable")] * 100)
        log.say("NVRM: Xid (PCI:0000:00:09): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
        log.read()
        with daemon_of(folder, log) as daemon:
            check = daemon.call("io.berth.Health.Check")
            lost, contained = sorted(found(daemon, "xid"), key=lambda f: f["severity"])
            assert (lost["place"], lost["severity"], lost["text"]) == ("gpu1", "critical", "Xid 79, it is off the PCIe bus: restart the node"), lost
            assert (contained["place"], contained["severity"]) == ("gpu0", "warning"), contained
            assert contained["text"] == "Xid 94, 2 times in 10 minutes: memory error that was contained: start the programs on it again", contained
            assert (lost["since_s"], contained["since_s"]) == (log.booted + 3600, log.booted + 60), (lost, contained)
            assert check["drain"] is True and check["verdict"] == "unhealthy", check
            assert [(f["place"], f["text"]) for f in found(daemon, "gpu-reset")] == [("gpu2", f"its driver has reset it: {RESET}")]
            aer = found(daemon, "aer")
            assert [f["place"] for f in aer] == ["machine0"] and aer[0]["text"].startswith("PCIe errors not corrected: pcieport 0000:00:01.0: "), aer
            log.say(AER.format("Corrected"), XID.format(6, 94), at_s=3700)  # the 101st, the third
            log.read()
            assert until(lambda: len(found(daemon, "aer")) == 2), daemon.said()
            assert found(daemon, "aer")[0]["text"].startswith("101 times in 2 minutes: PCIe errors corrected: "), found(daemon, "aer")
            assert [f["text"] for f in found(daemon, "xid") if f["place"] == "gpu0"][0].startswith("Xid 94, 3 times in 61 minutes"), found(daemon, "xid")
            daemon.stop()
            with daemon_of(folder, log) as daemon:  # the same file again counts nothing twice
                assert len(found(daemon, "aer")) == 2 and [f["text"] for f in found(daemon, "xid") if f["place"] == "gpu0"][0].startswith("Xid 94, 3 times"), found(daemon, "xid")


def an_nvlink_error_is_as_grave_as_its_message():
    """A fatal one stays one when another follows; numbers whose action is to restart or to look."""
    said = "NVRM: Xid (PCI:0000:00:{:02x}): {}, {}   XC0 i0 Link 09 (0x025525c6 0x00000000)"
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say(said.format(6, 149, "NETIR_LINK_EVT  Fatal"), at_s=60)
        log.say(said.format(6, 149, "NETIR_LINK_EVT  Nonfatal"), said.format(7, 145, "RLW_RXPIPE  Nonfatal"), at_s=90)
        log.read()
        with daemon_of(folder, log) as daemon:
            fatal, other = sorted(found(daemon, "xid"), key=lambda f: f["severity"])
            assert (fatal["place"], fatal["severity"], other["place"], other["severity"]) == ("gpu0", "critical", "gpu1", "warning"), (fatal, other)
            assert fatal["text"].startswith("Xid 149, 2 times: fatal NVLink error (NETIR): reset the GPU: ") and "  Fatal " in fatal["text"], fatal
            assert other["text"].startswith("Xid 145, NVLink error (RLW): ") and "Nonfatal" in other["text"], other
            assert daemon.call("io.berth.Health.Check")["drain"] is True
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say(said.format(7, 145, "RLW_RXPIPE  Nonfatal"), XID.format(6, 159), at_s=60)
        log.read()
        with daemon_of(folder, log) as daemon:
            assert daemon.call("io.berth.Health.Check")["drain"] is False and len(found(daemon, "xid")) == 2, found(daemon, "xid")
            log.say(XID.format(6, 151), at_s=90)
            log.read()
            assert until(lambda: daemon.call("io.berth.Health.Check")["drain"]), found(daemon, "xid")


def accepted_events_alarm_no_more():
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say(XID.format(6, 79), XID.format(7, 79), RESET)
        log.read()
        places = lambda daemon: [f["place"] for f in found(daemon, "xid")]
        with daemon_of(folder, log) as daemon:
            assert sorted(places(daemon)) == ["gpu0", "gpu1"]
            accept(daemon, places=["gpu0"])
            assert places(daemon) == ["gpu1"] and len(found(daemon, "gpu-reset")) == 1
            accept(daemon)
            assert places(daemon) == [] and found(daemon, "gpu-reset") == []
            log.read()
            daemon.stop()
            with daemon_of(folder, log) as daemon:
                time.sleep(2.5)
                assert places(daemon) == [], "also after a restart, and after the next reading"
                log.say(XID.format(6, 79))
                log.read()
                assert until(lambda: places(daemon) == ["gpu0"]), "a later one is new"


def old_events_and_those_of_another_boot_are_none():
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.booted = int(time.time()) - 8 * 86400
        log.say(XID.format(6, 79), at_s=86400 - 60)
        log.say(XID.format(7, 79), at_s=86400 + 600)
        log.read()
        with daemon_of(folder, log) as daemon:
            assert [f["place"] for f in found(daemon, "xid")] == ["gpu1"], found(daemon, "xid")
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say(XID.format(6, 79))
        log.read()
        log.events.write_text(log.events.read_text().replace(BOOT, "another"))
        with daemon_of(folder, log) as daemon:
            assert found(daemon, "xid") == [] and "counter-garbage" not in findings(daemon)


def hostile_files_give_one_note_and_lose_nothing():
    event = {"record": "event", "event": "xid", "at": "0000:00:06.0", "number": 79, "at_s": int(time.time()), "sequence": 7, "text": "t"}
    bad = [{**event, "event": "none"}, {**event, "at": "x" * 500}, {**event, "at": "0000:00:06"}, {**event, "number": -1}, {**event, "number": 10**9}, {**event, "sequence": -2},
           {**event, "at_s": 10**18}, {**event, "at_s": "1"}, {**event, "text": None}, {**event, "count": 0}, {**event, "first_s": event["at_s"] + 1}, [], 7, {"record": 5}, {"record": "boot"}]
    bad = [json.dumps(record) for record in bad] + ["nonsense", "{" * 5000, "\u0007", '{"record":"event"']
    head = json.dumps({"record": "boot", "id": BOOT}) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.events.write_text(head + "\n".join(bad) + "\n" + json.dumps({**event, "text": "\u001b[31m\n\u009b x"}) + "\n")
        with daemon_of(folder, log) as daemon:
            notes = found(daemon, "counter-garbage")
            assert len(notes) == 1 and notes[0]["text"].startswith(f"{len(bad)} records of errors are not read; the first: "), notes
            assert [f["place"] for f in found(daemon, "xid")] == ["gpu0"], "the good line"
            log.events.write_text(head)
            assert until(lambda: not found(daemon, "counter-garbage")), found(daemon, "counter-garbage")
            many = [json.dumps({**event, "number": 100 + i, "sequence": 10 + i}) for i in range(5000)]
            log.events.write_text(head + "\n".join(many) + "\n" + json.dumps({**event, "number": 62, "sequence": 9000, "at_s": event["at_s"] + 1}) + "\n")
            assert until(lambda: [f["text"] for f in found(daemon, "xid") if "Xid 62" in f["text"]]), "more than there is room for"
            kept = (daemon.state / "counters.jsonl").read_text().count('"event"')
            assert kept <= 2 * 256, kept
            for spoil, word in ((lambda: log.events.chmod(0o666), "others may write it"), (lambda: log.events.write_bytes(b"\0" * 100), "events.jsonl"),
                                (lambda: log.events.write_text("x" * (9 << 20)), "events.jsonl"), (lambda: (log.events.unlink(), log.events.mkdir()), "events.jsonl")):
                log.events.chmod(0o644)
                spoil()
                assert until(lambda: [f for f in found(daemon, "counter-garbage") if word in f["text"]]), (word, found(daemon, "counter-garbage"), daemon.said())
                assert [f for f in found(daemon, "xid") if "Xid 62" in f["text"]], "nothing is lost"
                if log.events.is_file():
                    log.events.write_text(head)
                    log.events.chmod(0o644)
                    assert until(lambda: not found(daemon, "counter-garbage"))
            daemon.process.send_signal(signal.SIGHUP)
            assert until(lambda: daemon.call("io.berth.Fabric.GetStatus")), "it lives"


def a_recorded_node_has_its_events():
    with tempfile.TemporaryDirectory() as folder:
        log = Log(folder)
        log.say(XID.format(6, 79), XID.format(6, 79))
        log.read()
        with daemon_of(folder, log) as daemon:
            before = found(daemon, "xid")
            with Connection(daemon.socket) as connection:
                files = {reply["file"]: reply["text"] for error, reply in connection.stream("io.berth.Fabric.Record") if error is None}
        node = pathlib.Path(folder) / "node"
        for name, text in files.items():
            (node / name).parent.mkdir(parents=True, exist_ok=True)
            (node / name).write_text(text)
        with Daemon("--node", node) as daemon:
            again = found(daemon, "xid")
            assert [(f["place"], f["text"]) for f in again] == [(f["place"], f["text"]) for f in before] and before, (before, again)


def a_gpu_throttled_in_three_of_eight_runs_is_a_finding():
    """The condition gpu_throttle of the end of each run, of all GPUs or of each."""
    copy = json.dumps({"record": "value", "metric": "host_gpu_copy_engine", "from": "numa0", "to": "gpu0", "axes": {"size": 67108864}, "value": 55e9, "low": 54e9, "high": 56e9, "n": 9})
    end = {"record": "end", "status": "complete", "elapsed_ns": 1}
    with fake_probe(f"echo '{RUN}'\necho '{json.dumps(end)}'\n") as folder:
        script, values = pathlib.Path(folder) / "berth-probe-gpu", pathlib.Path(folder) / "values"
        facts = GPU_RUN.replace('"cuda"', '"facts"') + "\n" + json.dumps(end) + "\n"
        script.write_text(f'#!/bin/sh\n[ "$1" = --facts ] && {{ echo \'{facts}\'; exit; }}\nexec cat "${{0%/*}}/values"\n')
        script.chmod(0o755)

        def run(daemon, throttle):
            values.write_text("\n".join([GPU_RUN, copy, json.dumps({**end, "conditions": {"gpu_throttle": throttle}})]) + "\n")
            with Connection(daemon.socket) as connection:
                assert [error for error, _ in connection.stream("io.berth.Health.Probe", {"metrics": ["host_gpu_copy_engine"]}) if error] == [], daemon.said()
            daemon.wait_ready()
            return {f["place"]: f["text"] for f in found(daemon, "gpu-throttled")}

        each = "0000:00:06.0 {}, 0000:00:07.0 power-cap, 0000:00:08.0 -, 0000:00:09.0 none"
        with Daemon("--no-probe", config=f"probe_dir = {folder}\ncounters_s = 1\n", environment=MACHINE) as daemon:
            assert run(daemon, each.format("power-cap,hardware-thermal")) == {} == run(daemon, each.format("power-brake"))
            assert run(daemon, None) == {} == run(daemon, "none") == run(daemon, "power-cap"), "not known, and no reason"
            said = run(daemon, each.format("software-thermal"))
            assert said == {"gpu0": "its clocks were held down at the end of 3 of its last 5 measurements: software-thermal"}, said
            kept = [json.loads(line) for line in (daemon.state / "counters.jsonl").read_text().splitlines() if '"throttle"' in line]
            assert {record["at"][-4:-2]: (record["runs"], record["count"]) for record in kept} == {"06": (0b11001, 5), "07": (0, 5), "08": (0, 2), "09": (0, 5)}, kept
            log = (daemon.state / "counters.jsonl").read_text()
            (daemon.state / "counters.jsonl").write_text(log.replace('"runs":25', '"runs":32', 1))
            assert until(lambda: "counter-garbage" in findings(daemon) or not found(daemon, "gpu-throttled")), "a broken record"
            (daemon.state / "counters.jsonl").write_text(log)
            assert until(lambda: found(daemon, "gpu-throttled"))
            daemon.stop()
            with Daemon("--no-probe", config=f"probe_dir = {folder}\n", environment=MACHINE, directory=daemon.directory) as daemon:
                assert {f["place"] for f in found(daemon, "gpu-throttled")} == {"gpu0"}, "a restart"
                for _ in range(3):
                    assert set(run(daemon, "none")) == {"gpu0"}
                assert run(daemon, "none") == {}, "the first is no longer one of the last eight"
                assert [set(run(daemon, "hardware-slowdown")) for _ in range(3)] == [set(), {"gpu0"}, {"gpu0", "gpu1", "gpu2", "gpu3"}]


def the_unit_is_right_and_shut():
    if shutil.which("systemd-analyze") is None:
        raise LeftOut("systemd-analyze is not here; make check installs it (systemd)")
    units = HERE.parent.parent / "systemd"
    with tempfile.TemporaryDirectory() as folder:
        service, timer = pathlib.Path(folder) / "berth-events.service", pathlib.Path(folder) / "berth-events.timer"
        service.write_text((units / "berth-events.service.in").read_text().replace("@LIBEXECDIR@", str(BIN)))
        shutil.copy(units / "berth-events.timer", folder)
        done = subprocess.run(["systemd-analyze", "verify", service, timer], capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), done
        done = subprocess.run(["systemd-analyze", "--no-pager", "security", "--offline=yes", "--threshold=20", service], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        if under_filter.HEADER.exists():
            log = Log(folder)
            log.say(XID.format(6, 79))
            done = subprocess.run([sys.executable, HERE.parent / "lib/under_filter.py", service, PROBE, "--kmsg", log.kmsg, "--output", log.events], capture_output=True, text=True, timeout=30,
                                  env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
            assert done.returncode == 0 and len(log.events.read_text().splitlines()) == 3, ("under the unit's filter", done)
    if os.access("/dev/kmsg", os.R_OK):
        done = subprocess.run([PROBE], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0 and done.stdout.endswith('{"record":"end"}\n') or "not permitted" in done.stderr, done


TESTS = [lines_become_records_and_the_file_is_replaced_at_once, events_are_findings_since_their_time, an_nvlink_error_is_as_grave_as_its_message, accepted_events_alarm_no_more,
         old_events_and_those_of_another_boot_are_none, hostile_files_give_one_note_and_lose_nothing, a_recorded_node_has_its_events, a_gpu_throttled_in_three_of_eight_runs_is_a_finding, the_unit_is_right_and_shut]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
