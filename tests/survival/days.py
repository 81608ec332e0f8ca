"""A hundred and twenty days of measurements every four hours under a clock that the test moves, with questions in between: the daemon does not
grow. Values are kept for ten days, so that what is older has become daily medians more than a hundred times by the end, and the file grows by
those alone; two years later they are gone, too. BERTH_DAYS=400 for longer. Prints TAP."""
import os
import pathlib
import shutil
import statistics
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import RUN, fake_probe, until  # noqa: E402
from survival import Control, Survivor, examine, record, scratch, value  # noqa: E402
from tap import run_tests  # noqa: E402

DAYS = int(os.environ.get("BERTH_DAYS", 120))
EVERY_S = 4 * 3600
DAY_S = 86400
KEPT_DAYS = 10
BELIEVED_DAYS = 4
VALUES = 40
# No two runs of a day are alike, and none is so far off that it would be a finding.
PROBE = f"echo '{RUN}'\nn=$(($(cat $0.count) + 1))\necho $n >$0.count\nexec sed s/NUMBER/$((1000 + n % 7))/g $0.lines\n"
LINES = "".join(value("memory_latency", "core0", "numa0", 0, bytes=1000 + i).replace(":0,", ":NUMBER,") + "\n" for i in range(VALUES)) + \
    record(record="end", status="complete", elapsed_ns=5) + "\n"
QUESTIONS = {
    "io.berth.Fabric.GetStatus": {}, "io.berth.Fabric.GetNode": {}, "io.berth.Fabric.GetMatrix": {"metric": "memory_latency"},
    "io.berth.Fabric.History": {"metric": "memory_latency", "from": "core0", "to": "numa0", "where": {"bytes": "1000"}},
    "io.berth.Fabric.GetCurves": {"metric": "memory_latency"}, "io.berth.Fabric.GetContention": {}, "io.berth.Fabric.GetTuning": {}, "io.berth.Fabric.ListMetrics": {},
    "io.berth.Health.GetBaseline": {"metric": "memory_latency", "from": "core0", "to": "numa0", "where": {"bytes": "1000"}},
    "io.berth.Placement.Claim": {"places": ["core0"], "purpose": "compute", "key": "k", "ttl_s": 600}, "io.berth.Placement.ListClaims": {},
    "io.berth.Placement.Release": {"key": "k"}, "io.berth.Placement.Route": {"from": "numa0", "to": "numa0", "bytes": 1},
    "io.berth.Health.Check": {}, "io.berth.Health.ListFindings": {}, "io.berth.Placement.Allocate": {"bytes": 1 << 20}, "io.berth.Placement.Bind": {"tasks": 1},
}


ASKED_A_DAY = 25  # so that one block that each answer leaves is more than the days before allow
REFUSED = "io.berth.Placement.Route"  # there is no way from a memory to itself; errors leave nothing either


def size_of(survivor, control):
    """Blocks allocated, resident bytes, open descriptors, bytes of the database and of its log."""
    process = pathlib.Path(f"/proc/{survivor.process.pid}")
    resident = int(next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
    log = pathlib.Path(f"{survivor.database}-wal")
    return {"blocks": control.live, "resident": resident, "descriptors": len(list((process / "fd").iterdir())),
            "file": survivor.database.stat().st_size, "log": log.stat().st_size}


def measure(connection, control):
    control.wall_s += EVERY_S
    connection.send("io.berth.Health.Probe", {"metrics": ["memory_latency"]})
    reply = connection.receive()
    assert "error" not in reply, reply


def points(connection, is_median):
    found = connection.call("io.berth.Fabric.History", QUESTIONS["io.berth.Fabric.History"])[1]["points"]
    return [point for point in found if (point["run"] == 0) == is_median]


def assert_no_growth(days):
    """Between the last five days and those before; the file may grow by a row for each series and day."""
    late, last = days[2 * DAYS // 3:-5], days[-5:]
    passed = (len(late) + len(last)) / 2
    for name, factor, more in (("blocks", 1.03, 60), ("resident", 1.05, 0), ("descriptors", 1, 0), ("file", 1.02, 64 * VALUES * passed), ("log", 1.05, 0)):
        before, after = (statistics.median(day[name] for day in some) for some in (late, last))
        print(f"# {name}: {before:.0f} in the days before the last five, {after:.0f} then")
        assert after <= before * factor + more, (name, [day[name] for day in days])


def assert_thinned(survivor):
    """As many rows as there are days and values to keep, and no more."""
    database = sqlite3.connect(f"file:{survivor.database}?mode=ro", uri=True)
    rows = {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("run", "value", "day", "series", "text", "note")}
    database.close()
    print(f"# {rows}")
    runs = (KEPT_DAYS + 2) * DAY_S // EVERY_S
    assert rows["run"] <= runs + 1 and rows["value"] <= runs * VALUES and rows["series"] == VALUES and rows["text"] + rows["note"] < 20, rows
    assert (DAYS - KEPT_DAYS - 2) * VALUES <= rows["day"] <= DAYS * VALUES, rows


def days_without_growth():
    folder = scratch()
    control = Control.at(folder / "control")
    days = []
    with fake_probe(PROBE) as probes:
        program = pathlib.Path(probes) / "berth-probe-cpu"
        pathlib.Path(f"{program}.lines").write_text(LINES)
        pathlib.Path(f"{program}.count").write_text("0\n")
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\nhistory_days = {KEPT_DAYS}\ndaily_years = 2\n", control=control)
        survivor.start("--no-probe")
        with survivor.connect() as connection:
            for _ in range(DAYS):
                for _ in range(DAY_S // EVERY_S):
                    measure(connection, control)
                for method, parameters in ASKED_A_DAY * list(QUESTIONS.items()):
                    error, reply = connection.call(method, parameters)
                    assert (error is None) == (method != REFUSED), (method, error, reply)
                days.append(size_of(survivor, control))
            assert_no_growth(days)
            assert until(lambda: len(points(connection, False)) <= (KEPT_DAYS + 1) * DAY_S // EVERY_S)
            assert {point["values"] for point in points(connection, True)[1:]} == {DAY_S // EVERY_S}
            assert_thinned(survivor)
            control.wall_s += (2 * 365 + KEPT_DAYS + 2) * DAY_S
            for _ in range(BELIEVED_DAYS):  # one run alone may be a wrong clock's, and makes nothing old
                control.wall_s += DAY_S
                measure(connection, control)
            assert until(lambda: not points(connection, True) and len(points(connection, False)) == BELIEVED_DAYS), points(connection, True)[:3]
        assert survivor.stop() == 0, survivor.said()
    examine(survivor.database, ["SELECT count(*) FROM day HAVING count(*) > 0", f"SELECT count(*) FROM value HAVING count(*) <> {BELIEVED_DAYS * VALUES}"])
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(run_tests([days_without_growth]) > 0)
