"""Helpers for tests of claims: calls as root and as an ordinary user."""
import contextlib
import json
import os
import signal
import subprocess

from berthd import BIN
from tap import LeftOut
from varlink import call

PLACEMENT = "io.berth.Placement."
DENIED = "org.varlink.service.PermissionDenied"
TEST_USERS = "1001", "1002"
INVALID = "org.varlink.service.InvalidParameter"


def claim(daemon, *places, purpose="compute", ttl_s=600, **more):
    return call(daemon.socket, PLACEMENT + "Claim",
                {"places": list(places), "purpose": purpose, "ttl_s": ttl_s, **more})


def claimed(daemon, *places, **more):
    error, reply = claim(daemon, *places, **more)
    assert error is None, (error, reply)
    return reply["claim"]


def release(daemon, **what):
    return call(daemon.socket, PLACEMENT + "Release", what)


def listed(daemon):
    return {c["claim"]: c for c in daemon.call(PLACEMENT + "ListClaims")["claims"]}


def bind(daemon, **request):
    return call(daemon.socket, PLACEMENT + "Bind", {"tasks": 1, **request})


@contextlib.contextmanager
def acting(uid, act):
    """A process of that user that runs act until the end."""
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


def as_nobody(*calls, uid=65534):
    """Results of calls (socket, method, parameters) as that user; None where that is impossible."""
    if os.geteuid() != 0:
        return None
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(Exception):
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(writer, json.dumps([call(*one) for one in calls]).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as replies:
        text = replies.read()
    os.waitpid(child, 0)
    replies = [tuple(reply) for reply in json.loads(text)]
    for _, reply in replies:
        by = reply.get("by", "")
        if " of uid " in by and by.startswith("process ") and by.split()[-1] not in TEST_USERS:
            raise LeftOut(f"something else on this machine is in the way: {reply['detail']}")
    return replies


def command(daemon, *arguments):
    """Exit status, standard output, standard error."""
    done = subprocess.run([BIN / "berth", "--socket", daemon.socket, *arguments],
                          capture_output=True, text=True, timeout=20,
                          env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
    assert done.stderr.count("\n") <= 1, done.stderr
    return done.returncode, done.stdout, done.stderr
