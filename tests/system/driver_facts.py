"""Facts of GPU drivers: berth-probe-gpu --facts, and a daemon's answers with such records.

Prints TAP.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, cells, Daemon, fake_probe, findings, GPU_RUN, NODES, RUN, until  # noqa: E402
from varlink import Connection  # noqa: E402
from tap import run_tests  # noqa: E402

FABRIC = "io.berth.Fabric."
PROBE = BIN / "berth-probe-gpu"


def facts(root):
    process = subprocess.run([PROBE, "--facts", "--root", root], capture_output=True, text=True, timeout=20)
    assert process.returncode == 0, process
    return [json.loads(line) for line in process.stdout.splitlines()], process.stderr


def folder_with(folder, node, records):
    """A copy of a test node that has these facts."""
    shutil.copytree(NODES / node, folder)
    description = json.loads((folder / "node.json").read_text())
    (folder / "node.json").write_text(json.dumps({**description, "facts": "facts.jsonl"}))
    (folder / "facts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def gpu(number, **more):
    return {"record": "device", "gpu": f"gpu{number}", "vendor": "nvidia", "pci": f"0000:00:{6 + number:02x}.0", "model": "NVIDIA H200",
            "bytes": 150754820096, "nvlinks": 18, "nvlinks_up": 18, "pcie_width": 16, "pcie_width_max": 16, "processes": 0, **more}


def a_node_without_a_gpu_says_so():
    with tempfile.TemporaryDirectory() as root:
        records, said = facts(root)
    assert [record["record"] for record in records] == ["run", "end"], records
    assert said.startswith("berth-probe-gpu: no GPU: there is no libnvidia-ml.so.1; "), said
    assert 0 < records[1]["elapsed_ns"] < 5e9, records


def a_kfd_tree_becomes_devices_and_links():
    with tempfile.TemporaryDirectory() as name:
        root, node = pathlib.Path(name) / "root", pathlib.Path(name) / "node"
        (root / "sys/class/kfd/kfd").mkdir(parents=True)
        shutil.copytree(NODES / "mi250x/kfd/topology", root / "sys/class/kfd/kfd/topology")
        for numa, cpus in enumerate(["0-15", "16-31", "32-47", "48-63"]):
            place = root / f"sys/devices/system/node/node{numa}"
            place.mkdir(parents=True)
            (place / "cpulist").write_text(cpus + "\n")
        records, _ = facts(root)
        devices = [record for record in records if record["record"] == "device"]
        links = [record for record in records if record["record"] == "link"]
        assert len(devices) == 8 and all(device["vendor"] == "amd" for device in devices), devices
        assert {(link["from"], link["to"], link["width"]) for link in links if link["kind"] == "xgmi" and link["to"].startswith("gpu")} == {
            ("gpu0", "gpu1", 4), ("gpu2", "gpu3", 4), ("gpu4", "gpu5", 4), ("gpu6", "gpu7", 4), ("gpu0", "gpu6", 2), ("gpu2", "gpu4", 2),
            ("gpu0", "gpu2", 1), ("gpu1", "gpu3", 1), ("gpu1", "gpu5", 1), ("gpu3", "gpu7", 1), ("gpu4", "gpu6", 1), ("gpu5", "gpu7", 1)}, links
        assert sorted((link["from"], link["to"]) for link in links if link["to"].startswith("numa")) == [
            ("gpu0", "numa3"), ("gpu1", "numa3"), ("gpu2", "numa1"), ("gpu3", "numa1"), ("gpu4", "numa0"), ("gpu5", "numa0"), ("gpu6", "numa2"),
            ("gpu7", "numa2")], links
        # They agree with what the daemon reads itself.
        folder_with(node, "mi250x", records)
        with Daemon("--node", NODES / "mi250x") as plain, Daemon("--node", node) as told:
            before, after = plain.call(FABRIC + "GetNode"), told.call(FABRIC + "GetNode")
        assert after["disagreements"] == before["disagreements"], after["disagreements"]
        shape = lambda answer: sorted((link["from"], link["to"], link["kind"], link["width"]) for link in answer["links"])
        assert shape(after) == shape(before)
        assert [place["name"] for place in after["places"]] == [place["name"] for place in before["places"]]


def places_have_what_was_said_and_health_judges_it():
    records = [
        {"record": "run", "schema": 1, "probe": "gpu", "backend": "facts", "started_at": 1790000000, "conditions": {"driver": "580.95.05", "cuda": "13.0"}},
        gpu(0), gpu(1, processes=2, pids="4711,4712"), gpu(2, nvlinks_up=16, ecc_uncorrected=1, throttle="hardware-thermal"), gpu(3, state="lost", nvlinks_up=0),
        *({"record": "link", "from": f"gpu{i}", "to": "switch0", "kind": "nvlink", "width": width, "nominal_bytes_per_s": width * 26562000000, "state": "up"}
          for i, width in enumerate([18, 18, 16])),
        {"record": "end", "status": "complete", "elapsed_ns": 5}]
    with tempfile.TemporaryDirectory() as name:
        node = pathlib.Path(name) / "node"
        folder_with(node, "h200x4", records)
        with Daemon("--node", node) as daemon:
            answer, health = daemon.call(FABRIC + "GetNode"), daemon.call("io.berth.Health.Check")
            places = {place["name"]: place for place in answer["places"]}
            assert places["gpu1"]["details"]["processes"] == "2" and places["gpu1"]["details"]["pids"] == "4711,4712", places["gpu1"]
            assert places["gpu0"]["capacity_bytes"] == 150754820096 and answer["software"]["cuda"] == "13.0"
            assert ("gpu2", "switch0", 16) in {(link["from"], link["to"], link["width"]) for link in answer["links"]}, answer["links"]
            found = {(finding["code"], finding["place"]): finding for finding in health["findings"]}
            assert found["gpu-lost", "gpu3"]["severity"] == "critical" and health["drain"] and health["verdict"] == "unhealthy", health
            assert found["link-degraded", "gpu2"]["text"] == "16 of its 18 NVLinks are active; a peer has 18", found
            assert found["memory-errors", "gpu2"]["value"] == 1 and found["throttled", "gpu2"]["severity"] == "warning", found
            assert found["gpu-in-use", "gpu1"]["severity"] == "info", found
            drawn = subprocess.run([BIN / "berth", "--socket", daemon.socket, "topo"], capture_output=True, text=True, timeout=20).stdout
            assert "16 of 18 NVLinks" in drawn and "in use by 2" in drawn and "lost" in drawn, drawn
            with Connection(daemon.socket) as connection:
                files = {reply["file"]: reply["text"] for error, reply in connection.stream(FABRIC + "Record") if error is None}
            assert [json.loads(line) for line in files["facts.jsonl"].splitlines()] == records


def recorded_counters_are_judged_and_recorded_again():
    """Counters of a node folder: a rise is a finding, and Record has them again."""
    counter = lambda name, value, before: {
        "record": "counter", "at": "0000:00:06.0", "counter": name, "value": value,
        "at_s": 1790003600, "before": before, "before_at_s": 1790000000}
    boot = {"record": "boot", "id": "5c1ec6c3"}
    records = [boot, counter("aer_correctable", 1000, 950), counter("aer_fatal", 7, 6)]
    with tempfile.TemporaryDirectory() as name:
        node = pathlib.Path(name) / "node"
        folder_with(node, "h200x4", [gpu(0)])
        description = json.loads((node / "node.json").read_text())
        (node / "node.json").write_text(json.dumps({**description, "counters": "counters.jsonl"}))
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (node / "counters.jsonl").write_text(lines + "nonsense\n")
        with Daemon("--node", node) as daemon:
            found = findings(daemon)
            assert found["pcie-errors"]["text"] == \
                "1 fatal PCIe errors in 60 minutes, 7 since its driver was loaded", found
            assert (found["pcie-errors"]["place"], found["pcie-errors"]["severity"]) == ("gpu0", "critical"), found
            assert found["counter-garbage"]["text"].endswith("the first: nonsense"), found
            with Connection(daemon.socket) as connection:
                files = {reply["file"]: reply["text"] for error, reply in connection.stream(FABRIC + "Record") if error is None}
            assert [json.loads(line) for line in files["counters.jsonl"].splitlines()] == records, files["counters.jsonl"]
            assert json.loads(files["node.json"])["counters"] == "counters.jsonl"


def the_state_directory_keeps_the_counters():
    """Each reading of this boot replaces the file for the next start of the daemon."""
    with Daemon("--no-probe", config="counters_s = 1\n") as daemon:
        found = list(pathlib.Path(daemon.directory).rglob("counters.jsonl"))
        first = json.loads(found[0].read_text().splitlines()[0])
        assert first == {"record": "boot", "id": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()}, first
        before = found[0].stat().st_ino
        assert until(lambda: found[0].stat().st_ino != before), daemon.said()
    machine = {"HWLOC_XMLFILE": str(NODES / "h200x4/topology.xml"), "HWLOC_THISSYSTEM": "1"}
    now = int(time.time())
    counter = lambda at, name, value: {"record": "counter", "at": at, "counter": name, "value": value, "at_s": now - 60, "before": 0, "before_at_s": now - 3660}
    kept = [first, counter("0000:00:06.0", "aer_fatal", 2), *(counter(f"0000:{bus:02x}:{slot:02x}.0", "pcie_replays", 1) for bus in range(128, 256) for slot in range(32))]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "state/counters.jsonl"
        file.parent.mkdir()
        file.write_text("".join(json.dumps(record) + "\n" for record in kept))
        with Daemon("--no-probe", environment=machine, directory=folder) as daemon:
            assert findings(daemon)["pcie-errors"]["place"] == "gpu0", "the earlier daemon's reading"
            assert [json.loads(line)["at"] for line in file.read_text().splitlines()[1:] if "pcie_replays" in line] == [], "devices that are not there take no room"


def counters_are_read_as_often_as_a_running_daemon_is_told():
    with Daemon("--no-probe", config="counters_s = 0\n") as daemon:
        file = next(pathlib.Path(daemon.directory).rglob("counters.jsonl"))
        before = file.stat().st_ino
        time.sleep(1.5)
        assert file.stat().st_ino == before
        daemon.config.write_text(daemon.config.read_text().replace("counters_s = 0", "counters_s = 1"))
        daemon.process.send_signal(signal.SIGHUP)
        for _ in range(3):  # the first reading is that of the new discovery
            assert until(lambda: file.stat().st_ino != before, 10), daemon.said()
            before = file.stat().st_ino


def gpus_without_a_probe_are_a_finding():
    """This machine with another one's topology, with gpus, and berth-probe-gpu absent or not
    executable. Status, health, log and the caller of Probe report it, and cores are measured.
    """
    value = '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","value":90.5,"low":90,"high":91,"n":9}'
    end = '{"record":"end","status":"complete","elapsed_ns":1}'
    skips = "".join(f"""echo '{{"record":"skip","metric":"{metric}","from":"core0","to":"core1","why":"none"}}'\n""" for metric in ("cpu_pingpong", "cpu_copy", "cpu_queue"))
    skips += """echo '{"record":"skip","metric":"memory_bandwidth","from":"numa0","to":"numa0","why":"none"}'\n"""
    machine = {"HWLOC_XMLFILE": str(NODES / "h200x4/topology.xml"), "HWLOC_THISSYSTEM": "1"}
    with fake_probe(f"echo '{RUN}'\necho '{value}'\n{skips}echo '{end}'\n") as folder:
        for why in ("No such file or directory", "Permission denied"):
            with Daemon(config=f"probe_dir = {folder}\n", environment=machine) as daemon:
                daemon.wait_ready()
                assert len([place for place in daemon.call("io.berth.Fabric.GetNode")["places"] if place["kind"] == "gpu"]) == 4
                found, problems = findings(daemon), daemon.status()["problems"]
                assert found["gpu-facts"]["severity"] == "warning" and found["gpu-facts"]["text"].endswith(f"/berth-probe-gpu: {why}"), found
                assert found["probe-failed"]["text"] == f"berth-probe-gpu could not be started ({why})", found
                assert sorted(problem.split()[0] for problem in problems) == ["gpu-facts", "probe-failed"], problems
                assert f"berth-probe-gpu: {why}" in daemon.said() and [cell["value"] for cell in cells(daemon, "memory_latency")] == [90.5]
                asked = subprocess.run([BIN / "berth", "--socket", daemon.socket, "probe", "--full", "host_gpu_kernel"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
                assert asked.returncode == 75 and asked.stdout == f"berth-probe-gpu could not be started ({why})\n0 values measured, 0 left out\n", asked
                # The next start measures nothing again for a program that is not there, and tells of it.
                daemon.stop()
                with Daemon(directory=daemon.directory, config=f"probe_dir = {folder}\n", environment=machine) as again:
                    again.wait_ready()
                    assert until(lambda: "gpu-facts" in findings(again)) and "measured since this boot already" in again.said(), again.said()
            (pathlib.Path(folder) / "berth-probe-gpu").write_text("#!/bin/sh\n")


def history_has_the_fact_and_clears_what_it_explains():
    """A gpu slow without a reason, then with a fact that is one, then without: its values have their past again."""
    copy = lambda number, rate: json.dumps({
        "record": "value", "metric": "host_gpu_copy_engine", "from": "numa0", "to": f"gpu{number}",
        "value": rate, "low": rate * 0.999, "high": rate * 1.001, "n": 9})
    end = '{"record":"end","status":"complete","elapsed_ns":1}'
    machine = {"HWLOC_XMLFILE": str(NODES / "h200x4/topology.xml"), "HWLOC_THISSYSTEM": "1"}
    facts_run = RUN.replace('"cpu"', '"gpu"', 1).replace('"cpu"', '"facts"')

    def says(folder, width, rate):
        lanes = [16, 16, width, 16]
        facts = [facts_run, *(json.dumps(gpu(i, pcie_width=lanes[i], model="")) for i in range(4)), end]
        (pathlib.Path(folder) / "facts").write_text("".join(line + "\n" for line in facts))
        values = [GPU_RUN, *(copy(i, rate if i == 2 else 55e9) for i in range(4)), end]
        (pathlib.Path(folder) / "values").write_text("".join(line + "\n" for line in values))

    def probe(daemon, times=1):
        for _ in range(times):
            with Connection(daemon.socket) as connection:
                replies = connection.stream("io.berth.Health.Probe", {"metrics": ["host_gpu_copy_engine"]})
                assert [error for error, _ in replies if error] == []
            daemon.wait_ready()

    def standing(daemon):
        past = daemon.call("io.berth.Health.ListFindings")["findings"]
        history = {finding["code"]: finding for finding in past if finding["cleared_s"] is None}
        # Peers and the value's own past say the same of one series.
        assert len({code for code in history if code.startswith("slower-than-")}) < 2, past
        slow = history.get("slower-than-baseline") or history.get("slower-than-peers")
        return {"slow": slow, "pcie-narrow": history.get("pcie-narrow")}

    with fake_probe(f"echo '{RUN}'\necho '{end}'\n") as folder:
        path = pathlib.Path(folder) / "berth-probe-gpu"
        path.write_text('#!/bin/sh\n[ "$1" = --facts ] && exec cat "${0%/*}/facts"\nexec cat "${0%/*}/values"\n')
        path.chmod(0o755)
        says(folder, 16, 55e9)
        with Daemon("--no-probe", config=f"probe_dir = {folder}\n", environment=machine) as daemon:
            probe(daemon, 6)
            says(folder, 16, 35e9)
            probe(daemon)
            slow = standing(daemon)["slow"]
            assert (slow["place"], slow["value"]) == ("gpu2", 35e9), slow
            assert [one["series"] for one in slow["slow"]] == ["host_gpu_copy_engine numa0 gpu2"], slow
            says(folder, 8, 35e9)
            daemon.process.send_signal(signal.SIGHUP)
            assert until(lambda: standing(daemon)["pcie-narrow"]), daemon.said()
            fact, found = standing(daemon)["pcie-narrow"], findings(daemon)
            assert standing(daemon)["slow"] is None, standing(daemon)
            assert list(found) == ["pcie-narrow"], found
            assert fact["text"].endswith("; it explains 1 slow value, the worst host_gpu_copy_engine from numa0"
                                         " to gpu2: 35 GB/s, expected 55 GB/s"), fact
            assert (found["pcie-narrow"]["explains"], found["pcie-narrow"]["since_s"]) == (1, fact["since_s"]), found
            drawn = subprocess.run([BIN / "berth", "--socket", daemon.socket, "history"], capture_output=True,
                                   text=True, timeout=20).stdout
            assert "it explains 1 slow value" in " ".join(drawn.split()), drawn
            assert "slower-than" in drawn and "cleared" in drawn, drawn
            says(folder, 16, 35e9)
            daemon.process.send_signal(signal.SIGHUP)
            assert until(lambda: standing(daemon)["slow"]), daemon.said()
            assert standing(daemon) == {"slow": slow, "pcie-narrow": None}, standing(daemon)


TESTS = [a_node_without_a_gpu_says_so, a_kfd_tree_becomes_devices_and_links, places_have_what_was_said_and_health_judges_it, recorded_counters_are_judged_and_recorded_again, the_state_directory_keeps_the_counters, counters_are_read_as_often_as_a_running_daemon_is_told, gpus_without_a_probe_are_a_finding,
         history_has_the_fact_and_clears_what_it_explains]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
