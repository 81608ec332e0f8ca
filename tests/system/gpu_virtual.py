"""From boot to answers on a virtual node of eight GCDs, by the real GPU probe over a stand-in driver. Prints TAP."""
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
from berthd import BIN, Daemon, NODES, cells, findings  # noqa: E402
from reasons import codes, left_out  # noqa: E402
from varlink import Connection  # noqa: E402
from screen import shown  # noqa: E402
from tap import run_tests  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent.parent / "standin"
FABRIC = "io.berth.Fabric."
PORT, DDR, LINK, WIDE = 28.3e9, 51.2e9, 37.5e9, 50e9  # tests/standin/nodes/mi250x.node


@contextlib.contextmanager
def virtual(extra="", **environment):
    """A daemon over the recorded node, as a stand-in's.

    Its GPU probe is the real one on the virtual node with these lines added.
    """
    with tempfile.TemporaryDirectory(prefix="berth-virtual-") as folder:
        node, probes, description = (pathlib.Path(folder) / name for name in ("node", "probes", "description.node"))
        shutil.copytree(NODES / "mi250x", node)
        about = json.loads((node / "node.json").read_text())
        del about["measurements"]
        (node / "node.json").write_text(json.dumps({**about, "origin": "standin"}))
        description.write_text(f"include {HERE}/nodes/mi250x.node\n{extra}")
        probes.mkdir()
        program = probes / "berth-probe-gpu"
        program.write_text(f"#!/bin/bash\nSTANDIN={os.environ['STANDIN']} exec {HERE}/run.sh {description} {BIN}/berth-probe-gpu \"$@\"\n")
        program.chmod(0o755)
        yield node, probes


def daemon_over(node, probes, *arguments, config="gpu_quick_budget_ms = 12000\n"):
    return Daemon("--node", node, *arguments, config=f"probe_dir = {probes}\n{config}")


def probed(daemon, **request):
    with Connection(daemon.socket, timeout=300) as asker:
        replies = list(asker.stream("io.berth.Health.Probe", request))
    assert all(error is None for error, _ in replies), replies[-1]
    return replies[-1][1]


def near(value, expected, share=0.01):
    return abs(value / expected - 1) <= share


def rates(daemon, metric, **axes):
    reply = daemon.call(FABRIC + "GetMatrix", {"metric": metric, "where": axes})
    return {(c["from"], c["to"]): c["value"] for c in reply["cells"] if c["source"] == "measured" and c["value"] and c["axes"]["bytes"] == "large"}


def berth(*arguments):
    done = subprocess.run([BIN / "berth", *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, "LANG": "C.UTF-8"})
    assert done.returncode in (0, 1), (arguments, done.stderr)
    return done.stdout


def from_boot_to_answers():
    with virtual() as (node, probes), daemon_over(node, probes) as daemon:
        daemon.wait_ready(300)
        assert daemon.status()["basis"]["origin"] == "standin"
        check = daemon.call("io.berth.Health.Check")
        assert check["origin"] == "standin" and check["verdict"] == "healthy" and not check["drain"], check["findings"][:4]

        host = rates(daemon, "host_gpu_copy_engine", direction="one", kind="pinned")
        assert len(host) == 64 and all(near(v, PORT) for v in host.values()), host
        peer = rates(daemon, "gpu_gpu_copy_engine", direction="write")
        assert len(peer) == 56 and near(peer["gpu0", "gpu1"], WIDE) and near(peer["gpu0", "gpu2"], LINK) and near(peer["gpu2", "gpu0"], LINK), peer

        answer = daemon.call(FABRIC + "GetContention")
        assert answer["runs"] and all(s["reproduced"] for s in answer["runs"]), [s for s in answer["runs"] if not s["reproduced"]][:3]
        shared = {s["name"]: s["capacities"] for s in answer["shared"] if s["metric"] == "host_gpu_copy_engine_concurrent"}
        for module in range(4):
            for way in ("in", "out"):
                port = shared[f"module{module}:host-port:{way}"]
                assert len(port) == 1 and near(port[0]["bytes_per_s"], PORT), (module, way, port)
        resources = {r["name"] for r in daemon.call(FABRIC + "GetNode")["resources"] if r["inferred"]}
        assert "module0:host-port:out:host_gpu_copy_engine" in resources, resources

        matrix = berth("--socket", daemon.socket, "matrix", "gpu_gpu_copy_engine")
        assert "standin" in matrix and "direction=write" in matrix and "--where direction=both|read" in matrix and "--size all" in matrix, matrix
        for table, lines in ((matrix, 8), (berth("--socket", daemon.socket, "matrix", "--all", "gpu_gpu_copy_engine"), 8 + 8 + 7)):
            assert sum(line.startswith("  gpu") for line in table.splitlines()) == lines, table
        drawn = shown("--socket", daemon.socket, "topo")[1]
        assert len(drawn) <= 40 and max(map(len, drawn)) <= 80, drawn
        topo = " ".join(berth("--socket", daemon.socket, "topo").split())
        assert "200 GB/s measured 152 GB/s" in topo and len(re.findall(r"xgmi .1 28.3 GB/s (?!nominal)", topo)) == 8, topo
        assert topo.startswith("8 gpus in 4 modules, each at its own L3; slowest pair 37.5 GB/s mi250x (stand-in driver): 8 MI250X of 64 GiB, "), topo

        with tempfile.TemporaryDirectory() as folder:
            berth("--socket", daemon.socket, "record", folder + "/node")
            assert json.loads(pathlib.Path(folder, "node", "node.json").read_text())["origin"] == "standin"
            with Daemon("--node", folder + "/node") as replayed:
                for metric in [m["name"] for m in daemon.call(FABRIC + "ListMetrics")["metrics"]]:
                    assert cells(replayed, metric) == cells(daemon, metric), metric
                    curves = [d.call(FABRIC + "GetCurves", {"metric": metric})["curves"] for d in (daemon, replayed)]
                    assert curves[0] == curves[1], metric
                again = replayed.call(FABRIC + "GetContention")
                assert again["runs"] == answer["runs"] and again["shared"] == answer["shared"]


def a_boot_with_the_defaults():
    """Without configuration beside the probes: every pair has its rates and sizes, cells beyond the
    time limit are skipped with a reason, and every method answers.
    """
    with virtual() as (node, probes), daemon_over(node, probes, config="") as daemon:
        daemon.wait_ready(300)
        ended = [line for line in daemon.said().splitlines() if "berth-probe-gpu: complete, " in line or "berth-probe-gpu: budget, " in line]
        assert len(ended) == 1, daemon.said()
        assert all(word in ended[0].split(" s (")[1].split(")")[0] for word in ("driver 0.25", "open ", "tune ", "rates ", "sets ", "curves ")), ended
        check = daemon.call("io.berth.Health.Check")
        assert check["verdict"] == "healthy" and not check["drain"], check["findings"][:4]
        out_of_time = 0
        for metric in [m["name"] for m in daemon.call(FABRIC + "ListMetrics")["metrics"]]:
            for cell in daemon.call(FABRIC + "GetMatrix", {"metric": metric})["cells"]:
                if cell["source"] == "measured":
                    assert (cell["value"] is None) != (cell["why_not"] is None), cell
                    out_of_time += cell["why_not"] == "time budget"
        assert out_of_time > 0 or " complete, " in ended[0], (ended, out_of_time)
        for metric, count in (("host_gpu_copy_engine", 64), ("gpu_gpu_copy_engine", 56), ("gpu_gpu_kernel", 56)):
            found = rates(daemon, metric, **({"direction": "one", "kind": "pinned"} if metric.startswith("host") else {}))
            assert len(found) == count and all(value > 0 for value in found.values()), (metric, len(found))
        assert daemon.call(FABRIC + "GetContention")["runs"]
        somebody = ["--cpus", "0-63", "--gpus", ",".join(f"gpu{i}" for i in range(8))]  # this machine's own are none of the node's
        for question in (["bind", "-n", "8", "--pattern", "ring", "--bytes", "64M"], ["route", "gpu1", "gpu7", "64M"], ["alloc", "1G", "--by", "gpu0:reads=16G"]):
            said = berth("--socket", daemon.socket, *question, *somebody)
            assert "gpu" in said, (question, said)


def a_call_that_never_returns_costs_its_cell():
    """The next copy between gpus hangs whichever is skipped.

    It is tried three times, and cells without such copies are measured.
    """
    with virtual("fault hipMemcpyPeerAsync 1 * hang\n") as (node, probes), daemon_over(node, probes, "--no-probe", config="gpu_quick_budget_ms = 12000\nprobe_silence_s = 5\n") as daemon:
        last = probed(daemon, metrics=["host_gpu_copy_engine", "gpu_gpu_copy_engine"], places=["gpu0", "gpu1"])
        daemon.wait_ready(60)
        found = findings(daemon)["probe-timeout"]
        assert "printed nothing for 5 s" in found["text"] and "while it measured" in found["text"], found
        assert len([text for text in left_out(last) if "hung" in text]) >= 3, last["skipped"][:9]
        assert daemon.said().count("started again") == 2 and "stuck" not in daemon.said(), daemon.said()


def wrong_bytes_are_found():
    with virtual("path engine * 0 6 wrong\n") as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
        probed(daemon, metrics=["gpu_gpu_copy_engine"], places=["gpu0", "gpu6"])
        daemon.wait_ready(60)
        check = daemon.call("io.berth.Health.Check")
        found = [f for f in check["findings"] if f["code"] == "wrong-bytes"]
        assert check["drain"] and {f["place"] for f in found} == {"gpu0"} and "gpu6" in found[0]["text"], check["findings"][:5]


def shapes_go_back_to_the_probe():
    with virtual() as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
        program = probes / "berth-probe-gpu"
        program.write_text(program.read_text().replace("#!/bin/bash\n", f"#!/bin/bash\nprintf '%s\\n' \"$*\" >> {probes}/started\n"))
        for _ in range(2):
            probed(daemon, metrics=["host_gpu_kernel"], places=["gpu0"])
            daemon.wait_ready(60)
        runs = [line for line in (probes / "started").read_text().splitlines() if "--facts" not in line]
        assert "--shapes" not in runs[0] and "--shapes" in runs[1] and "MI250X" in runs[1].split("--shapes")[1], runs


def which_of_several_ways_is_measured():
    """gpu0 to gpu3 goes over gpu1 or gpu2: the lowest numbers are no guess any more."""
    seen = {}
    for middle in (1, 2):
        with virtual(f"route 0 {middle} 3\n") as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
            probed(daemon, metrics=["gpu_gpu_copy_engine", "gpu_gpu_copy_engine_concurrent", "copy_latency"])
            daemon.wait_ready(60)
            for other in ({"from": 1, "to": 3}, {"from": 0, "to": 2}):
                gpus = sorted({0, 3, other["from"], other["to"]})
                flows = [{"from": gpus.index(a), "to": gpus.index(b), "bytes": 64 << 20} for a, b in ((0, 3), (other["from"], other["to"]))]
                answer = daemon.call("io.berth.Placement.Bind", {"tasks": 3, "flows": flows, "order": "rank", "mechanism": "copy_engine", "allowed": {"cpus": "0-127", "gpus": [f"gpu{g}" for g in gpus]}})
                assert "path-unknown" not in codes(answer, "warnings"), answer["warnings"]
                seen[middle, other["from"]] = answer["predicted"]["time_ns"] / ((64 << 20) / 37.5)
    assert all(abs(ratio / (1.5 if middle == beside + (0 if beside == 1 else 2) else 1) - 1) < 0.05 for (middle, beside), ratio in seen.items()), seen


TESTS = [from_boot_to_answers, a_boot_with_the_defaults, a_call_that_never_returns_costs_its_cell, wrong_bytes_are_found, shapes_go_back_to_the_probe, which_of_several_ways_is_measured]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
