"""Thirty days of hourly measurements under a clock that the test moves, with questions in between: the daemon does not grow. Values are kept for
a week and daily medians for three, so that both have been taken away many times by the end. BERTH_DAYS=400 for longer. Prints TAP."""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, RUN, fake_probe  # noqa: E402
from survival import Control, Survivor, examine, record, run_tap, scratch, value  # noqa: E402

# What old measurements become is configured since they are taken away.
KEEP = "history_days = 7\ndaily_days = 20\n" if b"history_days" in subprocess.run([BIN / "berthd", "--check-config"], capture_output=True, check=True).stdout else ""
DAYS = int(os.environ.get("BERTH_DAYS", 30))
HOUR_S = 3600
VALUES = 40
# An hour's values are its number and a little: they drift, and no two runs are alike.
PROBE = f"echo '{RUN}'\nn=$(($(cat $0.count) + 1))\necho $n >$0.count\nexec sed s/NUMBER/$((1000 + n % 7))/g $0.lines\n"
LINES = "".join(value("memory_latency", "core0", "numa0", 0, bytes=1000 + i).replace(":0,", ":NUMBER,") + "\n" for i in range(VALUES)) + \
    record(record="end", status="complete", elapsed_ns=5) + "\n"
QUESTIONS = {
    "io.berth.Fabric.GetStatus": {}, "io.berth.Fabric.GetNode": {}, "io.berth.Fabric.GetMatrix": {"metric": "memory_latency"},
    "io.berth.Fabric.History": {"metric": "memory_latency", "from": "core0", "to": "numa0", "where": {"bytes": "1000"}},
    "io.berth.Health.Check": {}, "io.berth.Health.ListFindings": {}, "io.berth.Placement.Allocate": {"bytes": 1 << 20}, "io.berth.Placement.Bind": {"tasks": 1},
}


def size_of(survivor, control):
    """Blocks allocated, resident bytes, open descriptors, bytes of the database and its log."""
    process = pathlib.Path(f"/proc/{survivor.process.pid}")
    resident = int(next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
    files = sum(path.stat().st_size for path in survivor.state.glob("berth.db*") if not path.name.endswith("-shm"))
    return {"blocks": control.live, "resident": resident, "descriptors": len(list((process / "fd").iterdir())), "file": files}


def measure(connection):
    connection.send("io.berth.Health.Probe", {"metrics": ["memory_latency"]})
    reply = connection.receive()
    assert "error" not in reply, reply


def thirty_days_without_growth():
    folder = scratch()
    control = Control.at(folder / "control")
    days = []
    with fake_probe(PROBE) as probes:
        program = pathlib.Path(probes) / "berth-probe-cpu"
        pathlib.Path(f"{program}.lines").write_text(LINES)
        pathlib.Path(f"{program}.count").write_text("0\n")
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\n" + KEEP, control=control)
        survivor.start("--no-probe")
        with survivor.connect() as connection:
            for _ in range(DAYS):
                for _ in range(24):
                    control.wall_s += HOUR_S
                    measure(connection)
                for method, parameters in QUESTIONS.items():
                    error, reply = connection.call(method, parameters)
                    assert error is None, (method, error, reply)
                days.append(size_of(survivor, control))
            points = connection.call("io.berth.Fabric.History", QUESTIONS["io.berth.Fabric.History"])[1]["points"]
        assert survivor.stop() == 0, survivor.said()
    examine(survivor.database, [])
    shutil.rmtree(folder)
    late, last = days[2 * DAYS // 3:-5], days[-5:]
    for name, allowed in {"blocks": 1.03, "resident": 1.05, "descriptors": 1, "file": 1.15}.items():
        before, after = (statistics.median(day[name] for day in some) for some in (late, last))
        print(f"# {name}: {before:.0f} in the days before the last five, {after:.0f} then")
        assert name == "file" and not KEEP or after <= before * allowed + (200 if name == "blocks" else 0), (name, [day[name] for day in days])
    medians = [point for point in points if point["run"] == 0]
    assert not KEEP or medians and len(points) - len(medians) <= 9 * 24, (len(points), len(medians))


if __name__ == "__main__":
    run_tap([thirty_days_without_growth])
