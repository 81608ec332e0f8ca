"""Claims over a real socket with a real database: rules, owners, users, restarts. Prints TAP."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN, Daemon, NODES, until  # noqa: E402
from claiming import DENIED, INVALID, PLACEMENT, as_nobody, bind, claim, claimed, command, listed, release  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402


GONE = PLACEMENT + "NoSuchOwner"


# ---- what may stand beside what ----

def what_is_inside_is_covered():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        numa = claimed(daemon, "numa0", key="a")
        by = f"{numa['claim']} of uid {os.getuid()} (key a)"
        for inner in ("core0", "pu64", "llc1", "gpu4", "module2", "package0", "machine0", "numa0"):
            error, reply = claim(daemon, inner)
            assert error == PLACEMENT + "AlreadyClaimed" and reply == {
                "place": "numa0", "by": by, "detail": f"numa0 is claimed already, by {by}, a claim of your own"}, (inner, error, reply)
        for outer in ("numa1", "gpu0", "core32"):
            assert claimed(daemon, outer)["places"] == [outer]
        assert claim(daemon, "package0", purpose="profiling")[0] is None, "profiling stands beside computing"


def places_are_named_once_in_the_order_of_the_node():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        got = claimed(daemon, "gpu3", "0000:c9:00.0", "core9", "gpu3")
        assert sorted(got["places"]) == ["core9", "gpu2", "gpu3"] and len(got["places"]) == 3, got


def gpus_of_amd_share_one_configuration():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        one = claimed(daemon, "gpu0", "gpu1", purpose="profiling", configuration="counters=a")
        two = claimed(daemon, "gpu1", purpose="profiling", configuration="counters=a")
        assert one["configuration"] == two["configuration"] == "counters=a"
        for other in ("counters=b", None):
            error, reply = claim(daemon, "numa3", purpose="profiling", configuration=other)
            assert error == PLACEMENT + "AlreadyClaimed" and reply["place"] in ("gpu0", "gpu1"), (error, reply)
        error, reply = claim(daemon, "core0", purpose="profiling")
        assert error == INVALID and reply == {
            "parameter": "places", "detail": "places: core0 is and has no gpu, and profiling is claimed for gpus"}, (error, reply)


def gpus_of_nvidia_are_not_shared():
    with Daemon("--node", str(NODES / "h200x4")) as daemon:
        claimed(daemon, "gpu0", purpose="profiling", configuration="x")
        error, reply = claim(daemon, "gpu0", purpose="profiling", configuration="x")
        assert error == PLACEMENT + "AlreadyClaimed" and reply["place"] == "gpu0", (error, reply)
        claimed(daemon, "gpu1", purpose="profiling", configuration="x")


def a_gpu_that_is_profiled_is_not_probed():
    with Daemon("--node", str(NODES / "h200x4")) as daemon:
        claimed(daemon, "gpu1", purpose="profiling")
        for places, error in ((["gpu1"], "Busy"), (["machine0"], "Busy"), (["gpu0"], "Unavailable")):
            assert call(daemon.socket, "io.berth.Health.Probe", {"places": places})[0] == "io.berth.Health." + error, places


def wrong_requests_name_what_is_wrong():
    with Daemon("--no-probe") as daemon:
        for field, request in {
            "places": {"places": []}, "purpose": {"purpose": "rest"}, "ttl_s": {"ttl_s": 0}, "key": {"key": ""},
            "configuration": {"configuration": "x"}, "owner_pid": {"owner_pid": 0},
            "owner_cgroup": {"owner_cgroup": "/proc/self"}}.items():
            error, reply = call(daemon.socket, PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 9, **request})
            assert error == INVALID and reply["parameter"] == field and reply["detail"].startswith(field + ": "), (field, error, reply)
        for cgroup in ("/sys/fs/cgroup/../../tmp", "/sys/fs/cgroup/", "/sys/fs/cgroup/a/./b"):
            error, reply = claim(daemon, "core0", owner_cgroup=cgroup)
            assert error == INVALID and reply["parameter"] == "owner_cgroup" and reply["detail"], (cgroup, error, reply)
        error, reply = claim(daemon, "core0", owner_pid=os.getpid(), owner_cgroup="/sys/fs/cgroup/a")
        assert error == INVALID and reply["parameter"] == "owner_cgroup" and reply["detail"], (error, reply)
        for owner, why in {("owner_pid", 2**22 + 7): "there is no process 4194311", ("owner_cgroup", "/sys/fs/cgroup/not-there"): "is no cgroup"}.items():
            error, reply = claim(daemon, "core0", **dict([owner]))
            assert error == GONE and reply["parameter"] == owner[0] and why in reply["detail"], (error, reply)
        assert claim(daemon, "gpu77")[0] == PLACEMENT + "NoSuchPlace"
        assert call(daemon.socket, PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute"}) == (
            INVALID, {"parameter": "ttl_s", "detail": "ttl_s: it is missing"})
        assert release(daemon)[0] == INVALID and release(daemon, claim="c", key="k")[0] == INVALID
        assert release(daemon, claim="c12345678") == (PLACEMENT + "NoSuchClaim", {"claim": "c12345678", "detail": "there is no claim c12345678: it has ended, or never was"}) and release(daemon, key="nobody's")[1]["released"] == 0
        assert not listed(daemon)


# ---- keys, times, quotas ----

def the_same_key_renews():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        first = claimed(daemon, "gpu1", "gpu0", key="job", ttl_s=50, purpose="profiling", configuration="c")
        again = claimed(daemon, "gpu0", "gpu1", key="job", ttl_s=500, purpose="profiling", configuration="c")
        assert again["claim"] == first["claim"] and 449 <= again["expires_at_s"] - first["expires_at_s"] <= 452, (first, again)
        for field, change in {"places": {"places": ["gpu0"]}, "purpose": {"purpose": "compute", "configuration": None},
                              "configuration": {"configuration": "d"}}.items():
            request = {"places": ["gpu0", "gpu1"], "purpose": "profiling", "configuration": "c", "key": "job", "ttl_s": 9, **change}
            error, reply = call(daemon.socket, PLACEMENT + "Claim", request)
            assert error == PLACEMENT + "KeyMismatch" and reply == {
                "key": "job", "field": field, "detail": f"the claim under the key job has other {field}"}, (field, error, reply)
        assert list(listed(daemon).values())[0]["expires_at_s"] - again["expires_at_s"] in (-1, 0, 1)
        assert release(daemon, key="job")[1]["released"] == 1 and not listed(daemon)


def the_same_key_adds_places_and_an_owner():
    """A job's prolog claims its known resources; the first step of the job adds more."""
    with Daemon("--node", str(NODES / "mi250x")) as daemon, subprocess.Popen(["sleep", "60"]) as job:
        first = claimed(daemon, "gpu0", key="job")
        claimed(daemon, "core9")
        more = {"places": ["gpu0", "core1", "core0"], "purpose": "compute", "key": "job", "ttl_s": 60}
        error, reply = call(daemon.socket, PLACEMENT + "Claim", {**more, "owner_pid": 2**22 + 7})
        assert error == PLACEMENT + "NoSuchOwner" and listed(daemon)[first["claim"]]["places"] == ["gpu0"], (error, reply)
        error, reply = call(daemon.socket, PLACEMENT + "Claim", {**more, "places": ["gpu0", "core9"]})
        assert error == PLACEMENT + "AlreadyClaimed" and listed(daemon)[first["claim"]]["places"] == ["gpu0"], (error, reply)
        grown = claimed(daemon, *more["places"], key="job", owner_pid=job.pid)
        assert grown["claim"] == first["claim"] and grown["places"] == ["core0", "core1", "gpu0"] and grown["owner_pid"] == job.pid, grown
        assert {**claimed(daemon, *more["places"], key="job"), "expires_at_s": 0} == {**grown, "expires_at_s": 0}
        error, reply = call(daemon.socket, PLACEMENT + "Claim", {**more, "owner_pid": os.getpid()})
        assert error == PLACEMENT + "KeyMismatch" and reply["field"] == "owner_pid", (error, reply)
        assert bind(daemon, allowed={"cpus": "0-3"})[1]["tasks"][0]["cpus"] == "2-3"
        job.kill()
        assert until(lambda: first["claim"] not in listed(daemon)), listed(daemon)


def time_ends_a_claim():
    with Daemon("--no-probe") as daemon:
        begin = time.monotonic()
        claimed(daemon, "core0", ttl_s=1)
        claimed(daemon, "core1", ttl_s=100)
        assert until(lambda: len(listed(daemon)) == 1), listed(daemon)
        assert time.monotonic() - begin >= 0.99 and list(listed(daemon).values())[0]["places"] == ["core1"]


def a_long_ttl_is_cut():
    with Daemon("--no-probe", config="claim_ttl_max_s = 100\n") as daemon:
        for options in ({}, {"key": "job"}, {"key": "job"}): # the last one renews
            got = claimed(daemon, "core0", ttl_s=2**62, **options)
            assert 98 <= got["expires_at_s"] - time.time() <= 101, (options, got)
            if not options:
                release(daemon, claim=got["claim"])


def there_are_quotas():
    with Daemon("--no-probe", config="claims_in_all = 1\n") as daemon:
        claimed(daemon, "core0")
        error, reply = claim(daemon, "core1")
        assert error == PLACEMENT + "NotEnough" and (reply["resource"], reply["requested"], reply["available"]) == ("claims", 2, 1), reply


# ---- owners ----

def a_claim_ends_with_its_process():
    with Daemon("--no-probe") as daemon:
        owner = subprocess.Popen(["sleep", "100"])
        got = claimed(daemon, "core0", owner_pid=owner.pid)
        assert got["owner_pid"] == owner.pid
        stays = claimed(daemon, "core1")
        owner.kill()  # nobody waits for it: a zombie is no owner
        begin = time.monotonic()
        assert until(lambda: set(listed(daemon)) == {stays["claim"]}), listed(daemon)
        print(f"# a claim ended {1000 * (time.monotonic() - begin):.1f} ms after its process")
        error, reply = claim(daemon, "core0", owner_pid=owner.pid)
        assert (error, reply["parameter"]) == (GONE, "owner_pid"), (error, reply)
        owner.wait()


def a_claim_that_fails_holds_nobody_up():
    """A thread is no process: the claim fails, and the answers after it wait for nothing."""
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "core0", key="k")
        plan = bind(daemon, key="k")
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        try:
            before = daemon.status()["basis"]["claims"]
            error, reply = claim(daemon, "core1", owner_pid=thread.native_id)
            assert error == GONE and reply["detail"] == f"owner_pid: {thread.native_id} is a thread of process {os.getpid()}", (error, reply)
            with Connection(daemon.socket) as asker:
                asker.socket.settimeout(10)
                assert asker.call(PLACEMENT + "Release", {"key": "nosuch"})[1]["released"] == 0
                assert asker.call(PLACEMENT + "Bind", {"tasks": 1, "key": "k"}) == plan
            assert daemon.status()["basis"]["claims"] == before, "a claim that failed is no change"
        finally:
            end.set()
            thread.join()


def make_cgroup():
    """A fresh cgroup of version 2, and why there is none."""
    for top in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(top + "/cgroup.controllers"):
            path = f"{top}/berth-test-{os.getpid()}"
            try:
                os.mkdir(path)
                return path, None
            except OSError as error:
                return None, f"{top} cannot be written: {error.strerror}"
    return None, "no cgroup of version 2 is mounted"


def a_claim_ends_with_its_cgroup():
    path, why = make_cgroup()
    if path is None:
        return why
    job = subprocess.Popen(["sleep", "100"])
    try:
        with Daemon("--no-probe") as daemon:
            assert claim(daemon, "core0", owner_cgroup=path)[0] == GONE, "it has no process yet"
            pathlib.Path(path, "cgroup.procs").write_text(str(job.pid))
            got = claimed(daemon, "core0", owner_cgroup=path)
            assert got["owner_cgroup"] == path
            daemon.stop(signal.SIGKILL)
            with Daemon("--no-probe", directory=daemon.directory) as again:
                assert set(listed(again)) == {got["claim"]}
                job.kill()
                job.wait()
                assert until(lambda: not listed(again)), listed(again)
    finally:
        job.kill()
        job.wait()
        until(lambda: not pathlib.Path(path, "cgroup.procs").read_text())
        os.rmdir(path)


# ---- what stays ----

def claims_survive_a_restart_and_a_kill():
    with Daemon("--no-probe") as daemon:
        owner = subprocess.Popen(["sleep", "100"])
        try:
            claimed(daemon, "core0", key="k", owner_pid=owner.pid)
            daemon.stop()
            with Daemon("--no-probe", directory=daemon.directory) as second:
                before = listed(second)
                assert [c["key"] for c in before.values()] == ["k"]
                with Connection(second.socket) as asker:
                    asker.send(PLACEMENT + "Claim", {"places": ["core1"], "purpose": "compute", "ttl_s": 77})
                    reply = asker.receive()["parameters"]["claim"]
                    second.process.kill()  # right after the reply
                second.process.wait()
                with Daemon("--no-probe", directory=daemon.directory) as third:
                    after = listed(third)
                    assert set(after) == {*before, reply["claim"]}, (before, reply, after)
                    assert abs(after[reply["claim"]]["expires_at_s"] - reply["expires_at_s"]) <= 1
                    assert int(third.status()["basis"]["claims"]) >= 2
                    owner.kill()
                    assert until(lambda: set(listed(third)) == {reply["claim"]}), "the owner is watched again"
        finally:
            owner.kill()
            owner.wait()


def a_start_drops_what_has_ended():
    """No claim survives another boot, a reused pid, its time limit or the end of its owner."""
    with Daemon("--no-probe") as daemon:
        owner = subprocess.Popen(["sleep", "100"])
        try:
            claimed(daemon, "core0", key="stays", owner_pid=owner.pid)
            daemon.stop()
            database = sqlite3.connect(daemon.state / "berth.db")
            columns = [row[1] for row in database.execute("PRAGMA table_info(claim)")]
            row = dict(zip(columns, database.execute("SELECT * FROM claim").fetchone()))
            for key, change in {"boot": {"boot_id": "another"}, "pid": {"owner_start": row["owner_start"] + 1}, "time": {"deadline_ns": 5},
                                "gone": {"owner_pid": 2**22 + 5}, "cgroup": {"owner_pid": None, "owner_cgroup": "/sys/fs/cgroup/gone"}}.items():
                changed = {**row, "id": "c-" + key, "key": key, **change}
                database.execute(f"INSERT INTO claim VALUES ({','.join('?' * len(columns))})", [changed[c] for c in columns])
            database.commit()
            database.close()
            with Daemon("--no-probe", directory=daemon.directory) as again:
                assert [c["key"] for c in listed(again).values()] == ["stays"], listed(again)
                again.stop()
                database = sqlite3.connect(daemon.state / "berth.db")
                assert database.execute("SELECT key FROM claim").fetchall() == [("stays",)]
                database.close()
        finally:
            owner.kill()
            owner.wait()


def without_a_store_claims_are_in_force_all_the_same():
    with Daemon("--no-probe") as daemon:
        daemon.stop()
        (daemon.state / "berth.db").unlink()
        (daemon.state / "berth.db").mkdir()
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert again.status()["store"] == "memory_only"
            got = claimed(again, "core0")
            assert set(listed(again)) == {got["claim"]}


# ---- who ----

def users_claim_what_is_theirs():
    with Daemon("--no-probe", config="claims_per_user = 2\n") as daemon:
        os.chmod(daemon.directory, 0o755)
        mine = claimed(daemon, "core0", key="same")
        ask = lambda method, **parameters: [daemon.socket, PLACEMENT + method, parameters]  # noqa: E731
        compute = {"purpose": "compute", "ttl_s": 60}
        replies = as_nobody(ask("Claim", places=["core0"], **compute), ask("Release", claim=mine["claim"]), ask("Release", key="same"),
                            ask("Claim", places=["core1"], key="same", **compute), ask("Claim", places=["nic0"], **compute),
                            ask("Claim", places=["core1"], owner_pid=os.getpid(), **compute), ask("ListClaims"))
        if replies is None:
            raise LeftOut("not root: cannot become somebody else")
        errors = [error for error, _ in replies]
        node = daemon.call("io.berth.Fabric.GetNode")
        nic = PLACEMENT + "NoSuchPlace" if not any(p["name"] == "nic0" for p in node["places"]) else DENIED
        assert errors == [PLACEMENT + "AlreadyClaimed", DENIED, None, None, nic, DENIED, None], replies
        assert "own" not in replies[0][1]["detail"] and "core0 is claimed already, by " in replies[0][1]["detail"], replies[0]
        assert replies[1][1] == {"detail": f"claim {mine['claim']} is not yours to release: it is of uid {os.getuid()}"}, replies[1]
        assert replies[5][1] == {"detail": f"owner_pid: process {os.getpid()} is not yours"}, replies[5]
        assert replies[2][1]["released"] == 0, "the key of somebody else is another key"
        theirs = replies[3][1]["claim"]
        assert theirs["uid"] == 65534 and {c["claim"] for c in replies[6][1]["claims"]} == {mine["claim"], theirs["claim"]}
        assert release(daemon, claim=theirs["claim"])[1]["released"] == 1, "root releases any"


def users_are_kept_to_their_cpus():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise LeftOut("one cpu only")
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        ask = lambda *places: [daemon.socket, PLACEMENT + "Claim", {"places": places, "purpose": "compute", "ttl_s": 60}]  # noqa: E731
        os.sched_setaffinity(0, {cpus[1]})
        try:
            replies = as_nobody(ask(f"pu{cpus[0]}"), ask("machine0"), ask(f"pu{cpus[1]}"))
        finally:
            os.sched_setaffinity(0, cpus)
        if replies is None:
            raise LeftOut("not root: cannot become somebody else")
        assert [error for error, _ in replies] == [DENIED, DENIED, None], replies


def a_user_has_a_quota():
    with Daemon("--no-probe", config="claims_per_user = 1\n") as daemon:
        os.chmod(daemon.directory, 0o755)
        ask = lambda place: [daemon.socket, PLACEMENT + "Claim", {"places": [place], "purpose": "compute", "ttl_s": 60}]  # noqa: E731
        replies = as_nobody(ask("core0"), ask("core1"))
        if replies is None:
            raise LeftOut("not root: cannot become somebody else")
        assert [error for error, _ in replies] == [None, PLACEMENT + "NotEnough"], replies
        claimed(daemon, "core1")


# ---- the command ----

def the_command_claims_lists_and_releases():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        assert command(daemon, "claims") == (0, "nothing is claimed\n", "")
        status, out, _ = command(daemon, "claim", "gpu0", "gpu1", "--ttl", "2h", "--key", "job7", "--owner", str(os.getpid()))
        (name, one), = listed(daemon).items()
        assert status == 0 and out.startswith(name + " until ") and len(out.splitlines()) == 1, out
        assert 7190 < one["expires_at_s"] - time.time() < 7210 and one["owner_pid"] == os.getpid() and one["key"] == "job7"
        assert command(daemon, "claim", "gpu5", "--ttl", "60", "--profiling", "--configuration", "pmc")[0] == 0
        status, out, _ = command(daemon, "claims")
        assert status == 0 and len(out.splitlines()) == 4 and out.startswith("2 claims on gpu0, gpu1, gpu5\n") and f"process {os.getpid()}" in out and "profiling: pmc" in out, out
        # expires_at_s is rounded to a second
        assert until(lambda: json.loads(command(daemon, "--json", "claims")[1]) == daemon.call(PLACEMENT + "ListClaims"))
        status, out, error = command(daemon, "claim", "numa3", "--ttl", "1d")
        assert status == 75 and not out and "gpu0" in error and name in error, (status, error)
        assert command(daemon, "claim", "gpu0", "--ttl", "60", "--key", "job7")[0] == 65, "another claim under the key"
        assert command(daemon, "release", "--key", "job7") == (0, "released\n", "")
        none = "you have no claim under that key\n"
        assert command(daemon, "release", "--key", "job7") == (0, none, "")
        assert command(daemon, "claim", "gpu1", "--ttl", "60", "--key", "k")[0] == 0
        assert command(daemon, "release", "k") == (
            65, "", "berth: there is no claim k: it is the key of one (berth release --key)\n")
        assert "exclude each other" in command(daemon, "release", "c1", "--key", "k")[2]
        for arguments, said in (
                (["--owner", "4194303"], "berth: --owner: there is no process 4194303\n"),
                (["--owner", "/sys/fs/cgroup/nothing"], "berth: --owner: /sys/fs/cgroup/nothing is no"),
                (["--owner", "/etc"], "berth: claim: --owner: it is no path below"),
                (["--key", ""], "berth: claim: --key: it has 1 to 256 bytes")):
            error = command(daemon, "claim", "gpu2", "--ttl", "60", *arguments)[2]
            assert error.startswith(said), (arguments, error)
        assert command(daemon, "release", name) == (65, "", f"berth: there is no claim {name}: it has ended, or never was\n")
        for wrong in (["claim", "gpu0"], ["claim", "--ttl", "5"], ["claim", "gpu0", "--ttl", "5x"], ["claim", "gpu0", "--ttl", "0"],
                      ["claim", "gpu0", "--ttl", "5", "--owner", "me"], ["claim", "gpu0", "--ttl", "5", "--configuration", "c"], ["release"],
                      ["release", "a", "--key", "b"], ["claims", "x"]):
            status, out, error = command(daemon, *wrong)
            assert status == 64 and not out and error.count("\n") == 1, (wrong, status, error)
        assert command(daemon, "claim", "gpu99", "--ttl", "5")[0] == 65
        status, out, error = command(daemon, "claim", "gpu0", "--ttl", "5m", "--owner", "99999999")
        assert status == 65 and not out and "there is no process 99999999" in error, (status, error)


def the_command_says_what_is_not_permitted():
    if os.geteuid() != 0:
        raise LeftOut("not root: cannot become somebody else")
    with Daemon("--no-probe") as daemon:
        os.chmod(daemon.directory, 0o755)
        got = claimed(daemon, "core0")
        tool = str(daemon.directory / "berth")
        shutil.copy(BIN / "berth", tool)
        for words, said in ((["release", got["claim"]], f"claim {got['claim']} is not yours to release: it is of uid 0"), (["claim", "core0", "--ttl", "5"], "by"),
                            (["probe"], "io.berth.Health.Probe is for administrators: root, the user that berthd runs as, and the group in its configuration")):
            done = subprocess.run([tool, "--socket", daemon.socket, *words], capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
            if said == "by":
                assert done.returncode == 75 and "own" not in done.stderr, done
            else:
                assert (done.returncode, done.stderr) == (77, f"berth: {said}\n"), done


def the_command_says_what_is_wrong():
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "core0")
        status, _, error = command(daemon, "claim", "core0", "--ttl", "5")
        assert status == 75 and error.startswith("berth: core0 is claimed already, by ") and error.endswith(", a claim of your own\n"), (status, error)
        status, _, error = command(daemon, "claim", "core0", "--profiling", "--ttl", "5")
        assert (status, error) == (
            64, "berth: claim: places: core0 is and has no gpu, and profiling is claimed for gpus (berth claim --help shows how)\n"), (status, error)


TESTS = [
    what_is_inside_is_covered,
    places_are_named_once_in_the_order_of_the_node,
    gpus_of_amd_share_one_configuration,
    gpus_of_nvidia_are_not_shared,
    a_gpu_that_is_profiled_is_not_probed,
    wrong_requests_name_what_is_wrong,
    the_same_key_renews, the_same_key_adds_places_and_an_owner,
    time_ends_a_claim,
    a_long_ttl_is_cut,
    there_are_quotas,
    a_claim_ends_with_its_process,
    a_claim_that_fails_holds_nobody_up,
    a_claim_ends_with_its_cgroup,
    claims_survive_a_restart_and_a_kill,
    a_start_drops_what_has_ended,
    without_a_store_claims_are_in_force_all_the_same,
    users_claim_what_is_theirs,
    users_are_kept_to_their_cpus,
    a_user_has_a_quota,
    the_command_claims_lists_and_releases,
    the_command_says_what_is_not_permitted,
    the_command_says_what_is_wrong,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
