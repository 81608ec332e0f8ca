"""Drift: whole daemons with a scripted probe, over several runs and restarts. Prints TAP."""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, RUN, fake_probe, findings, until  # noqa: E402
from tap import run_tests  # noqa: E402
from terminal_width import WIDTH, shown  # noqa: E402
from varlink import Connection, call  # noqa: E402

PLACE = ("llc0", "numa0")


class Node:
    """A probe whose next values can be chosen, and the configuration that uses it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.config = f"probe_dir = {folder}\n"
        self.says(100e9)

    def says(self, bandwidth, conditions=None, write=None, half=0.005):
        run = json.loads(RUN)
        run["conditions"] = conditions or {"kernel": "6.1.0"}
        values = [{"record": "value", "metric": metric, "from": PLACE[0], "to": PLACE[1], "value": value, "low": value * (1 - half), "high": value * (1 + half), "n": 9}
                  for metric, value in (("memory_bandwidth", bandwidth), ("memory_latency", 90))]
        if write is not None:
            values.append({**values[0], "axes": {"operation": "write"}, "value": write, "low": write * 0.995, "high": write * 1.005})
        lines = [run, *values, {"record": "end", "status": "complete", "elapsed_ns": 5}]
        (self.folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in lines))


@contextlib.contextmanager
def node():
    with fake_probe('cat "$(dirname "$0")/lines"\n') as folder:
        yield Node(folder)


def probe(daemon, times=1):
    for _ in range(times):
        with Connection(daemon.socket) as asker:
            assert [error for error, _ in asker.stream("io.berth.Health.Probe", {"profile": "quick"}) if error] == []
        daemon.wait_ready()


def check(daemon):
    return daemon.call("io.berth.Health.Check")


def past(daemon):
    """All findings so far."""
    return [finding for finding in daemon.call("io.berth.Health.ListFindings")["findings"]]


def berth(daemon, *arguments):
    return subprocess.run([BIN / "berth", "--socket", daemon.socket, *arguments], capture_output=True, text=True, timeout=20)


def a_step_is_found_at_once_lasts_over_restarts_and_clears():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        probe(daemon, 3)
        machine.says(70e9)
        probe(daemon)
        assert "slower-than-baseline" not in findings(daemon), "three values are no baseline"
        machine.says(100e9)
        probe(daemon, 3)
        machine.says(85e9)
        before = int(time.time())
        probe(daemon)
        found = findings(daemon)["slower-than-baseline"]
        assert (found["severity"], found["place"], found["value"], found["expected"]) == ("warning", "numa0", 85e9, 100e9), found
        assert before <= found["since_s"] <= time.time(), found
        assert check(daemon)["verdict"] == "degraded" and not check(daemon)["drain"]
        time.sleep(1.1)
        machine.says(84e9)
        probe(daemon)
        again = findings(daemon)["slower-than-baseline"]
        assert (again["since_s"], again["value"]) == (found["since_s"], 84e9), "a finding that stands keeps its beginning"
        daemon.stop(signal.SIGKILL)
        with Daemon("--no-probe", directory=daemon.directory, config=machine.config) as restarted:
            after = findings(restarted)["slower-than-baseline"]
            assert (after["since_s"], after["value"]) == (found["since_s"], 84e9), after
            machine.says(98.5e9)
            probe(restarted)
            assert "slower-than-baseline" in findings(restarted), "half of the limit is where it clears"
            machine.says(99.6e9)
            probe(restarted)
            assert "slower-than-baseline" not in findings(restarted)
            assert check(restarted)["verdict"] == "healthy", check(restarted)


def three_low_runs_advise_to_drain_also_over_a_restart():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        probe(daemon, 6)
        machine.says(75e9)
        probe(daemon, 2)
        assert check(daemon)["verdict"] == "degraded" and not check(daemon)["drain"], check(daemon)
        daemon.stop()
        with Daemon("--no-probe", directory=daemon.directory, config=machine.config) as restarted:
            assert not check(restarted)["drain"]
            probe(restarted)
            answer = check(restarted)
            assert answer["verdict"] == "unhealthy" and answer["drain"], answer
            assert answer["reason"].startswith("unhealthy: numa0: memory_bandwidth"), answer
            machine.says(100e9)
            probe(restarted)
            assert check(restarted)["verdict"] == "healthy" and not check(restarted)["drain"], check(restarted)


def an_overloaded_node_is_told_and_not_drained():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        probe(daemon, 6)
        machine.says(60e9, {"kernel": "6.1.0", "load": "overloaded"})
        probe(daemon, 4)
        assert findings(daemon)["slower-than-baseline"]["text"].endswith("measured while the node was overloaded"), findings(daemon)
        assert not check(daemon)["drain"]
        machine.says(60e9, {"kernel": "6.1.0", "load": "busy"})
        probe(daemon, 3)
        assert "overloaded" not in findings(daemon)["slower-than-baseline"]["text"] and check(daemon)["drain"], check(daemon)


def limits_are_read_again():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        probe(daemon, 6)
        daemon.config.write_text(machine.config + "drift_bandwidth_percent = 10\n")
        daemon.process.send_signal(signal.SIGHUP)
        machine.says(92e9)
        probe(daemon)
        assert check(daemon)["verdict"] == "healthy"
        daemon.config.write_text(machine.config + "drift_bandwidth_percent = 5\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert until(lambda: findings(daemon).get("slower-than-baseline", {}).get("since_s")), findings(daemon)
        daemon.config.write_text(machine.config + "drift_bandwidth_percent = 0\n")
        daemon.process.send_signal(signal.SIGHUP)
        assert until(lambda: "slower-than-baseline" not in findings(daemon)), findings(daemon)


def better_is_said_and_harms_nothing():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        probe(daemon, 16)
        machine.says(130e9)
        probe(daemon)
        assert findings(daemon)["better-than-baseline"]["severity"] == "info", findings(daemon)
        assert check(daemon)["verdict"] == "healthy"


def what_was_found_is_remembered():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        probe(daemon, 6)
        machine.says(80e9)
        probe(daemon)
        [standing] = past(daemon)
        assert (standing["code"], standing["severity"], standing["cleared_s"]) == ("slower-than-baseline", "warning", None), standing
        machine.says(100e9)
        probe(daemon)
        daemon.stop(signal.SIGKILL)
        with Daemon("--no-probe", directory=daemon.directory, config=machine.config) as restarted:
            [cleared] = past(restarted)
            assert cleared["cleared_s"] >= cleared["since_s"] == standing["since_s"], cleared
            assert {**cleared, "cleared_s": None, "accepted": None} == standing and cleared["accepted"] is False, cleared
            assert restarted.call("io.berth.Health.ListFindings", {"since_s": int(time.time()) + 100}) == {"findings": []}


def each_axis_of_a_pair_has_its_own_times():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        machine.says(100e9, write=50e9)
        probe(daemon, 6)
        machine.says(100e9, write=30e9)
        probe(daemon)
        [write] = past(daemon)
        [(cell, action)] = [(finding["cell"], finding["action"]) for finding in check(daemon)["findings"] if finding["cell"]]
        assert cell["where"] == {"operation": "write"} and action.startswith(f"berth history memory_bandwidth {PLACE[0]} {PLACE[1]} --where operation=write shows since when"), (cell, action)
        why = berth(daemon, "health", "--why")
        assert why.returncode == 1 and f"berth history memory_bandwidth {PLACE[0]} {PLACE[1]} --where operation=write" in " ".join(why.stdout.split()), why
        assert "expected 50 GB/s: the median of 6 values" in why.stdout, why
        time.sleep(1.1)
        machine.says(60e9, write=50e9)
        probe(daemon)
        read, cleared = sorted(past(daemon), key=lambda finding: finding["cleared_s"] is not None)
        assert read["cleared_s"] is None and read["value"] == 60e9 and read["since_s"] > write["since_s"], (read, cleared)
        assert {**cleared, "cleared_s": None, "accepted": None} == write and 0 <= cleared["cleared_s"] - read["since_s"] <= 1, (read, cleared)
        assert findings(daemon)["slower-than-baseline"]["since_s"] == read["since_s"], findings(daemon)
        machine.says(60e9, write=30e9)
        time.sleep(1.1)
        probe(daemon)
        # Values of one place within a day are one line, since the first of them.
        [both] = [finding for finding in check(daemon)["findings"] if finding["code"] == "slower-than-baseline"]
        assert both["text"].endswith("; with it 1 more value of numa0") and both["since_s"] == read["since_s"], both
        kept, gone = past(daemon)
        assert (kept["since_s"], kept["series"], kept["cleared_s"]) == (read["since_s"], 2, None) and gone == cleared, (kept, gone)
        assert {slow["series"] for slow in kept["slow"]} == {"memory_bandwidth llc0 numa0", "memory_bandwidth llc0 numa0 operation=write"}, kept
        # It stays while one of them does, and clears with the last.
        machine.says(60e9, write=50e9)
        probe(daemon)
        one = past(daemon)[0]
        assert (one["since_s"], one["series"], one["cleared_s"], one["value"]) == (read["since_s"], 1, None, 60e9), one
        machine.says(100e9, write=50e9)
        probe(daemon)
        one, *rest = past(daemon)
        assert (one["since_s"], one["series"], rest) == (read["since_s"], 2, [gone]) and one["cleared_s"] is not None, (one, rest)


def what_is_accepted_is_expected():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        where = {"metric": "memory_bandwidth", "from": PLACE[0], "to": PLACE[1]}
        assert daemon.call("io.berth.Health.GetBaseline", where)["baseline"] is None
        probe(daemon, 6)
        baseline = daemon.call("io.berth.Health.GetBaseline", where)
        assert (baseline["unit"], baseline["better"]) == ("bytes_per_s", "higher")
        baseline = baseline["baseline"]
        assert (baseline["expected"], baseline["values"], baseline["accepted"], baseline["worse_runs"]) == (100e9, 6, False, 0), baseline
        assert (round(baseline["worse_beyond"] / 1e9), round(baseline["better_beyond"] / 1e9)) == (98, 102), baseline
        assert 0 < baseline["false_alarm_rate"] < 1e-6, baseline
        machine.says(75e9)
        probe(daemon, 3)
        assert check(daemon)["drain"]
        assert daemon.call("io.berth.Health.AcceptBaseline", {"places": ["core0"]})["accepted"] in (0, 2)  # llc0's core, or not
        assert daemon.call("io.berth.Health.AcceptBaseline")["accepted"] == 2
        assert check(daemon)["verdict"] == "healthy" and not check(daemon)["drain"], check(daemon)
        baseline = daemon.call("io.berth.Health.GetBaseline", where)["baseline"]
        assert (baseline["expected"], baseline["values"], baseline["accepted"], baseline["low_runs"]) == (75e9, 1, True, 0), baseline
        daemon.stop()
        with Daemon("--no-probe", directory=daemon.directory, config=machine.config) as restarted:
            assert check(restarted)["verdict"] == "healthy"
            machine.says(60e9)
            probe(restarted)
            assert findings(restarted)["slower-than-baseline"]["expected"] == 75e9
            code, _ = call(restarted.socket, "io.berth.Health.AcceptBaseline", {"places": ["gpu99"]})
            assert code == "io.berth.Health.NoSuchPlace", code


def a_diskless_node_gets_its_baseline_from_a_folder():
    with node() as machine, tempfile.TemporaryDirectory() as folder:
        config = machine.config + f"baseline = {folder}\nstate_dir =\n"
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            probe(daemon)
            answer = daemon.call("io.berth.Health.AcceptBaseline")
            assert answer["accepted"] == 2 and answer["not_written"] is None, answer
            file = pathlib.Path(answer["file"])
            assert file.parent == pathlib.Path(folder) and [file.name] == [entry.name for entry in file.parent.iterdir()], answer
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert lines[0]["record"] == "baseline" and lines[-1] == {"record": "end", "count": len(lines) - 2}
        machine.says(85e9)
        with Daemon("--no-probe", "--state-dir", "", config=config) as rebooted:
            asked = {"metric": "memory_bandwidth", "from": PLACE[0], "to": PLACE[1]}
            known = rebooted.call("io.berth.Health.GetBaseline", asked)["baseline"]
            assert known is not None and known["expected"] == 100e9 and known["accepted"], "what was imported is shown before anything is measured"
            assert berth(rebooted, "history", "memory_bandwidth", *PLACE).stdout.splitlines()[1].startswith("expected 100 GB/s"), "by the command, too"
            probe(rebooted)
            assert findings(rebooted)["slower-than-baseline"]["expected"] == 100e9, check(rebooted)
        # A broken file is refused whole, and said; so is one that cannot be written.
        whole = file.read_text()
        for broken in (whole[:-5], whole.replace('"values":[', '"values":["x",'), "\0" + whole, whole + whole, "{}\n", "x" * 10000):
            file.write_text(broken)
            with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
                assert file.name in findings(daemon)["baseline-unreadable"]["text"], (broken[:40], findings(daemon))
                probe(daemon)
                assert "slower-than-baseline" not in findings(daemon) and "baseline-unreadable" in findings(daemon)
        # Accepting does not write over what could not be read.
        file.write_text(whole[:-5])
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            assert daemon.call("io.berth.Health.AcceptBaseline")["file"] == str(file)
        [kept] = file.parent.glob(file.name + ".unreadable-*")
        assert kept.read_text() == whole[:-5]
        kept.unlink()
        # What is in line keeps its values, and they are exported.
        file.unlink()
        machine.says(100e9)
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            probe(daemon, 9)
            machine.says(60e9)
            probe(daemon)
            machine.says(100e9)
            probe(daemon)
            daemon.call("io.berth.Health.AcceptBaseline")
        values = [len(line["values"]) for line in map(json.loads, file.read_text().splitlines()) if line["record"] == "expected"]
        assert sorted(values) == [10, 11], values
        file.unlink()
        os.mkfifo(file)
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            assert "baseline-unreadable" in findings(daemon)
        file.unlink()
        with Daemon("--no-probe", "--state-dir", "", config=machine.config + "baseline = /nonexistent\n") as daemon:
            probe(daemon)
            answer = daemon.call("io.berth.Health.AcceptBaseline")
            assert answer["accepted"] == 2 and answer["file"] is None and "/nonexistent" in answer["not_written"], answer
            assert check(daemon)["verdict"] == "healthy"


def other_hardware_does_not_get_the_baseline():
    with node() as machine, tempfile.TemporaryDirectory() as folder:
        config = machine.config + f"baseline = {folder}\n"
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            probe(daemon)
            file = pathlib.Path(daemon.call("io.berth.Health.AcceptBaseline")["file"])
        head, *rest = file.read_text().splitlines()
        head = json.loads(head)
        # It had a gpu.
        gone = {"record": "place", "kind": "gpu", "place": "gpu0", "identity": "0000:c1:00.0", "model": "Instinct", "seen_s": 1790000000}
        end = {**json.loads(rest[-1]), "count": json.loads(rest[-1])["count"] + 1}
        file.write_text("\n".join([json.dumps({**head, "fingerprint": "0" * 32}), json.dumps(gone), *rest[:-1], json.dumps(end)]) + "\n")
        machine.says(85e9)
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            probe(daemon)
            found = findings(daemon)
            assert "slower-than-baseline" not in found and found["baseline-other-hardware"]["severity"] == "info", found
            assert found["gpu-missing"]["severity"] == "critical" and "0000:c1:00.0" in found["gpu-missing"]["text"], found
            assert check(daemon)["drain"] and check(daemon)["verdict"] == "unhealthy"
            daemon.call("io.berth.Health.AcceptBaseline")
            assert check(daemon)["verdict"] == "healthy" and not findings(daemon).keys(), check(daemon)
        # Equal nodes can share a file that is called by their fingerprint.
        file.rename(pathlib.Path(folder) / (head["fingerprint"] + ".baseline"))
        machine.says(70e9)
        with Daemon("--no-probe", "--state-dir", "", config=config) as daemon:
            probe(daemon)
            assert findings(daemon)["slower-than-baseline"]["expected"] == 85e9


def the_command_tells_what_changed_and_since_when():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        machine.says(100e9, {"kernel": "6.1.0", "loadavg": "1"})
        probe(daemon, 6)
        time.sleep(1.1)  # times are whole seconds
        machine.says(80e9, {"kernel": "6.1.2", "loadavg": "2"})
        probe(daemon)
        [standing] = past(daemon)
        health = berth(daemon, "health")
        assert health.returncode == 1 and "since" in health.stdout and "slower-than-baseline" in health.stdout, health
        assert "looks:" not in health.stdout and "kernel" not in health.stdout, "the default is short"
        assert f"do: berth history memory_bandwidth {PLACE[0]} {PLACE[1]} shows since when" in " ".join(health.stdout.split()), health
        status, why = shown("--socket", daemon.socket, "health", "--why")
        joined = " ".join(" ".join(why).split())
        assert status == 1 and max(map(len, why)) <= WIDTH, why
        assert joined.startswith(health.stdout.splitlines()[0]), why
        for words in ("measured 80 GB/s (79.6 to 80.4 GB/s), 20", "expected 100 GB/s: the median of 6 values since 20", "less than 98 GB/s is a finding; false alarms: ",
                      "looks: 1 in a row beyond that limit", "conditions, compared with those of 20", "kernel was 6.1.0, is 6.1.2",
                      f"over time: berth history memory_bandwidth {PLACE[0]} {PLACE[1]} "):
            assert words in joined, (words, why)
        assert "loadavg" not in joined, why
        [cell] = [finding["cell"] for finding in check(daemon)["findings"] if finding["cell"]]
        assert cell == {"metric": "memory_bandwidth", "from": PLACE[0], "to": PLACE[1], "where": {}, "low": cell["low"], "high": cell["high"], "measured_at_s": standing["since_s"]}, cell
        assert json.loads(berth(daemon, "--json", "health", "--why").stdout) == check(daemon)
        history = berth(daemon, "history", "memory_bandwidth", *PLACE)
        lines = history.stdout.splitlines()
        assert history.returncode == 0 and lines[0] == "memory_bandwidth from L3 llc0 to numa0: 80 GB/s, 80 % of what is expected: worse", history
        assert lines[1].startswith("expected 100 GB/s: the median of 6 values since 20") and "less than 98 GB/s is a finding" in " ".join(" ".join(lines[1:4]).split()), lines
        status, narrow = shown("--socket", daemon.socket, "history", "memory_bandwidth", *PLACE)
        assert status == 0 and narrow[-1].endswith("worse") and "#" in narrow[-1].replace("\u2588", "#") and max(map(len, narrow)) <= WIDTH, narrow
        assert lines[-2].strip() == "kernel was 6.1.0, is 6.1.2" and "80 GB/s" in lines[-1] and lines[-1].endswith("worse"), lines
        assert not any("worse" in line or "loadavg" in line for line in lines[2:-1]), lines
        same = berth(daemon, "history", "memory_latency", *PLACE, "--since", "1h").stdout
        assert "90 ns" in same and "worse" not in same, same
        machine.says(100e9, {"kernel": "6.1.2"})
        probe(daemon)
        machine.says(82e9, {"kernel": "6.1.2"}, half=0.2)  # up to 98: no finding, and not marked as one
        probe(daemon)
        assert "slower-than-baseline" not in findings(daemon)
        excused = berth(daemon, "history", "memory_bandwidth", *PLACE).stdout.splitlines()[-1]
        assert "82 GB/s" in excused and "worse" not in excused, excused
        machine.says(100e9, {"kernel": "6.1.2"})
        probe(daemon)
        changes = berth(daemon, "history").stdout
        assert changes.startswith("no finding now; 1 past\n"), changes
        assert changes.index("cleared") < changes.index("warning") and "80 % of its baseline" in changes.replace("\n", " ").replace("  ", ""), changes
        # What --json prints is the reply.
        assert json.loads(berth(daemon, "history", "--json").stdout) == daemon.call("io.berth.Health.ListFindings")
        asked = {"metric": "memory_bandwidth", "from": PLACE[0], "to": PLACE[1]}
        assert json.loads(berth(daemon, "history", "memory_bandwidth", *PLACE, "--json").stdout) == daemon.call("io.berth.Fabric.History", asked)
        assert berth(daemon, "accept", "--json").stdout == '{"accepted":2,"in_line":2,"file":null,"not_written":null,"left_out":0,"why_left_out":null}\n'
        accepted = berth(daemon, "accept", "numa0")
        assert (accepted.returncode, accepted.stdout) == (0, "unchanged: 2 measured values are in line with the baseline, which stands\n"), accepted
        kept = berth(daemon, "history", "memory_bandwidth", *PLACE).stdout
        assert "expected 100 GB/s: accepted, the median of " in kept, kept
        machine.says(70e9, {"kernel": "6.1.2"})
        probe(daemon)
        told = berth(daemon, "accept").stdout
        assert told == "accepted: 1 measured value is expected from now on\nunchanged: 1 measured value is in line with the baseline, which stands\n", told
        assert "expected 70 GB/s: accepted, the median of 1 value" in berth(daemon, "history", "memory_bandwidth", *PLACE).stdout
        wrong = {("history", "a"): 64, ("history", "nonsense", *PLACE): 65, ("history", "memory_latency", "llc0", "numa99"): 65, ("accept", "gpu99"): 65,
                 ("history", "--since", "soon"): 64, ("history", "--where", "a=b"): 64, ("history", "memory_latency", *PLACE, "--where", "a=b"): 64}
        for arguments, status in wrong.items():
            result = berth(daemon, *arguments)
            assert result.returncode == status and len(result.stderr.splitlines()) == 1 and result.stdout == "", (arguments, result)
        daemon.config.write_text(machine.config + "baseline = /nonexistent\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_ready()
        unwritten = until(lambda: (result := berth(daemon, "accept")).returncode == 74 and result)
        assert "not exported: /nonexistent" in unwritten.stderr, unwritten
        assert standing["cleared_s"] is None


def what_says_little_is_not_accepted():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        latency = {"metric": "memory_latency", "from": PLACE[0], "to": PLACE[1]}
        bandwidth = {**latency, "metric": "memory_bandwidth"}
        machine.says(100e9, half=0.8)
        probe(daemon)
        answer = daemon.call("io.berth.Health.AcceptBaseline")
        assert (answer["accepted"], answer["left_out"], answer["why_left_out"]) == (0, 2, "with intervals of half their value"), answer
        for asked in (latency, bandwidth):
            assert daemon.call("io.berth.Health.GetBaseline", asked)["baseline"] is None, asked
        machine.says(100e9, {"load": "overloaded"})
        probe(daemon)
        answer = daemon.call("io.berth.Health.AcceptBaseline")
        assert (answer["accepted"], answer["left_out"], answer["why_left_out"]) == (0, 2, "measured while the node was overloaded"), answer
        assert not daemon.call("io.berth.Health.GetBaseline", bandwidth)["baseline"]["accepted"]
        told = berth(daemon, "accept").stdout.replace("\n", " ")
        assert " ".join(told.split()).startswith("nothing was accepted unchanged: 2 measured values keep the baseline that they have, if any: measured while the node was overloaded;"), told
        machine.says(100e9)
        probe(daemon)
        assert daemon.call("io.berth.Health.AcceptBaseline")["accepted"] == 2
        assert daemon.call("io.berth.Health.GetBaseline", bandwidth)["baseline"]["accepted"]


def what_was_accepted_is_told_from_what_was_mended():
    with node() as machine, Daemon("--no-probe", config=machine.config) as daemon:
        machine.says(100e9)
        probe(daemon, 6)
        machine.says(85e9)
        probe(daemon)
        [standing] = past(daemon)
        assert (standing["severity"], standing["critical_since_s"], standing["accepted"]) == ("warning", None, None), standing
        assert "critical" not in berth(daemon, "history").stdout
        time.sleep(1.1)  # times are whole seconds
        machine.says(60e9)
        probe(daemon, 3)
        [standing] = past(daemon)
        assert standing["severity"] == "critical" and standing["critical_since_s"] > standing["since_s"], standing
        assert "critical since 20" in berth(daemon, "history").stdout.replace("\n", " ").replace("  ", ""), berth(daemon, "history").stdout
        with contextlib.closing(sqlite3.connect(daemon.state / "berth.db")) as database:
            assert database.execute("SELECT count(*) FROM finding WHERE critical_s > opened_s").fetchone() == (1,)
        probe(daemon)
        assert past(daemon)[0]["critical_since_s"] == standing["critical_since_s"], "a later run leaves it as it was"
        daemon.call("io.berth.Health.AcceptBaseline")
        [accepted] = past(daemon)
        assert accepted["accepted"] is True and accepted["cleared_s"] and accepted["critical_since_s"] == standing["critical_since_s"], accepted
        told = berth(daemon, "history").stdout
        assert "accepted" in told and "cleared" not in told, told


def a_recorded_node_has_no_past():
    recorded = next(path for path in NODES.iterdir() if (path / "node.json").exists() and path.name == "epyc-2s")
    result = subprocess.run([BIN / "berth", "--node", recorded, "accept"], capture_output=True, text=True, timeout=20)
    assert result.returncode == 65 and "a recorded node has no baseline to accept" in result.stderr, result
    result = subprocess.run([BIN / "berth", "--node", recorded, "history"], capture_output=True, text=True, timeout=20)
    assert (result.returncode, result.stdout) == (0, "a node folder has no history: it holds one state of a node, which berth health judges\n"), result


TESTS = [
    the_command_tells_what_changed_and_since_when,
    what_says_little_is_not_accepted,
    what_was_accepted_is_told_from_what_was_mended,
    a_recorded_node_has_no_past,
    what_was_found_is_remembered,
    each_axis_of_a_pair_has_its_own_times,
    what_is_accepted_is_expected,
    a_diskless_node_gets_its_baseline_from_a_folder,
    other_hardware_does_not_get_the_baseline,
    a_step_is_found_at_once_lasts_over_restarts_and_clears,
    three_low_runs_advise_to_drain_also_over_a_restart,
    an_overloaded_node_is_told_and_not_drained,
    limits_are_read_again,
    better_is_said_and_harms_nothing,
]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
