"""A berthd with failing allocations and accesses and a controlled wall clock
(tests/survival/preload.c), and checks of its remaining state.
"""
import atexit
import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time

from berthd import BIN, RUN
from varlink import Connection

PRELOAD = pathlib.Path(__file__).resolve().parent.parent.parent / "build/survival/preload.so"
ALLOCATIONS, ACCESSES, TABLES, BOOT_ID = 1, 2, 3, 4
KINDS = {"allocation": ALLOCATIONS, "access": ACCESSES}


def scratch():
    """A folder in memory where possible: a disk would take most of the time."""
    return pathlib.Path(tempfile.mkdtemp(prefix="berth-survival-", dir="/dev/shm"
                                         if os.access("/dev/shm", os.W_OK) else None))


class Control(ctypes.Structure):
    """The structure of tests/survival/preload.c."""
    _fields_ = [(name, ctypes.c_int64)
                for name in ("kind", "countdown", "for_ever", "failed", "live", "wall_s", "ready")]

    @classmethod
    def at(cls, path):
        path.write_bytes(bytes(4096))
        with open(path, "r+b") as file:
            self = cls.from_buffer(mmap.mmap(file.fileno(), 4096))
        self.path = path
        return self

    def arm(self, kind, at, for_ever=False):
        self.countdown, self.failed, self.for_ever = 0, 0, for_ever
        self.kind = kind
        self.countdown = at

    def disarm(self):
        """True when something had failed."""
        self.kind = self.countdown = self.for_ever = 0
        return self.failed > 0

    def environment(self):
        return {**os.environ, "LD_PRELOAD": str(PRELOAD), "BERTH_TEST_CONTROL": str(self.path)}


class Survivor:
    """A daemon in a folder that outlives it, for any number of starts. config: lines of berth.conf.
    """

    def __init__(self, folder, config="", control=None, program=BIN / "berthd"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.state = self.folder / "state"
        self.state.mkdir(exist_ok=True)
        self.socket = str(self.folder / "s")
        self.config = self.folder / "berth.conf"
        self.config.write_text(config)
        self.database = self.state / "berth.db"
        self.log = self.folder / "log"
        self.control = control
        self.program = program
        self.process = None

    def start(self, *arguments):
        environment = None
        if self.control is not None:
            self.control.ready = 0
            environment = self.control.environment()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([self.program, "--config", self.config, "--socket",
                                             self.socket, "--state-dir", self.state, *arguments],
                                            stderr=log, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, env=environment)
        atexit.register(self.kill)

    def connect(self, seconds=20):
        """A connection as soon as the daemon answers; None when it has ended."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                is_ready = self.control is None or self.control.ready
                connection = Connection(self.socket)
                if is_ready:
                    return connection
                # A child of the previous, killed daemon may hold the socket a moment longer.
                connection.socket.close()
            missing = f"it does not listen, or {PRELOAD} is missing (make survivors): "
            assert time.monotonic() < end, missing + self.said()
            time.sleep(0.001)
        atexit.unregister(self.kill)
        return None

    def said(self):
        return self.log.read_text(errors="replace")[-4000:]

    def kill(self):
        atexit.unregister(self.kill)
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def stop(self):
        self.process.terminate()
        code = self.process.wait(20)
        atexit.unregister(self.kill)
        return code


def examine(database, invariants):
    """Asserts that the file is whole:

    SQLite's own check, no row without its parent, and no row from any of the queries.
    """
    connection = sqlite3.connect(database)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        for sql in invariants:
            rows = connection.execute(sql).fetchmany(3)
            assert rows == [], (sql, rows)
    finally:
        connection.close()


def examine_copy(database, invariants):
    """Examines a copy, so that the daemon is the first to open its file.

    The copy must not exist yet.
    """
    with tempfile.TemporaryDirectory(prefix="berth-copy-", dir=database.parent.parent) as folder:
        for suffix in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(str(database) + suffix, folder)
        if (pathlib.Path(folder) / database.name).exists():
            examine(pathlib.Path(folder) / database.name, invariants)


def record(**fields):
    return json.dumps(fields, separators=(",", ":"))


def value(metric, source, target, number, **axes):
    return record(record="value", metric=metric, **{"from": source, "to": target}, value=number,
                  low=number, high=number, n=9,
                  axes={name: str(axis) for name, axis in axes.items()})


def seeded(name):
    """Random numbers that BERTH_SEED= repeats."""
    seed = int(os.environ.get("BERTH_SEED", random.SystemRandom().randrange(10**9)))
    print(f"# BERTH_SEED={seed} repeats the random choices of {name}", flush=True)
    return seed
