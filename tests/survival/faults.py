"""Every allocation, and every access to a file or socket, of a whole daemon fails in its turn: at a start, while a probe runs, and at
each method that it can be asked. Place 1, 2, 3, ... until nothing fails any more. Each time: no crash, one line that says why or an
answer, the database whole, and the next attempt works. Prints TAP.

A start has thousands of places: BERTH_LONG=1 tries each; else the first 200 are tried and from there one in 9 to 97, others by
BERTH_SEED."""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import fake_probe, until  # noqa: E402
from survival import BOOT_ID, KINDS, RUN, TABLES, Control, Survivor, examine, record, scratch, seeded, value  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

EXHAUSTIVE = bool(os.environ.get("BERTH_LONG"))
EXIT_STATUSES = {64, 65, 69, 70, 71, 74, 75, 77, 78}
PROBE_LINES = [RUN] + [value("memory_latency", "core0", "numa0", 90 + i, bytes=1 << i) for i in range(10, 22)] + \
    [record(record="end", status="complete", elapsed_ns=5)]
PROBE = "".join(f"echo '{line}'\n" for line in PROBE_LINES)
VALUES = len(PROBE_LINES) - 2
WHOLE = [f"SELECT count(*) FROM value HAVING count(*) < {VALUES}", "SELECT count(*) FROM run HAVING count(*) < 1"]

# Parameters for the methods that must have some.
PARAMETERS = {
    "org.varlink.service.GetInterfaceDescription": {"interface": "io.berth.Fabric"},
    "io.berth.Fabric.GetMatrix": {"metric": "memory_latency"},
    "io.berth.Fabric.Export": {"format": "prometheus"},
    "io.berth.Fabric.GetCurves": {"metric": "cpu_copy"},
    "io.berth.Fabric.GetTuning": {},
    "io.berth.Fabric.History": {"metric": "memory_latency", "from": "core0", "to": "numa0"},
    "io.berth.Health.GetBaseline": {"metric": "memory_latency", "from": "core0", "to": "numa0"},
    "io.berth.Health.AddRun": {"records": '{"record":"run","schema":1,"probe":"mpi","backend":"mpi","started_at":1790000000}\n{"record":"value","metric":"mpi_collective_latency","from":"core0","to":"core0","value":900}\n{"record":"end","status":"complete","elapsed_ns":1}\n'},
    "io.berth.Placement.Bind": {"tasks": 1},
    "io.berth.Placement.Allocate": {"bytes": 1 << 20},
    "io.berth.Placement.Route": {"from": "core0", "to": "numa0", "bytes": 4096},
    "io.berth.Placement.Claim": {"places": ["core0"], "purpose": "compute", "ttl_s": 60, "key": "k"},
    "io.berth.Placement.Release": {"key": "k"},
}
ACCESS = {"bytes": 1 << 20, "accesses": [{"by": "core0", "reads_bytes": 1 << 20, "writes_bytes": 0, "pattern": "random"}]}  # of what the probe measures
OWN_TESTS = {"io.berth.Health.Probe", "io.berth.Health.Load", "io.berth.Placement.Route", "io.berth.Fabric.PredictKernel"}  # measured below; of gpus, which this node has none of: tests/fault/test_alloc_route.c, tests/system/kernel.py


def places(first, step, seed):
    """1, 2, 3, ... and after first only every step-th."""
    at = 0
    offset = random.Random(seed).randrange(step)
    while True:
        at += 1
        if EXHAUSTIVE or at <= first or at % step == offset:
            yield at


def ask(survivor, method, parameters=None):
    """The replies to one call, the last one first; None when the connection was closed instead."""
    try:
        with Connection(survivor.socket) as connection:
            connection.send(method, parameters)
            reply = connection.receive()
    except ConnectionError:
        return None
    return reply


def assert_serves(survivor, cells=None):
    reply = ask(survivor, "io.berth.Fabric.GetStatus")
    assert reply is not None and "error" not in reply, (reply, survivor.said())
    if cells is not None:
        reply = ask(survivor, "io.berth.Fabric.GetMatrix", {"metric": "memory_latency"})
        assert reply is not None and reply["parameters"]["cells"] == cells, (reply, survivor.said())


def assert_ended_well(survivor):
    """It went by itself, with one of the statuses and a line that says why."""
    code, said = survivor.process.wait(), survivor.said()
    assert code in EXIT_STATUSES, f"status {code}: {said}"
    assert "berthd: " in said and all(line.startswith(("berthd: ", "/")) for line in said.splitlines()), said


def serves(survivor, seconds=20):
    """Whether a start came so far that it serves; it has ended otherwise."""
    end = time.monotonic() + seconds
    while survivor.process.poll() is None:
        if "berthd: serving " in survivor.said():
            return True
        assert time.monotonic() < end, "neither serving nor ended: " + survivor.said()
        time.sleep(0.001)
    return False


def measured(folder, control):
    """A survivor that has a run of the fake probe in its store, and what it answers of that."""
    with fake_probe(PROBE) as probes:
        survivor = Survivor(folder, config=f"probe_dir = {probes}\n", control=control)
        survivor.start()
        connection = survivor.connect()
        with connection:
            until(lambda: connection.call("io.berth.Fabric.GetStatus")[1]["state"] == "ready")
            reply = connection.call("io.berth.Fabric.GetMatrix", {"metric": "memory_latency"})[1]
        assert reply["cells"], survivor.said()
        assert survivor.stop() == 0
        examine(survivor.database, WHOLE)
    return survivor, reply["cells"]


def fail_starts(kind, for_ever, is_fresh):
    seed = seeded("the places")
    folder = scratch()
    control = Control.at(folder / "control")
    survivor, cells = measured(folder / "d", control)
    tries = ended = 0
    for at in places(200, 97 if is_fresh else 23 if for_ever else 9, seed):
        if is_fresh:
            shutil.rmtree(survivor.state, ignore_errors=True)
        control.arm(KINDS[kind], at, for_ever)
        survivor.start("--no-probe")
        is_serving = serves(survivor)
        failed = control.disarm()
        tries += 1
        if is_serving:
            assert_serves(survivor)
            assert survivor.stop() == 0, survivor.said()
        else:
            ended += 1
            assert_ended_well(survivor)
        if survivor.database.exists():
            try:
                examine(survivor.database, [] if is_fresh else WHOLE)
            except Exception as error:
                raise AssertionError(f"after {kind} {at}: {survivor.said()}") from error
        assert not list(survivor.state.glob("*.corrupt*")), (at, survivor.said())
        if at % 20 == 0 or not failed:
            survivor.start("--no-probe")
            assert serves(survivor), survivor.said()
            assert_serves(survivor, None if is_fresh else cells)
            assert survivor.stop() == 0
        if not failed:
            break
    print(f"# {'every' if for_ever else 'one'} {kind} fails, {'fresh' if is_fresh else 'stored'}: {tries} of {at} places, "
          f"{ended} of them ended with a reason, the others served", flush=True)
    assert at > 100 and ended > 0
    shutil.rmtree(folder)


def a_start_on_a_stored_run_survives_every_allocation():
    fail_starts("allocation", False, False)


def a_start_survives_that_memory_stays_exhausted():
    fail_starts("allocation", True, False)


def a_first_start_survives_every_allocation():
    fail_starts("allocation", False, True)


def a_start_on_a_stored_run_survives_every_access():
    fail_starts("access", False, False)


def a_start_survives_that_every_access_fails_from_there():
    fail_starts("access", True, False)


def a_first_start_survives_every_access():
    fail_starts("access", False, True)


def methods(connection):
    """Every method of every interface that the daemon serves."""
    found = []
    for interface in connection.call("org.varlink.service.GetInfo")[1]["interfaces"]:
        text = connection.call("org.varlink.service.GetInterfaceDescription", {"interface": interface})[1]["description"]
        found += [f"{interface}.{line.split()[1].split('(')[0]}" for line in text.splitlines() if line.startswith("method ")]
    return found


class Asker:
    """One connection, and another one when that was closed."""

    def __init__(self, survivor):
        self.survivor = survivor
        self.connection = survivor.connect()
        self.connection.socket.settimeout(3)
        self.connection.send("org.varlink.service.GetInfo", {})
        self.connection.receive() # so that it is accepted, which a fault could hinder

    def ask(self, method, parameters):
        """The reply; None when the connection was closed instead. "Ask in a moment" is done as it says."""
        end = time.monotonic() + 5
        while True:
            try:
                self.connection.send(method, parameters)
                reply = self.connection.receive()
            except ConnectionError:
                return None
            except TimeoutError as error:
                raise AssertionError(f"{method} is never answered: {self.survivor.said()}") from error
            if reply is None or reply.get("parameters", {}).get("by") != "discovery" or time.monotonic() > end:
                return reply
            time.sleep(0.02)

    def again(self):
        self.connection.socket.close()
        self.__init__(self.survivor)


def every_method_survives_every_fault():
    seed = seeded("the places")
    folder = scratch()
    control = Control.at(folder / "control")
    survivor, cells = measured(folder / "d", control)
    survivor.start("--no-probe")
    asker = Asker(survivor)
    names = methods(asker.connection)
    tries = closed = 0
    for name in names:
        if name in OWN_TESTS:
            continue
        parameters = PARAMETERS.get(name, {})
        if name == "io.berth.Placement.Report":
            options = asker.ask("io.berth.Placement.Allocate", ACCESS)["parameters"]["options"]
            parameters = {"answer": options[0]["predicted"]["id"], "observed_ns": round(options[0]["predicted"]["time_ns"])}
        usual = asker.ask(name, parameters)
        assert usual is not None and not usual.get("error", "").endswith("InvalidParameter"), f"{name} needs PARAMETERS here: {usual}"
        asker.again()
        assert_serves(survivor, cells)
        for kind_name, kind in KINDS.items():
            for for_ever in (False, True):
                live = control.live
                control.arm(kind, 10**9)
                asker.ask(name, parameters)
                most = 10**9 - control.countdown + 100 # what a call leaves in the store can make the next one longer
                for at in places(100, 23 if for_ever else 7, seed):
                    control.arm(kind, at, for_ever)
                    where = (name, kind_name, at, for_ever)
                    reply = asker.ask(name, parameters)
                    failed = control.disarm()
                    tries += 1
                    assert survivor.process.poll() is None, (name, kind_name, at, for_ever, survivor.process.returncode, survivor.said())
                    assert failed or reply.get("error") == usual.get("error"), (name, at, reply)
                    if reply is None:
                        closed += 1
                        asker.again()
                    if not failed or at > most:
                        break
                asker.again()
                assert_serves(survivor, cells)
                if os.environ.get("BERTH_TEST_TRACE"):
                    print("#", name, kind_name, at, for_ever, time.monotonic(), flush=True)
                # A store that could not reach its file holds in memory what it would have written, until it can.
                assert until(lambda: ask(survivor, "io.berth.Fabric.GetStatus")["parameters"]["store"] == "ok", 70), survivor.said()
                for _ in range(4): # what SQLite reads again after its first error stays; what a fault leaves behind would grow each time
                    if until(lambda: control.live - live < 40, 2): # what is still at work gives back what it holds
                        break
                    live = control.live
                    for place in 2 * list(range(1, 21)):
                        control.arm(kind, place, for_ever)
                        asker.ask(name, parameters)
                        control.disarm()
                        asker.again()
                    assert_serves(survivor, cells)
                    assert until(lambda: ask(survivor, "io.berth.Fabric.GetStatus")["parameters"]["store"] == "ok", 70), survivor.said()
                assert until(lambda: control.live - live < 40), (name, kind_name, at, for_ever, live, control.live)
    print(f"# {len(names)} methods, {tries} calls, {closed} of them answered by closing the connection")
    assert survivor.stop() == 0, survivor.said()
    examine(survivor.database, WHOLE)
    shutil.rmtree(folder)


def probe(survivor):
    """Measures and waits for the end; the last reply, None when the connection was closed instead."""
    reply = None
    try:
        with Connection(survivor.socket) as connection:
            connection.send("io.berth.Health.Probe", {"metrics": ["memory_latency"]})
            reply = connection.receive()
    except ConnectionError:
        pass
    assert until(lambda: (ask(survivor, "io.berth.Fabric.GetStatus") or {}).get("parameters", {}).get("state") == "ready"), survivor.said()
    return reply


def a_probe_run_survives_every_fault():
    seed = seeded("the places")
    folder = scratch()
    control = Control.at(folder / "control")
    survivor, _ = measured(folder / "d", control)
    tries = 0
    with fake_probe(PROBE) as probes:
        survivor.config.write_text(f"probe_dir = {probes}\n")
        survivor.start("--no-probe")
        serves(survivor)
        probe(survivor)
        for kind_name, kind in KINDS.items():
            live = control.live
            control.arm(kind, 10**9)
            probe(survivor)
            most = 10**9 - control.countdown + 100
            for at in places(100, 29, seed):
                control.arm(kind, at)
                probe(survivor)
                failed = control.disarm()
                tries += 1
                assert survivor.process.poll() is None, (kind_name, at, survivor.process.returncode, survivor.said())
                assert not list(survivor.state.glob("*.corrupt*")), (kind_name, at, survivor.said())
                if at % 20 == 0 or not failed:
                    assert "error" not in probe(survivor), survivor.said()
                    cells = ask(survivor, "io.berth.Fabric.GetMatrix", {"metric": "memory_latency"})["parameters"]["cells"]
                    assert len([cell for cell in cells if cell["value"]]) == len(cells) > 0, cells
                if not failed or at > most:
                    break
            assert control.live - live < 300, (kind_name, live, control.live)
        assert survivor.stop() == 0, survivor.said()
    examine(survivor.database, WHOLE)
    print(f"# {tries} runs with a fault")
    shutil.rmtree(folder)


def load(survivor):
    """Puts the node under load and waits for the end; the last reply, None when the connection was closed instead."""
    reply = None
    try:
        with Connection(survivor.socket) as connection:
            connection.send("io.berth.Health.Load", {"duration_s": 5})
            reply = connection.receive()
    except ConnectionError:
        pass
    assert until(lambda: (ask(survivor, "io.berth.Fabric.GetStatus") or {}).get("parameters", {}).get("state") == "ready"), survivor.said()
    return reply


def a_load_survives_every_fault():
    """Of a probe that prints its records at once."""
    seed = seeded("the places")
    folder = scratch()
    control = Control.at(folder / "control")
    survivor, cells = measured(folder / "d", control)
    records = 24 * (record(record="load", place="numa0", at_ns=1, bytes_per_s=1e10, throttle="power-cap") + "\n")
    tries = 0
    with fake_probe(f"cat <<'end'\n{RUN}\n{records}" + '{"record":"end","status":"complete","elapsed_ns":1}\nend\n') as probes:
        survivor.config.write_text(f"probe_dir = {probes}\n")
        survivor.start("--no-probe")
        serves(survivor)
        assert load(survivor)["parameters"]["verdict"] == "healthy", survivor.said()
        for kind_name, kind in KINDS.items():
            live = control.live
            for at in places(100, 29, seed):
                control.arm(kind, at)
                load(survivor)
                failed = control.disarm()
                tries += 1
                assert survivor.process.poll() is None, (kind_name, at, survivor.process.returncode, survivor.said())
                if at % 20 == 0 or not failed:
                    assert load(survivor)["parameters"]["verdict"] == "healthy", survivor.said()
                    assert_serves(survivor, cells)
                if not failed:
                    break
            assert control.live - live < 300, (kind_name, live, control.live)
        assert survivor.stop() == 0, survivor.said()
    examine(survivor.database, WHOLE)
    print(f"# {tries} loads with a fault")
    shutil.rmtree(folder)


def connections_come_through_every_fault():
    """From connecting to the answer; one that fails is closed, or waits until there is room again, and the next goes through."""
    folder = scratch()
    control = Control.at(folder / "control")
    survivor, cells = measured(folder / "d", control)
    survivor.start("--no-probe")
    serves(survivor)
    for kind in KINDS.values():
        at, failed = 0, True
        while failed:
            at += 1
            control.arm(kind, at)
            ask(survivor, "io.berth.Fabric.GetStatus")
            failed = control.disarm()
            assert_serves(survivor)
        assert at > 1
        control.arm(kind, 1, True)
        with Connection(survivor.socket, timeout=0.2) as connection:
            with contextlib.suppress(OSError):  # it may have been closed already
                connection.send("io.berth.Fabric.GetStatus")
                connection.receive()
        control.disarm()
        assert_serves(survivor, cells)
    assert survivor.stop() == 0, survivor.said()
    shutil.rmtree(folder)


def many_connections_need_no_larger_table():
    """libuv aborts when its table of descriptors cannot grow."""
    folder = scratch()
    control = Control.at(folder / "control")
    survivor = Survivor(folder / "d", control=control)
    survivor.start("--no-probe")
    assert serves(survivor), survivor.said()
    control.arm(TABLES, 1, True)
    with contextlib.ExitStack() as opened:
        for connection in [opened.enter_context(Connection(survivor.socket)) for _ in range(400)]:
            assert connection.call("io.berth.Fabric.GetStatus")[0] is None
    assert not control.disarm()
    assert survivor.stop() == 0, survivor.said()
    shutil.rmtree(folder)


def a_start_without_the_boots_id_ends_no_claim():
    """It fails instead, for claims end with their boot; a daemon that serves keeps its node."""
    folder = scratch()
    control = Control.at(folder / "control")
    survivor = Survivor(folder / "d", control=control)

    def keys():
        return [claim["key"] for claim in ask(survivor, "io.berth.Placement.ListClaims")["parameters"]["claims"]]

    survivor.start("--no-probe")
    assert serves(survivor), survivor.said()
    assert ask(survivor, "io.berth.Placement.Claim", PARAMETERS["io.berth.Placement.Claim"])["parameters"]["stored"]
    control.arm(BOOT_ID, 1)
    survivor.process.send_signal(signal.SIGHUP)
    assert until(lambda: "the node stays as it was: the boot's id is unknown" in survivor.said()), survivor.said()
    control.disarm()
    assert keys() == ["k"] and survivor.stop() == 0, survivor.said()
    control.arm(BOOT_ID, 1)
    survivor.start("--no-probe")
    assert not serves(survivor) and survivor.process.wait() == 74 and "the boot's id is unknown" in survivor.said(), survivor.said()
    assert control.disarm()
    survivor.start("--no-probe")
    assert serves(survivor) and keys() == ["k"], survivor.said()
    assert survivor.stop() == 0
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(run_tests([every_method_survives_every_fault, a_probe_run_survives_every_fault, a_load_survives_every_fault, connections_come_through_every_fault,
             many_connections_need_no_larger_table, a_start_without_the_boots_id_ends_no_claim,
             a_start_on_a_stored_run_survives_every_access, a_first_start_survives_every_access,
             a_start_survives_that_every_access_fails_from_there,
             a_start_on_a_stored_run_survives_every_allocation, a_first_start_survives_every_allocation,
             a_start_survives_that_memory_stays_exhausted]) > 0)
