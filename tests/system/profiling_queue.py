"""Claims for profiling wait for their gpus: order, several gpus, limits, ends. Prints TAP."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, least, until  # noqa: E402
from claiming import INVALID, PLACEMENT, acting, as_nobody, claim, claimed, command, listed, release  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402

CLAIMED, NOT_ENOUGH, UNAVAILABLE = (PLACEMENT + name for name in ("AlreadyClaimed", "NotEnough", "Unavailable"))
SANITIZED = any(name in (BIN / "berthd").read_bytes() for name in (b"__asan_init", b"__tsan_init"))
USER, OTHER = 1001, 1002


def request(*places, wait_s=60, ttl_s=600, **more):
    return {"places": list(places), "purpose": "profiling", "ttl_s": ttl_s, "wait_s": wait_s, **more}


class Waiter:
    """A call that waits, on a connection of its own; got is its last reply."""

    def __init__(self, daemon, *places, **more):
        self.peer = Connection(daemon.socket, timeout=20)
        self.peer.send(PLACEMENT + "Claim", request(*places, **more), more=True)
        self.by, self.got = None, None
        self.read()

    def read(self):
        """Takes a reply, which is a claim in the way or the last one."""
        reply = self.peer.receive()
        assert reply is not None, "the connection was closed"
        if reply.get("continues"):
            self.by = reply["parameters"]["waits_for"]
            assert reply["parameters"]["claim"] is None, reply
        else:
            self.got = reply.get("error"), reply["parameters"]

    def end(self):
        """Its claim, or (error, parameters)."""
        while self.got is None:
            self.read()
        return self.got[1]["claim"] if self.got[0] is None else self.got

    def is_waiting(self, seconds=0.15):
        """True when nothing comes for so long."""
        self.peer.socket.settimeout(seconds)
        try:
            self.read()
        except TimeoutError:
            return self.got is None
        finally:
            self.peer.socket.settimeout(20)
        return self.got is None and self.is_waiting(seconds)

    def close(self):
        self.peer.socket.close()


def waiting(daemon):
    return daemon.call(PLACEMENT + "ListClaims")["waiting"]


@contextlib.contextmanager
def serving(config="", node="h200x4"):
    with Daemon("--node", NODES / node, config=config) as daemon:
        yield daemon


@contextlib.contextmanager
def open_to_users(config=""):
    """A node whose gpus every user may open."""
    if os.geteuid() != 0:
        raise LeftOut("only root can be two users")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        node, device = pathlib.Path(folder) / "node", pathlib.Path(folder) / "device"
        device.touch()
        device.chmod(0o666)
        shutil.copytree(NODES / "h200x4", node)
        lines = [json.loads(line) for line in (node / "facts.jsonl").read_text().splitlines()]
        for line in lines:
            if line["record"] == "device":
                line.update(minor=None, render_node=str(device))
        (node / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        with Daemon("--node", node, config="socket_mode = 0666\n" + config) as daemon:
            os.chmod(daemon.directory, 0o755)
            yield daemon


def user_claims(daemon, uid, *places, purpose="profiling", **more):
    (error, reply), = as_nobody((daemon.socket, PLACEMENT + "Claim", {"places": list(places), "purpose": purpose, "ttl_s": 600, **more}), uid=uid)
    assert error is None, (error, reply)
    return reply["claim"]


# ---- order ----

def it_is_granted_at_once_when_nothing_is_in_the_way():
    with serving() as daemon:
        got = Waiter(daemon, "gpu0", configuration="pc 100 us")
        assert got.by is None and got.end()["configuration"] == "pc 100 us", got.got
        assert call(daemon.socket, PLACEMENT + "Claim", request("gpu1"))[1]["claim"]["places"] == ["gpu1"]
        assert not waiting(daemon)


def first_come_first_served():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling", configuration="counters=a")
        waiters = []
        for number in range(4):
            waiters.append(Waiter(daemon, "gpu0", configuration=f"number {number}"))
            assert waiters[-1].by == {"place": "gpu0", "claim": held["claim"], "is_waiting": False, "uid": os.getuid(),
                                      "configuration": "counters=a", "expires_at_s": waiters[-1].by["expires_at_s"]}, waiters[-1].by
            assert abs(waiters[-1].by["expires_at_s"] - held["expires_at_s"]) <= 1
        assert [one["configuration"] for one in waiting(daemon)] == [f"number {number}" for number in range(4)]
        for number, waiter in enumerate(waiters):
            assert all(one.is_waiting() for one in waiters[number:])
            release(daemon, claim=held["claim"])
            held = waiter.end()
            assert held["configuration"] == f"number {number}" and list(listed(daemon)) == [held["claim"]], held
            for later in waiters[number + 1:]:
                while later.by["claim"] != held["claim"]:
                    later.read()
        assert not waiting(daemon)


def several_gpus_come_together_and_in_order():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling")
        both = Waiter(daemon, "gpu1", "gpu0")
        behind = Waiter(daemon, "gpu1")
        assert behind.by["is_waiting"] and behind.by["place"] == "gpu1" and behind.by["claim"] == waiting(daemon)[0]["claim"], behind.by
        assert Waiter(daemon, "gpu2").end()["places"] == ["gpu2"], "no gpu in common: it passes"
        error, reply = claim(daemon, "gpu1", purpose="profiling")
        assert error == CLAIMED and reply["place"] == "gpu1" and "earlier request that waits" in reply["detail"], (error, reply)
        assert claim(daemon, "gpu3", purpose="profiling")[0] is None and claim(daemon, "gpu1")[0] is None, "computing does not wait"
        assert both.is_waiting() and behind.is_waiting()
        release(daemon, claim=held["claim"])
        assert both.end()["places"] == ["gpu0", "gpu1"]
        assert behind.is_waiting()
        release(daemon, claim=both.end()["claim"])
        assert behind.end()["places"] == ["gpu1"]


def claims_of_many_gpus_never_block_each_other_for_ever():
    """Sixteen threads claim random sets of gpus: none is had by two, all are granted, those with a gpu in common in the order of arrival."""
    chance = random.Random(7)
    rounds = 6 if SANITIZED else 20
    with serving() as daemon:
        holders, wrong, lock = {}, [], threading.Lock()

        def work(sets):
            for places in sets:
                got = Waiter(daemon, *places).end()
                with lock:
                    if not isinstance(got, dict) or holders.keys() & set(places):
                        wrong.append((got, places, dict(holders)))
                    holders.update(dict.fromkeys(places, got))
                time.sleep(0.001)
                with lock:
                    for place in places:
                        holders.pop(place, None)
                release(daemon, claim=got["claim"])
        threads = [threading.Thread(target=work, args=([[f"gpu{i}" for i in chance.sample(range(4), chance.randint(1, 4))] for _ in range(rounds)],), daemon=True)
                   for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads) and not wrong, wrong
        assert not listed(daemon) and not waiting(daemon)


def gpus_of_amd_are_shared_when_nobody_waits():
    with serving(node="mi250x") as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling", configuration="a")
        assert Waiter(daemon, "gpu0", configuration="a").end()["configuration"] == "a"
        other = Waiter(daemon, "gpu0", configuration="b")
        late = Waiter(daemon, "gpu0", configuration="a")
        assert late.is_waiting() and late.by["is_waiting"], "the other configuration would never come"
        for one in listed(daemon).values():
            release(daemon, claim=one["claim"])
        assert other.end()["configuration"] == "b" and late.is_waiting(), held


# ---- the ends of waiting ----

def who_hangs_up_has_left_the_queue():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling")
        first, second = Waiter(daemon, "gpu0", "gpu1"), Waiter(daemon, "gpu1")
        assert second.is_waiting()
        first.close()
        assert second.end()["places"] == ["gpu1"], "what it held back is free"
        assert not waiting(daemon) and held["claim"] in listed(daemon)
        with Connection(daemon.socket) as peer:
            peer.send(PLACEMENT + "Claim", request("gpu0"), oneway=True)
            assert peer.call("io.berth.Fabric.GetStatus")[0] is None and not waiting(daemon), "who reads no answer does not wait"


def who_hangs_up_as_it_is_granted_has_no_claim():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling")
        for key in (None, "k"):
            waiter = Waiter(daemon, "gpu0", **({"key": key} if key else {}))
            waiter.close()
            release(daemon, claim=held["claim"])
            assert until(lambda: not waiting(daemon)) is True
            for one in listed(daemon).values():
                assert one["key"] == "k", "it could not know of its claim"
                release(daemon, claim=one["claim"])
            held = claimed(daemon, "gpu0", purpose="profiling")


def its_time_ends_it():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling", key="k")
        begin = time.monotonic()
        waiter, later = Waiter(daemon, "gpu0", wait_s=1), Waiter(daemon, "gpu0", wait_s=60)
        error, reply = waiter.end()
        took = time.monotonic() - begin
        by = f"{held['claim']} of uid {os.getuid()} (key k)"
        assert error == CLAIMED and reply == {"place": "gpu0", "by": by,
                                              "detail": f"waited 1 s: gpu0 is claimed already, by {by}, a claim of your own"}, (error, reply)
        assert 0.95 < took < 20, took
        assert later.is_waiting() and len(waiting(daemon)) == 1
        assert waiter.peer.call("io.berth.Fabric.GetStatus")[0] is None, "the connection goes on"


def the_end_of_the_holder_grants_it():
    with serving() as daemon:
        with subprocess.Popen(["sleep", "60"]) as job:
            claimed(daemon, "gpu0", purpose="profiling", owner_pid=job.pid)
            waiter = Waiter(daemon, "gpu0", ttl_s=1)
            assert waiter.is_waiting()
            job.kill()
            assert waiter.end()["places"] == ["gpu0"]
        second = Waiter(daemon, "gpu0")
        assert second.end()["places"] == ["gpu0"], "the time of a claim begins when it is granted, and ends it"


def an_owner_that_dies_meanwhile_holds_nobody_up():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling")
        with subprocess.Popen(["sleep", "60"]) as job:
            waiter, next_one = Waiter(daemon, "gpu0", owner_pid=job.pid), Waiter(daemon, "gpu0")
            job.kill()
        release(daemon, claim=held["claim"])
        assert waiter.end()[0] == PLACEMENT + "NoSuchOwner" and next_one.end()["places"] == ["gpu0"]


def it_can_be_released():
    with serving() as daemon:
        claimed(daemon, "gpu0", purpose="profiling")
        waiter = Waiter(daemon, "gpu0")
        name = waiting(daemon)[0]["claim"]
        assert release(daemon, claim=name)[1]["released"] == 1
        assert waiter.end() == (UNAVAILABLE, {"detail": f"the waiting request {name} was released; nothing was claimed"}), waiter.got
        assert release(daemon, claim=name)[0] == PLACEMENT + "NoSuchClaim"


def the_end_of_the_daemon_is_told():
    with serving() as daemon:
        claimed(daemon, "gpu0", purpose="profiling")
        waiters = [Waiter(daemon, "gpu0") for _ in range(5)]
        assert daemon.stop()[0] == 0
        for waiter in waiters:
            assert waiter.end() == (UNAVAILABLE, {"detail": "the daemon ends; nothing was claimed"}), waiter.got


def waiting_is_not_kept_over_a_restart():
    with tempfile.TemporaryDirectory() as folder, Daemon("--node", NODES / "h200x4", directory=folder) as daemon:
        waiter = (claimed(daemon, "gpu0", purpose="profiling"), Waiter(daemon, "gpu0"))[1]
        daemon.stop(9)
        assert waiter.peer.receive() is None, "a killed daemon says nothing"
        with Daemon("--node", NODES / "h200x4", directory=folder) as again:
            assert not waiting(again) and Waiter(again, "gpu1").end()["places"] == ["gpu1"]


# ---- keys and rights ----

def a_key_is_granted_once():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling")
        one, two = Waiter(daemon, "gpu0", key="k"), Waiter(daemon, "gpu0", key="k")
        other = Waiter(daemon, "gpu0", key="k", configuration="c")
        release(daemon, claim=held["claim"])
        got = one.end()
        assert two.end()["claim"] == got["claim"] and list(listed(daemon)) == [got["claim"]]
        assert other.end()[0] == PLACEMENT + "KeyMismatch", other.got
        third = Waiter(daemon, "gpu1")
        begin = time.monotonic()
        assert Waiter(daemon, "gpu0", key="k").end()["claim"] == got["claim"]
        error, reply = Waiter(daemon, "gpu0", "gpu1", key="k", wait_s=60).end()
        assert error == CLAIMED and reply["place"] == "gpu1" and time.monotonic() - begin < 10, "who has gpus does not wait for more"
        assert third.end()["places"] == ["gpu1"] and listed(daemon)[got["claim"]]["places"] == ["gpu0"]


def administrators_wait_or_go_before_users():
    with open_to_users() as daemon:
        held = user_claims(daemon, USER, "gpu0")
        root = Waiter(daemon, "gpu0")
        assert root.is_waiting() and root.by["uid"] == USER, "one that waits ends no claim"
        with acting(USER, lambda: Waiter(daemon, "gpu0", "gpu1").end()):
            assert until(lambda: len(waiting(daemon)) == 2)
            assert claim(daemon, "gpu1", purpose="profiling")[0] is None, "an administrator's claim does not wait for users'"
            assert claim(daemon, "gpu0", purpose="profiling")[0] == CLAIMED, "but for administrators'"
            release(daemon, claim=held["claim"])
            assert root.end()["uid"] == 0


def what_computes_is_waited_for():
    with open_to_users() as daemon:
        computes = claimed(daemon, "gpu0")
        assert Waiter(daemon, "gpu0").end()["places"] == ["gpu0"], "claims of the two purposes of one user stand together"
        release(daemon, claim=computes["claim"])
        for one in listed(daemon):
            release(daemon, claim=one)
        theirs = user_claims(daemon, USER, "gpu0", purpose="compute")
        told, tell = os.pipe()

        def wait():
            waiter = Waiter(daemon, "gpu0")
            os.write(tell, json.dumps([waiter.by, waiter.end()]).encode())
        with acting(OTHER, wait):
            assert until(lambda: waiting(daemon))
            release(daemon, claim=theirs["claim"])
            by, got = json.loads(os.read(told, 65536))
        assert by["claim"] == theirs["claim"] and by["uid"] == USER and got["uid"] == OTHER, (by, got)


def wrong_requests_are_refused():
    with serving() as daemon:
        claimed(daemon, "gpu0", purpose="profiling")
        for field, more in {"wait_s": {"purpose": "compute"}, "owner_cgroup": {"owner_cgroup": "/sys/fs/cgroup/a"}, "places": {"places": ["core0", "gpu0"]}}.items():
            error, reply = call(daemon.socket, PLACEMENT + "Claim", {**request("gpu0"), **more})
            assert error == INVALID and reply["parameter"] == field and reply["detail"].startswith(field + ": "), (field, error, reply)
        for wait_s in (0, -1, 86401, 2**62):
            error, reply = call(daemon.socket, PLACEMENT + "Claim", request("gpu0", wait_s=wait_s))
            assert error == INVALID and reply["parameter"] == "wait_s", (wait_s, error, reply)
        assert not waiting(daemon)


# ---- one against all others ----

def room_for(daemon, most, detail):
    """So many requests wait; one more, and many more, are refused. Returns those that wait."""
    waiters = [Waiter(daemon, "gpu0") for _ in range(most)]
    assert all(waiter.got is None for waiter in waiters)
    for number in (1, 200):
        for _ in range(number):
            error, reply = Waiter(daemon, "gpu0").end()
            assert error == NOT_ENOUGH and (reply["resource"], reply["detail"]) == ("waiting claims", detail), (error, reply)
    got = Waiter(daemon, "gpu3").end()
    assert got["places"] == ["gpu3"], "a free gpu needs no room"
    release(daemon, claim=got["claim"])
    waiters.pop().close()

    def fits():
        waiters.append(Waiter(daemon, "gpu0"))
        return waiters[-1].got is None
    assert until(fits), "room that was freed"
    return waiters


def a_user_and_all_have_room_for_some():
    of_user, of_all = (f"{whose} waiting claims, which is all that {who}" for whose, who in (("you have 3", "a user may have"), ("there are 4", "this node takes")))
    with open_to_users("waiting_claims_per_user = 3\nwaiting_claims_in_all = 4\n") as daemon:
        claimed(daemon, "gpu0", purpose="profiling")
        with contextlib.ExitStack() as users:
            for uid, most, detail in ((USER, 3, of_user), (OTHER, 1, of_all)):
                told, tell = os.pipe()

                def act():
                    try:
                        kept = room_for(daemon, most, detail)
                        os.write(tell, b"done")
                        time.sleep(60)
                        kept.clear()
                    except BaseException as error:
                        os.write(tell, repr(error).encode())
                users.enter_context(acting(uid, act))
                assert (said := os.read(told, 65536)) == b"done", said
            assert room_for(daemon, 3, of_user), "administrators have room of their own"
    with open_to_users() as daemon:
        claimed(daemon, "gpu0", purpose="profiling")
        assert room_for(daemon, 16, of_user.replace("3", "16")), "the default"


def the_daemon_answers_others_meanwhile():
    """A user joins and leaves the queue as fast as it can, beside a full queue: a status takes no longer than a moment."""
    with open_to_users() as daemon:
        claimed(daemon, "gpu0", purpose="profiling")

        def hostile():
            kept = [Waiter(daemon, "gpu0", "gpu1", "gpu2", "gpu3") for _ in range(15)]
            while kept:
                Waiter(daemon, "gpu0").close()

        def longest_s():
            took, end = [], time.monotonic() + 1
            with Connection(daemon.socket, timeout=20) as good:
                while (begin := time.monotonic()) < end:
                    assert good.call("io.berth.Fabric.GetStatus")[0] is None
                    took.append(time.monotonic() - begin)
            print(f"# {len(took)} answers; the longest took {1e3 * max(took):.1f} ms")
            return max(took)

        limit_s = 2 if SANITIZED else 0.25
        with contextlib.ExitStack() as users:
            for uid in range(65400, 65410):
                users.enter_context(acting(uid, hostile))
            assert until(lambda: len(waiting(daemon)) >= 150)
            assert least(longest_s, limit_s) < limit_s
        assert until(lambda: not waiting(daemon)), "all have left"


# ---- the command ----

def the_command_waits_and_says_for_whom():
    with serving() as daemon:
        held = claimed(daemon, "gpu0", purpose="profiling", configuration="counters=a")
        words = [BIN / "berth", "--socket", daemon.socket, "claim", "gpu0", "gpu1", "--profiling", "--ttl", "60", "--wait"]
        name = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        with contextlib.ExitStack() as programs:
            berth = programs.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            line = berth.stderr.readline()
            assert line.startswith(f"berth: waits for claim {held['claim']} of user {name} on gpu0, until 20") and line.endswith(
                "; configuration counters=a\n"), line
            as_json = programs.enter_context(subprocess.Popen([*words[:3], "--json", *words[3:]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
            assert until(lambda: len(waiting(daemon)) == 2)
            status, out, _ = command(daemon, "claims")
            assert status == 0 and "waiting, in the order of arrival" in out and waiting(daemon)[1]["claim"] in out, out
            status, out, _ = command(daemon, "status")
            assert status == 0 and f"{name} has gpu0 (profiling): counters=a" in out and "2 claims for profiling" in out, out
            release(daemon, claim=held["claim"])
            out, error = berth.communicate(timeout=20)
            mine, = listed(daemon)
            assert berth.returncode == 0 and out.startswith(mine + " until ") and "waits" not in error, (out, error)
            release(daemon, claim=mine)
            replies = [json.loads(line) for line in as_json.communicate(timeout=20)[0].splitlines()]
            assert as_json.returncode == 0 and replies[-1]["claim"]["claim"] in listed(daemon), replies
            assert all(reply["claim"] is None and reply["waits_for"]["place"] for reply in replies[:-1]) and len(replies) >= 2, replies


def the_command_fails_with_a_line():
    with serving() as daemon:
        claimed(daemon, "gpu0", purpose="profiling")
        words = [BIN / "berth", "--socket", daemon.socket, "claim", "gpu0", "--profiling", "--ttl", "60"]
        done = subprocess.run([*words, "--wait=1"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 75 and done.stderr.splitlines()[-1].startswith("berth: waited 1 s: gpu0 is claimed already, by "), done
        for wrong, said in ((["claim", "gpu0", "--ttl", "5", "--wait"], "--profiling"), (["claim", "gpu0", "--profiling", "--ttl", "5", "--wait=x"], "not x"),
                            (["claim", "gpu0", "--profiling", "--ttl", "5", "--wait="], "takes a time"), (["claim", "gpu0", "--profiling", "--ttl", "5", "--wait=2d"], "86400")):
            status, out, error = command(daemon, *wrong)
            assert status == 64 and not out and error.count("\n") == 1 and said in error, (wrong, status, error)
        for number, code, said in ((15, 75, "berth: the daemon ends; nothing was claimed\n"), (9, 69, "")):
            with subprocess.Popen([*words, "--wait"], stderr=subprocess.PIPE, text=True) as berth:
                assert berth.stderr.readline().startswith("berth: waits for claim ")
                daemon.stop(number)
                error = berth.communicate(timeout=20)[1]
                assert berth.returncode == code and error.count("\n") == 1 and error.endswith(said), (berth.returncode, error)
            if number == 15:
                daemon.process = Daemon("--node", NODES / "h200x4", directory=daemon.directory).process
                claimed(daemon, "gpu0", purpose="profiling")


TESTS = [
    it_is_granted_at_once_when_nothing_is_in_the_way,
    first_come_first_served,
    several_gpus_come_together_and_in_order,
    claims_of_many_gpus_never_block_each_other_for_ever,
    gpus_of_amd_are_shared_when_nobody_waits,
    who_hangs_up_has_left_the_queue,
    who_hangs_up_as_it_is_granted_has_no_claim,
    its_time_ends_it,
    the_end_of_the_holder_grants_it,
    an_owner_that_dies_meanwhile_holds_nobody_up,
    it_can_be_released,
    the_end_of_the_daemon_is_told,
    waiting_is_not_kept_over_a_restart,
    a_key_is_granted_once,
    administrators_wait_or_go_before_users,
    what_computes_is_waited_for,
    wrong_requests_are_refused,
    a_user_and_all_have_room_for_some,
    the_daemon_answers_others_meanwhile,
    the_command_waits_and_says_for_whom,
    the_command_fails_with_a_line,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
