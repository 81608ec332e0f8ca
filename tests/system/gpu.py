"""GPU probe scripts under a daemon: hung cells, gpus in use, wrong bytes, stand-ins. Prints TAP."""
import contextlib
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, GPU_RUN, NODES, alive, cells, children, fake_gpu_probe, fake_probe, findings, probe_of, started, until  # noqa: E402
from varlink import Connection, call  # noqa: E402
from reasons import left_out  # noqa: E402
from tap import run_tests  # noqa: E402

FABRIC = "io.berth.Fabric."
PCI = "0000:c1:00.0"
END = {"record": "end", "status": "complete", "elapsed_ns": 5}


def lines(*records):
    return "".join(f"echo '{record if isinstance(record, str) else json.dumps(record)}'\n" for record in records)


def copy(start, end, rate=2e10, **more):
    return {"record": "value", "metric": "gpu_gpu_copy_engine", "from": start, "to": end, "value": rate, "low": rate * 0.99, "high": rate * 1.01, "n": 9, **more}


def begin(cell, done=1, total=8):
    return {"record": "progress", "done": done, "total": total, "cell": cell}


def pci_of(daemon, gpu):
    return next(p["pci"] for p in daemon.call(FABRIC + "GetNode")["places"] if p["name"] == gpu)


def matrix(daemon, metric="gpu_gpu_copy_engine"):
    return {(c["from"], c["to"]): c for c in cells(daemon, metric) if c["source"] == "measured"}


class StandIn(Daemon):
    """A daemon over a stand-in node."""

    def __init__(self, node, probes, *arguments, config="", **more):
        super().__init__("--node", node, *arguments, config=f"probe_dir = {probes}\n{config}", **more)


def measures_a_stand_in_at_its_start():
    script = lines(GPU_RUN, begin("gpu_gpu_copy_engine gpu0 gpu1"), copy("gpu0", "gpu1"), END)
    with fake_gpu_probe(script) as (node, probes), StandIn(node, probes) as daemon:
        daemon.wait_ready()
        assert matrix(daemon)["gpu0", "gpu1"]["value"] == 2e10, daemon.said()
        arguments = started(probes)
        assert len(arguments) == 1 and "--child --profile quick --budget-ns 5000000000" in arguments[0], arguments
        assert "--metrics" not in arguments[0] and "--skip" not in arguments[0] and "--without" not in arguments[0], arguments
        assert daemon.status()["basis"]["origin"] == "standin"
        assert "berth-probe-cpu" not in daemon.said(), "the folder has no such probe, and its node none of our cores"


def other_recorded_nodes_are_not_measured():
    for origin in ("recorded", "reconstructed"):
        with fake_gpu_probe(lines(GPU_RUN, END), origin=origin) as (node, probes), StandIn(node, probes) as daemon:
            daemon.wait_ready()
            error, why = call(daemon.socket, "io.berth.Health.Probe", {"profile": "quick"})
            assert error == "io.berth.Health.Unavailable" and "recorded" in why["detail"], (error, why)
            assert started(probes) == []


def a_full_run_on_amd_has_its_variants_in_processes_of_their_own():
    script = 'echo "$2 $3 $4 $5 sdma=$HSA_ENABLE_SDMA xnack=$HSA_XNACK home=$HOME" >> "${0%/*}/environment"\n' + lines(GPU_RUN, END)
    with fake_gpu_probe(script) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "full"})
        daemon.wait_ready()
        environment = (probes / "environment").read_text().splitlines()
        assert [line.split()[-3:] for line in environment] == [["sdma=", "xnack=", "home="], ["sdma=0", "xnack=", "home="], ["sdma=", "xnack=1", "home="]], environment
        arguments = started(probes)
        assert all("--profile full" in a for a in arguments) and "--variant" not in arguments[0], arguments
        assert "--variant no-sdma" in arguments[1] and "--variant xnack" in arguments[2], arguments
        daemon.call("io.berth.Health.Probe", {"profile": "full", "metrics": ["gpu_stream", "host_gpu_copy_engine", "kind_copy"]})
        daemon.wait_ready()
        metrics = [a.split("--metrics ")[1].split()[0] for a in started(probes)[3:]]
        assert metrics == ["gpu_stream,host_gpu_copy_engine,kind_copy", "host_gpu_copy_engine", "host_gpu_copy_engine,kind_copy"], metrics
    with fake_gpu_probe(script, node="h200x4") as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "full"})
        daemon.wait_ready()
        assert len(started(probes)) == 1, "those are AMD's"


@contextlib.contextmanager
def both_vendors(facts=""):
    """Two NVIDIA and two AMD gpus.

    The probe measures those of the requested driver, or of the first driver with a usable gpu.
    """
    hip = GPU_RUN.replace('"standin"', '"hip"')
    script = 'case "$*" in *"--backend hip"*|*"--without 0000:00:06.0,0000:00:07.0"*) echo \'' + hip + "'\n" + lines(copy("gpu2", "gpu3"), END) + "exit 0 ;; esac\n" + \
        lines(GPU_RUN, copy("gpu0", "gpu1"), END)
    with fake_gpu_probe(script, node="h200x4", facts=facts) as (node, probes):
        topology = node / "topology.xml"
        halves = topology.read_text().split('pci_busid="0000:00:08.0"')
        assert len(halves) == 2
        topology.write_text(halves[0] + 'pci_busid="0000:00:08.0"' + halves[1].replace("[10de:2335] [10de:18bf]", "[1002:740c] [1002:0b0c]"))
        (node / "facts.jsonl").write_text("".join(line + "\n" for line in (node / "facts.jsonl").read_text().splitlines()[:2]))
        with StandIn(node, probes, "--no-probe") as daemon:
            vendors = [p["details"].get("vendor") for p in daemon.call(FABRIC + "GetNode")["places"] if p["kind"] == "gpu"]
            assert vendors == ["nvidia", "nvidia", "amd", "amd"], vendors
            yield daemon, probes


def a_node_with_gpus_of_both_vendors_has_both_measured():
    with both_vendors() as (daemon, probes):
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        assert ["--backend hip" in a for a in started(probes)] == [False, True] and "--backend cuda" in started(probes)[0], started(probes)
        assert set(matrix(daemon)) >= {("gpu0", "gpu1"), ("gpu2", "gpu3")}, matrix(daemon)
        daemon.call("io.berth.Health.Probe", {"profile": "full", "metrics": ["copy_latency"]})
        daemon.wait_ready()
        assert ["--backend hip" in a for a in started(probes)[2:]] == [False, True, True] and started(probes)[4].endswith("--backend hip --variant no-sdma"), started(probes)


def those_of_one_vendor_in_use_leave_the_others_to_be_measured_once():
    for busy, left in ((("06", "07"), "hip"), (("08", "09"), "cuda")):
        with both_vendors(devices(*((f"0000:00:{number}.0", 1) for number in busy))) as (daemon, probes):
            daemon.call("io.berth.Health.Probe", {"profile": "quick"})
            daemon.wait_ready()
            assert len(started(probes)) == 1 and f"--backend {left}" in started(probes)[0], (busy, started(probes))
            found = [f for f in daemon.call("io.berth.Health.Check")["findings"] if f["code"].startswith(("probe-", "gpu-"))]
            found = [f for f in found if f["code"] != "gpu-driver"]
        assert {f["code"] for f in found} == {"gpu-in-use"} and len({f["place"] for f in found}) == len(found) == 2, found


def metrics_go_to_the_program_that_measures_them():
    with fake_gpu_probe(lines(GPU_RUN, END)) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        error, why = call(daemon.socket, "io.berth.Health.Probe", {"metrics": ["cpu_pingpong"]})
        assert error == "io.berth.Health.Unavailable" and "cpu_pingpong" in why["detail"], (error, why)
        daemon.call("io.berth.Health.Probe", {"metrics": ["cpu_pingpong", "gpu_stream"], "places": ["gpu0", "module1", "numa2"]})
        daemon.wait_ready()
        places = [pci_of(daemon, gpu) for gpu in ("gpu0", "gpu2", "gpu3")] + ["numa2"]
        assert started(probes)[0].endswith(f"--metrics cpu_pingpong,gpu_stream --places {','.join(places)}"), started(probes)


def a_machine_without_gpus_starts_no_gpu_probe():
    with fake_probe("echo '" + GPU_RUN.replace('"gpu"', '"cpu"') + "'\n" + lines(END)) as folder:
        gpu = pathlib.Path(folder) / "berth-probe-gpu"
        gpu.write_text(f"#!/bin/sh\necho x >> {folder}/started\n")
        gpu.chmod(0o755)
        with Daemon(config=f"probe_dir = {folder}\n") as daemon:
            daemon.wait_ready()
            has_gpus = any(p["kind"] == "gpu" for p in daemon.call(FABRIC + "GetNode")["places"])
            assert has_gpus or not (pathlib.Path(folder) / "started").exists()


HANG = """
case "$*" in
*--skip*) {rest} ;;
*) {first} exec sleep 60 ;;
esac
"""


def a_cell_that_hangs_is_named_and_left_out():
    first = lines(GPU_RUN, copy("gpu0", "gpu1"), begin("gpu_pingpong gpu1 gpu2")) + "trap '' TERM\n"
    rest = lines(GPU_RUN, copy("gpu0", "gpu1", 2.1e10), copy("gpu2", "gpu1"), END)
    with fake_gpu_probe(HANG.format(first=first, rest=rest)) as (node, probes), StandIn(node, probes, "--no-probe", config="probe_silence_s = 1\n") as daemon:
        with Connection(daemon.socket) as asker:
            replies = list(asker.stream("io.berth.Health.Probe", {"profile": "quick"}))
        daemon.wait_ready()
        assert len(started(probes)) == 2 and started(probes)[1].endswith("--skip gpu_pingpong gpu1 gpu2"), started(probes)
        finding = findings(daemon)["probe-timeout"]
        assert finding["place"] == "gpu1" and "gpu_pingpong from gpu1 to gpu2" in finding["text"] and finding["severity"] == "warning", finding
        measured = matrix(daemon)
        assert measured["gpu0", "gpu1"]["value"] == 2.1e10 and measured["gpu2", "gpu1"]["value"] == 2e10, measured
        assert "hung" in matrix(daemon, "gpu_pingpong")["gpu1", "gpu2"]["why_not"], cells(daemon, "gpu_pingpong")
        assert any("gpu_pingpong gpu1 gpu2: the probe hung" in text for text in left_out(replies[-1][1])), replies[-1]


def what_was_measured_before_a_hang_is_kept_and_there_is_never_a_second_one():
    script = lines(GPU_RUN, copy("gpu0", "gpu1")) + 'n=$(wc -l < "${0%/*}/../started")\n' + \
        "echo '{\"record\":\"progress\",\"done\":1,\"total\":8,\"cell\":\"gpu_gpu_kernel gpu0 gpu'$n'\"}'\nexec sleep 60\n"
    with fake_gpu_probe(script) as (node, probes), StandIn(node, probes, "--no-probe", config="probe_silence_s = 1\n") as daemon:
        with Connection(daemon.socket) as asker:
            asker.send("io.berth.Health.Probe", {"profile": "quick"}, more=True)
            most = slowest = 0
            while daemon.status()["state"] == "probing" or not started(probes):
                before = time.monotonic()
                daemon.status()
                slowest = max(slowest, time.monotonic() - before)
                most = max(most, len(children(daemon.process.pid)))
                time.sleep(0.01)
        assert most == 1 and slowest < 0.9, (most, slowest)
        assert len(started(probes)) == 3, started(probes)
        assert started(probes)[2].endswith("--skip gpu_gpu_kernel gpu0 gpu1,gpu_gpu_kernel gpu0 gpu2"), started(probes)
        assert matrix(daemon)["gpu0", "gpu1"]["value"] == 2e10
        why = {c["to"]: c["why_not"] for c in cells(daemon, "gpu_gpu_kernel") if c["why_not"]}
        assert set(why) == {"gpu1", "gpu2", "gpu3"}, why


def what_was_left_out_has_the_nodes_names():
    skip = {"record": "skip", "metric": "gpu_stream", "from": PCI, "to": PCI, "axes": {"test": "bs7"}, "why": "too little memory"}
    with fake_gpu_probe(lines(GPU_RUN, skip, END)) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        with Connection(daemon.socket) as asker:
            last = list(asker.stream("io.berth.Health.Probe", {"profile": "quick"}))[-1][1]
        assert left_out(last) == ["gpu_stream gpu0 gpu0 test=bs7: too little memory"], last


def a_crash_costs_its_cell():
    first = lines(GPU_RUN, begin(f"gpu_stream {PCI} {PCI}")) + "kill -SEGV $$\n"
    rest = lines(GPU_RUN, copy("gpu0", "gpu1"), END)
    with fake_gpu_probe(HANG.format(first=first, rest=rest)) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        finding = findings(daemon)["probe-crashed"]
        assert finding["place"] == "gpu0" and "gpu_stream" in finding["text"] and "signal 11" in finding["text"], finding
        assert started(probes)[1].endswith(f"--skip gpu_stream {PCI} {PCI}"), "in the probe's own words"
        assert matrix(daemon)["gpu0", "gpu1"]["value"] == 2e10


def a_crash_of_which_nothing_is_known_is_not_tried_again():
    with fake_gpu_probe(lines(GPU_RUN) + "kill -SEGV $$\n") as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        assert len(started(probes)) == 1 and findings(daemon)["probe-crashed"]["place"] == "machine0"


def a_lost_gpu_drains_the_node_and_the_others_are_measured():
    lost = {"record": "finding", "code": "gpu-lost", "from": "gpu3", "to": "gpu3", "why": "the device fell off the bus (719)"}
    script = 'case "$*" in\n*--without*) ' + lines(GPU_RUN, copy("gpu0", "gpu1"), END) + ' ;;\n*) ' + \
        lines(GPU_RUN, begin("gpu_stream gpu3 gpu3"), lost, {**END, "status": "failed"}) + " exit 1 ;;\nesac\n"
    with fake_gpu_probe(script) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        check = daemon.call("io.berth.Health.Check")
        assert check["drain"] and check["verdict"] == "unhealthy" and "gpu3" in check["reason"], check
        finding = findings(daemon)["gpu-lost"]
        assert finding["severity"] == "critical" and "719" in finding["text"], finding
        assert len(started(probes)) == 2 and started(probes)[1].endswith("--without " + pci_of(daemon, "gpu3")), started(probes)
        assert matrix(daemon)["gpu0", "gpu1"]["value"] == 2e10


def wrong_bytes_drain_the_node_until_they_are_right_again():
    def wrong(start, end):
        return {"record": "finding", "code": "wrong-bytes", "from": start, "to": end, "why": "4096 of 65536 bytes are wrong"}
    with fake_gpu_probe(lines(GPU_RUN, wrong("gpu1", "gpu2"), wrong("gpu1", "gpu5"), wrong("numa0", "gpu6"), END)) as (node, probes), \
            StandIn(node, probes, "--no-probe") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        check = daemon.call("io.berth.Health.Check")
        found = {f["place"]: f["text"] for f in check["findings"] if f["code"] == "wrong-bytes" and f["severity"] == "critical"}
        assert check["drain"] and set(found) == {"gpu1", "gpu6"}, check
        assert "gpu2" in found["gpu1"] and "1 more" in found["gpu1"] and "numa0" in found["gpu6"], found
        (probes / "berth-probe-gpu").write_text("#!/bin/sh\n" + lines(GPU_RUN, copy("gpu0", "gpu1"), END))
        daemon.call("io.berth.Health.Probe", {"metrics": ["gpu_gpu_copy_engine"]})
        daemon.wait_ready()
        assert "wrong-bytes" in findings(daemon), "a run of one metric has not looked at every path"
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        assert "wrong-bytes" not in findings(daemon)


def devices(*processes):
    return lines(GPU_RUN.replace('"gpu"', '"gpu"'), *({"record": "device", "gpu": f"gpu{i}", "pci": pci, "processes": n} for i, (pci, n) in enumerate(processes)), END)


def mi250x_pcis():
    with Daemon("--node", NODES / "mi250x") as daemon:
        return [p["pci"] for p in daemon.call(FABRIC + "GetNode")["places"] if p["kind"] == "gpu"]


def gpus_with_processes_on_them_are_left_alone():
    pcis = mi250x_pcis()
    facts = devices(*((pci, 2 if i == 3 else 1 if i == 5 else 0) for i, pci in enumerate(pcis)))
    with fake_gpu_probe(lines(GPU_RUN, copy("gpu0", "gpu1"), END), facts=facts) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        with Connection(daemon.socket) as asker:
            replies = list(asker.stream("io.berth.Health.Probe", {"profile": "quick"}))
        daemon.wait_ready()
        assert started(probes)[0].endswith(f"--without {pcis[3]},{pcis[5]}"), started(probes)
        assert left_out(replies[-1][1]) == ["gpu3: 2 processes are on it: nothing was measured on it", "gpu5: 1 process is on it: nothing was measured on it"], replies
        found = {f["place"]: f["severity"] for f in daemon.call("io.berth.Health.Check")["findings"] if f["code"] == "gpu-in-use"}
        assert found == {"gpu3": "info", "gpu5": "info"}, found
    with fake_gpu_probe(lines(GPU_RUN, END), facts=devices(*((pci, 1) for pci in pcis))) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        with Connection(daemon.socket) as asker:
            replies = list(asker.stream("io.berth.Health.Probe", {"profile": "quick"}))
        daemon.wait_ready()
        assert started(probes) == [] and len(replies[-1][1]["skipped"]) == 8, "nothing is started when every gpu is in use"


def a_gpu_that_was_in_use_is_measured_when_it_is_free():
    pcis = mi250x_pcis()
    busy = devices(*((pci, 1 if i in (3, 5) else 0) for i, pci in enumerate(pcis)))
    less = devices(*((pci, 1 if i == 5 else 0) for i, pci in enumerate(pcis)))
    facts = f"echo x >> ${{0%/*}}/asked\nif [ ! -e ${{0%/*}}/less ]; then\n{busy}\nelif [ ! -e ${{0%/*}}/none ]; then\n{less}\nelse\n{devices()}\nfi\n"
    with fake_gpu_probe(lines(GPU_RUN, copy("gpu0", "gpu1"), END), facts=facts) as (node, probes), StandIn(node, probes, config="gpu_retry_s = 1\n") as daemon:
        def asked():
            return len((probes / "asked").read_text().split())
        daemon.wait_ready()
        assert len(started(probes)) == 1 and started(probes)[0].endswith(f"--without {pcis[3]},{pcis[5]}"), started(probes)
        before = asked()
        assert until(lambda: asked() > before, 20), "it looks again"
        daemon.wait_ready()
        assert len(started(probes)) == 1, "nothing is measured while both are in use"
        assert {f["place"] for f in daemon.call("io.berth.Health.Check")["findings"] if f["code"] == "gpu-in-use"} == {"gpu3", "gpu5"}
        with Connection(daemon.socket) as claimer:
            claim = claimer.call("io.berth.Placement.Claim", {"places": ["gpu0"], "purpose": "compute", "ttl_s": 60})[1]["claim"]["claim"]
            (probes / "less").touch()
            before = asked()
            time.sleep(2.5)
            assert asked() == before, "not even asked beside a claim"
            claimer.call("io.berth.Placement.Release", {"claim": claim})
        assert until(lambda: len(started(probes)) == 2, 30), daemon.said()
        daemon.wait_ready()
        assert f"--places {pcis[3]},{pcis[5]} --without {pcis[5]}" in started(probes)[1] and "--metrics host_gpu_copy_engine," in started(probes)[1], started(probes)
        assert {f["place"] for f in daemon.call("io.berth.Health.Check")["findings"] if f["code"] == "gpu-in-use"} == {"gpu5"}
        (probes / "none").touch()
        assert until(lambda: len(started(probes)) == 3, 30), daemon.said()
        daemon.wait_ready()
        assert f"--places {pcis[5]}" in started(probes)[2] and "--without" not in started(probes)[2], started(probes)
        assert "gpu-in-use" not in findings(daemon)
        before = asked()
        time.sleep(3)
        assert asked() == before and len(started(probes)) == 3, "all are measured"


def a_claim_stops_it_and_holds_it_back():
    script = lines(GPU_RUN, begin("gpu_stream gpu0 gpu0")) + "exec sleep 60\n"
    with fake_gpu_probe(script) as (node, probes), StandIn(node, probes) as daemon:
        assert until(lambda: started(probes)), daemon.said()
        probe = probe_of(daemon)
        with Connection(daemon.socket) as claimer:
            before = time.monotonic()
            error, reply = claimer.call("io.berth.Placement.Claim", {"places": ["gpu0"], "purpose": "compute", "ttl_s": 60})
            assert error is None and time.monotonic() - before < 10, (error, reply)
            assert probe and not any(alive(pid) for pid in probe) and not children(daemon.process.pid), "it has died before the claim is answered"
            error, why = call(daemon.socket, "io.berth.Health.Probe", {"profile": "quick"})
            assert error == "io.berth.Health.Busy", (error, why)
        assert len(started(probes)) == 1


def what_a_stand_in_measures_on_a_live_machine_is_not_stored():
    standin = GPU_RUN.replace('"probe":"gpu","backend":"cuda"', '"probe":"cpu","backend":"standin"')
    value = {"record": "value", "metric": "memory_latency", "from": "numa0", "to": "numa0", "value": 90.5, "low": 90, "high": 91, "n": 9}
    with fake_probe(lines(standin, value, END)) as folder, Daemon(config=f"probe_dir = {folder}\n") as daemon:
        daemon.wait_ready()
        assert [c["value"] for c in cells(daemon, "memory_latency")] == [90.5]
        assert daemon.status()["basis"]["origin"] == daemon.call("io.berth.Health.Check")["origin"] == "standin"
        assert daemon.call(FABRIC + "GetNode")["basis"]["origin"] == "standin" and "standin" in findings(daemon)
        (pathlib.Path(folder) / "berth-probe-cpu").write_text("#!/bin/sh\n" + lines(standin.replace("standin", "cpu"), {**value, "value": 80, "low": 80, "high": 80}, END))
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        assert daemon.status()["basis"]["origin"] == "standin", "other values may still be the stand-in's"
        assert daemon.stop()[0] == 0
        database = sqlite3.connect(daemon.state / "berth.db")
        assert [value for (value,) in database.execute("SELECT value FROM value")] == [80]
        assert database.execute("SELECT count(*) FROM run WHERE backend = 'standin'").fetchone() == (0,)
        database.close()
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert [c["value"] for c in cells(again, "memory_latency")] == [80] and again.status()["basis"]["origin"] == "live"
            assert "standin" not in findings(again)


def what_one_probe_found_outlives_another():
    """A machine with a scripted CPU probe, and records of a GPU probe's run in its database."""
    value = {"record": "value", "metric": "memory_latency", "from": "numa0", "to": "numa0", "value": 80, "n": 9}
    with fake_probe(lines(GPU_RUN.replace('"gpu"', '"cpu"'), value, END)) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        daemon.call("io.berth.Health.Probe", {"profile": "quick"})
        daemon.wait_ready()
        assert daemon.stop()[0] == 0
        database = sqlite3.connect(daemon.state / "berth.db")
        with database:
            database.execute("INSERT INTO run (boot, probe, backend, profile, started_s, elapsed_ns, status) SELECT boot, 'gpu', 'cuda', 'quick', started_s, 1, 'complete' FROM run")
            database.execute("INSERT INTO probe (node, name, run) SELECT node, 'gpu', (SELECT max(id) FROM run) FROM probe")
            database.execute("INSERT INTO note (run, code, severity, place, text, since_s) SELECT max(id), 'wrong-bytes', 2, 'machine0', 'lost on the way', 1790000000 FROM run")
        database.close()
        with Daemon("--no-probe", directory=daemon.directory, config=f"probe_dir = {folder}\n") as again:
            assert "wrong-bytes" in findings(again)
            again.call("io.berth.Health.Probe", {"profile": "quick"})
            again.wait_ready()
            assert "wrong-bytes" in findings(again) and again.call("io.berth.Health.Check")["drain"]


def shapes_are_handed_back():
    shapes = f"AMD Instinct MI250X/61@{int(time.time())}: copy 256x440u8"
    end = {**END, "conditions": {"shapes": shapes}}
    with fake_gpu_probe(lines(GPU_RUN, end)) as (node, probes), StandIn(node, probes, "--no-probe") as daemon:
        for _ in range(2):
            daemon.call("io.berth.Health.Probe", {"profile": "quick"})
            daemon.wait_ready()
        assert "--shapes" not in started(probes)[0] and started(probes)[1].endswith(f"--shapes {shapes}"), started(probes)


TESTS = [value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__" and name.count("_") >= 3]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, at_once=4) > 0)
