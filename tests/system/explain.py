"""What a transfer's kernels wait for: berth probe --explain, on stand-ins for CUDA and CUPTI. Prints TAP."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, until  # noqa: E402
from claiming import claimed, listed, release  # noqa: E402
from tap import run_tests  # noqa: E402
from virtual_node import HERE, STANDIN, described, measured, probe_folder, refused  # noqa: E402

GPU = [f"0000:00:0{i}.0" for i in range(6, 10)]
CUPTI = STANDIN / "cupti"
WAITS = "long_scoreboard=80,drain=5,selected=15"
RIGHT = "PC sampling needs a right: root's, or for everybody the option NVreg_RestrictProfilingToAdminUsers=0 of the module nvidia"


def explained(source, target, node="h200x4", library=CUPTI, stalls=WAITS, **more):
    records = measured(node, "--explain", f"{source},{target}", LD_LIBRARY_PATH=str(library), BERTH_STANDIN_CUPTI_STALLS=stalls, **more)
    assert {record["record"] for record in records} == {"explain"}, records
    return {record["operation"]: record for record in records}


def shares(record):
    return {reason: count / record["samples"] for reason, count in record["stalls"].items()}


def the_reasons_of_each_kernel_are_counted():
    found = explained(GPU[0], GPU[1])
    assert list(found) == ["read", "write", "copy"], found
    for record in found.values():
        got = shares(record)
        assert list(got) == ["long_scoreboard", "drain", "selected"], "without the parts of reasons that are no reasons"
        assert all(abs(got[reason] - share) < 0.001 for reason, share in (("long_scoreboard", 0.8), ("drain", 0.05), ("selected", 0.15))), got
        assert record["samples"] == sum(record["stalls"].values()) and record["dropped"] == 3, record
        assert 100_000 < record["samples"] < 400_000, "one a microsecond of 200 ms: the kernels ran within the range"
        assert abs(record["sampled_bytes_per_s"] / record["bytes_per_s"] - 1) < 0.05, record
        assert (record["from"], record["to"]) == (GPU[0], GPU[1])


def a_slow_path_is_slow_and_waits():
    """One path at an eighth of the others' rate: its kernel is as slow, and waits for memory."""
    with described("h200x4", "path kernel * 0 1 rate=45e9") as node:
        slow, usual = explained(GPU[0], GPU[1], node), explained(GPU[0], GPU[2], node, stalls="selected=60,long_scoreboard=40")
        assert slow["read"]["bytes_per_s"] < usual["read"]["bytes_per_s"] / 4, (slow, usual)
        assert max(slow["read"]["stalls"], key=slow["read"]["stalls"].get) == "long_scoreboard", slow
        assert max(usual["read"]["stalls"], key=usual["read"]["stalls"].get) == "selected", usual


def the_hosts_memory_and_the_own_are_places_too():
    assert list(explained(GPU[0], "numa0")) == ["read", "write", "copy"]
    assert list(explained("numa0", GPU[0])) == ["copy"]
    own = explained(GPU[0], GPU[0])
    assert own["read"]["bytes_per_s"] > 3e12 and own["read"]["samples"] > 0, own


def without_library_right_or_vendor_it_says_so():
    def why(found):
        assert all("stalls" not in record and record["bytes_per_s"] > 0 for record in found.values()), found
        return {record["why"] for record in found.values()}
    (said,) = why(explained(GPU[0], GPU[1], library=""))
    assert re.fullmatch("libcupti.so.13 is not on this machine|libcupti.so(.1[23])? and libcuda.so.1: one is a stand-in for tests, the other is not", said), said
    assert why(explained(GPU[0], GPU[1], library=CUPTI / "empty")) == {"libcupti.so has no cuptiGetResultString, which a measurement needs"}
    for call in ("enable", "set"):
        (said,) = why(explained(GPU[0], GPU[1], BERTH_STANDIN_CUPTI_FAIL=f"{call}=35"))
        assert said == (RIGHT if call == "enable" else RIGHT.replace("PC sampling", "configuring PC sampling")), said
    assert why(explained(GPU[0], GPU[1], BERTH_STANDIN_CUPTI_FAIL="enable=27")) == {"PC sampling: this device or driver cannot"}
    assert why(explained(GPU[0], GPU[1], BERTH_STANDIN_CUPTI_FAIL="names=7")) == {"naming stall reasons: libcupti.so.13, error 7 (CUPTI_ERROR_INVALID_OPERATION)"}
    assert "the buffer of samples was full" in why(explained(GPU[0], GPU[1], BERTH_STANDIN_CUPTI_FAIL="get=8"))
    assert "fetching samples does not end" in why(explained(GPU[0], GPU[1], BERTH_STANDIN_CUPTI_FAIL="endless=1"))
    assert why(explained(GPU[0], GPU[1], stalls="")) == {"libcupti.so.13 has 0 stall reasons"}
    assert why(explained("0000:c1:00.0", "0000:c1:00.0", node="mi250x")) == {"stall reasons are read of NVIDIA's GPUs alone, by CUPTI"}


def wrong_places_are_named():
    assert "no place: gpu9; there are 0000:00:06.0" in refused("h200x4", "--explain", f"gpu9,{GPU[0]}")
    assert "one of the two places is a GPU" in refused("h200x4", "--explain", "numa0,numa0")
    for wrong in (GPU[0], ",".join(GPU[:3])):
        assert "--explain takes two places" in refused("h200x4", "--explain", wrong)


def the_bench_judges_what_it_sees():
    def bench(stalls, **more):
        with probe_folder("h200x4") as probes:
            return subprocess.run([sys.executable, HERE / "bench/gpu_explain.py", "--probe", f"{probes}/berth-probe-gpu", "--gpus", ",".join(GPU[:2])], capture_output=True, text=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(CUPTI), "BERTH_STANDIN_CUPTI_STALLS": stalls, **more}, timeout=60)
    good = bench(WAITS)
    assert good.returncode == 0 and len(good.stdout.splitlines()) == 9 and "80.0% long_scoreboard" in good.stdout, good
    other = bench("barrier=60,selected=40")
    assert other.returncode == 1 and "read on the memory of numa0: it does not wait for memory" in other.stdout, other
    none = bench(WAITS, BERTH_STANDIN_CUPTI_FAIL="enable=35")
    assert none.returncode == 75 and none.stdout.splitlines()[-1] == f"nothing was sampled: {RIGHT}", none


# ---- the command ----

@contextlib.contextmanager
def serving(origin="standin"):
    """A daemon of a stand-in node, and berth beside the GPU probe on the virtual node."""
    with probe_folder("h200x4") as probes, tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(folder) / "node"
        shutil.copytree(NODES / "h200x4", node)
        description = json.loads((node / "node.json").read_text())
        (node / "node.json").write_text(json.dumps({**description, "origin": origin}))
        shutil.copy(BIN / "berth", probes)
        with Daemon("--no-probe", "--node", node, config=f"probe_dir = {probes}\n") as daemon:
            yield daemon, pathlib.Path(probes)


def berth(daemon, probes, *words, library=CUPTI, **more):
    return subprocess.run([probes / "berth", "--socket", daemon.socket, *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LANG": "C.UTF-8", "LD_LIBRARY_PATH": str(library), "BERTH_STANDIN_CUPTI_STALLS": WAITS, **more})


def the_command_says_what_the_kernels_wait_for():
    with serving() as (daemon, probes):
        done = berth(daemon, probes, "probe", "--explain", "gpu0", "gpu1")
        assert done.returncode == 0 and done.stderr == "", done
        lines = done.stdout.splitlines()
        assert lines[0] == "gpu0 reads memory of gpu1: 375 GB/s, under sampling 375 GB/s" and lines[1] == "its warps wait for", lines
        assert lines[2].split(None, 3)[:3] == ["80", "%", "long_scoreboard"] and "data of memory" in lines[2], lines
        assert [line.split()[2] for line in lines[3:5]] == ["selected", "drain"] and lines[5].endswith("samples; 3 more were lost"), lines
        assert "gpu0 writes memory of gpu1: 368 GB/s" in done.stdout and "gpu0 copies to memory of gpu1" in done.stdout
        assert max(map(len, lines)) <= 80, max(lines, key=len)
        assert not listed(daemon), "its claim has ended"
        done = berth(daemon, probes, "--json", "probe", "--explain", "numa0", "gpu2")
        record, = map(json.loads, done.stdout.splitlines())
        assert done.returncode == 0 and (record["from"], record["to"], record["operation"]) == ("numa0", GPU[2], "copy"), done


def the_command_claims_the_gpus_for_it():
    with serving() as (daemon, probes):
        (probes / "berth-probe-gpu").write_text("#!/bin/sh\necho $$ > $(dirname $0)/pid\necho \"$@\" > $(dirname $0)/words\nexec sleep 60\n")
        with subprocess.Popen([probes / "berth", "--socket", daemon.socket, "probe", "--explain", "gpu1", "gpu0"]) as process:
            assert until(lambda: (probes / "words").exists() and (probes / "words").read_text())
            claim, = listed(daemon).values()
            assert (claim["places"], claim["purpose"], claim["configuration"], claim["owner_pid"]) == (
                ["gpu0", "gpu1"], "profiling", "berth probe --explain", process.pid), claim
            assert (probes / "words").read_text() == f"--child --explain {GPU[1]},{GPU[0]} --without {GPU[2]},{GPU[3]}\n"
            process.kill()
        os.kill(int((probes / "pid").read_text()), 9)
        assert until(lambda: not listed(daemon)), "the claim ends with the command"
        held = claimed(daemon, "gpu0", purpose="profiling", configuration="nsys")
        done = berth(daemon, probes, "probe", "--explain", "gpu0", "gpu1")
        assert done.returncode == 75 and done.stderr.startswith("berth: gpu0 is claimed already, by " + held["claim"]), done
        release(daemon, claim=held["claim"])


def the_command_fails_with_a_line():
    with serving() as (daemon, probes):
        done = berth(daemon, probes, "probe", "--explain", "gpu0", "gpu1", BERTH_STANDIN_CUPTI_FAIL="enable=35")
        assert done.returncode == 75 and done.stderr == f"berth: no stall reasons: {RIGHT}\n", done
        assert "gpu0 reads memory of gpu1: 375 GB/s\n" in done.stdout and "NVreg_RestrictProfilingToAdminUsers" in done.stdout, done
        assert max(map(len, done.stdout.splitlines())) <= 100, done.stdout
        for words, code, said in ((["gpu0"], 64, "two places"), (["gpu0", "gpu1", "gpu2"], 64, "two places"), (["gpu0", "gpu1", "--full"], 64, "measures nothing"),
                                  (["gpu0", "gpu9"], 65, "no place gpu9"), (["gpu0", "core0"], 65, "core0 is neither a gpu nor a NUMA node"),
                                  (["numa0", "numa0"], 65, "one of them must be a gpu")):
            done = berth(daemon, probes, "probe", "--explain", *words)
            assert done.returncode == code and done.stderr.count("\n") == 1 and said in done.stderr, (words, done)
        for script, said in (("echo 'berth-probe-gpu: the driver does not start' >&2; exit 69", "berth: berth-probe-gpu: the driver does not start\n"),
                             ("kill -9 $$", "berth: berth-probe-gpu ended with status 137\n"), ("echo rubbish", "berth: no stall reasons: no kernel ran\n")):
            (probes / "berth-probe-gpu").write_text(f"#!/bin/sh\n{script}\n")
            done = berth(daemon, probes, "probe", "--explain", "gpu0", "gpu1")
            assert (done.returncode, done.stderr) == (75, said), (script, done)
            assert not listed(daemon)
    with serving("recorded") as (daemon, probes):
        done = berth(daemon, probes, "probe", "--explain", "gpu0", "gpu1")
        assert (done.returncode, done.stderr) == (65, "berth: the node is recorded: only a live one is measured\n"), done


TESTS = [
    the_reasons_of_each_kernel_are_counted,
    a_slow_path_is_slow_and_waits,
    the_hosts_memory_and_the_own_are_places_too,
    without_library_right_or_vendor_it_says_so,
    wrong_places_are_named,
    the_bench_judges_what_it_sees,
    the_command_says_what_the_kernels_wait_for,
    the_command_claims_the_gpus_for_it,
    the_command_fails_with_a_line,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
