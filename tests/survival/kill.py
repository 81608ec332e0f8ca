"""kill -9 while a daemon starts, measures and writes: BERTH_KILLS=500 times at random moments. Each time the file that is left is whole,
every run in it too, and the next start serves all that was reported finished. Prints TAP."""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import RUN, fake_probe  # noqa: E402
from survival import Survivor, examine, examine_copy, record, run_tap, scratch, seeded, value  # noqa: E402
from varlink import Connection  # noqa: E402

KILLS = int(os.environ.get("BERTH_KILLS", 500))
WORKERS = 2
LATEST_S = 0.25
VALUES = 200

# Every value of a run is the same number, which no other run has.
PROBE = f"echo '{RUN}'\nn=$(($(cat $0.count) + 1))\necho $n >$0.count\nexec sed s/NUMBER/$n/g $0.lines\n"
LINES = "".join(value("memory_latency", "core0", "numa0", 0, bytes=1000 + i).replace(":0,", ":NUMBER,") + "\n" for i in range(VALUES)) + \
    record(record="end", status="complete", elapsed_ns=5) + "\n"
INVARIANTS = [
    # no run by half, none of two
    f"SELECT run, count(*), min(value), max(value) FROM value GROUP BY run HAVING count(*) <> {VALUES} OR min(value) <> max(value)",
    "SELECT id FROM run WHERE status = 'complete' AND id NOT IN (SELECT run FROM value)",
    "SELECT DISTINCT run FROM value WHERE run NOT IN (SELECT id FROM run)",
    # a series knows its latest
    "SELECT id FROM series s WHERE value IS NOT (SELECT value FROM value v WHERE v.series = s.id ORDER BY run DESC LIMIT 1)",
]


def newest(connection):
    """The number of the run that GetMatrix shows, 0 before the first one; all of its cells are of one run."""
    error, reply = connection.call("io.berth.Fabric.GetMatrix", {"metric": "memory_latency", "where": {"bytes": "1000"}})
    if error is not None:
        return 0
    numbers = {cell["value"] for cell in reply["cells"]}
    assert len(numbers) <= 1, numbers
    return max(numbers, default=0) or 0


def measure_until(connection, deadline, finished):
    """Probes one after the other; each that was reported finished is noted."""
    with contextlib.suppress(OSError, AttributeError):
        while time.monotonic() < deadline:
            for error, _ in connection.stream("io.berth.Health.Probe", {"metrics": ["memory_latency"]}):
                assert error is None or error.endswith("Busy"), error
            finished.append(newest(connection))


def one_life(survivor, moment_s, known):
    """Starts, checks that what was known is served, measures, and is killed moment_s after the start. Returns what is known now."""
    begin = time.monotonic()
    survivor.start("--no-probe")
    finished = [known]
    while time.monotonic() < begin + moment_s and len(finished) == 1:
        with contextlib.suppress(OSError, AttributeError), Connection(survivor.socket, timeout=max(0.001, begin + moment_s - time.monotonic())) as connection:
            served = newest(connection)
            assert served >= known, f"run {known} was finished, and {served} is served: {survivor.said()}"
            measure_until(connection, begin + moment_s, finished)
        time.sleep(0.001)
    assert survivor.process.poll() is None, survivor.said()
    survivor.kill()
    if survivor.database.exists():
        examine_copy(survivor.database, INVARIANTS)
    assert not list(survivor.state.glob("*.corrupt*")), survivor.said()
    return max(finished)


def lives(seed, count):
    choice = random.Random(seed)
    folder = scratch()
    with fake_probe(PROBE) as probes:
        program = pathlib.Path(probes) / "berth-probe-cpu"
        pathlib.Path(f"{program}.lines").write_text(LINES)
        pathlib.Path(f"{program}.count").write_text("0\n")
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\n")
        known = 0
        for i in range(count):
            known = one_life(survivor, choice.uniform(0, LATEST_S), known)
        survivor.start("--no-probe")
        with survivor.connect() as connection:
            assert connection.call("io.berth.Fabric.GetStatus")[1]["store"] == "ok"
            assert newest(connection) >= known, survivor.said()
        assert survivor.stop() == 0
        examine(survivor.database, INVARIANTS)
        shutil.rmtree(folder)
    return known


def killed_at_random_moments():
    seed = seeded("the moments")
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        runs = list(pool.map(lives, [seed + i for i in range(WORKERS)], [KILLS // WORKERS] * WORKERS))
    print(f"# {KILLS} kills, {sum(runs):.0f} runs reported finished, none lost")
    assert sum(runs) > KILLS / 10, "hardly anything was measured: the machine is too busy for this"


if __name__ == "__main__":
    run_tap([killed_at_random_moments])
