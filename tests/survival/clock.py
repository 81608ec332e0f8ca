"""The wall clock of a daemon jumps: a day, ten years, forward and back, while it serves and while it measures. Nothing crashes, nothing lasts
a negative time, every answer still comes, and what waits for a duration waits as long as ever. Prints TAP."""
import math
import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import RUN, fake_probe, until  # noqa: E402
from survival import Control, Survivor, examine, record, scratch, value  # noqa: E402
from tap import run_tests  # noqa: E402

DAY = 86400
JUMPS = [DAY, -DAY, 3650 * DAY, -3650 * DAY, 1, -1, 0]
# Each run measures one more than the one before it.
LINE = value("memory_latency", "core0", "numa0", 0).replace(":0,", ":'$n',")
SLOW = f"n=$(($(cat $0.count) + 1))\necho $n >$0.count\necho '{RUN}'\nsleep 0.1\necho '{LINE}'\nsleep 0.1\necho '{record(record='end', status='complete', elapsed_ns=5)}'\n"
QUERIES = {
    "io.berth.Fabric.GetStatus": {}, "io.berth.Fabric.GetNode": {}, "io.berth.Fabric.GetMatrix": {"metric": "memory_latency"},
    "io.berth.Fabric.History": {"metric": "memory_latency", "from": "core0", "to": "numa0"},
    "io.berth.Health.Check": {}, "io.berth.Health.ListFindings": {}, "io.berth.Placement.ListClaims": {},
    "io.berth.Placement.Allocate": {"bytes": 1 << 20}, "io.berth.Placement.Bind": {"tasks": 1},
}


def numbers_named(tree, ending):
    """Every number in a reply under a name with this ending."""
    if isinstance(tree, dict):
        for name, item in tree.items():
            if name.endswith(ending) and isinstance(item, (int, float)):
                yield name, item
            yield from numbers_named(item, ending)
    elif isinstance(tree, list):
        for item in tree:
            yield from numbers_named(item, ending)


def assert_sane(connection):
    for method, parameters in QUERIES.items():
        error, reply = connection.call(method, parameters)
        assert error is None, (method, error, reply)
        for ending in ("_ns", "_s"):
            for name, number in numbers_named(reply, ending):
                assert math.isfinite(number) and number >= 0, (method, name, number)


def served(connection):
    return [cell["value"] for cell in connection.call("io.berth.Fabric.GetMatrix", {"metric": "memory_latency"})[1]["cells"]]


def with_clock(test):
    folder = scratch()
    control = Control.at(folder / "control")
    with fake_probe(SLOW) as probes:
        (pathlib.Path(probes) / "berth-probe-cpu.count").write_text("0\n")
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\nprobe_silence_s = 2\n", control=control)
        survivor.start("--no-probe")
        with survivor.connect() as connection:
            test(survivor, control, connection)
            before = served(connection)
        assert survivor.stop() == 0, survivor.said()
        examine(survivor.database, ["SELECT id FROM run WHERE elapsed_ns < 0 OR started_s < 0"])
        survivor.start("--no-probe")
        with survivor.connect() as connection:
            assert_sane(connection)
            assert served(connection) == before, "the next start serves something else"
        assert survivor.stop() == 0
    shutil.rmtree(folder)


def jumps_while_it_serves():
    def test(_survivor, control, connection):
        for jump in JUMPS:
            control.wall_s = jump
            assert_sane(connection)
            assert connection.call("io.berth.Fabric.GetStatus")[1]["state"] == "ready"
    with_clock(test)


def jumps_while_it_measures():
    def test(survivor, control, connection):
        for number, jump in enumerate(JUMPS, 1):
            control.wall_s = jump
            begin = time.monotonic()
            connection.send("io.berth.Health.Probe", {}, more=True)
            replies = [connection.receive()]
            control.wall_s = -jump
            while replies[-1].get("continues"):
                replies.append(connection.receive())
            assert "error" not in replies[-1], (jump, replies[-1])
            for reply in replies:
                for name, number in numbers_named(reply, "_ns"):
                    assert number >= 0, (jump, name, number)
            assert 0.15 < time.monotonic() - begin, "the probe was cut short by the clock"
            assert_sane(connection)
            found = connection.call("io.berth.Health.Check")[1]["findings"]
            assert not [finding for finding in found if finding["code"].startswith("probe-")], (jump, found, survivor.said())
            assert served(connection) == [number], f"after a jump by {jump} s the latest run is not what is served"
    with_clock(test)


def a_silent_probe_is_stopped_after_its_time_whatever_the_clock_says():
    folder = scratch()
    control = Control.at(folder / "control")
    with fake_probe(f"echo '{RUN}'\nexec sleep 60\n") as probes:
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\nprobe_silence_s = 1\n", control=control)
        for jump in (-3650 * DAY, 3650 * DAY):
            control.wall_s = 0
            survivor.start()
            with survivor.connect() as connection:
                begin = time.monotonic()
                assert connection.call("io.berth.Fabric.GetStatus")[1]["state"] == "probing"
                control.wall_s = jump
                assert until(lambda: connection.call("io.berth.Fabric.GetStatus")[1]["state"] == "ready", 20), survivor.said()
                assert 0.5 < time.monotonic() - begin < 15, time.monotonic() - begin
                assert "probe-timeout" in [finding["code"] for finding in connection.call("io.berth.Health.Check")[1]["findings"]]
            assert survivor.stop() == 0
            shutil.rmtree(survivor.state)
            survivor.state.mkdir()
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(run_tests([jumps_while_it_serves, jumps_while_it_measures, a_silent_probe_is_stopped_after_its_time_whatever_the_clock_says]) > 0)
