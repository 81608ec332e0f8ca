"""Claims in the store and in answers: their persistence, by sockets and a real database.

Prints TAP.
"""
import contextlib
import os
import pathlib
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import RUN, Daemon, cells, fake_probe, until  # noqa: E402
from claiming import PLACEMENT, as_nobody, claim, claimed, command, listed, release  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection  # noqa: E402


END = '{"record":"end","status":"complete","elapsed_ns":1000}'


def places_in_file(daemon):
    """Of the claims in the database, by key; None while there is none."""
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(
            sqlite3.connect(f"file:{daemon.state / 'berth.db'}?mode=ro", uri=True)) as database:
        return {key: places.split(",") for key, places in database.execute("SELECT key, places FROM claim")}
    return None


def rows(daemon):
    """The keys of the claims in the database; None while there is none."""
    places = places_in_file(daemon)
    return None if places is None else set(places)


def what_could_not_be_stored_is_stored_with_the_next():
    with Daemon("--no-probe") as daemon:
        blocker = sqlite3.connect(daemon.state / "berth.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        claimed(daemon, "core0", key="a")
        assert "in force but not stored" in daemon.said() and len(listed(daemon)) == 1 and rows(daemon) == set()
        status, out, error = command(daemon, "claim", "core0", "--key", "a", "--ttl", "600")
        assert status == 0 and out and "would not outlive the daemon" in error, (status, out, error)
        blocker.execute("ROLLBACK")
        blocker.close()
        claimed(daemon, "core1", key="b")
        assert until(lambda: rows(daemon) == {"a", "b"}), rows(daemon)
        assert command(daemon, "claim", "core0", "--key", "a", "--ttl", "600")[2] == "", "they are stored now"


def a_database_that_was_taken_away_gets_them_again():
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "core0", key="a")
        for file in daemon.state.glob("berth.db*"):
            file.unlink()
        daemon.process.send_signal(signal.SIGHUP)
        assert until(lambda: rows(daemon) == {"a"}), daemon.said()


def what_is_found_broken_or_gone_gets_them_again():
    """Whoever finds it: here a History. A kill afterwards loses no claim."""
    def broken(file):
        for other in file.parent.glob("berth.db-*"):
            other.unlink()
        file.write_bytes(b"rubbish " * 4096)

    for damage in (broken, lambda file: shutil.rmtree(file.parent)):
        with Daemon("--no-probe") as daemon:
            claimed(daemon, "core0", key="a")
            claimed(daemon, "core1", key="b")
            damage(daemon.state / "berth.db")
            daemon.call("io.berth.Fabric.History", {"metric": "memory_latency", "from": "core0", "to": "numa0"})
            assert until(lambda: rows(daemon) == {"a", "b"}), (rows(daemon), daemon.said())
            daemon.stop(signal.SIGKILL)
            with Daemon("--no-probe", directory=daemon.directory) as again:
                assert {c["key"] for c in listed(again).values()} == {"a", "b"}, again.said()


def a_file_that_fails_after_each_return_is_tried_less_and_less():
    """Somebody's lock makes the first save after each return fail."""
    with Daemon("--no-probe") as daemon, contextlib.closing(sqlite3.connect(daemon.state / "berth.db", isolation_level=None)) as other:
        assert is_stored(daemon, "core0", "a")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            other.execute("BEGIN IMMEDIATE")
            assert not is_stored(daemon, "core1", "b")
            other.execute("ROLLBACK")
            until(lambda: daemon.status()["store"] == "ok", end - time.monotonic())
        assert 0 < daemon.said().count("works again") < 5, daemon.said()[-2000:]


def a_file_with_a_foreign_schema_takes_no_claims():
    """Such a file is set aside, and the claims that are answered as stored outlive a kill."""
    for foreign in ("CREATE TRIGGER t BEFORE INSERT ON claim BEGIN SELECT raise(IGNORE); END",
                    "CREATE TABLE c AS SELECT * FROM claim; DROP TABLE claim; ALTER TABLE c RENAME TO claim",
                    "CREATE UNIQUE INDEX u ON claim (purpose)", "ALTER TABLE claim ADD COLUMN more TEXT"):
        with Daemon("--no-probe") as daemon:
            daemon.stop()
            with contextlib.closing(sqlite3.connect(daemon.state / "berth.db")) as database:
                database.executescript(foreign)
            with Daemon("--no-probe", directory=daemon.directory) as second:
                assert second.status()["store"] == "set_aside", (foreign, second.said())
                assert is_stored(second, "core0", "a") and is_stored(second, "core1", "b")
                second.stop(signal.SIGKILL)
                with Daemon("--no-probe", directory=daemon.directory) as third:
                    assert {c["key"] for c in listed(third).values()} == {"a", "b"}, (foreign, third.said())


def is_stored(daemon, place, key):
    error, reply = claim(daemon, place, key=key)
    assert error is None, (error, reply)
    return reply["stored"]


def checkpoint(daemon):
    with contextlib.closing(sqlite3.connect(daemon.state / "berth.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def what_is_truncated_gets_them_again():
    """Truncates the file or its logs to nothing or about a page.

    The claims are saved again with the next claim, by the daemon a second later, and at an orderly
    end.
    """
    ends = {"another": lambda daemon: is_stored(daemon, "core1", "b"),
            "nothing": lambda daemon: until(lambda: "truncated" in daemon.said() and rows(daemon) == {"a"}),
            "end": lambda daemon: daemon.stop()[0] == 0}
    for name, before, bytes_left in (("berth.db", None, 0), ("berth.db", None, 1), ("berth.db", checkpoint, 0), ("berth.db", checkpoint, 4096), ("berth.db", checkpoint, -1),
                                     ("berth.db-wal", None, 0), ("berth.db-wal", None, -1), ("berth.db-wal", None, 4152), ("berth.db-shm", None, 0)):
        for end, do in ends.items():
            if end == "nothing" and bytes_left != 0:
                continue
            with Daemon("--no-probe") as daemon:
                file = daemon.state / name
                assert is_stored(daemon, "core0", "a")
                if before:
                    before(daemon)
                os.truncate(file, bytes_left if bytes_left >= 0 else file.stat().st_size - 1)
                assert do(daemon), (name, bytes_left, end, rows(daemon), daemon.said())
                if end != "end":
                    daemon.stop(signal.SIGKILL)
                with Daemon("--no-probe", directory=daemon.directory) as again:
                    assert {c["key"] for c in listed(again).values()} == {"a", "b"} - ({"b"} if end != "another" else set()), (
                        name, bytes_left, end, daemon.said(), again.said())


def inode(daemon):
    with contextlib.suppress(FileNotFoundError):
        return (daemon.state / "berth.db-wal").lstat().st_ino


@contextlib.contextmanager
def held_inode(path):
    """Keeps the number of the file's inode from a later file, also after its removal."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        yield os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def a_log_that_is_replaced_loses_none():
    """With the next claim, and by itself; a kill afterwards finds every claim."""
    def empty(log):
        log.unlink()
        log.touch()

    def copied(log):
        copy = log.with_name("copy")
        shutil.copy(log, copy)
        copy.rename(log)

    def linked(log):
        log.unlink()
        log.symlink_to("/nonexistent")

    for replace in (empty, copied, linked):
        for another in (True, False):
            with Daemon("--no-probe") as daemon:
                assert is_stored(daemon, "core0", "a")
                replace(daemon.state / "berth.db-wal")
                with held_inode(daemon.state / "berth.db-wal") as replaced:
                    if another:
                        assert is_stored(daemon, "core1", "b"), daemon.said()
                    else:
                        assert until(lambda: inode(daemon) not in (None, replaced) and rows(daemon) == {"a"}), daemon.said()
                daemon.stop(signal.SIGKILL)
                with Daemon("--no-probe", directory=daemon.directory) as again:
                    assert {c["key"] for c in listed(again).values()} == ({"a", "b"} if another else {"a"}), (replace, again.said())


def a_release_of_nothing_looks_at_the_file():
    with Daemon("--no-probe") as daemon:
        assert is_stored(daemon, "core0", "a")
        nothing = daemon.call(PLACEMENT + "Release", {"key": "b"})
        assert nothing["released"] == 0 and nothing["stored"], nothing
        blocker = sqlite3.connect(daemon.state / "berth.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        assert not daemon.call(PLACEMENT + "Release", {"key": "b"})["stored"]
        blocker.close()


def truncated_while_claims_are_made():
    """Truncates the file repeatedly while claims are made, within calls too.

    The daemon notices. After one more truncation, a kill loses no claim.
    """
    with Daemon("--no-probe") as daemon:
        stop = threading.Event()

        def truncate():
            while not stop.is_set():
                with contextlib.suppress(FileNotFoundError):
                    file = daemon.state / random.choice(("berth.db", "berth.db-wal"))
                    os.truncate(file, min(file.stat().st_size, random.choice((0, 4096, 12000))))
                time.sleep(random.uniform(0, 0.01))

        thread = threading.Thread(target=truncate)
        thread.start()
        try:
            for number in range(60):
                release(daemon, key=f"k{number - 1}")
                is_stored(daemon, "core0", f"k{number}")
        finally:
            stop.set()
            thread.join()
        assert until(lambda: rows(daemon) == {"k59"}), (rows(daemon), daemon.said()[-800:])
        os.truncate(daemon.state / "berth.db", 0)
        assert is_stored(daemon, "core1", "last") and rows(daemon) == {"k59", "last"}, (rows(daemon), daemon.said()[-800:])
        daemon.stop(signal.SIGKILL)
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert {c["key"] for c in listed(again).values()} == {"k59", "last"}, (daemon.said()[-800:], again.said())


def an_orderly_end_leaves_them_in_a_file():
    """Though nobody has noticed that it went."""
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "core0", key="a")
        shutil.rmtree(daemon.state)
        assert daemon.stop()[0] == 0
        assert rows(daemon) == {"a"}, daemon.said()
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert {c["key"] for c in listed(again).values()} == {"a"}, again.said()


def the_answer_comes_when_it_is_stored():
    """While somebody else holds the database there is no answer, unless it says that the claim could not be stored."""
    with Daemon("--no-probe") as daemon, Connection(daemon.socket) as asker:
        for key in ("a", "b", "c"):
            blocker = sqlite3.connect(daemon.state / "berth.db", isolation_level=None)
            blocker.execute("BEGIN IMMEDIATE")
            asker.send(PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 77, "key": key})
            waits = not select.select([asker.socket], [], [], 0.05)[0]
            blocker.execute("ROLLBACK")
            blocker.close()
            reply = asker.receive()
            assert "error" not in reply and (key in rows(daemon)) >= reply["parameters"]["stored"], (reply, rows(daemon))
            assert waits or "in force but not stored" in daemon.said(), "it was answered before it was known"
            got = asker.call(PLACEMENT + "Release", {"key": key})[1]
            assert got["released"] == 1 and (key not in rows(daemon)) >= got["stored"], got


def the_next_boot_ends_them():
    """After a power cut: nobody released them, and their time is far off."""
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "core0", key="before", ttl_s=604800)
        claimed(daemon, "core1", key="since", ttl_s=604800)
        before = daemon.call("io.berth.Fabric.GetNode")["basis"]["claims"]
        daemon.stop(signal.SIGKILL)
        database = sqlite3.connect(daemon.state / "berth.db")
        database.execute("UPDATE claim SET boot_id = '00000000-0000-0000-0000-000000000000' WHERE key <> 'since'")
        database.commit()
        database.close()
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert {c["key"] for c in listed(again).values()} == {"since"}, listed(again)
            assert "claims of another boot: 1, ended with it" in again.said(), again.said()
            assert until(lambda: rows(again) == {"since"}), rows(again)
            assert again.call("io.berth.Fabric.GetNode")["basis"]["claims"] != before, "what was planned beside them is out of date"
            claimed(again, "core0", key="after")
            again.stop(signal.SIGKILL)
            with Daemon("--no-probe", directory=daemon.directory) as third:
                assert {c["key"] for c in listed(third).values()} == {"since", "after"} and third.said().count("of another boot") == 1, third.said()


def a_smaller_limit_counts_for_what_is_stored():
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "core0", ttl_s=5000, key="long")
        claimed(daemon, "core1", ttl_s=50, key="short")
        daemon.stop()
        with Daemon("--no-probe", directory=daemon.directory, config="claim_ttl_max_s = 100\n") as again:
            left = {c["key"]: c["expires_at_s"] - time.time() for c in listed(again).values()}
            assert 50 < left["long"] <= 101 and left["short"] <= 51, left


def whoever_hangs_up_has_no_claim():
    """Nobody knows the name of a claim whose reply was not heard, unless it has a key; with an owner it ends by itself."""
    left = 0
    with Daemon("--no-probe") as daemon:
        for more in ({}, {"key": "k"}, {"owner_pid": os.getpid()}):
            for _ in range(20):
                with Connection(daemon.socket) as asker:
                    asker.send(PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 77, **more})
                if more:
                    break
                # A reply that was on its way before the daemon saw that nobody waits counts as heard.
                if not until(lambda: daemon.status()["clients"] == 1 and not listed(daemon), 3):
                    left += 1
                    for name in listed(daemon):
                        release(daemon, claim=name)
            assert until(lambda: len(listed(daemon)) == len(more)), listed(daemon)
            for name in listed(daemon):
                release(daemon, claim=name)
        assert left < 5 and "hung up before the answer" in daemon.said(), left
        assert len(listed(daemon)) == 0 and claim(daemon, "core0")[0] is None


def as_user(directory=None):
    """A daemon that the modes of files bind, as they do not bind root."""
    if os.geteuid() != 0:
        return Daemon("--no-probe", directory=directory)
    directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="berth-test-"))
    for path in (directory, directory / "state"):
        path.mkdir(exist_ok=True)
        os.chown(path, 65534, 65534)
    directory.chmod(0o755)
    return Daemon("--no-probe", directory=directory, under=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))


@contextlib.contextmanager
def held(state):
    """Another process holds the database alone, with a change in its log."""
    with contextlib.closing(sqlite3.connect(state / "berth.db", isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("UPDATE claim_generation SET generation = generation + 1")
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")
    owned(state)


def owned(state):
    if os.geteuid() == 0:
        for path in state.iterdir():
            os.chown(path, 65534, 65534)


@contextlib.contextmanager
def read_only(state):
    """A directory that cannot be written, with a log in it, which cannot be read there."""
    assert (state / "berth.db-wal").stat().st_size > 0
    with modes(0o444, 0o555, state):
        yield


@contextlib.contextmanager
def forbidden(state):
    with modes(0, 0o755, state):
        yield


@contextlib.contextmanager
def modes(file, directory, state):
    for path in state.iterdir():
        path.chmod(file)
    state.chmod(directory)
    yield
    state.chmod(0o755)
    for path in state.iterdir():
        path.chmod(0o640)


OBSTACLES = held, read_only, forbidden


def killed_with(*claims):
    """The directory of a daemon that was killed with these (place, key) stored, and their names by key."""
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(as_user())
        names = {key: claimed(daemon, place, key=key)["claim"] for place, key in claims}
        assert until(lambda: rows(daemon) == set(names)), daemon.said()
        daemon.stop(signal.SIGKILL)
        stack.pop_all()  # whose end would remove the directory
    return daemon.directory, names


@contextlib.contextmanager
def started_without(obstacle, directory):
    """A daemon that could not read what is stored, and what ends that."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(obstacle(directory / "state"))
        with as_user(directory) as daemon:
            assert any("claims and baselines are unknown" in problem for problem in daemon.status()["problems"]), daemon.status()
            assert listed(daemon) == {}
            yield daemon, stack.close


def places(daemon):
    return {c["key"]: c["places"] for c in listed(daemon).values()}


def what_could_not_be_read_is_taken_up_later():
    """Beside what was claimed meanwhile; and a kill afterwards loses none."""
    for obstacle in OBSTACLES:
        directory, names = killed_with(("core0", "a"))
        with started_without(obstacle, directory) as (daemon, end_it):
            assert not is_stored(daemon, "core1", "b")
            end_it()
            assert until(lambda: places(daemon) == {"a": ["core0"], "b": ["core1"]}), (obstacle, places(daemon), daemon.said())
            assert names["a"] in listed(daemon) and claim(daemon, "core0")[0], "it is in force"
            assert until(lambda: rows(daemon) == {"a", "b"}) and is_stored(daemon, "core1", "b"), daemon.said()
            assert until(lambda: not daemon.status()["problems"]), daemon.status()
            daemon.stop(signal.SIGKILL)
            with as_user(directory) as again:
                assert places(again) == {"a": ["core0"], "b": ["core1"]}, again.said()


def without_a_claim_meanwhile_it_is_taken_up_too():
    directory, _ = killed_with(("core0", "a"))
    with started_without(held, directory) as (daemon, end_it):
        end_it()
        assert until(lambda: places(daemon) == {"a": ["core0"]}), daemon.said()
        assert rows(daemon) == {"a"}


def what_collides_with_a_later_claim_has_ended():
    """By its place, by its key, or released meanwhile. The log says so, once of each."""
    for stored, meanwhile, released, causes in (
            ((("core0", "a"), ("core1", "b")), ("core0", "other"), "b", {"a": "core0 is claimed already, by ", "b": "its key was released meanwhile"}),
            ((("core1", "b"),), ("core0", "b"), "c", {"b": "its key is claimed already, by "})):
        directory, names = killed_with(*stored)
        with started_without(held, directory) as (daemon, end_it):
            assert not is_stored(daemon, *meanwhile)
            nothing = daemon.call(PLACEMENT + "Release", {"key": released})
            assert nothing == {"released": 0, "stored": False}, nothing
            end_it()
            stands = {meanwhile[1]: [meanwhile[0]]}
            assert until(lambda: all(f"stored claim {names[key]}" in daemon.said() for key in causes)), daemon.said()
            assert until(lambda: places_in_file(daemon) == stands and places(daemon) == stands), (places_in_file(daemon), places(daemon))
            for key, cause in causes.items():
                said = [line for line in daemon.said().splitlines() if f"stored claim {names[key]} of uid {os.geteuid()} (key {key}) has ended: " in line]
                assert len(said) == 1 and cause in said[0], (key, daemon.said())
            daemon.stop(signal.SIGKILL)
            with as_user(directory) as again:
                assert places(again) == stands, again.said()


def an_administrators_stored_claim_ends_a_users_later_one():
    directory, _ = killed_with(("core0", "a"))
    with started_without(held, directory) as (daemon, end_it):
        replies = as_nobody((daemon.socket, PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 600, "key": "u"}), uid=1001)
        if replies is None:
            raise LeftOut("only root can be two users")
        assert replies[0][0] is None, replies
        end_it()
        assert until(lambda: places(daemon) == {"a": ["core0"]}), (places(daemon), daemon.said())
        assert "has ended: an administrator's covers its places" in daemon.said(), daemon.said()


def asked(daemon, uid, method, **parameters):
    replies = as_nobody((daemon.socket, PLACEMENT + method, parameters), uid=uid)
    if replies is None:
        raise LeftOut("only root can be two users")
    return replies[0]


def an_administrators_stored_claim_is_taken_up_first():
    """It ends a later one of a user, which collides with an earlier stored one too."""
    with as_user() as daemon:
        asked(daemon, 1001, "Claim", places=["core0"], purpose="compute", ttl_s=600, key="s")
        claimed(daemon, "core1", key="a")
        daemon.stop()
        with started_without(held, daemon.directory) as (again, end_it):
            assert asked(again, 1002, "Claim", places=["core0", "core1"], purpose="compute", ttl_s=600, key="u")[0] is None
            end_it()
            assert until(lambda: places(again) == {"s": ["core0"], "a": ["core1"]}), (places(again), again.said())


def a_renewal_that_has_run_out_ends_the_stored_claim():
    directory, _ = killed_with(("core0", "a"), ("core1", "b"))
    with started_without(held, directory) as (daemon, end_it):
        claim(daemon, "core0", key="a", ttl_s=1)
        assert until(lambda: not listed(daemon)), listed(daemon)
        end_it()
        assert until(lambda: places(daemon)) and places(daemon) == {"b": ["core1"]}, (places(daemon), daemon.said())


def a_release_by_name_says_that_claims_are_unknown():
    directory, names = killed_with(("core0", "a"))
    with started_without(held, directory) as (daemon, end_it):
        error, reply = release(daemon, claim=names["a"])
        assert error == PLACEMENT + "Unavailable" and "could not be read yet" in reply["detail"], (error, reply)
        end_it()
        assert until(lambda: places(daemon)) and release(daemon, claim=names["a"])[1]["released"] == 1
        assert release(daemon, claim=names["a"])[0] == "io.berth.Placement.NoSuchClaim"


def many_releases_of_one_user_hinder_no_other():
    directory, _ = killed_with(("core0", "a"), ("core1", "b"))
    with started_without(held, directory) as (daemon, end_it):
        releases = [(daemon.socket, PLACEMENT + "Release", {"key": f"k{i}"}) for i in range(4100)]
        if as_nobody(*releases, uid=1001) is None:
            raise LeftOut("only root can be two users")
        release(daemon, key="a")
        end_it()
        assert until(lambda: places(daemon)) and places(daemon) == {"b": ["core1"]}, (places(daemon), daemon.said())


def nothing_is_measured_beside_unknown_claims():
    """Except on request."""
    value = '{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","value":51.5,"low":50.5,"high":52.5,"n":9}'
    with fake_probe(f"echo '{RUN}'\necho '{value}'\necho '{END}'\n") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        claimed(daemon, "core0", key="a")
        daemon.stop()
        with contextlib.ExitStack() as stack:
            stack.enter_context(held(daemon.state))
            with Daemon("--socket", daemon.socket, directory=daemon.directory, config=f"probe_dir = {folder}\n") as again:
                assert until(lambda: "not measuring: the stored claims are unknown" in again.said()), again.said()
                time.sleep(0.5)
                assert again.status()["state"] == "ready" and all(cell["value"] is None for cell in cells(again, "cpu_pingpong")), again.said()
                again.call("io.berth.Health.Probe")
                assert until(lambda: [cell["value"] for cell in cells(again, "cpu_pingpong")] == [51.5]), again.said()
                stack.close()


def an_end_before_it_could_be_read_loses_nothing():
    """In order or by a kill; when the file works again at an orderly end, what was claimed meanwhile is in it as well."""
    for obstacle in OBSTACLES:
        for end, stays, left in ((signal.SIGTERM, True, {"a"}), (signal.SIGKILL, True, {"a"}), (signal.SIGTERM, False, {"a", "b"})):
            directory, _ = killed_with(("core0", "a"))
            with started_without(obstacle, directory) as (daemon, end_it):
                assert not is_stored(daemon, "core1", "b")
                if not stays:
                    end_it()
                daemon.stop(end)
                end_it()
                with as_user(directory) as again:
                    assert set(places(again)) == left, (obstacle, end, places(again), again.said())


def values_that_could_not_be_read_are_served_later():
    value = '{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","value":51.5,"low":50.5,"high":52.5,"n":9}'
    with fake_probe(f"echo '{RUN}'\necho '{value}'\necho '{END}'\n") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        claimed(daemon, "core0", key="a")
        release(daemon, key="a")
        daemon.call("io.berth.Health.Probe")
        daemon.wait_ready()
        daemon.stop()
        with contextlib.ExitStack() as stack:
            stack.enter_context(held(daemon.state))
            with Daemon("--no-probe", directory=daemon.directory) as again:
                assert all(cell["value"] is None for cell in cells(again, "cpu_pingpong")), again.said()
                stack.close()
                assert until(lambda: [cell["value"] for cell in cells(again, "cpu_pingpong")] == [51.5]), again.said()


def values_are_served_while_another_process_writes():
    """From the start: reading needs no lock."""
    value = '{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","value":51.5,"low":50.5,"high":52.5,"n":9}'
    with fake_probe(f"echo '{RUN}'\necho '{value}'\necho '{END}'\n") as folder, Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        daemon.call("io.berth.Health.Probe")
        daemon.wait_ready()
        daemon.stop()
        with contextlib.closing(sqlite3.connect(daemon.state / "berth.db", isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            with Daemon("--no-probe", directory=daemon.directory, config=f"probe_dir = {folder}\n") as again:
                assert [cell["value"] for cell in cells(again, "cpu_pingpong")] == [51.5], again.said()
                writer.execute("ROLLBACK")
                assert until(lambda: again.status()["store"] == "ok" and not again.status()["problems"]), again.status()
                assert [cell["value"] for cell in cells(again, "cpu_pingpong")] == [51.5], again.said()


def a_baseline_accepted_while_the_stored_one_is_unknown_counts():
    """Though it is in line with what was measured meanwhile."""
    def value(ns):
        return f'{{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","value":{ns},"low":{ns * .99},"high":{ns * 1.01},"n":9}}'

    with tempfile.NamedTemporaryFile("w+") as answer, fake_probe(f"cat {answer.name}\n") as folder, \
            Daemon("--no-probe", config=f"probe_dir = {folder}\n") as daemon:
        def measured(asked, ns):
            answer.seek(0)
            answer.truncate()
            answer.write(f"{RUN}\n{value(ns)}\n{END}\n")
            answer.flush()
            for _ in range(6):
                asked.call("io.berth.Health.Probe")
                asked.wait_ready()

        measured(daemon, 51.5)
        claimed(daemon, "core0", key="a")
        release(daemon, key="a")
        daemon.stop()
        with contextlib.ExitStack() as stack:
            stack.enter_context(held(daemon.state))
            with Daemon("--no-probe", directory=daemon.directory, config=f"probe_dir = {folder}\n") as again:
                measured(again, 200)
                accepted = again.call("io.berth.Health.AcceptBaseline")
                assert accepted["accepted"] == accepted["in_line"] == 1, accepted
                stack.close()
                again.stop()
                with contextlib.closing(sqlite3.connect(daemon.state / "berth.db")) as database:
                    assert database.execute("SELECT median FROM baseline").fetchall() == [(200,)], again.said()


TESTS = [
    an_administrators_stored_claim_is_taken_up_first,
    a_renewal_that_has_run_out_ends_the_stored_claim,
    a_release_by_name_says_that_claims_are_unknown,
    many_releases_of_one_user_hinder_no_other,
    nothing_is_measured_beside_unknown_claims,
    values_are_served_while_another_process_writes,
    a_baseline_accepted_while_the_stored_one_is_unknown_counts,
    what_could_not_be_read_is_taken_up_later,
    without_a_claim_meanwhile_it_is_taken_up_too,
    what_collides_with_a_later_claim_has_ended,
    an_administrators_stored_claim_ends_a_users_later_one,
    an_end_before_it_could_be_read_loses_nothing,
    values_that_could_not_be_read_are_served_later,
    what_could_not_be_stored_is_stored_with_the_next,
    a_database_that_was_taken_away_gets_them_again,
    what_is_found_broken_or_gone_gets_them_again,
    a_file_that_fails_after_each_return_is_tried_less_and_less,
    a_file_with_a_foreign_schema_takes_no_claims,
    what_is_truncated_gets_them_again,
    a_log_that_is_replaced_loses_none,
    a_release_of_nothing_looks_at_the_file,
    truncated_while_claims_are_made,
    an_orderly_end_leaves_them_in_a_file,
    the_answer_comes_when_it_is_stored,
    the_next_boot_ends_them,
    a_smaller_limit_counts_for_what_is_stored,
    whoever_hangs_up_has_no_claim,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
