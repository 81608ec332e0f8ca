"""Tuned launch shapes: Fabric.GetTuning and berth tuning, and when results are tuned anew.

Prints TAP.
"""
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, fake_gpu_probe, fast_clock, GPU_RUN, NODES, started, until  # noqa: E402
from gpu_conditions import AMD, MI250X, put, system_root  # noqa: E402
from gpu_virtual import berth, daemon_over, probed, virtual  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

NUMBERS = ("grid", "block", "unroll", "chunk_bytes", "streams", "threshold_bytes")
DAY = 86400


def tuning(daemon, **asked):
    return daemon.call("io.berth.Fabric.GetTuning", asked)["tunings"]


def one(daemon, *, operation="copy", **asked):
    found = tuning(daemon, operation=operation, **asked)
    assert len(found) == 1, found
    return found[0]


def refusal(daemon, **asked):
    with Connection(daemon.socket) as connection:
        connection.send("io.berth.Fabric.GetTuning", asked)
        reply = connection.receive()
    return reply.get("error", "").rsplit(".", 1)[-1], reply["parameters"].get("parameter") or reply["parameters"].get("place")


def has_its_source(number):
    """A number has its rates and its time, a missing one its reason and nothing else."""
    if number["value"] is None:
        assert number["why_not"] and all(value is None for key, value in number.items() if key != "why_not"), number
        return
    assert number["why_not"] is None and number["by"] in ("kernel", "copy_engine") and number["measured_at_s"] > 0, number
    assert number["low"] <= number["bytes_per_s"] <= number["high"] and number["next_bytes_per_s"] > 0, number
    assert number["from"] and number["to"], number


def what_the_probe_tuned_is_answered():
    """The stand-in's best shapes and its threshold, as the description has them; the recorded node
    says the same.
    """
    with virtual() as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
        before = one(daemon, place="gpu0")
        assert all(before[key]["value"] is None and before[key]["why_not"] for key in NUMBERS) and before["stale"] is None, before
        assert berth("--socket", daemon.socket, "tuning").startswith("no launch shape is tuned for a gpu's own memory yet: berth probe does it\n")
        probed(daemon)
        daemon.wait_ready(100)
        own, peer, host = (one(daemon, place="gpu0", to=to) for to in ("gpu0", "gpu1", "numa3"))
        for found in (own, peer, host):
            for key in NUMBERS:
                has_its_source(found[key])
            assert found["block"]["value"] in (256, 512, 1024) and found["unroll"]["value"] in (1, 2, 4, 8, 12, 16), found
            assert abs(found["block"]["measured_at_s"] - time.time()) < 600 and found["stale"] is None and found["conditions"]["fingerprint"], found
        assert (host["below"], host["above"]) == ("kernel", "copy_engine"), host
        assert 0 < host["certain_below_bytes"] < host["threshold_bytes"]["value"], host
        assert (peer["block"]["from"], peer["block"]["to"]) == ("gpu0", "gpu1") and peer["threshold_bytes"]["value"] is None, peer
        assert peer["below"] == peer["above"] == "kernel" and "faster one" in peer["threshold_bytes"]["why_not"], peer
        far = one(daemon, place="gpu0", to="gpu2")
        assert (far["block"]["from"], far["block"]["to"]) == ("gpu0", "gpu1"), "of all of the model, where it was measured"
        assert "only copies" in one(daemon, place="gpu0", to="gpu1", operation="read")["threshold_bytes"]["why_not"]
        assert len(tuning(daemon)) == 24 and len(tuning(daemon, place="gpu1", to="gpu0")) == 4 and len(tuning(daemon, place="gpu1")) == 3
        # the mechanism that Route takes on either side of the threshold
        for size, mechanism in ((host["certain_below_bytes"] // 2, "kernel"), (2 * host["threshold_bytes"]["value"], "copy_engine")):
            route = daemon.call("io.berth.Placement.Route", {"from": "gpu0", "to": "numa3", "bytes": size, "allowed": {"cpus": "0-127", "gpus": [f"gpu{g}" for g in range(8)]}})
            assert route["options"][0]["segments"][0]["mechanism"] == mechanism, (size, route["options"][0])
        answer = berth("--socket", daemon.socket, "tuning", "gpu0", "numa3")
        assert answer.startswith("gpu0 to numa3: copy by a kernel, from ") and answer.splitlines()[0].endswith(" on by the copy engine"), answer
        assert "gpu0 +7" in berth("--socket", daemon.socket, "tuning")
        why = berth("--socket", daemon.socket, "tuning", "gpu0", "gpu1", "--why")
        assert "timed of gpu0 in gpu1: tuned" in why and "the next best" in why and "no threshold_bytes: a copy engine only copies" in why, why
        with tempfile.TemporaryDirectory() as folder:
            berth("--socket", daemon.socket, "record", folder + "/node")
            with Daemon("--node", folder + "/node") as replayed:
                assert tuning(replayed, place="gpu0", to="numa3") == tuning(daemon, place="gpu0", to="numa3")


def streams_are_of_the_full_profile():
    """Where a copy starts beside another's bytes, several streams are faster."""
    with virtual() as (node, probes), daemon_over(node, probes, "--no-probe", config="full_budget_s = 20\n") as daemon:
        probed(daemon, profile="full", metrics=["copy_streams"], places=["gpu0"])
        daemon.wait_ready(60)
        cells = daemon.call("io.berth.Fabric.GetMatrix", {"metric": "copy_streams"})["cells"]
        assert {cell["axes"]["streams"] for cell in cells} == {"1", "2", "4"} and len(cells) == 3 * 2 * (7 + 1), len(cells)
        for asked, ends in (({"to": "gpu1"}, ("gpu0", "gpu1")), ({"to": "gpu1", "operation": "pull"}, ("gpu1", "gpu0")), ({"to": "numa3"}, ("gpu0", "numa3"))):
            streams = one(daemon, place="gpu0", **asked)["streams"]
            has_its_source(streams)
            rates = {int(cell["axes"]["streams"]): cell["value"] for cell in cells if (cell["from"], cell["to"]) == ends}
            assert (streams["from"], streams["to"], streams["by"]) == (*ends, "copy_engine"), streams
            assert streams["value"] == min(count for count, rate in rates.items() if rate >= 0.99 * max(rates.values())), (streams, rates)
            assert streams["bytes_per_s"] == rates[streams["value"]], (streams, rates)
        assert "full profile" in one(daemon, place="gpu0", to="numa0")["streams"]["why_not"]
        assert "only copies" in one(daemon, place="gpu0", to="gpu1", operation="read")["streams"]["why_not"]


def another_power_cap_is_tuned_anew():
    """The probe keeps the shapes of an earlier run while its limits hold."""
    with system_root(MI250X) as root, virtual() as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
        program = probes / "berth-probe-gpu"
        program.write_text(program.read_text().replace('"$@"', f'--root {root} "$@"').replace("#!/bin/bash\n", f"#!/bin/bash\nprintf '%s\\n' \"$*\" >> {probes}/started\n"))
        seen = []
        for watts in (560, 560, 400):
            put(root, AMD + "hwmon/hwmon3/power1_cap", f"{watts}000000")
            probed(daemon, metrics=["memory_bandwidth"], places=["gpu0"])
            daemon.wait_ready(60)
            seen.append(one(daemon, place="gpu0"))
            time.sleep(1.1)  # times are whole seconds
        at = [found["block"]["measured_at_s"] for found in seen]
        assert at[0] == at[1] < at[2], at
        assert [found["conditions"].get("power_cap_w") for found in seen] == ["560", "560", "400"], seen
        assert seen[0]["conditions"]["clock_max_mhz"] == "1700", seen[0]
        assert "--shapes AMD Instinct MI250X/" in (probes / "started").read_text().splitlines()[-1]


def slower_memory_is_tuned_anew():
    """Drift: the known shape no longer reaches the rate that it was tuned at."""
    with virtual() as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
        description = probes.parent / "description.node"
        at, rates = [], []
        for line in ("", "", "path kernel * gpu own rate=900e9\n"):
            description.write_text(description.read_text() + line)
            probed(daemon, metrics=["memory_bandwidth"], places=["gpu0"])
            daemon.wait_ready(60)
            found = one(daemon, place="gpu0", operation="read")["block"]
            at.append(found["measured_at_s"])
            rates.append(found["bytes_per_s"])
            time.sleep(1.1)
        assert at[0] == at[1] < at[2] and rates[0] == rates[1] > 1.2 * rates[2], (at, rates)


# The driver's files of one GPU, in a file system that only the daemon sees.
NAMESPACE = ("unshare", "-rm", "sh", "-c", """mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia/gpus/0000:10:00.0 &&
printf 'Model: NVIDIA H200\\nDevice Minor: 0\\n' >/proc/driver/nvidia/gpus/0000:10:00.0/information && exec "$@\"""", "sh")


def live_daemon(probes, **more):
    """A daemon of this machine, with a GPU that the driver shows and a scripted probe."""
    if subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0:
        raise LeftOut("the kernel permits no file system of its own")
    return Daemon("--no-probe", config=f"probe_dir = {probes}\n", under=NAMESPACE, **more)


@contextlib.contextmanager
def live(shapes, driver, watts):
    """A folder of probes for such a daemon. Returns it, and a function that replaces driver, power
    cap and shapes.
    """
    with fake_gpu_probe("") as (_, probes):
        def put_probe(driver, watts, shapes):
            facts = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "cuda", "started_at": int(time.time()), "conditions": {"driver": driver}},
                     {"record": "device", "gpu": "gpu0", "vendor": "nvidia", "pci": "0000:10:00.0", "uuid": "GPU-00000000-0000-0000-0000-000000000001", "model": "NVIDIA H200", "bytes": 150754820096,
                      "power_cap_w": watts, "clock_max_mhz": 1980, "processes": 0},
                     {"record": "end", "status": "complete", "elapsed_ns": 5}]
            run = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "cuda", "started_at": int(time.time()), "conditions": {}},
                   {"record": "value", "metric": "memory_bandwidth", "from": "0000:10:00.0", "to": "0000:10:00.0", "value": 4e12, "low": 3.9e12, "high": 4.1e12, "n": 9},
                   {"record": "end", "status": "complete", "elapsed_ns": 5, "conditions": {"shapes": shapes} if shapes else {}}]
            say = lambda records: "".join(f"echo {shlex.quote(json.dumps(record, separators=(',', ':')))}\n" for record in records)
            (probes / "berth-probe-gpu").write_text(f"#!/bin/sh\nif [ \"$1\" = --facts ]; then\n{say(facts)}exit 0\nfi\necho \"$*\" >> {probes.parent}/started\n{say(run)}")
        put_probe(driver, watts, shapes)
        yield probes, put_probe


def shape(driver, watts, at_s, block=256):
    return f"NVIDIA H200/13000@{at_s},{watts}W,1980MHz,{driver},0000:10:00.0>0000:10:00.0: read {block}x0u4 4e+12 3.9e+12 4.1e+12 3.8e+12 write 256x0u4 2e+12 2e+12 2e+12 1.9e+12 copy 256x0u4 1e+12 1e+12 1e+12 9e+11"


def gpu_of(daemon):
    return next(place["name"] for place in daemon.call("io.berth.Fabric.GetNode")["places"] if place["pci"] == "0000:10:00.0")


def probe_once(daemon):
    daemon.call("io.berth.Health.Probe", {"profile": "quick", "metrics": ["memory_bandwidth"], "force": True})
    daemon.wait_ready(60)


def another_driver_makes_it_stale_until_the_next_probe():
    """On this machine, with restarts: the database keeps shapes, and stale ones are not handed on."""
    now = int(time.time())
    with live(shape("580.1", 700, now), "580.1", 700) as (probes, put_probe), contextlib.ExitStack() as daemons:
        daemon = daemons.enter_context(live_daemon(probes))
        daemon.wait_ready()
        gpu = gpu_of(daemon)
        probe_once(daemon)
        found = one(daemon, place=gpu, operation="read")
        assert found["stale"] is None and found["block"]["value"] == 256 and found["conditions"]["driver"] == "580.1", found
        probe_once(daemon)
        assert "--shapes NVIDIA H200/13000@" in started(probes)[-1] and "--tune" not in started(probes)[-1], started(probes)
        for driver, watts, at_s, reason in (("590.2", 700, now, "driver 590.2 has replaced 580.1 since it was tuned"),
                                            ("590.2", 600, now + 1, f"{gpu} may draw 600 W now, 700 W when it was tuned")):
            assert daemon.stop()[0] == 0
            put_probe(driver, watts, shape(driver, watts, at_s, 512))
            daemon = daemons.enter_context(live_daemon(probes, directory=daemon.directory))
            daemon.wait_ready()
            until(lambda: one(daemon, place=gpu, operation="read")["stale"] == reason)  # when the driver has answered
            assert one(daemon, place=gpu, operation="read")["block"]["bytes_per_s"] == 4e12
            assert f"stale: {reason}; the next probe tunes anew" in " ".join(berth("--socket", daemon.socket, "tuning", gpu).split())
            probe_once(daemon)
            assert started(probes)[-1].endswith(" --tune"), started(probes)
            found = one(daemon, place=gpu, operation="read")
            assert found["stale"] is None and found["block"]["value"] == 512 and found["conditions"]["power_cap_w"] == str(watts), found


def an_old_result_is_tuned_anew():
    """A week holds; a result without a time is of unknown age."""
    now = int(time.time())
    for text, reason in ((shape("580.1", 700, now - 6 * DAY), None), (shape("580.1", 700, now - 8 * DAY), "it was tuned more than 7 days ago"),
                         ("NVIDIA H200/13000: read 256x0u4 write 256x0u4 copy 256x0u4", "it is not known when it was tuned")):
        with live(text, "580.1", 700) as (probes, _), live_daemon(probes) as daemon:
            daemon.wait_ready()
            for _ in range(2):
                probe_once(daemon)
            assert one(daemon, place=gpu_of(daemon))["stale"] == reason
            assert ("--tune" not in started(probes)[-1]) == (reason is None), (reason, started(probes))


def idle_hours_tune_anew():
    """In the background one metric at a time, for which its budget has the time."""
    model = "AMD Instinct MI250X"
    script = f"""
metrics=host_gpu_kernel,memory_bandwidth tune= at=$(($(date +%s) - {8 * DAY}))
places="gpu0 gpu1"
while [ $# -gt 0 ]; do
    case $1 in
    --metrics) metrics=$2 ;;
    --places) places=$2 ;;
    --tune) tune=1 ;;
    esac
    shift
done
[ -z "$tune" ] || at=$(date +%s)
own="{model}/1@$at: read 256x0u4 write 256x0u4 copy 256x0u4"
host="{model}/1@$at: host-read 256x0u4 host-write 256x0u4 host-copy 256x0u4"
case $tune$metrics in
1memory_bandwidth) shapes=$own ;;
1host_gpu_kernel) shapes=$host ;;
1*) shapes= ;;
*) shapes="$own; $host" ;;
esac
echo '{GPU_RUN}'
for place in $places; do
    case $metrics in *host_gpu_kernel*) echo '{{"record":"value","metric":"host_gpu_kernel","from":"numa3","to":"'$place'","value":2e10,"low":1.9e10,"high":2.1e10,"n":9}}' ;; esac
    case $metrics in *memory_bandwidth*) echo '{{"record":"value","metric":"memory_bandwidth","from":"'$place'","to":"'$place'","value":1e12,"low":9e11,"high":1.1e12,"n":9}}' ;; esac
done
echo '{{"record":"end","status":"complete","elapsed_ns":5,"conditions":{{"shapes":"'"$shapes"'"}}}}'
"""
    with fake_gpu_probe(script) as (node, probes), Daemon("--node", node, config=f"probe_dir = {probes}\nduty_percent = 0.1\n", environment=fast_clock(20000)) as daemon:
        daemon.wait_ready()
        stale = lambda: [one(daemon, place="gpu0", **to)["stale"] for to in ({}, {"to": "numa3"})]
        assert stale() == ["it was tuned more than 7 days ago"] * 2, stale()
        assert until(lambda: stale() == [None, None], 60), (daemon.said(), started(probes))
        runs = [line for line in started(probes) if "--places" in line]
        pci = next(place["pci"] for place in daemon.call("io.berth.Fabric.GetNode")["places"] if place["name"] == "gpu0")
        anew = [line for line in runs if f"--places {pci} " in line and "--tune" in line]
        assert len(anew) == 2 and all("--budget-ns 2400000000 " in line and "," not in line.split("--metrics ")[1].split()[0] for line in anew), runs
        assert until(lambda: started(probes)[-1].count("--tune") == 0, 60), started(probes)


def a_probes_own_record_has_them_at_its_end():
    """A node folder whose measurements are what the probe printed."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "node"
        shutil.copytree(NODES / "h200x4", folder)
        lines = [{"record": "run", "schema": 1, "probe": "gpu", "backend": "cuda", "started_at": 1790000000, "conditions": {}},
                 {"record": "end", "status": "complete", "elapsed_ns": 5, "conditions": {"shapes": shape("580.1", 700, 1790000000)}}]
        (folder / "measurements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        with Daemon("--node", folder) as daemon:
            found = one(daemon, place="gpu2", operation="read")
            assert found["block"]["value"] == 256 and found["block"]["bytes_per_s"] == 4e12 and found["block"]["measured_at_s"] == 1790000000, found
            assert found["block"]["from"] is None, "no gpu of this node has that address"
            assert found["stale"] == "driver 580.159.04 has replaced 580.1 since it was tuned", "age alone is none of a recorded node's"


def wrong_questions_are_refused():
    with Daemon("--node", NODES / "h200x4") as daemon:
        for asked, expected in (({"place": "gpu9"}, ("NoSuchPlace", "gpu9")), ({"place": "numa0"}, ("InvalidParameter", "place")),
                                ({"place": "gpu0", "to": "core0"}, ("InvalidParameter", "to")), ({"place": "gpu0", "to": "gpu77"}, ("NoSuchPlace", "gpu77")),
                                ({"to": "gpu0"}, ("InvalidParameter", "to")), ({"place": "gpu0", "operation": "pull"}, ("InvalidParameter", "operation")),
                                ({"operation": "mix"}, ("InvalidParameter", "operation")), ({"place": ""}, ("NoSuchPlace", '""')),
                                ({"place": 7}, ("InvalidParameter", "place")), ({"place": "x" * 100000}, None)):
            seen = refusal(daemon, **asked)
            assert seen == expected if expected else seen[0] == "NoSuchPlace", (str(asked)[:80], seen)
        assert refusal(daemon, operation="pull") == ("InvalidParameter", "operation"), "a gpu's own memory has no pull"
        none = subprocess.run([BIN / "berth", "--socket", daemon.socket, "tuning", "numa0"], capture_output=True, text=True, timeout=60)
        assert none.returncode == 64 and none.stderr.count("\n") == 1 and "numa0 is no gpu" in none.stderr, none
    with Daemon("--node", NODES / "epyc-2s") as daemon:
        assert tuning(daemon) == []
        assert berth("--socket", daemon.socket, "tuning").startswith("no gpu, so nothing to tune\n")


def hostile_shapes_are_no_answer():
    """Any text may stand in the record of a run."""
    hostile = ["", "; ; ;", ":", ": ", "/: read", "NVIDIA H200/", "NVIDIA H200/1@9999999999999999999: read 1x1u1", "NVIDIA H200/1@-5,W,MHz,>,>>: read 0x0u0",
               "NVIDIA H200/1: read 4294967296x1u1", "NVIDIA H200/1: read 99999x9999999u99 nan inf -1 1e999", "NVIDIA H200/1: read 256x0u4 4e12 5e12 3e12 1",
               "NVIDIA H200/1@5,\U0001f600,\x01: read 256x0u4", "NVIDIA H200/1: " + "read 256x0u4 " * 4000, "NVIDIA H200/1: read 256x0u4; " * 2000, "x/1: read 256x0u4; " * 3000]
    for text in hostile:
        with live(text, "580.1", 700) as (probes, _), live_daemon(probes) as daemon:
            daemon.wait_ready()
            gpu = gpu_of(daemon)
            for _ in range(2):
                probe_once(daemon)
            for found in tuning(daemon, place=gpu):
                for key in ("low", "bytes_per_s", "high", "next_bytes_per_s"):
                    assert found["block"][key] is None or 0 < found["block"][key] < 1e300, (text[:60], found["block"])
            assert daemon.stop()[0] == 0


TESTS = [what_the_probe_tuned_is_answered, streams_are_of_the_full_profile, another_power_cap_is_tuned_anew, slower_memory_is_tuned_anew, another_driver_makes_it_stale_until_the_next_probe,
         an_old_result_is_tuned_anew, idle_hours_tune_anew, a_probes_own_record_has_them_at_its_end, wrong_questions_are_refused, hostile_shapes_are_no_answer]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, at_once=2) > 0)
