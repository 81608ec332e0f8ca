"""Probes leave out gpus that a claim profiles, say so, and measure them afterwards. Prints TAP."""
import contextlib
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import Daemon, GPU_RUN, NODES, RUN, alive, cells, fake_gpu_probe, fake_probe, findings, probe_of, started, until  # noqa: E402
from claiming import as_nobody, claimed, command, release  # noqa: E402
from reasons import left_out  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402
from virtual_node import probe_folder  # noqa: E402

PROBE = "io.berth.Health.Probe"
END = json.dumps({"record": "end", "status": "complete", "elapsed_ns": 5})
MEASURES = f"echo '{GPU_RUN}'\necho '{END}'\n"


def probe(daemon, **request):
    """The last reply."""
    with Connection(daemon.socket) as asker:
        replies = list(asker.stream(PROBE, {"profile": "quick", **request}))
    daemon.wait_ready()
    return replies[-1]


def pcis(daemon):
    return {p["name"]: p["pci"] for p in daemon.call("io.berth.Fabric.GetNode")["places"] if p["kind"] == "gpu"}


@contextlib.contextmanager
def stand_in(script, node="mi250x", config="", *arguments):
    with fake_gpu_probe(script, node=node) as (folder, probes):
        with Daemon("--node", folder, *arguments, config=f"probe_dir = {probes}\n{config}") as daemon:
            yield daemon, probes


def the_stand_in_driver_sees_nothing_of_a_gpu_that_is_profiled():
    """The real probe of gpus: no value has the gpu, and afterwards its values come by themselves."""
    with probe_folder("h200x4") as probes, tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "h200x4", node)
        (node / "measurements.jsonl").write_text("")
        description = json.loads((node / "node.json").read_text())
        (node / "node.json").write_text(json.dumps({**description, "origin": "standin"}))
        with Daemon("--node", node, config=f"probe_dir = {probes}\nclaim_resume_s = 1\n") as daemon:
            daemon.wait_ready()
            claim, begin = claimed(daemon, "gpu0", purpose="profiling"), int(time.time()) + 1
            until(lambda: time.time() >= begin)
            _, last = probe(daemon, metrics=["copy_latency"])
            said = [line for line in left_out(last) if line.startswith("gpu0: ")]
            assert said == [f"gpu0: claim {claim['claim']} of uid {claim['uid']} profiles it: nothing was measured on it"], last

            def measured():
                return [c for c in cells(daemon, "copy_latency") if c["source"] == "measured" and c["value"] is not None and c["measured_at_s"] >= begin]
            values = measured()
            assert values and not any("gpu0" in (c["from"], c["to"]) for c in values), values
            assert findings(daemon)["gpu-profiled"]["place"] == "gpu0" and findings(daemon)["gpu-profiled"]["severity"] == "info"
            release(daemon, claim=claim["claim"])
            assert until(lambda: any("gpu0" in (c["from"], c["to"]) for c in measured()), 40), daemon.said()
            daemon.wait_ready()
            assert "gpu-profiled" not in findings(daemon)


def what_is_profiled_is_left_out_and_measured_afterwards():
    with stand_in(MEASURES, config="claim_resume_s = 1\n") as (daemon, probes):
        daemon.wait_ready()
        names = pcis(daemon)
        a, b = claimed(daemon, "gpu0", purpose="profiling", key="a"), claimed(daemon, "module2", purpose="profiling", key="b")
        begun = len(started(probes))
        _, last = probe(daemon)
        assert started(probes)[begun].endswith(f"--without {names['gpu0']},{names['gpu4']},{names['gpu5']}"), started(probes)
        assert [line.split(" of ")[0] for line in left_out(last)] == [f"gpu0: claim {a['claim']}", f"gpu4: claim {b['claim']}", f"gpu5: claim {b['claim']}"], last
        release(daemon, key="b")
        assert until(lambda: len(started(probes)) == begun + 2), daemon.said()
        daemon.wait_ready()
        assert f"--places {names['gpu4']},{names['gpu5']} --without {names['gpu0']}" in started(probes)[begun + 1], started(probes)
        assert findings(daemon)["gpu-profiled"]["place"] == "gpu0"
        release(daemon, key="a")
        assert until(lambda: len(started(probes)) == begun + 3), daemon.said()
        daemon.wait_ready()
        assert f"--places {names['gpu0']}" in started(probes)[begun + 2] and "--without" not in started(probes)[begun + 2], started(probes)
        assert "gpu-profiled" not in findings(daemon)


def when_all_are_profiled_nothing_is_started():
    with stand_in(MEASURES, "mi250x", "", "--no-probe") as (daemon, probes):
        claimed(daemon, "machine0", purpose="profiling")
        _, last = probe(daemon)
        assert started(probes) == [] and len(last["skipped"]) == 8 and last["measured"] == 0, last


def a_probe_that_runs_is_stopped():
    script = f"echo '{GPU_RUN}'\nexec sleep 60\n"
    with stand_in(script, "mi250x", "claim_resume_s = 1\n") as (daemon, probes):
        assert until(lambda: started(probes)), daemon.said()
        running = probe_of(daemon)
        claim = claimed(daemon, "gpu1", purpose="profiling")
        assert not any(alive(pid) for pid in running), "it has died before the claim is answered"
        assert until(lambda: len(started(probes)) == 2), "the daemon's own measuring begins again"
        assert started(probes)[1].endswith(f"--without {pcis(daemon)['gpu1']}"), started(probes)
        again = probe_of(daemon)
        assert all(alive(pid) for pid in again), claim
        told = []
        daemon.call("io.berth.Health.CancelProbe")
        daemon.wait_ready()
        asker = threading.Thread(target=lambda: told.append(call(daemon.socket, PROBE)))
        asker.start()
        assert until(lambda: len(started(probes)) == 3), daemon.said()
        other = claimed(daemon, "gpu2", purpose="profiling")
        asker.join(10)
        assert told and told[0][0] == "io.berth.Health.Busy" and told[0][1]["by"].startswith(other["claim"]), told


def the_cpu_probe_leaves_out_the_memory_of_a_gpu_that_is_profiled():
    with stand_in(MEASURES, "gh200-quad", "claim_resume_s = 1\n") as (daemon, probes):
        daemon.wait_ready()
        cpu = probes / "berth-probe-cpu"
        cpu.write_text(f"#!/bin/sh\necho \"$*\" >> {probes}/cpu-started\necho '{RUN}'\necho '{END}'\n")
        cpu.chmod(0o755)

        def asked():
            return (probes / "cpu-started").read_text().splitlines() if (probes / "cpu-started").exists() else []
        claim = claimed(daemon, "gpu1", purpose="profiling")
        _, last = probe(daemon, metrics=["memory_bandwidth"])
        assert len(asked()) == 1 and asked()[0].endswith("--without numa12"), asked()
        by = f"claim {claim['claim']} of uid {claim['uid']} profiles"
        assert f"numa12: it is the memory of gpu1, which {by}: nothing was measured on it" in left_out(last), last
        release(daemon, claim=claim["claim"])
        assert until(lambda: len(asked()) == 2), daemon.said()
        daemon.wait_ready()
        assert "--places gpu1,numa12" in asked()[1].replace("numa12,gpu1", "gpu1,numa12") and "--without" not in asked()[1], asked()


def force_measures_beside_claims_of_ordinary_users():
    with fake_probe(f"echo x >>\"$0.started\"\necho '{RUN}'\necho '{END}'\n") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        daemon.directory.chmod(0o755)
        theirs = as_nobody((daemon.socket, "io.berth.Placement.Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 60, "key": "theirs"}))
        if theirs is None:
            raise LeftOut("not root: cannot become somebody else")
        assert theirs[0][0] is None, theirs
        error, why = call(daemon.socket, PROBE)
        assert error == "io.berth.Health.Busy" and "--force" in why["detail"], why
        assert command(daemon, "probe")[0] == 75 and not pathlib.Path(folder, "berth-probe-cpu.started").exists()
        error, reply = call(daemon.socket, PROBE, {"force": True})
        assert error is None, reply
        daemon.wait_ready()
        assert pathlib.Path(folder, "berth-probe-cpu.started").read_text() == "x\n"
        assert "nothing was measured" in command(daemon, "probe", "--force")[2], "the script has no value, but it ran"
        claimed(daemon, "core1")
        error, why = call(daemon.socket, PROBE, {"force": True})
        assert error == "io.berth.Health.Busy" and "--force" not in why["detail"], why


TESTS = [
    the_stand_in_driver_sees_nothing_of_a_gpu_that_is_profiled,
    what_is_profiled_is_left_out_and_measured_afterwards,
    when_all_are_profiled_nothing_is_started,
    a_probe_that_runs_is_stopped,
    the_cpu_probe_leaves_out_the_memory_of_a_gpu_that_is_profiled,
    force_measures_beside_claims_of_ordinary_users,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
