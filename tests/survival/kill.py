"""kill -9 while a daemon starts, measures, thins its history, accepts baselines and grants claims: BERTH_KILLS=500 times at random moments. Each
time the file that is left is whole, every run, set, baseline and median in it too, and the next start serves all that was answered. The clock
goes six hours forth before each run, so that a day has some four runs and is thinned two days later. Prints TAP."""
import collections
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
from survival import Control, Survivor, examine, examine_copy, record, scratch, seeded, value  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

KILLS = int(os.environ.get("BERTH_KILLS", 500))
WORKERS = 2
LATEST_S = 0.25  # or up to four times that, while lives so short measure too little on a busy machine
RUN_EVERY_S = 6 * 3600
VALUES = 150
THINNED_AT_ONCE = 128 # series; a day takes two transactions

# Every value of a run is the same number, which no other run has; it grows by a fiftieth, so that findings appear.
PROBE = f"echo '{RUN}'\nn=$(cat $0.count)\nn=$((n + n / 50 + 1))\necho $n >$0.count.next\nmv $0.count.next $0.count\nexec sed s/NUMBER/$n/g $0.lines\n"
FLOW = '{"from":"core0","to":"numa0","bytes_per_s":NUMBER}'
LINES = "".join(value("memory_latency", "core0", "numa0", 0, bytes=1000 + i).replace(":0,", ":NUMBER,") + "\n" for i in range(VALUES)) + \
    f'{{"record":"set","metric":"memory_bandwidth_concurrent","flows":[{FLOW},{FLOW}]}}\n' + record(record="end", status="complete", elapsed_ns=5) + "\n"
CELL = {"metric": "memory_latency", "from": "core0", "to": "numa0", "where": {"bytes": "1000"}}
OLDEST_DAY = "(SELECT min(started_s) / 86400 FROM run WHERE is_thinned = 0)"
MEASURED = "(SELECT count(*) FROM value WHERE series = s.id) + (SELECT coalesce(sum(n), 0) FROM day WHERE series = s.id)"


def invariants(runs):
    """What no row may be found by, after so many runs were answered."""
    return [
        # no run by half, none of two; of the day that is being thinned, the series whose turn has not come
        f"SELECT run, count(*), min(value), max(value) FROM value v GROUP BY run HAVING min(value) <> max(value) OR (count(*) <> {VALUES} AND NOT"
        f" (min(series) > {THINNED_AT_ONCE} AND run IN (SELECT id FROM run WHERE started_s / 86400 = {OLDEST_DAY})))",
        "SELECT id FROM run WHERE status = 'complete' AND is_thinned = 0 AND id NOT IN (SELECT run FROM value)",
        "SELECT DISTINCT run FROM value WHERE run NOT IN (SELECT id FROM run)",
        # a series knows its latest
        "SELECT id FROM series s WHERE value IS NOT (SELECT value FROM value v WHERE v.series = s.id ORDER BY run DESC LIMIT 1)",
        # each value is there or counted in its day's median, once
        f"SELECT s.id, {MEASURED} AS measured FROM series s WHERE measured < {runs} OR measured <> (SELECT {MEASURED} FROM series s WHERE id = 1)",
        "SELECT * FROM day WHERE NOT (low <= value AND value <= high AND n > 0)",
        # a set has all of its flows, and its latest rates
        "SELECT flow_set, measured_s FROM flow_rate GROUP BY flow_set, measured_s HAVING count(*) <> 2 OR min(bytes_per_s) <> max(bytes_per_s)",
        "SELECT id FROM flow_set WHERE measured_s NOT IN (SELECT measured_s FROM flow_rate WHERE flow_set = flow_set.id)",
        # baselines are begun, taken in and accepted together
        f"SELECT count(*) FROM baseline HAVING count(*) NOT IN (0, {VALUES}) OR min(samples) <> max(samples) OR min(begun_s) <> max(begun_s)",
        "SELECT median FROM baseline WHERE median <= 0 OR length(samples) NOT IN (8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128)",
        "SELECT count(*) FROM claim HAVING count(*) > 1",
    ]


class Known:
    """What a daemon has answered, which those after it have to know. Calls fail with OSError or AttributeError at the kill."""

    def __init__(self, control, choice):
        self.control, self.choice = control, choice
        self.runs = self.number = self.claims = self.acceptances = 0
        self.begun = None       # when what is expected was begun, and whether by an acceptance, once one was answered
        self.served = False    # ever: before that not even the tables need be there
        self.held = None       # the key of a claim in force
        self.unsure = set()    # keys that were on their way in or out
        self.standing = collections.Counter() # findings, by what stays of them when they clear
        self.slower = 0         # how often one of them was slower-than-baseline

    def verify(self, connection):
        """All of that is served; and what was not known for sure is now."""
        number = newest(connection)
        assert number >= self.number, f"run {self.number} was finished, and {number} is served"
        sets = connection.call("io.berth.Fabric.GetContention")[1]["runs"]
        assert [flow["bytes_per_s"] for one in sets for flow in one["flows"]] == ([number] * 2 if number else []), (number, sets)
        keys = {claim["key"] for claim in connection.call("io.berth.Placement.ListClaims")[1]["claims"]}
        sure = {self.held} - {None} - self.unsure
        assert sure <= keys <= sure | self.unsure, (keys, self.held, self.unsure)
        self.held, self.unsure = next(iter(keys), None), set()
        if self.begun:
            baseline = connection.call("io.berth.Health.GetBaseline", CELL)[1]["baseline"]
            assert (baseline["begun_at_s"], baseline["accepted"]) >= self.begun, (baseline, self.begun)
        found = self.findings(connection)
        assert self.standing <= found, self.standing - found
        self.number, self.served = number, True

    @staticmethod
    def findings(connection, is_standing=False):
        found = connection.call("io.berth.Health.ListFindings")[1]["findings"]
        return collections.Counter((one["code"], one["place"], one["since_s"]) for one in found
                                   if not is_standing or one["cleared_s"] is None)

    def look(self, connection):
        self.standing = self.findings(connection, is_standing=True)
        self.slower += any(code == "slower-than-baseline" for code, _, _ in self.standing)

    def measure(self, connection):
        self.control.wall_s += RUN_EVERY_S
        for error, _ in connection.stream("io.berth.Health.Probe", {"metrics": ["memory_latency"]}):
            assert error is None or error.endswith("Busy"), error
            if error is not None:
                return
        number = newest(connection)
        self.runs += number > self.number
        self.number = number

    def claim(self, connection):
        key = f"k{self.claims}"
        self.claims += 1
        self.unsure = {key}
        error, reply = connection.call("io.berth.Placement.Claim", {"places": ["core0"], "purpose": "compute", "key": key, "ttl_s": 600})
        assert error is None, (error, reply)
        self.held, self.unsure = key, set()

    def release(self, connection):
        self.unsure = {self.held}
        error, reply = connection.call("io.berth.Placement.Release", {"key": self.held})
        assert error is None and reply["released"] == 1, (error, reply)
        self.held, self.unsure = None, set()

    def accept(self, connection):
        error, reply = connection.call("io.berth.Health.AcceptBaseline")
        assert error is None, (error, reply)
        if reply["accepted"] > 0:
            self.acceptances += 1
            # What was in line keeps the baseline that it had; what was not has a new one.
            baseline = connection.call("io.berth.Health.GetBaseline", CELL)[1]["baseline"]
            self.begun = (baseline["begun_at_s"], baseline["accepted"])

    def go_on(self, connection):
        """Some call or other."""
        chance = self.choice.random()
        if self.held is not None and chance < 0.7:
            self.release(connection)
        elif self.held is None and chance < 0.2:
            self.claim(connection)
        elif chance > 0.95:
            self.accept(connection)
        elif chance > 0.9:
            self.look(connection)
        elif self.held is None:
            self.measure(connection)


def newest(connection):
    """The number of the run that GetMatrix shows, 0 before the first one; all of its cells are of one run."""
    error, reply = connection.call("io.berth.Fabric.GetMatrix", {"metric": "memory_latency", "where": {"bytes": "1000"}})
    if error is not None:
        return 0
    numbers = {cell["value"] for cell in reply["cells"]}
    assert len(numbers) <= 1, numbers
    return max(numbers, default=0) or 0


def one_life(survivor, moment_s, known):
    """Starts, checks that what was known is served, goes on, and is killed moment_s after the start."""
    begin = time.monotonic()
    survivor.start("--no-probe")
    while time.monotonic() < begin + moment_s:
        with contextlib.suppress(OSError, AttributeError), Connection(survivor.socket, timeout=max(0.001, begin + moment_s - time.monotonic())) as connection:
            known.verify(connection)
            while time.monotonic() < begin + moment_s:
                connection.socket.settimeout(max(0.001, begin + moment_s - time.monotonic()))
                known.go_on(connection)
        time.sleep(0.001)
    assert survivor.process.poll() is None, survivor.said()
    survivor.kill()
    if survivor.database.exists():
        examine_copy(survivor.database, invariants(known.runs) if known.served else [])
    assert not list(survivor.state.glob("*.corrupt*")), survivor.said()


def lives(seed, count):
    choice = random.Random(seed)
    folder = scratch()
    control = Control.at(folder / "control")
    known = Known(control, choice)
    with contextlib.ExitStack() as stack:
        probes = stack.enter_context(fake_probe(PROBE))
        program = pathlib.Path(probes) / "berth-probe-cpu"
        pathlib.Path(f"{program}.lines").write_text(LINES)
        pathlib.Path(f"{program}.count").write_text("0\n")
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\nhistory_days = 1\ndaily_years = 100\n", control=control)
        stack.callback(survivor.kill)  # a process of a pool ends without what atexit holds
        latest_s = LATEST_S
        for i in range(count):
            latest_s = min(1.5 * latest_s, 4 * LATEST_S) if known.runs < i / 2 else LATEST_S
            try:
                one_life(survivor, choice.uniform(0, latest_s), known)
            except Exception as error:
                raise AssertionError(f"life {i}, {vars(known)}: {survivor.said()}") from error
        survivor.start("--no-probe")
        with survivor.connect() as connection:
            assert connection.call("io.berth.Fabric.GetStatus")[1]["store"] == "ok"
            known.verify(connection)
            medians = sum(point["run"] == 0 for point in connection.call("io.berth.Fabric.History", CELL)[1]["points"])
        assert survivor.stop() == 0
        examine(survivor.database, invariants(known.runs))
        shutil.rmtree(folder)
    return {"runs": known.runs, "daily medians": medians, "claims": known.claims, "acceptances": known.acceptances, "findings": known.slower}


def killed_at_random_moments():
    seed = seeded("the moments")
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        done = list(pool.map(lives, [seed + i for i in range(WORKERS)], [KILLS // WORKERS] * WORKERS))
    all_done = {name: sum(one[name] for one in done) for name in done[0]}
    print(f"# {KILLS} kills; answered and not lost: {all_done}")
    few = min(all_done["daily medians"], all_done["claims"], all_done["acceptances"])
    assert all_done["runs"] > KILLS / 10 and few > KILLS / 100 and (all_done["findings"] > 0 or KILLS < 300), \
        f"hardly anything was done: the machine is too busy for this: {all_done}"


if __name__ == "__main__":
    sys.exit(run_tests([killed_at_random_moments]) > 0)
