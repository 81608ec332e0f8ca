"""Limits of ordinary users' claims, and claims of administrators above them; needs setuid.

Prints TAP.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, until  # noqa: E402
from claiming import INVALID, PLACEMENT, acting, as_nobody, claim, claimed, listed  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection  # noqa: E402


def as_user(uid, *calls):
    """Results of the calls as that user; left out where the test cannot become one."""
    replies = as_nobody(*calls, uid=uid)
    if replies is None:
        raise LeftOut("not root: cannot become somebody else")
    return replies


def asking(daemon, *places, ttl_s=60, **more):
    return [daemon.socket, PLACEMENT + "Claim", {"places": places, "purpose": "compute", "ttl_s": ttl_s, **more}]


def core0_is_free(daemon):
    """Left out where another program's processes have it, and where one cannot become another user."""
    as_user(1001, asking(daemon, "core0", key="try"), [daemon.socket, PLACEMENT + "Release", {"key": "try"}])


def an_ordinary_user_claims_for_an_hour_or_with_an_owner():
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        owner = subprocess.Popen(["sleep", "100"], user=1001, group=1001, extra_groups=[]) if os.geteuid() == 0 else None
        try:
            at, over, far, owned, again = as_user(
                1001, asking(daemon, "core0", ttl_s=3600, key="at"), asking(daemon, "core1", ttl_s=3601, key="over"), asking(daemon, "core1", ttl_s=2**62),
                asking(daemon, "core1", ttl_s=43200, key="owned", owner_pid=owner and owner.pid), asking(daemon, "core1", ttl_s=86400, key="owned"))
            assert at[0] is None and 3598 <= at[1]["claim"]["expires_at_s"] - time.time() <= 3601, at
            for error, reply in (over, far):
                assert error == INVALID and reply["parameter"] == "ttl_s" and "3600 s at most" in reply["detail"] and "--owner $$" in reply["detail"], (error, reply)
            assert owned[0] is None and again[0] is None and again[1]["claim"]["expires_at_s"] - time.time() > 86390, (owned, again)
            assert as_user(1001, asking(daemon, "core0", ttl_s=3601, key="at"))[0][0] == INVALID, "nor by renewing it"
            owner.kill()
            assert until(lambda: set(listed(daemon)) == {at[1]["claim"]["claim"]}), listed(daemon)
        finally:
            if owner is not None:
                owner.kill()
                owner.wait()
    with Daemon("--no-probe", config="claim_ttl_user_max_s = 10\n") as daemon:
        os.chmod(daemon.directory, 0o755)
        replies = as_user(1001, asking(daemon, "core0", ttl_s=10), asking(daemon, "core1", ttl_s=11))
        assert [error for error, _ in replies] == [None, INVALID], replies
        assert claimed(daemon, "core1", ttl_s=86400), "an administrator needs none"


def the_readmes_example_is_an_ordinary_users():
    """Longer than claim_ttl_user_max_s, and so with an owner: an ordinary user's shell may run it, of places that it has."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
    line = re.search(r"^(berth claim .*?) +#", text, re.M)[1]
    assert "--owner $$" in line and "12h" in line, line
    if 0 not in os.sched_getaffinity(0):
        raise LeftOut("it takes cpu 0")
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        core0_is_free(daemon)
        shell = f"PATH={BIN}:$PATH; " + re.sub("claim .* --ttl", "claim core0 --ttl", line)
        done = subprocess.run(["sh", "-c", shell], user=1001, group=1001, extra_groups=[], capture_output=True, text=True,
                              env={**os.environ, "BERTH_SOCKET": daemon.socket})
        if done.returncode == 126 or "Permission denied" in done.stderr or "not found" in done.stderr:
            raise LeftOut("an ordinary user cannot run what was built here")
        assert done.returncode == 0, done
        assert "3600 s at most" in subprocess.run(["sh", "-c", shell.replace("--owner $$", "")], user=1001, group=1001,
                                                  extra_groups=[], capture_output=True, text=True,
                                                  env={**os.environ, "BERTH_SOCKET": daemon.socket}).stderr


def what_another_users_job_runs_on_is_not_claimed():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or cpus[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1")
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        as_user(1001)
        bound = lambda uid, mask: subprocess.Popen(["sleep", "100"], user=uid, group=uid, extra_groups=[], preexec_fn=lambda: os.sched_setaffinity(0, mask))  # noqa: E731
        others = [bound(1002, cpus), bound(1001, {0}), bound(33, {0})]  # may run anywhere; the caller's own; the system's
        try:
            until(lambda: all(pathlib.Path(f"/proc/{p.pid}/comm").read_text() == "sleep\n" for p in others))
            (error, reply), = as_user(1001, asking(daemon, "core0", key="mine"))
            assert error is None, reply
            job = bound(1002, {0})
            others.append(job)
            until(lambda: pathlib.Path(f"/proc/{job.pid}/comm").read_text() == "sleep\n")
            renewed, more, machine, free = as_user(1001, asking(daemon, "core0", key="mine"), asking(daemon, "core0", "core1", key="mine"), asking(daemon, "machine0"),
                                                   asking(daemon, "core1"))
            assert renewed[0] is None, renewed
            error, reply = more
            assert (error, reply.get("place"), reply.get("by")) == (PLACEMENT + "AlreadyClaimed", "core0", f"process {job.pid} of uid 1002"), more
            assert machine[0] == PLACEMENT + "AlreadyClaimed" and "(key mine)" in machine[1]["by"], f"claims refuse before processes: {machine}"
            assert free[0] is None, free
            by_ttl, = as_user(1003, asking(daemon, "core0", ttl_s=86400))
            assert by_ttl[0] == INVALID, f"what needs no look at the machine's processes refuses first: {by_ttl}"
            assert claimed(daemon, "machine0"), "an administrator may"
            by_claim, = as_user(1003, asking(daemon, "core0"))
            assert by_claim[0] == PLACEMENT + "AlreadyClaimed" and "process" not in by_claim[1]["by"], by_claim
        finally:
            for process in others:
                process.kill()
                process.wait()


def a_oneway_claim_is_made_though_its_caller_hangs_up():
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        core0_is_free(daemon)
        _, method, parameters = asking(daemon, "core0", key="k")
        message = json.dumps({"method": method, "oneway": True, "parameters": parameters})

        def send():
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(daemon.socket)
                peer.sendall(message.encode() + b"\0")
            time.sleep(100)

        with acting(1001, send):
            (claim,) = until(lambda: listed(daemon).values())
        assert (claim["uid"], claim["key"], claim["places"]) == (1001, "k", ["core0"]), claim


def of_two_users_who_claim_at_once_one_gets_it():
    """Others may have claimed while the machine's processes were looked at."""
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        as_user(1001)
        calls = [asking(daemon, "core0", key="k"), [daemon.socket, PLACEMENT + "ListClaims", {}],
                 [daemon.socket, PLACEMENT + "Release", {"key": "k"}]]
        with concurrent.futures.ThreadPoolExecutor() as both:
            replies = list(both.map(lambda uid: as_user(uid, *(40 * calls)), (1001, 1002)))
        got = 0
        turns = [turn for user in replies for turn in zip(user[::3], user[1::3])]
        for (error, reply), (_, now) in turns:
            assert error in (None, PLACEMENT + "AlreadyClaimed"), (error, reply)
            if error is None:
                got += 1
                assert [c["claim"] for c in now["claims"]] == [reply["claim"]["claim"]], now
        assert got > 0 and not listed(daemon)


def a_claim_of_roots_ends_those_of_users():
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        theirs, = as_user(1001, asking(daemon, "machine0", key="theirs"))
        assert theirs[0] is None, theirs
        name = theirs[1]["claim"]["claim"]
        with Connection(daemon.socket) as watcher:
            watcher.send("io.berth.Fabric.Watch", {}, more=True)
            watcher.receive()
            assert claim(daemon, "core0", owner_pid=2**22 + 7)[0] == PLACEMENT + "NoSuchOwner" and set(listed(daemon)) == {name}, "a claim that fails ends none"
            got = claimed(daemon, "core0", key="job")
            assert watcher.receive()["parameters"]["changed"] == ["claims"]
        assert set(listed(daemon)) == {got["claim"]}
        assert f"claim {name} of uid 1001 (key theirs) has ended: an administrator's covers its places, {got['claim']} of uid 0 (key job)" in daemon.said(), daemon.said()
        assert as_user(1001, asking(daemon, "machine0"))[0][0] == PLACEMENT + "AlreadyClaimed", "not the other way round"
        assert claim(daemon, "core0")[0] == PLACEMENT + "AlreadyClaimed", "nor one of an administrator's"
        daemon.stop()
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert as_user(1001, asking(again, "core0"))[0][0] == PLACEMENT + "AlreadyClaimed"
            assert claim(again, "core0")[0] == PLACEMENT + "AlreadyClaimed", "whose it was is stored"


TESTS = [
    an_ordinary_user_claims_for_an_hour_or_with_an_owner,
    the_readmes_example_is_an_ordinary_users,
    what_another_users_job_runs_on_is_not_claimed,
    a_oneway_claim_is_made_though_its_caller_hangs_up,
    of_two_users_who_claim_at_once_one_gets_it,
    a_claim_of_roots_ends_those_of_users,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
