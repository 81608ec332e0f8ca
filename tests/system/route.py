"""Known best routes on virtual and recorded nodes, asked over a socket. Prints TAP."""
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
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from berthd import BIN, Daemon, NODES  # noqa: E402
from reasons import codes, texts  # noqa: E402
from gpu_virtual import berth, daemon_over, virtual  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import call  # noqa: E402

ROUTE = "io.berth.Placement.Route"
GIB = 1 << 30
METRICS = ",".join(name + more for name in ("gpu_gpu_copy_engine", "gpu_gpu_kernel", "host_gpu_copy_engine", "host_gpu_kernel") for more in ("", "_concurrent"))


@contextlib.contextmanager
def measured(name, profile="quick"):
    """A daemon over the node folder of that name, with measurements of the GPU probe on the virtual
    node.
    """
    with tempfile.TemporaryDirectory(prefix="berth-route-") as folder:
        node = pathlib.Path(folder) / name
        shutil.copytree(NODES / name, node)
        about = json.loads((node / "node.json").read_text())
        runner = pathlib.Path(__file__).resolve().parent.parent / "standin" / "run.sh"
        with open(node / "measured.jsonl", "w", encoding="utf-8") as record:
            subprocess.run([runner, name, BIN / "berth-probe-gpu", "--metrics", METRICS, "--profile", profile, "--budget-ns", "60000000000" if profile == "full" else "12000000000"], stdout=record, check=True, timeout=300, env=os.environ)
        (node / "node.json").write_text(json.dumps({**about, "origin": "standin", "measurements": "measured.jsonl"}))
        with Daemon("--node", node) as daemon:
            yield daemon


def ask(daemon, start, target, size=GIB, **more):
    return daemon.call(ROUTE, {"from": start, "to": target, "bytes": size, **more})


def refused(daemon, error, words, start, target, size=GIB, **more):
    got, parameters = call(daemon.socket, ROUTE, {"from": start, "to": target, "bytes": size, **more})
    assert got is not None and got.rsplit(".", 1)[1] == error and words in json.dumps(parameters), (got, parameters)
    return parameters


def rate(option, size=GIB):
    return size / option["predicted"]["time_ns"]


def near(value, expected, share=0.03):
    return abs(value / expected - 1) <= share


def single(answer, mechanism, via=()):
    """The option that sends all bytes that way."""
    found = [o for o in answer["options"] if [(s["mechanism"], tuple(s["via"])) for s in o["segments"]] == [(mechanism, tuple(via))]]
    assert len(found) == 1, (mechanism, via, answer["options"])
    return found[0]


def is_sound(answer):
    times = [o["predicted"]["time_ns"] for o in answer["options"]]
    direct = [o["predicted"]["time_ns"] for o in answer["options"] if [s["via"] for s in o["segments"]] == [[]]]
    assert times[1:] == sorted(times[1:]) and times[0] <= min(direct) and texts(answer, "reasons"), answer
    for option in answer["options"]:
        assert near(sum(s["fraction"] for s in option["segments"]), 1, 1e-6) and option["call"] and option["evidence"], option


def on_mi250x_from_boot():
    with virtual() as (node, probes), daemon_over(node, probes) as daemon:
        daemon.wait_ready(300)
        answer = ask(daemon, "gpu1", "gpu7")
        is_sound(answer)
        # 1-0-6-7 has two links or more everywhere, 1-3-7 is shorter and has one
        assert near(rate(single(answer, "kernel")), 76), answer["options"]
        assert near(rate(single(answer, "copy_engine")), 50), answer["options"]

        answer = ask(daemon, "gpu0", "gpu1")
        is_sound(answer)
        kernel, engine = single(answer, "kernel"), single(answer, "copy_engine")
        assert near(rate(kernel), 152) and kernel["environment"] == {"HSA_ENABLE_PEER_SDMA": "0"} and kernel["needs_restart"], kernel
        assert "threads" in kernel["call"] and "blocks" in kernel["call"], kernel["call"]  # what the probe tuned
        assert near(rate(engine), 50) and engine["environment"] == {"HSA_ENABLE_PEER_SDMA": "1"} and not engine["needs_restart"], engine
        # the daemon has kernels over two paths and more measured together, so that they lead
        split = answer["options"][0]
        assert len(split["segments"]) > 1 and split["may_lead"] and 180 < rate(split) < 152 + 2 * 38, split
        # others were not: they stand behind, with what measures them, unless the request allows them
        unmeasured = [option for option in answer["options"] if rate(option) > rate(split)]
        assert unmeasured and not any(option["may_lead"] for option in unmeasured) and "not-measured-together" in codes(answer, "reasons"), answer
        assert all(option["worth_measuring"] == "berth probe --full gpu_gpu_kernel_concurrent" for option in unmeasured), unmeasured
        any_of_all = ask(daemon, "gpu0", "gpu1", allow_unmeasured=True)["options"][0]
        assert rate(any_of_all) >= 0.99 * max(map(rate, unmeasured)) and any_of_all["may_lead"], any_of_all
        # From one memory over the ports of other modules, which that memory does not carry
        host = ask(daemon, "numa3", "gpu0")["options"]
        assert len(host[0]["segments"]) == 1 and near(rate(host[0]), 28.3) and "host_gpu_copy_engine_concurrent" in host[1]["worth_measuring"], host

        small = ask(daemon, "gpu0", "gpu1", 16384)
        is_sound(small)
        assert len(small["options"][0]["segments"]) == 1 and small["options"][0]["segments"][0]["via"] == [], small["options"][0]

        free = ask(daemon, "gpu0", "gpu1", overlap=True)
        assert all(s["mechanism"] in ("copy_engine", "host") for o in free["options"] for s in o["segments"]), free["options"]
        assert any("get 50 GB/s from gpu0 to gpu1; a kernel gets 152 GB/s" in line for line in texts(free, "warnings")), texts(free, "warnings")

        alone = single(ask(daemon, "gpu4", "numa0"), "copy_engine")
        beside = ask(daemon, "gpu4", "numa0", concurrent=[{"from": "gpu5", "to": "numa0", "bytes": GIB}])
        shared = single(beside, "copy_engine")
        assert near(shared["predicted"]["time_ns"] / alone["predicted"]["time_ns"], 2) and shared["predicted"]["bottleneck"] == "module2:host-port:out", shared
        assert beside["crossovers"] == [] and beside["b80_bytes"] is None
        apart = ask(daemon, "gpu4", "numa0", concurrent=[{"from": "gpu0", "to": "numa3", "bytes": GIB}])
        assert near(single(apart, "copy_engine")["predicted"]["time_ns"] / alone["predicted"]["time_ns"], 1), apart["options"]

        only = ask(daemon, "gpu0", "gpu1", allowed={"gpus": ["gpu0", "gpu1"], "memory": ["numa3"]})
        assert all(place == "numa3" for o in only["options"] for s in o["segments"] for place in s["via"]), only["options"]
        refused(daemon, "NothingAllowed", "gpu0, gpu1", "gpu0", "gpu2", allowed={"gpus": ["gpu0", "gpu1"]})
        refused(daemon, "NothingAllowed", "none", "gpu0", "gpu2", allowed={"gpus": []})
        assert refused(daemon, "NotEnough", "gpu0", "gpu0", "gpu1", 1 << 62)["available"] == 64 * GIB
        refused(daemon, "InvalidParameter", "already", "gpu0", "gpu0")
        refused(daemon, "NoSuchPlace", "gpu8", "gpu0", "gpu8")

        out = berth("--socket", daemon.socket, "route", "gpu0", "gpu1", "4M", "--why", "--gpus", ",".join(f"gpu{i}" for i in range(8)))
        assert "HSA_ENABLE_PEER_SDMA=0" in out and "In a program that runs already" in out and "gpu0 to gpu1 by kernel gets 152 GB/s alone (measured)" in out, out
        every = ("--gpus", ",".join(f"gpu{i}" for i in range(8)))
        out = berth("--socket", daemon.socket, "route", "gpu0", "gpu1", "256M", *every)
        assert "so it does not lead\nworth measuring: berth probe --full gpu_gpu_kernel_concurrent\n" in out.replace("\n  ", " "), out
        assert "worth measuring" not in berth("--socket", daemon.socket, "route", "gpu0", "gpu1", "256M", "--allow-unmeasured", *every)


def on_gh200():
    with measured("gh200-quad", "full") as daemon:
        answer = ask(daemon, "numa0", "gpu1")
        is_sound(answer)
        # the way over C2C and NVLink is longer than that between the processors, and wider
        assert near(rate(single(answer, "copy_engine", ["gpu0"])), 128, 0.05) and near(rate(single(answer, "copy_engine")), 90), answer["options"]
        assert any(segment["via"] == ["gpu0"] for segment in answer["options"][0]["segments"]), answer["options"][0]
        near_one = ask(daemon, "numa0", "gpu0")
        assert near(rate(single(near_one, "copy_engine")), 346) and rate(near_one["options"][0]) > 346, near_one["options"][0]
        peers = ask(daemon, "gpu0", "gpu1", allow_unmeasured=True)
        is_sound(peers)
        # three ways over NVLink, none of which shares a link with another, and one over C2C
        best = peers["options"][0]
        assert sorted(s["via"] for s in best["segments"] if s["mechanism"] != "host") == [[], ["gpu2"], ["gpu3"]] and rate(best) > 2.7 * rate(single(peers, "copy_engine")), best
        assert all(o["environment"] == {} and not o["needs_restart"] for a in (answer, near_one, peers) for o in a["options"])
        assert not any("numa4" in s["via"] or "numa12" in s["via"] for o in peers["options"] for s in o["segments"])  # those are gpus' own


def on_mi300a():
    with measured("mi300a") as daemon:
        answer = ask(daemon, "gpu0", "gpu1")
        is_sound(answer)
        kernel = single(answer, "kernel")
        assert near(rate(kernel), 102.4, 0.05) and near(rate(single(answer, "copy_engine")), 90), answer["options"]
        assert kernel["needs_restart"] and kernel["environment"] == {"HSA_ENABLE_PEER_SDMA": "0"}, kernel
        free = ask(daemon, "gpu0", "gpu1", overlap=True)
        assert "engines-stop" in codes(free, "warnings"), texts(free, "warnings")


def on_h200():
    with measured("h200x4") as daemon:
        times = set()
        for start in range(4):
            for target in range(4):
                if start != target:
                    answer = ask(daemon, f"gpu{start}", f"gpu{target}")
                    is_sound(answer)
                    best = answer["options"][0]
                    assert [s["mechanism"] for s in best["segments"]] == ["copy_engine"] and best["environment"] == {} and near(rate(best), 396.4), best
                    times.add(best["predicted"]["time_ns"])
        assert max(times) / min(times) < 1.01  # four gpus on NVSwitch are alike
        both = ask(daemon, "gpu0", "gpu1", both_directions=True)["options"][0]
        assert near(rate(both), 389, 0.03), both


def what_a_kernel_has_of_a_reconstructed_mi250x():
    with Daemon("--node", NODES / "mi250x") as daemon:
        for gpus in (range(8), range(2)):
            free = ask(daemon, "gpu0", "gpu1", overlap=True, allowed={"gpus": [f"gpu{g}" for g in gpus]})
            assert any("get 50 GB/s from gpu0 to gpu1; a kernel gets 150 GB/s" in line for line in texts(free, "warnings")), texts(free, "warnings")
            assert any(e["metric"] == "gpu_gpu_kernel" and e["source"] == "nominal" for e in free["options"][0]["evidence"]), free["options"][0]["evidence"]
        beside = ask(daemon, "gpu0", "gpu1", 1 << 28, concurrent=[{"from": "gpu0", "to": "gpu2", "bytes": 1 << 28}])
        alone = single(ask(daemon, "gpu0", "gpu1", 1 << 28), "kernel")["predicted"]
        shared = single(beside, "kernel")["predicted"]
        assert near(shared["time_ns"] / alone["time_ns"], 1) and (shared["bottleneck"], alone["bottleneck"]) == (None, None), (shared, alone)


def what_was_published_goes_before_links():
    """The reconstructed MI250X has published copies by engine.

    Link rates and paths without common measurements do not precede them, and a command names the
    missing measurement.
    """
    with Daemon("--node", NODES / "mi250x") as daemon:
        for target, gb_per_s, command, perhaps in (("gpu7", 50, "berth probe gpu_gpu_kernel", 75),
                                                   ("gpu2", 37.5, "berth probe --full gpu_gpu_copy_engine gpu_gpu_copy_engine_concurrent", 81.8)):
            first, *others = ask(daemon, "gpu0", target, 64 << 20)["options"]
            assert [(s["mechanism"], s["via"]) for s in first["segments"]] == [("copy_engine", [])] and near(rate(first, 64 << 20), gb_per_s) and first["evidence"][0]["source"] == "published", first
            assert first["may_lead"] and first["worth_measuring"] is None, first
            assert first["predicted"]["low_ns"] is None and first["predicted"]["high_ns"] is None, first  # a published range is no 95 % interval
            faster = [option for option in others if option["predicted"]["time_ns"] < first["predicted"]["time_ns"]]
            assert all(option["worth_measuring"] and not option["may_lead"] for option in faster), faster
            found = next(option for option in faster if option["worth_measuring"] == command)
            assert near(rate(found, 64 << 20), perhaps, 0.005), found


def what_two_ports_take_as_carried_out():
    """On two recorded H100 a split leads where it took less than one copy; its call says how."""
    copy, peer = "cudaMemcpyAsync on a stream of gpu1", "cudaMemcpyPeerAsync on another stream of"
    ways = (("gpu0", "numa0", f"{peer} gpu0, then {copy}"),
            ("numa0", "gpu0", f"{copy}, then {peer} gpu1"))
    with Daemon("--node", NODES / "h100x2") as daemon:
        for start, target, copies in ways:
            for kib, segments in ((1024, 1), (1536, 2)):
                first = ask(daemon, start, target, kib << 10)["options"][0]
                assert len(first["segments"]) == segments, first
            answer = ask(daemon, start, target, 16 << 20)
            first = answer["options"][0]
            assert f"{copies}; each hop waits for an event" in first["call"], first["call"]
            assert first["predicted"]["source"] == "measured", first
            assert "split-buffers" in codes(answer, "warnings"), answer


def on_recorded_nodes():
    what_was_published_goes_before_links()
    what_two_ports_take_as_carried_out()
    with Daemon("--node", NODES / "h200x4-hand") as daemon:  # one curve, of the one pair
        answer = ask(daemon, "gpu0", "gpu1")
        is_sound(answer)
        assert near(answer["options"][0]["predicted"]["time_ns"], 2.71e6, 0.01), answer["options"][0]
    with Daemon("--node", NODES / "h200x4") as daemon:
        times = []
        for start, target in [(a, b) for a in range(4) for b in range(4) if a != b]:
            options = ask(daemon, f"gpu{start}", f"gpu{target}")["options"]
            single = [option["predicted"]["time_ns"] for option in options if len(option["segments"]) == 1]
            assert [s["mechanism"] for s in options[0]["segments"]] == ["copy_engine"] and single == sorted(single), options
            times.append(single[0])
        assert near(max(times), 2.745e6, 0.01) and max(times) / min(times) < 1.02, times  # the pairs differ by what a measurement does
    what_a_kernel_has_of_a_reconstructed_mi250x()
    shared = NODES.parent.parent.parent / "shared" / "nodes"
    for name in ("gh200-alps-quad", "mi300a-tuolumne", "mi250x-frontier", "h200x4-nvswitch"):
        if not (shared / name).is_dir():
            continue
        with Daemon("--node", shared / name) as daemon:
            error, answer = call(daemon.socket, ROUTE, {"from": "gpu0", "to": "numa0", "bytes": GIB})
            if error is None:  # a time, which says what it is not
                assert answer["options"][0]["predicted"]["time_ns"] > 0 and texts(answer, "warnings"), (name, answer)
            else:
                assert error.endswith("NotMeasured") and (answer["from"], answer["to"]) == ("gpu0", "numa0"), (name, error, answer)


if __name__ == "__main__":
    sys.exit(run_tests([on_mi250x_from_boot, on_gh200, on_mi300a, on_h200, on_recorded_nodes]) > 0)
