"""Claims stop probes that run and measuring that is due, and plans avoid them. Prints TAP."""
import contextlib
import itertools
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import Daemon, NODES, RUN, alive, cells, fake_probe, least, probe_of, until, wakes  # noqa: E402
from claiming import PLACEMENT, as_nobody, bind, claimed, command, listed, release  # noqa: E402
from node import cpus_of  # noqa: E402
from reasons import texts  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection, call  # noqa: E402


# ---- probes ----

STUBBORN = "trap '' TERM\necho $$ >>'PIDS'\necho '" + RUN + "'\necho '" + (
    '{"record":"value","metric":"cpu_pingpong","from":"core0","to":"core1","axes":{},"value":96.2,"low":95.8,"high":96.9,"n":9}'
) + "'\nwhile :; do sleep 0.01; done\n"


def busyness():
    """Slowdown of a shared machine: elapsed over processor time of a busy loop, or waiting
    processes per processor.
    """
    wall, used = time.perf_counter(), time.process_time()
    for _ in range(200000):
        pass
    others = int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1
    return max(1.0, others / os.cpu_count(), (time.perf_counter() - wall) / (time.process_time() - used))


def a_running_probe_dies_before_the_reply():
    with contextlib.ExitStack() as stack:
        pids = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "pids"
        folder = stack.enter_context(fake_probe(STUBBORN.replace("PIDS", str(pids))))
        daemon = stack.enter_context(Daemon(config=f"probe_dir = {folder}\nclaim_resume_s = 0\n"))
        took, scaled = [], []
        for _ in range(9):  # cut short, it is begun anew by itself
            count = len(took)
            started = until(lambda: pids.exists() and len(pids.read_text().split()) > count and pids.read_text().split())
            assert started, daemon.said()
            before = busyness()
            with Connection(daemon.socket) as asker:
                begin = time.monotonic()
                error, reply = asker.call(PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 60, "key": "k"})
                took.append(time.monotonic() - begin)
            assert error is None, reply
            assert not any(alive(int(pid)) for pid in started), "the probe outlives the reply"
            scaled.append(took[-1] / max(before, busyness()))
            daemon.call(PLACEMENT + "Release", {"key": "k"})
        took.sort()
        print(f"# a claim was answered {1000 * took[0]:.1f} to {1000 * took[-1]:.1f} ms after it was asked, a probe that ignores SIGTERM being killed")
        assert statistics.median(scaled) < 0.05, took
        assert until(lambda: cells(daemon, "cpu_pingpong")), "what was measured is kept"


def each_cut_makes_the_wait_longer():
    with contextlib.ExitStack() as stack:
        pids = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "pids"
        folder = stack.enter_context(fake_probe(STUBBORN.replace("PIDS", str(pids))))
        daemon = stack.enter_context(Daemon(config=f"probe_dir = {folder}\nclaim_resume_s = 1\n"))
        waited = []
        for count in (1, 2):
            assert until(lambda: pids.exists() and len(pids.read_text().split()) == count), daemon.said()
            claimed(daemon, "core0", key="k")
            release(daemon, key="k")
            begin = time.monotonic()
            assert until(lambda: len(pids.read_text().split()) == count + 1), daemon.said()
            waited.append(time.monotonic() - begin)
        assert waited[0] >= 0.95 and waited[1] >= 1.95, waited


def timed_claim(daemon):
    """Time of the claim in ms."""
    with Connection(daemon.socket) as claimer:
        begin = time.monotonic()
        error, reply = claimer.call(PLACEMENT + "Claim", {"places": ["core0"], "purpose": "compute", "ttl_s": 60, "key": "k"})
        took = 1000 * (time.monotonic() - begin)
    assert error is None, reply
    return took


def the_real_probe_dies_in_time():
    """Stops the full profile at arbitrary points.

    Time of the machine's other work and of its disk is not the probe's. A claim that stops nothing
    measures that time, and a disturbed round is repeated.
    """
    with Daemon("--no-probe", config="claim_resume_s = 3600\n") as daemon:
        for _ in range(4):
            took, free = [], []
            for _ in range(11):
                asker = threading.Thread(target=lambda: call(daemon.socket, "io.berth.Health.Probe", {"profile": "full"}))
                asker.start()
                probe = probe_of(daemon)
                assert probe, daemon.said()
                time.sleep(random.uniform(0.05, 1.2))
                before = busyness()
                took.append(timed_claim(daemon))
                assert not any(alive(pid) for pid in probe), "the probe outlives the reply"
                busy = max(before, busyness())
                asker.join(60)
                release(daemon, key="k")
                plain = timed_claim(daemon)
                release(daemon, key="k")
                free.append(max(0, took[-1] - plain) / busy)
            print(f"# a claim was answered and the real probe dead after {statistics.median(took):.1f} ms in the median, {max(took):.1f} ms at most; "
                  f"by the machine's free time {statistics.median(free):.1f} and {max(free):.1f} ms")
            if statistics.median(free) < 50:
                break
        assert statistics.median(free) < 50, sorted(took)


def while_claimed_nothing_is_measured():
    with fake_probe("echo '" + RUN + "'\necho '{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":1}'\n") as folder:
        with Daemon("--no-probe", config=f"probe_dir = {folder}\nclaim_resume_s = 0\n") as daemon:
            got = claimed(daemon, "core0", key="k")
            error, reply = call(daemon.socket, "io.berth.Health.Probe")
            assert error == "io.berth.Health.Busy" and reply["by"].startswith(got["claim"]), (error, reply)
            daemon.stop()
            # The measuring at the start waits for the claim's end, in a daemon that found the claim in its store.
            with Daemon(directory=daemon.directory, config=f"probe_dir = {folder}\nclaim_resume_s = 0\n") as again:
                time.sleep(0.3)
                assert again.status()["state"] == "ready" and "berth-probe-cpu" not in again.said(), again.said()
                release(again, key="k")
                assert until(lambda: "berth-probe-cpu: complete" in again.said()), again.said()
                assert call(again.socket, "io.berth.Health.Probe")[0] in (None, "io.berth.Health.Busy")


def whoever_asked_for_measuring_is_told():
    with contextlib.ExitStack() as stack:
        pids = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "pids"
        folder = stack.enter_context(fake_probe(STUBBORN.replace("PIDS", str(pids))))
        daemon = stack.enter_context(Daemon("--no-probe", config=f"probe_dir = {folder}\n"))
        told = []
        asker = threading.Thread(target=lambda: told.append(call(daemon.socket, "io.berth.Health.Probe")))
        asker.start()
        assert until(lambda: pids.exists() and pids.read_text().split())
        got = claimed(daemon, "core0")
        asker.join(10)
        assert told and told[0][0] == "io.berth.Health.Busy" and told[0][1]["by"].startswith(got["claim"]), told


# ---- planning ----

def plans_go_around_claims():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        before = bind(daemon, gpus_per_task=4)[1]
        assert before["basis"]["claims"] == "0"
        owner = claimed(daemon, "numa0", "gpu0", key="other")
        error, reply = bind(daemon, gpus_per_task=4, cores_per_task=8)
        assert error is None, reply
        task = reply["tasks"][0]
        assert not {"gpu0", "gpu4", "gpu5"} & set(task["gpus"]) and task["memory"] != ["numa0"], task
        assert not cpus_of(task["cpus"]) & (set(range(0, 16)) | set(range(64, 80))), task
        assert any(owner["claim"] in line and "gpu0" in line for line in texts(reply, "warnings")), texts(reply, "warnings")
        assert reply["basis"]["claims"] == "1"
        error, reply = bind(daemon, gpus_per_task=8)
        assert error == PLACEMENT + "NotEnough" and reply["available"] == 5 and "claimed is left out" in reply["detail"], (error, reply)
        assert set(bind(daemon, gpus_per_task=3, key="other")[1]["tasks"][0]["gpus"]) == {"gpu0", "gpu4", "gpu5"}, "one's own claim is no obstacle"
        release(daemon, key="other")
        claimed(daemon, "numa1", "numa2", "numa3", key="rest")
        assert bind(daemon, allowed={"cpus": "16-63"})[0] == PLACEMENT + "NothingAllowed"


def what_others_hold_is_called_claimed():
    """Not forbidden by the request, which forbade nothing."""
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        claimed(daemon, *(f"gpu{i}" for i in range(8)), key="all")
        claimed_all = "8 gpus are there and others have claimed all that are allowed (berth claims lists by whom)"
        error, reply = bind(daemon, gpus_per_task=1)
        assert error == PLACEMENT + "NothingAllowed" and reply["detail"] == claimed_all + "; with gpus_per_task 0 the tasks have none", (error, reply)
        assert bind(daemon, gpus_per_task=1, allowed={"gpus": ["gpu3"]})[1]["detail"].startswith(claimed_all)
        status, _, said = command(daemon, "bind", "-n", "1", "-g", "1", "--cpus", "0-127", "--gpus", "0-7")
        assert status != 0 and claimed_all in said, said
        error, reply = bind(daemon)
        assert error is None and reply["tasks"][0]["gpus"] == [] and "gpus-claimed" in [reason["code"] for reason in reply["warnings"]], (error, reply)
        for request in ({}, {"key": "all"}):  # here it is the request
            error, reply = bind(daemon, gpus_per_task=1, allowed={"gpus": []}, **request)
            assert error == PLACEMENT + "NothingAllowed" and "none is allowed (allowed.gpus)" in reply["detail"], (error, reply)
        release(daemon, key="all")
        claimed(daemon, "machine0", key="all")
        assert "all cpus that are allowed are claimed (berth claims lists by whom" in bind(daemon)[1]["detail"]
        release(daemon, key="all")
        claimed(daemon, "numa0", "numa1", "numa2", key="most")
        error, reply = bind(daemon, tasks=17, gpus_per_task=0)
        assert error == PLACEMENT + "NotEnough" and reply["available"] == 16 and reply["detail"].endswith("; what others have claimed is left out (berth claims lists it)"), (error, reply)


def bind_and_exec_treat_a_users_own_claims_alike():
    """One without key and owner is not in the way, and is named; one of another job, by its key or its owner, is."""
    if sorted(os.sched_getaffinity(0))[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1")
    with Daemon("--node", str(NODES / "mi250x")) as daemon, subprocess.Popen(["sleep", "100"]) as other:
        def by_bind():
            status, out, said = command(daemon, "bind", "-n", "1", "-c", "1", "--cpus", "0-1", "--json")
            assert status == 0, said
            reply = json.loads(out)
            return reply["tasks"][0]["cpus"], [line for line in texts(reply, "warnings") if "left out: " in line]

        steps = itertools.count()  # the plan of an earlier one would stand

        def by_exec():
            status, out, said = command(daemon, "exec", "-c", "1", "--cpus", "0-1", "--strict", "--key", f"step-{next(steps)}", "grep", "Cpus_allowed_list", "/proc/self/status")
            return out.split()[1] if status == 0 else said

        def plans(cpus, *named):
            planned, said = by_bind()
            assert (planned, by_exec()) == (cpus, cpus), (planned, by_exec(), said)
            assert len(said) == len(named) and all(claim["claim"] in line and start in line for line, (start, claim) in zip(said, named)), (said, named)
        try:
            one = claimed(daemon, "core0")
            plans("0", ("not left out: core0", one))
            two = claimed(daemon, "core1")
            plans("0", ("not left out: core0", one), ("not left out: core1", two))
            release(daemon, claim=two["claim"])
            release(daemon, claim=one["claim"])
            plans("0")
            for more in ({"key": "job"}, {"owner_pid": other.pid}):
                one = claimed(daemon, "core0", **more)
                plans("1", ("left out: ", one))
                release(daemon, claim=one["claim"])
            claimed(daemon, "core1", owner_pid=os.getpid())
            plans("1")
            claimed(daemon, "core0", key="job")
            plans("1", ("left out: ", listed(daemon)[name_of(daemon, "job")]))
        finally:
            other.kill()


def name_of(daemon, key):
    return next(name for name, claim in listed(daemon).items() if claim["key"] == key)


def a_plan_stays_within_its_claim():
    with Daemon("--node", str(NODES / "mi250x")) as daemon:
        numa2 = set(range(32, 48)) | set(range(96, 112))
        claimed(daemon, "gpu5", "core40", key="j")
        error, reply = bind(daemon, gpus_per_task=1, key="j")
        assert error is None, reply
        task, = reply["tasks"]
        assert task["gpus"] == ["gpu5"] and cpus_of(task["cpus"]) == {40, 104} and task["memory"] == ["numa2"], task
        assert any("within claim" in line and "(key j)" in line for line in texts(reply, "reasons")), texts(reply, "reasons")
        assert not any("within claim" in line for line in texts(bind(daemon, gpus_per_task=1)[1], "reasons")), "not its own"
        release(daemon, key="j")
        for places, gpus, cpus, memory in (
                (["gpu5", "numa2"], {"gpu5"} | gpus_of(daemon, "numa2"), numa2, "numa2"),
                (["gpu5"], {"gpu5"}, None, None),
                (["core33"], None, {33, 97}, None),
                (["numa2"], gpus_of(daemon, "numa2"), numa2, "numa2"),
                (["machine0"], None, None, None)):
            claimed(daemon, *places, key="j")
            error, reply = bind(daemon, gpus_per_task=1, key="j")
            assert error is None, (places, reply)
            task, = reply["tasks"]
            assert gpus is None or set(task["gpus"]) <= gpus, (places, task)
            assert cpus is None or cpus_of(task["cpus"]) <= cpus, (places, task)
            assert memory is None or task["memory"] == [memory], (places, task)
            release(daemon, key="j")
        got = claimed(daemon, "gpu5", "core40", key="j")
        for request, what in (({"gpus_per_task": 2}, "gpus"), ({"tasks": 2, "gpus_per_task": 0}, "cores")):
            error, reply = bind(daemon, key="j", **request)
            assert error == PLACEMENT + "NotEnough" and (reply["resource"], reply["available"]) == (what, 1), (error, reply)
            assert "stays within claim " + got["claim"] in reply["detail"], reply
        error, reply = bind(daemon, key="j", allowed={"cpus": "0-7"})
        assert error == PLACEMENT + "NothingAllowed" and got["claim"] in reply["detail"], (error, reply)
        # A job within what a hook has claimed for it, by whatever key.
        release(daemon, key="j")
        claimed(daemon, "gpu5", "core40", key="hook", owner_pid=os.getpid())
        for more in ({}, {"key": "hook"}, {"key": "another"}):
            reply = bind(daemon, gpus_per_task=1, **more)[1]
            task, = reply["tasks"]
            assert any("within claim" in line and "(key hook)" in line for line in texts(reply, "reasons")), (more, texts(reply, "reasons"))
            assert task["gpus"] == ["gpu5"] and cpus_of(task["cpus"]) == {40, 104}, (more, task)


def gpus_of(daemon, numa):
    """The gpus that the plan may use when that NUMA node is claimed: those inside it."""
    places = {place["name"]: place for place in daemon.call("io.berth.Fabric.GetNode")["places"]}

    def is_inside(name):
        while name is not None and name != numa:
            name = places[name].get("parent")
        return name == numa
    return {name for name in places if name.startswith("gpu") and is_inside(name)}


def a_job_plans_within_what_was_claimed_for_it():
    with Daemon("--no-probe") as daemon:
        claimed(daemon, "machine0", key="prolog", owner_pid=os.getpid())
        assert bind(daemon)[0] is None, "this process is the claim's owner"
        other = subprocess.Popen(["sleep", "100"])
        release(daemon, key="prolog")
        claimed(daemon, "machine0", key="prolog", owner_pid=other.pid)
        assert bind(daemon)[0] == PLACEMENT + "NothingAllowed"
        other.kill()
        other.wait()


def anybody_plans_within_a_claim_of_roots_under_its_key():
    """Steps of a job plan within the claim of the job's prolog. Only this claim has their key."""
    with Daemon("--node", NODES / "mi250x") as daemon:
        daemon.directory.chmod(0o755)
        claimed(daemon, "gpu2", "gpu3", key="slurm/7")
        claimed(daemon, "gpu4", key="slurm/7.1")

        def ask(key, tasks=1):
            return daemon.socket, PLACEMENT + "Bind", {"tasks": tasks, **({} if key is None else {"key": key})}
        asked = [ask("slurm/7", 2), ask("slurm/7.0", 2), ask("slurm/7.1", 3), ask("slurm/71"), ask("slurm/7/0"), ask("slurm"), ask(None)]
        replies = as_nobody(*asked) or [call(*one) for one in asked]
        gpus = [[t["gpus"][0] for t in reply["tasks"]] for error, reply in replies]
        assert [sorted(g) for g in gpus[:3]] == [["gpu2", "gpu3"], ["gpu2", "gpu3"], ["gpu2", "gpu3", "gpu4"]], gpus
        assert all(g == ["gpu0"] for g in gpus[3:]), gpus
        assert not any("not kept" in line for line in texts(replies[1][1], "warnings")) and any("slurm/7" in line for line in texts(replies[3][1], "warnings")), replies
        theirs = as_nobody((daemon.socket, PLACEMENT + "Claim", {"places": ["gpu0"], "purpose": "compute", "ttl_s": 60, "key": "theirs"}))
        if theirs is not None and theirs[0][0] is None:
            error, reply = bind(daemon, key="theirs")
            assert error is None and reply["tasks"][0]["gpus"] == ["gpu1"], "root plans around what others have claimed under that key"


def the_first_plan_under_a_key_stands():
    with Daemon("--no-probe") as daemon:
        plain = bind(daemon, key="k")[1]
        assert any("the plan stands until nobody has asked for it for 10 minutes" in line for line in texts(plain, "warnings")), texts(plain, "warnings")
        claimed(daemon, "core0", key="k")
        first = bind(daemon, key="k")[1]
        assert not any("under its key" in line for line in texts(first, "warnings")), texts(first, "warnings")
        claimed(daemon, "core1", key="another")
        assert bind(daemon, key="k") == (None, first), "though another claim would change it"
        assert bind(daemon, key="k", gpus_per_task=None) == (None, first), "null is absent"
        error, reply = bind(daemon, key="k", cores_per_task=1)
        assert error == PLACEMENT + "KeyMismatch" and (reply["key"], reply["field"]) == ("k", "cores_per_task") and "other cores_per_task" in reply["detail"], (error, reply)
        claimed(daemon, "core0", key="k", ttl_s=99)
        daemon.stop(signal.SIGKILL)
        with Daemon("--no-probe", directory=daemon.directory) as again:
            assert bind(again, key="k") == (None, first), "renewed and restarted"
            release(again, key="k")
            assert bind(again, key="k")[1] != first


def from_a_descendant(depth, act):
    """Returns the result of act, in a process this many generations down."""
    reader, writer = os.pipe()

    def descend(generations):
        if generations == 0:
            os.write(writer, json.dumps(act()).encode())
            return
        pid = os.fork()
        if pid == 0:
            try:
                descend(generations - 1)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)

    descend(depth)
    os.close(writer)
    with open(reader, encoding="utf-8") as told:
        return json.load(told)


def who_asks_is_looked_up_once_for_all_claims():
    """Each claim with an owner asks for the caller's ancestors: they are read once, by the loop."""
    with Daemon("--no-probe", "--node", str(NODES / "mi250x")) as daemon:
        def took():
            times = []
            with Connection(daemon.socket) as peer:
                for _ in range(9):
                    begin = time.monotonic()
                    assert peer.call(PLACEMENT + "Bind", {"tasks": 1})[0] is None
                    times.append(time.monotonic() - begin)
            return statistics.median(times)

        owner = subprocess.Popen(["sleep", "100"])
        try:
            claimed(daemon, "core0", owner_pid=owner.pid)
            one = from_a_descendant(50, took)
            for core in range(1, 60):
                claimed(daemon, f"core{core}", owner_pid=owner.pid)
            sixty = from_a_descendant(50, took)
            print(f"# a plan took {1e3 * one:.2f} ms beside one claim, beside 60 {1e3 * sixty:.2f} ms")
            assert sixty < 10 * one, (one, sixty)
        finally:
            owner.kill()
            owner.wait()


def no_claim_no_wake():
    """Nothing runs when nothing is to be waited for, and a claim costs no wakes until it ends."""
    with Daemon("--no-probe") as daemon:
        release(daemon, claim=claimed(daemon, "core0")["claim"])
        claimed(daemon, "core1", owner_pid=os.getpid())
        assert least(lambda: wakes(daemon.process.pid, 1), 2) <= 1


TESTS = [
    a_running_probe_dies_before_the_reply,
    each_cut_makes_the_wait_longer,
    the_real_probe_dies_in_time,
    while_claimed_nothing_is_measured,
    whoever_asked_for_measuring_is_told,
    plans_go_around_claims,
    what_others_hold_is_called_claimed,
    bind_and_exec_treat_a_users_own_claims_alike,
    a_plan_stays_within_its_claim,
    a_job_plans_within_what_was_claimed_for_it,
    anybody_plans_within_a_claim_of_roots_under_its_key,
    the_first_plan_under_a_key_stands,
    who_asks_is_looked_up_once_for_all_claims,
    no_claim_no_wake,
]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
