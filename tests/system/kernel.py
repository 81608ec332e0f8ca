"""Fabric.PredictKernel and berth kernel: the streaming paper's own figures, a recorded node, and refusals.

Prints TAP.
"""
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES, Daemon  # noqa: E402
from screen import shown  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

METHOD = "io.berth.Fabric.PredictKernel"
# N. Chalmers and T. Warburton, "Portable high-order finite element kernels I: Streaming Operations", Table 3: T0 in us and
# Wmax in GB/s of BS1 to BS7, and the points of 80 % that section 6.2 prints, in MiB.
GPUS = ("Radeon VII", "Titan V", "MI60", "V100")
TABLE = {
    "bs1": ((8.87, 870), (2.49, 601), (7.95, 846), (2.90, 811)),
    "bs2": ((9.09, 836), (2.71, 620), (8.73, 821), (2.88, 846)),
    "bs3": ((17.73, 796), (5.24, 619), (16.99, 843), (7.62, 809)),
    "bs4": ((17.62, 747), (5.96, 639), (16.69, 831), (7.23, 879)),
    "bs5": ((13.70, 741), (5.07, 608), (18.35, 810), (5.56, 810)),
    "bs6": ((12.97, 765), (5.32, 595), (15.32, 724), (6.00, 769)),
    "bs7": ((9.08, 778), (1.77, 563), (14.19, 735), (3.70, 787)),
}
PRINTED = {("V100", "bs3"): (24, 3.16e6), ("MI60", "bs3"): (55.9, 7.33e6)}
VECTORS = {"bs1": 2, "bs2": 3, "bs3": 1, "bs4": 2, "bs5": 6}


def near(a, b, share=1e-9):
    return abs(a / b - 1) <= share


def paper_node(folder):
    """A node whose first gpus have the paper's figures."""
    node = pathlib.Path(folder) / "paper"
    shutil.copytree(NODES / "mi250x", node)
    lines = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "hip", "started_at": 0, "source": "published", "conditions": {}}]
    for test, row in TABLE.items():
        for number, (t0_us, wmax) in enumerate(row):
            ends = {"record": "value", "from": f"gpu{number}", "to": f"gpu{number}"}
            lines.append({**ends, "metric": "gpu_stream", "axes": {"test": test}, "value": wmax * 1e9})
            lines.append({**ends, "metric": "transfer_overhead", "axes": {"metric": "gpu_stream", "test": test, "clock": "queue"}, "value": t0_us * 1e3})
    # Not of the paper: elements of degree 1, 64 bytes of values each.
    lines.append({"record": "value", "from": "gpu3", "to": "gpu3", "metric": "gpu_stream", "axes": {"test": "bs7", "degree": "1"}, "value": 500e9})
    lines.append({"record": "end", "status": "complete", "elapsed_ns": 1})
    (node / "measurements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return node


def the_paper_s_figures():
    with tempfile.TemporaryDirectory() as folder, Daemon("--node", paper_node(folder)) as daemon:
        points = 0
        for test, row in TABLE.items():
            for number, (t0_us, wmax) in enumerate(row):
                for dofs in (1000, 10**6, 10**9):
                    reply = daemon.call(METHOD, {"place": f"gpu{number}", "test": test, "dofs": dofs})
                    queued = reply["queued"]
                    if test in VECTORS:
                        assert reply["bytes"] == VECTORS[test] * 8 * dofs, reply
                    assert near(queued["time_ns"], t0_us * 1e3 + reply["bytes"] / wmax, 1e-6), reply
                    assert near(queued["t0_ns"], t0_us * 1e3) and near(reply["wmax_bytes_per_s"], wmax * 1e9) and near(queued["b80_bytes"], 4 * t0_us * wmax * 1e3, 1e-6), reply
                    assert reply["source"] == "published" and queued["low_ns"] is None and queued["high_ns"] is None and reply["called"] is None and reply["measured_at_s"] is None, reply
                if (GPUS[number], test) in PRINTED:
                    mib, doubles = PRINTED[GPUS[number], test]
                    assert near(queued["b80_bytes"], mib * 2**20, 0.03) and near(queued["b80_bytes"] / 8, doubles, 0.03), (test, number, queued)
                    points += 1
        assert points == 2
        reply = daemon.call(METHOD, {"place": "gpu3", "test": "bs7", "degree": 1, "dofs": 11**3})
        assert reply["bytes"] == 10**3 * 8 * 12 + 11**3 * 12 + 4 and reply["wmax_bytes_per_s"] == 500e9, reply
        ended, lines = shown("--socket", daemon.socket, "kernel", "gpu3", "bs7", "--degree", "1", "--dofs", "8")
        assert ended == 0 and lines[0].startswith("gpu3: ") and " 196 B by bs7 (scatter)" in lines[0], lines
        ended, lines = shown("--socket", daemon.socket, "kernel", "gpu3", "bs6", "--degree", "15", "--dofs", "4096")
        assert ended == 75 and " ".join(line.strip() for line in lines) == "berth: bs6 of degree 15 was not measured on gpu3: berth probe --full gpu_stream", (ended, lines)
        ended, lines = shown("--socket", daemon.socket, "kernel", "gpu3", "bs1", "--dofs", "1e6")
        assert ended == 0 and lines[0].startswith("gpu3: 22.6") and "By published figures, not measured here." in lines, lines


def a_measured_gpu():
    """The curve's time and starts; a kernel of one's own takes the test with the nearest writes."""
    with Daemon("--node", NODES / "h200x1") as daemon:
        for test in TABLE:
            curve, = daemon.call("io.berth.Fabric.GetCurves", {"metric": "gpu_stream", "where": {"test": test}})["curves"]
            reply = daemon.call(METHOD, {"place": "gpu0", "test": test, "dofs": 10**8})
            piece = [piece for piece in curve["pieces"] if piece["from_bytes"] <= reply["bytes"]][-1]
            queued, called = reply["queued"], reply["called"]
            assert near(queued["time_ns"], piece["t0_ns"] + reply["bytes"] / piece["bytes_per_s"] * 1e9, 1e-6), (reply, curve)
            assert queued["low_ns"] < queued["time_ns"] < queued["high_ns"] and called["time_ns"] > queued["time_ns"] and reply["source"] == "measured", reply
            assert near(queued["t0_ns"], curve["t0_queue_ns"]) and near(called["t0_ns"], curve["t0_call_ns"]) and near(called["b80_bytes"], curve["b80_bytes"], 1e-6), reply
        for reads, writes, test in ((1 << 30, 0, "bs3"), (1 << 29, 1 << 29, "bs1"), (2 << 28, 1 << 28, "bs2"), (0, 1 << 30, "bs1")):
            reply = daemon.call(METHOD, {"place": "gpu0", "reads_bytes": reads, "writes_bytes": writes, "flops": 10**9})
            same = daemon.call(METHOD, {"place": "gpu0", "test": test, "reads_bytes": reads, "writes_bytes": writes})
            assert reply["test"] == test and reply["bytes"] == reads + writes and reply["source"] == "similar_pair" and reply["queued"]["low_ns"] is None, reply
            assert reply["queued"]["time_ns"] == same["queued"]["time_ns"] and same["source"] == "measured" and same["flops_per_s"] is None, same
            assert near(reply["flops_per_s"], 1e18 / reply["queued"]["time_ns"]), reply


def refusals():
    with Daemon("--node", NODES / "h200x1") as daemon, Connection(daemon.socket) as connection:
        for asked, parameter in (({}, "test"), ({"test": "bs1"}, "dofs"), ({"dofs": 5}, "dofs"), ({"test": "bs8", "dofs": 5}, "test"), ({"test": "bs1", "dofs": 0}, "dofs"),
                                 ({"test": "bs6", "dofs": 511}, "dofs"), ({"test": "bs6", "degree": 3, "dofs": 63}, "dofs"), ({"test": "bs6", "degree": 16, "dofs": 9999}, "degree"),
                                 ({"test": "bs5", "degree": 7, "dofs": 9999}, "degree"), ({"degree": 7, "reads_bytes": 5}, "degree"), ({"test": "bs1", "dofs": 5, "reads_bytes": 5}, "dofs"), ({"reads_bytes": -1}, "reads_bytes"),
                                 ({"reads_bytes": 0, "writes_bytes": 0}, "test"), ({"reads_bytes": 1, "flops": 0}, "flops"), ({"place": "numa0", "test": "bs1", "dofs": 5}, "place")):
            error, reply = connection.call(METHOD, {"place": "gpu0", **asked})
            assert error == "org.varlink.service.InvalidParameter" and reply["parameter"] == parameter, (asked, error, reply)
        error, reply = connection.call(METHOD, {"place": "gpu9", "test": "bs1", "dofs": 5})
        assert error == "io.berth.Fabric.NoSuchPlace", (error, reply)
        ended, lines = shown("--socket", daemon.socket, "kernel", "gpu0", "--dofs", "1.5")
        assert ended == 64 and "not 1.5" in " ".join(line.strip() for line in lines), (ended, lines)
    with Daemon("--node", NODES / "h100x2") as daemon, Connection(daemon.socket) as connection:  # the quick profile has bs1 alone
        error, reply = connection.call(METHOD, {"place": "gpu0", "test": "bs2", "dofs": 5})
        assert error == "io.berth.Fabric.NotMeasured" and reply["metric"] == "gpu_stream" and "berth probe --full gpu_stream" in reply["detail"], (error, reply)
        assert connection.call(METHOD, {"place": "gpu0", "reads_bytes": 1 << 20})[1]["test"] == "bs1"
        ended, lines = shown("--socket", daemon.socket, "kernel", "gpu0", "bs2", "--dofs", "5")
        assert ended == 75 and lines == ["berth: bs2 was not measured on gpu0: berth probe --full gpu_stream"], (ended, lines)


if __name__ == "__main__":
    sys.exit(run_tests([the_paper_s_figures, a_measured_gpu, refusals]) > 0)
