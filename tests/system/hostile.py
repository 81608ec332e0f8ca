"""One user who means harm, and another one who must not notice: calls that are never read, messages that take long to parse, a log that is flooded,
memory that is filled. The limits on time are generous, as other programs run. Prints TAP."""
import contextlib
import os
import pathlib
import re
import selectors
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES, Daemon, until  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

GOOD, HOSTILE = 65400, 65401
SECONDS, LIMIT_S = 1.5, 0.25
MIB = 1 << 20
STATUS = b'{"method":"io.berth.Fabric.GetStatus"}\0'
BIND = b'{"method":"io.berth.Placement.Bind","parameters":{"tasks":4}}\0'
NODE = b'{"method":"io.berth.Fabric.GetNode"}\0'
ARRAY = b'{"method":"io.berth.Fabric.GetMatrix","parameters":{"metric":"numa_distance","from":[0' + 520000 * b",0" + b"]}}\0"
DEEP = b'{"method":"io.berth.Fabric.GetStatus","x":[0' + 3 * (b"," + 1900 * b'{"a":' + b"0" + 1900 * b"}") + b"]}\0"


@contextlib.contextmanager
def as_user(uid, act):
    """A process of that user, in which act runs until the end."""
    if os.geteuid() != 0:
        raise LeftOut("only root can be two users")
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        try:
            act()
        finally:
            os._exit(0)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def flood(path, message, connections, reads):
    """Sends the message again and again on so many connections, and connects anew where one is closed."""
    look = selectors.DefaultSelector()
    many = message * (65536 // len(message) or 1)
    at = {}

    def connect():
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(path)
        peer.setblocking(False)
        at[peer] = 0
        look.register(peer, selectors.EVENT_WRITE | selectors.EVENT_READ)

    for _ in range(connections):
        connect()
    while True:
        for key, ready in look.select():
            peer = key.fileobj
            try:
                if ready & selectors.EVENT_READ and reads and not peer.recv(1 << 18):
                    raise ConnectionResetError
                if ready & selectors.EVENT_WRITE:
                    at[peer] = (at[peer] + peer.send(many[at[peer]:at[peer] + 65536])) % len(many)
            except BlockingIOError:
                pass
            except OSError:
                look.unregister(peer)
                del at[peer]
                peer.close()
                connect()


def open_to_all(*arguments, **more):
    daemon = Daemon("--node", NODES / "mi250x", *arguments, config="socket_mode = 0666\n", **more)
    os.chmod(daemon.directory, 0o755)
    return daemon


def worst_beside(message, connections, reads):
    """The longest that a good peer waits for GetStatus, in s, while a user floods the daemon."""
    with open_to_all() as daemon, as_user(HOSTILE, lambda: flood(daemon.socket, message, connections, reads)):
        time.sleep(0.3)
        report, tell = os.pipe()

        def ask():
            worst, end = 0, time.monotonic() + SECONDS
            with Connection(daemon.socket, timeout=20) as good:
                while (begin := time.monotonic()) < end:
                    assert good.call("io.berth.Fabric.GetStatus")[0] is None
                    worst = max(worst, time.monotonic() - begin)
            os.write(tell, str(worst).encode())

        with as_user(GOOD, ask) as pid:
            os.close(tell)
            with open(report) as told:
                worst = told.read()
        assert daemon.process.poll() is None, daemon.said()
        assert worst, "no answer"
        return float(worst)


def nobody_waits_beside_answers_that_are_never_read():
    assert worst_beside(NODE, 400, False) < LIMIT_S


def nobody_waits_beside_plans_that_are_never_read():
    assert worst_beside(BIND, 400, False) < LIMIT_S


def nobody_waits_beside_arrays_that_no_method_takes():
    assert worst_beside(ARRAY, 64, True) < LIMIT_S


def nobody_waits_beside_deep_messages():
    assert worst_beside(DEEP, 64, True) < LIMIT_S


def nobody_waits_beside_many_small_calls():
    assert worst_beside(STATUS, 400, True) < LIMIT_S


def a_plan_goes_before_a_users_hundredth():
    """The thread pool is shared by user, too: a good peer's Bind does not wait behind those that others asked for before."""
    with open_to_all() as daemon:
        def hostile():
            flood(daemon.socket, BIND, 200, False)
        with as_user(HOSTILE, hostile), as_user(HOSTILE + 1, hostile), as_user(HOSTILE + 2, hostile):
            time.sleep(0.3)
            for _ in range(5):
                begin = time.monotonic()
                daemon.call("io.berth.Placement.Bind", {"tasks": 8, "pattern": "alltoall", "bytes": MIB})
                assert time.monotonic() - begin < 1, time.monotonic() - begin


if __name__ == "__main__":
    sys.exit(run_tests([nobody_waits_beside_answers_that_are_never_read, nobody_waits_beside_plans_that_are_never_read,
                        nobody_waits_beside_arrays_that_no_method_takes, nobody_waits_beside_deep_messages,
                        nobody_waits_beside_many_small_calls, a_plan_goes_before_a_users_hundredth]) > 0)
