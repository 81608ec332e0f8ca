"""The store of whole daemons: full and read-only disks, locks, directories that go, broken and foreign files. Prints TAP."""
import contextlib
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import RUN, Daemon, cells, fake_probe, findings, least, until, wakes  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402

CELL = {"metric": "cpu_pingpong", "from": "core0", "to": "core1"}
VALUE = '{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","value":51.5,"low":50.5,"high":52.5,"n":9}'
END = '{"record":"end","status":"complete","elapsed_ns":1000}'
SCRIPT = f"echo '{RUN}'\necho '{VALUE}'\necho '{END}'\n"


@contextlib.contextmanager
def measuring(config="", **arguments):
    """A daemon that measures one value when it is asked to."""
    with fake_probe(SCRIPT) as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n{config}", **arguments) as daemon:
        yield daemon


def measure(daemon):
    def done():  # what happens to the store is noted beside everything else, and asks for a moment's patience
        error, reply = call(daemon.socket, "io.berth.Health.Probe")
        assert error is None or (error, reply["by"]) == ("io.berth.Health.Busy", "discovery"), (error, reply)
        return error is None
    assert until(done), daemon.said()
    daemon.wait_ready()
    assert cells(daemon, "cpu_pingpong")[0]["value"] == 51.5


def points(daemon):
    return daemon.call("io.berth.Fabric.History", CELL)["points"]


def store_is(daemon, state, seconds=15):
    assert until(lambda: daemon.status()["store"] == state, seconds), (daemon.status(), findings(daemon), daemon.said())


def database(daemon):
    return daemon.state / "berth.db"


def runs_in(path):
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert not file.execute("PRAGMA foreign_key_check").fetchall()
        return file.execute("SELECT count(*) FROM run").fetchone()[0]


def is_out(daemon, words=("",)):
    """Serves from memory, says so with one of the words, and since when."""
    store_is(daemon, "memory_only")
    finding = findings(daemon)["store-memory-only"]
    assert any(word in finding["text"] for word in words) and abs(finding["since_s"] - time.time()) < 60, finding


def is_back(daemon, runs):
    """Everything is in the file and nothing is said any more."""
    store_is(daemon, "ok")
    assert until(lambda: not any(code.startswith("store") for code in findings(daemon))), findings(daemon)
    assert len(points(daemon)) == runs
    assert all(point["run"] > 0 and point["conditions"] == {} for point in points(daemon))


@contextlib.contextmanager
def small_disk():
    if not os.environ.get("BERTH_MOUNTS"):
        raise LeftOut("no namespace for mounts here")
    folder = tempfile.mkdtemp(prefix="berth-test-")
    state = pathlib.Path(folder) / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200k,mode=0755", "none", state], stderr=subprocess.DEVNULL).returncode != 0:
        raise LeftOut("mounting is not permitted here")
    try:
        yield folder, state
    finally:
        subprocess.run(["umount", "-l", state])
        shutil.rmtree(folder, ignore_errors=True)


def fill(path):
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def a_full_disk():
    with small_disk() as (folder, state), measuring(directory=folder) as daemon:
        measure(daemon)
        fill(state / "filler")
        for _ in range(60):  # a log that is there already has room for some
            measure(daemon)
            if daemon.status()["store"] == "memory_only":
                break
        is_out(daemon)
        measure(daemon)
        before = len(points(daemon))
        (state / "filler").unlink()
        is_back(daemon, before)
        assert daemon.stop()[0] == 0
        assert runs_in(database(daemon)) == before


def a_read_only_disk():
    with small_disk() as (folder, state):
        with measuring(directory=folder) as daemon:
            measure(daemon)
            daemon.stop()
            subprocess.run(["mount", "-o", "remount,ro", state], check=True)
            files = sorted(state.iterdir())
            with fake_probe(SCRIPT) as probe:
                daemon.config.write_text(f"probe_dir = {probe}\n")
                process = Daemon("--no-probe", directory=folder, config=f"probe_dir = {probe}\n")
                is_out(process)
                assert cells(process, "cpu_pingpong")[0]["value"] == 51.5 and len(points(process)) == 1
                measure(process)
                assert len(points(process)) == 2 and sorted(state.iterdir()) == files
                subprocess.run(["mount", "-o", "remount,rw", state], check=True)
                is_back(process, 2)
                process.stop()
            assert runs_in(database(daemon)) == 2


def the_directory_goes():
    with measuring() as daemon:
        measure(daemon)
        os.rename(daemon.state, str(daemon.state) + "-away")
        daemon.state.write_text("in the way")
        measure(daemon)
        is_out(daemon)
        daemon.state.unlink()
        store_is(daemon, "ok")
        daemon.stop()
        assert runs_in(database(daemon)) == 1  # what was deleted is gone, what came after is not


def somebody_holds_the_lock():
    with measuring() as daemon:
        measure(daemon)
        with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            measure(daemon)
            is_out(daemon, ("locked",))
            assert len(points(daemon)) == 2
            time.sleep(2)
            other.execute("ROLLBACK")
        is_back(daemon, 2)
        daemon.stop()
        assert runs_in(database(daemon)) == 2


def a_newer_schema_is_not_touched():
    with measuring() as daemon:
        measure(daemon)
        daemon.stop()
        with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as file:
            version = file.execute("PRAGMA user_version").fetchone()[0]
            file.execute("PRAGMA user_version = 1000")
        before = {path: path.read_bytes() for path in daemon.state.iterdir() if path.name.startswith("berth.db")}
        with measuring(directory=daemon.directory) as newer:
            is_out(newer, "schema version 1000")
            measure(newer)
            assert {path: path.read_bytes() for path in daemon.state.iterdir() if path.name.startswith("berth.db")} == before
            with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as file:
                file.execute(f"PRAGMA user_version = {version}")
            is_back(newer, 2)  # as when the newer daemon comes back


def a_broken_file_is_set_aside():
    def broken(spoil, word="store-set-aside"):
        with measuring() as daemon:
            measure(daemon)
            daemon.stop()
            spoil(daemon)
            with measuring(directory=daemon.directory) as again:
                measure(again)
                if word:
                    assert again.status()["store"] == "set_aside" and word in findings(again), findings(again)
                    assert any("berth.db.corrupt-" in path.name for path in daemon.state.iterdir())
                else:
                    store_is(again, "ok")
                again.stop()
                return runs_in(database(daemon))

    def garbage(daemon):
        database(daemon).write_bytes(b"no database" * 1000)

    def half(daemon):
        os.truncate(database(daemon), database(daemon).stat().st_size // 2)

    assert broken(garbage) == 1
    assert broken(half) == 1
    assert broken(lambda daemon: os.truncate(database(daemon), 0), word=None) == 1
    assert broken(lambda daemon: (daemon.state / "berth.db-wal").write_bytes(b"no log" * 1000), word=None) == 2


def broken_while_it_runs():
    with measuring() as daemon:
        measure(daemon)
        with contextlib.closing(sqlite3.connect(database(daemon))) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = database(daemon).stat().st_size
        with open(database(daemon), "r+b") as file:
            file.write(bytes([0x5a]) * size)
        measure(daemon)
        store_is(daemon, "set_aside")
        assert "store-set-aside" in findings(daemon)
        daemon.stop()
        assert runs_in(database(daemon)) == 1


def spoil(daemon):
    """Rubbish from the first to the last byte, log included."""
    with contextlib.closing(sqlite3.connect(database(daemon))) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(database(daemon), "r+b") as file:
        file.write(bytes([0x5a]) * database(daemon).stat().st_size)


def claim(daemon):
    held = daemon.call("io.berth.Placement.Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 600})["claim"]["claim"]
    daemon.call("io.berth.Placement.Release", {"claim": held})


def says(daemon, code, word=""):
    """Check has the finding, with since when, and so has the log."""
    assert until(lambda: code in findings(daemon)), (findings(daemon), daemon.status(), daemon.said())
    finding = findings(daemon)[code]
    assert word in finding["text"] and abs(finding["since_s"] - time.time()) < 60, finding
    assert until(lambda: finding["text"] in daemon.said()), (finding, daemon.said())


def whoever_notices_it_says_so():
    """Nothing is measured after the damage: another call finds it."""
    def at(daemon):
        return {"metric": "cpu_pingpong", "at_s": int(time.time())}

    def history(daemon):
        daemon.call("io.berth.Fabric.History", CELL)

    def matrix(daemon):
        daemon.call("io.berth.Fabric.GetMatrix", at(daemon))

    def accept(daemon):
        daemon.call("io.berth.Health.AcceptBaseline")

    for use in (history, matrix, claim, accept):
        with measuring() as daemon:
            measure(daemon)
            spoil(daemon)
            with contextlib.suppress(AssertionError):  # the call that finds it may fail
                use(daemon)
            assert until(lambda: daemon.status()["store"] == "set_aside"), (use, daemon.status(), daemon.said())
            says(daemon, "store-set-aside", "berth.db.corrupt-")
            measure(daemon)
            daemon.stop()
            assert runs_in(database(daemon)) == 1, use
    with measuring() as daemon:
        measure(daemon)
        with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            claim(daemon)
            store_is(daemon, "memory_only")
            says(daemon, "store-memory-only", "locked")
            other.execute("ROLLBACK")
        is_back(daemon, 1)
    with small_disk() as (folder, state), measuring(directory=folder) as daemon:
        measure(daemon)
        with contextlib.closing(sqlite3.connect(database(daemon))) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        fill(state / "filler")
        for _ in range(60):
            claim(daemon)
            if daemon.status()["store"] == "memory_only":
                break
        says(daemon, "store-memory-only")
        (state / "filler").unlink()
        is_back(daemon, 1)


def what_was_set_aside_is_remembered():
    with measuring() as daemon:
        measure(daemon)
        spoil(daemon)
        with contextlib.suppress(AssertionError):  # the call that finds it may fail
            points(daemon)
        says(daemon, "store-set-aside")
        since = findings(daemon)["store-set-aside"]["since_s"]
        daemon.process.kill()
        daemon.process.wait()
        with measuring(directory=daemon.directory) as again:
            assert again.status()["store"] == "set_aside"
            says(again, "store-set-aside", "history began anew")
            assert findings(again)["store-set-aside"]["since_s"] == since
            measure(again)
            says(again, "store-set-aside", "berth.db.corrupt-")
            for path in daemon.state.glob("berth.db.corrupt-*"):
                path.unlink()
            is_back(again, 1)
            again.stop()
            (daemon.state / f"berth.db.corrupt-{int(time.time()) - 31 * 86400}").write_bytes(b"")
            with measuring(directory=daemon.directory) as later:
                is_back(later, 1)


def taken_away_while_nobody_uses_it():
    with measuring() as daemon:
        measure(daemon)
        time.sleep(1.5)
        shutil.rmtree(daemon.state)
        assert until(database(daemon).exists), "nobody asks, and a new file is begun"
        says(daemon, "store-taken-away")
        store_is(daemon, "ok")
        shutil.rmtree(daemon.state)  # the new directory is watched, too
        assert until(database(daemon).exists)
        measure(daemon)
        daemon.stop()
        assert runs_in(database(daemon)) == 1
    with measuring() as daemon, Connection(daemon.socket) as asker:  # what happens to the directory above is not watched
        measure(daemon)
        away = str(daemon.directory) + "-away"

        def store():
            return asker.call("io.berth.Fabric.GetStatus")[1]["store"]

        os.rename(daemon.directory, away)
        try:
            assert until(lambda: store() == "memory_only"), store()
        finally:
            os.rename(away, daemon.directory)
        is_back(daemon, 1)


def another_version_takes_over_while_it_runs():
    def files(daemon):
        return {name: (daemon.state / name).read_bytes() for name in ("berth.db", "berth.db-wal")}

    with measuring() as daemon:
        measure(daemon)
        with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as other:
            version = other.execute("PRAGMA user_version").fetchone()[0]
            other.execute("PRAGMA user_version = 99")
            before = files(daemon)
            claim(daemon)
            store_is(daemon, "memory_only")
            says(daemon, "store-memory-only", "schema version 99")
            measure(daemon)
            time.sleep(2)
            assert files(daemon) == before
            other.execute(f"PRAGMA user_version = {version}")
            is_back(daemon, 2)


def a_version_that_does_not_fit_the_tables():
    def another(daemon, version):
        with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as file:
            file.execute(f"PRAGMA user_version = {version}")

    for version in (0, 2):
        with measuring() as daemon:
            measure(daemon)
            daemon.stop()
            another(daemon, version)
            with measuring(directory=daemon.directory) as again:
                store_is(again, "set_aside")
                says(again, "store-set-aside", f"schema version {version} does not fit its tables")
                measure(again)
                again.stop()
                assert runs_in(database(daemon)) == 1
                assert [runs_in(path) for path in daemon.state.glob("berth.db.corrupt-*") if "-wal" not in path.name] == [1], "nothing is lost"
    with measuring() as daemon:
        measure(daemon)
        another(daemon, 0)
        measure(daemon)
        store_is(daemon, "set_aside")
        says(daemon, "store-set-aside", "does not fit its tables")


def a_table_that_lacks_a_column():
    for table, column in (("claim", "is_admins"), ("baseline", "is_overloaded")):
        with measuring() as daemon:
            daemon.stop()
            with contextlib.closing(sqlite3.connect(database(daemon), isolation_level=None)) as file:
                file.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            with measuring(directory=daemon.directory) as again:
                store_is(again, "set_aside")
                says(again, "store-set-aside", "does not fit its tables")


def a_pipe_beside_it():
    """The daemon answers, and goes back to the file when the pipe has gone."""
    for suffix in ("-wal", "-shm", "-journal"):
        with measuring() as daemon:
            daemon.stop()
            pipe = daemon.state / f"berth.db{suffix}"
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
            with measuring(directory=daemon.directory) as again:
                store_is(again, "memory_only")
                says(again, "store-memory-only", f"berth.db{suffix} is not a regular file")
                pipe.unlink()
                is_back(again, 0)


def files_beside_it():
    with measuring() as daemon:
        for run in range(1, 4):
            measure(daemon)
            os.truncate(daemon.state / "berth.db-shm", 0)
            measure(daemon)
            (daemon.state / "berth.db-wal").unlink()
        assert len(points(daemon)) == 6 and daemon.status()["store"] == "ok"
        daemon.stop()
        assert runs_in(database(daemon)) == 6


CUTS = (0, 0, 4096, 20000)  # bytes that are left of an index


def cut(index):
    with contextlib.suppress(FileNotFoundError):
        os.truncate(index, random.choice(CUTS))


def somebody_truncates_the_index():
    """Once in each run, at any moment: within a call as well as between two. Nothing is lost."""
    with measuring() as daemon:
        index = daemon.state / "berth.db-shm"
        measure(daemon)
        for _ in range(8):
            once = threading.Timer(random.uniform(0, 0.25), cut, [index])
            once.start()
            measure(daemon)
            claim(daemon)
            once.join()
        assert daemon.process.poll() is None, daemon.said()
        measure(daemon)
        store_is(daemon, "ok")
        assert len(points(daemon)) == 10, daemon.said()
        daemon.stop()
        assert runs_in(database(daemon)) == 10
        assert not list(daemon.state.glob("berth.db.corrupt-*")), "nothing was broken"


def somebody_truncates_the_index_often():
    """Until no write succeeds. An index that was cut and then lengthened by a cut to a larger length reads as zeroes."""
    with measuring() as daemon:
        index, over = daemon.state / "berth.db-shm", threading.Event()

        def cut_on():
            while not over.wait(random.uniform(0, 0.01)):
                cut(index)

        measure(daemon)
        others = threading.Thread(target=cut_on)
        others.start()
        try:
            for _ in range(25):
                measure(daemon)
                claim(daemon)
        finally:
            over.set()
            others.join()
        measure(daemon)
        store_is(daemon, "ok")
        assert len(points(daemon)) == 27, daemon.said()
        daemon.stop()
        assert runs_in(database(daemon)) == 27
        assert not list(daemon.state.glob("berth.db.corrupt-*")), "nothing was broken"


def no_room_for_the_index():
    """A truncated file that was extended again has a hole, without contents."""
    with small_disk() as (folder, state), measuring(directory=folder) as daemon:
        measure(daemon)
        index = state / "berth.db-shm"
        size = index.stat().st_size
        with contextlib.closing(sqlite3.connect(database(daemon))) as other:  # as long as this one has it open, it stays what it is
            other.execute("SELECT count(*) FROM run").fetchone()
            os.truncate(index, 0)
            fill(state / "filler")
            os.truncate(index, size)
            measure(daemon)
            # the daemon may have mended the index before the disk was full: then its log has no room
            is_out(daemon, ("the index of its log cannot be kept", "database or disk is full"))
            measure(daemon)
            assert len(points(daemon)) >= 2  # what is in the file may not be readable now
            (state / "filler").unlink()
        is_back(daemon, 3)
        daemon.stop()
        assert runs_in(database(daemon)) == 3


def a_rollback_journal():
    with measuring("store_journal = rollback\n") as daemon:
        measure(daemon)
        finding = findings(daemon)["store-rollback"]
        assert finding["severity"] == "info" and daemon.status()["store"] == "ok", finding
        with contextlib.closing(sqlite3.connect(database(daemon), timeout=0.1)) as other:
            try:
                other.execute("SELECT count(*) FROM run")
                raise AssertionError("the file is not locked")
            except sqlite3.OperationalError as error:
                assert "locked" in str(error)
        assert not (daemon.state / "berth.db-wal").exists()
        measure(daemon)
        daemon.stop()
        with measuring(directory=daemon.directory) as other_way:
            measure(other_way)
            is_back(other_way, 3)
            assert (daemon.state / "berth.db-wal").exists()


def at_rest_nothing_runs():
    with measuring() as daemon:
        measure(daemon)
        time.sleep(1.5)
        assert least(lambda: wakes(daemon.process.pid, 3), 1) == 0


TESTS = [a_full_disk, a_read_only_disk, the_directory_goes, somebody_holds_the_lock, a_newer_schema_is_not_touched, a_broken_file_is_set_aside,
         broken_while_it_runs, whoever_notices_it_says_so, what_was_set_aside_is_remembered, taken_away_while_nobody_uses_it,
         another_version_takes_over_while_it_runs, a_version_that_does_not_fit_the_tables,
         a_table_that_lacks_a_column, a_pipe_beside_it, files_beside_it, somebody_truncates_the_index,
         somebody_truncates_the_index_often, no_room_for_the_index, a_rollback_journal, at_rest_nothing_runs]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, at_once=4) > 0)
