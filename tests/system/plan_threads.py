"""Bind with traffic that takes a large part of a second to plan runs on a thread; no other call
waits. Prints TAP.
"""
import os
import pathlib
import random
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import GPU_RUN, NODES, Daemon, cells, fake_gpu_probe  # noqa: E402
from reasons import codes, texts  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

BIND = "io.berth.Placement.Bind"
STATUS = "io.berth.Fabric.GetStatus"
NOBODY = 65534


def heavy(seed=3, **others):
    """16 tasks on 8 gpus that send each other 74 transfers of different sizes."""
    draw = random.Random(seed)
    pairs = [(a, b) for a in range(16) for b in range(16) if a != b]
    flows = [{"from": a, "to": b, "bytes": draw.choice([1, 3, 4, 16]) << 20} for a, b in draw.sample(pairs, 74)]
    return {"tasks": 16, "tasks_per_gpu": 2, "flows": flows, **others}


def node(**arguments):
    return Daemon("--node", str(NODES / "mi250x"), **arguments)


def well_ended(daemon):
    begin = time.perf_counter()
    daemon.process.terminate()
    code = daemon.process.wait(60)
    said = daemon.said()
    assert code == 0 and "Sanitizer" not in said, (code, said[:8000])
    return time.perf_counter() - begin


def others_are_answered_meanwhile():
    with node() as daemon, Connection(daemon.socket, timeout=60) as asking, Connection(daemon.socket) as other:
        answer, waits = [], []

        def ask():
            answer.append(asking.call(BIND, heavy()))

        thread, begin = threading.Thread(target=ask), time.perf_counter()
        thread.start()
        while not answer:
            sent = time.perf_counter()
            other.call(STATUS)
            other.call(BIND, {"tasks": 1})
            waits.append(time.perf_counter() - sent)
        took = time.perf_counter() - begin
        thread.join()
        error, reply = answer[0]
        assert error is None and len(reply["tasks"]) == 16, (error, reply)
        print(f"# the plan took {1e3 * took:.0f} ms, the others {1e3 * statistics.median(waits):.2f} ms in the median, {1e3 * max(waits):.1f} ms at most")
        assert len(waits) > 5 and statistics.median(waits) < 0.02 + took / 20, (took, waits)
        well_ended(daemon)


def the_calls_of_a_connection_stay_in_order():
    with node() as daemon, Connection(daemon.socket, timeout=60) as peer:
        peer.send(BIND, heavy())
        peer.send(STATUS)
        peer.send(BIND, {"tasks": 2, "pattern": "pairs", "bytes": 1 << 20})
        replies = [peer.receive()["parameters"] for _ in range(3)]
        assert [len(reply.get("tasks", [])) for reply in replies] == [16, 0, 2] and "state" in replies[1]


def the_same_question_has_the_same_answer_on_any_thread():
    with node(config="max_large_calls_per_user = 3\n") as daemon:
        peers = [Connection(daemon.socket, timeout=60) for _ in range(6)]
        for peer in peers:
            peer.send(BIND, heavy(7))
        replies = [peer.receive()["parameters"] for peer in peers]
        for peer in peers:
            peer.__exit__()
        assert all(reply == replies[0] for reply in replies)
        well_ended(daemon)


def who_leaves_leaves_nothing_behind():
    with node() as daemon:
        for turn in range(3):
            peers = [Connection(daemon.socket) for _ in range(6)]
            for peer in peers:
                peer.send(BIND, heavy(turn))
            time.sleep(0.02 * turn)
            for peer in peers:
                peer.__exit__()
        with Connection(daemon.socket, timeout=60) as peer:
            assert peer.call(BIND, heavy())[0] is None
        well_ended(daemon)


def it_ends_while_plans_are_made():
    with node(config="max_large_calls_per_user = 8\n") as daemon:
        peers = [Connection(daemon.socket) for _ in range(8)]
        for peer in peers:
            peer.send(BIND, heavy())
        time.sleep(0.05)
        took = well_ended(daemon)
        print(f"# ended after {took:.2f} s")
        for peer in peers:
            peer.__exit__()


def as_nobody(what):
    """Runs the calls in a child as another user; returns its pid. It ends with 0 when none failed.
    """
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setuid(NOBODY)
            what()
            status = 0
        except Exception:  # noqa: BLE001
            print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
        finally:
            os._exit(status)
    return pid


def plan_one(socket):
    with Connection(socket, timeout=120) as peer:
        assert len(peer.call(BIND, heavy())[1]["tasks"]) == 16


def many_plans_do_not_hold_up_measuring():
    """Measuring ends and is stored while most earlier requests of one user still wait, and another
    user gets a turn.
    """
    value = '{"record":"value","metric":"gpu_gpu_copy_engine","from":"gpu0","to":"gpu1","axes":{},"value":2e10,"low":1.9e10,"high":2.1e10,"n":6}'
    script = "".join(f"echo '{line}'\n" for line in (GPU_RUN, value, '{"record":"end","status":"ok"}'))
    with fake_gpu_probe(script) as (copy, probes):
        with Daemon("--node", str(copy), "--no-probe", config=f"probe_dir = {probes}\nmax_large_calls_per_user = 1000\n") as daemon:
            os.chmod(daemon.directory, 0o755)
            peers = [Connection(daemon.socket, timeout=120) for _ in range(12)]
            for peer in peers:
                peer.send(BIND, heavy())
            begin = time.perf_counter()
            daemon.call("io.berth.Health.Probe", {"profile": "quick"})
            daemon.wait_ready()
            measured = time.perf_counter() - begin
            assert any(cell["value"] == 2e10 for cell in cells(daemon, "gpu_gpu_copy_engine")), daemon.said()
            child = as_nobody(lambda: plan_one(daemon.socket)) if os.geteuid() == 0 else 0
            for peer in peers:
                assert len(peer.receive()["parameters"]["tasks"]) == 16
                peer.__exit__()
            planned = time.perf_counter() - begin
            print(f"# measured after {measured:.2f} s, all planned after {planned:.2f} s")
            assert measured < planned / 2
            assert child == 0 or os.waitpid(child, 0)[1] == 0
            well_ended(daemon)


def under_a_key_the_first_plan_stands():
    with node(config="max_large_calls_per_user = 3\n") as daemon:
        claim = {"places": ["machine0"], "purpose": "compute", "key": "job", "ttl_s": 600}
        daemon.call("io.berth.Placement.Claim", claim)
        peers = [Connection(daemon.socket, timeout=60) for _ in range(3)]
        for peer in peers[:2]:
            peer.send(BIND, heavy(1, key="job"))
        peers[2].send(BIND, heavy(2, key="job"))
        replies = [peer.receive() for peer in peers]
        plans = [reply["parameters"] for reply in replies if "error" not in reply]
        errors = [reply["error"] for reply in replies if "error" in reply]
        assert plans and all(plan == plans[0] for plan in plans) and len(plans) + len(errors) == 3 and errors, replies
        assert all(error.endswith(".KeyMismatch") for error in errors), errors
        kept = heavy(1 if len(plans) == 2 else 2, key="job")
        assert daemon.call(BIND, kept) == plans[0]
        assert not any("not kept" in warning for warning in texts(plans[0], "warnings"))
        # The claim ends while a plan is made: it is an answer all the same, and nothing is kept. A message of this size
        # is opened on the thread pool before the claim is looked up, so a Release sent at once may come first.
        for seed, delay in enumerate((0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32), start=4):
            daemon.call("io.berth.Placement.Release", {"key": "job"})
            daemon.call("io.berth.Placement.Claim", claim)
            peers[0].send(BIND, heavy(seed, key="job"))
            time.sleep(delay)
            daemon.call("io.berth.Placement.Release", {"key": "job"})
            late = peers[0].receive()["parameters"]
            if "key-not-kept" in codes(late, "warnings"):
                break
        else:
            raise AssertionError(texts(late, "warnings"))
        for peer in peers:
            peer.__exit__()
        well_ended(daemon)


def gpus_of(reply):
    return [gpu for task in reply["tasks"] for gpu in task["gpus"]]


def nothing_is_shuffled_for_nothing():
    """Four equal gpus: the last digits of their measurements prefer no choice."""
    with Daemon("--node", str(NODES / "h200x4")) as daemon:
        for tasks in (1, 2, 3, 4):
            for traffic in ({"host_bytes": 1 << 20}, {"host_bytes": 1 << 30}, {"pattern": "ring", "bytes": 1 << 28}, {"pattern": "alltoall", "bytes": 1 << 20, "host_bytes": 1 << 20}):
                if tasks == 1 and "pattern" in traffic:
                    continue
                reply = daemon.call(BIND, {"tasks": tasks, **traffic})
                assert gpus_of(reply) == [f"gpu{i}" for i in range(tasks)], (tasks, traffic, gpus_of(reply))
                assert reply["predicted"]["time_ns"] == reply["baseline"]["time_ns"]
                # What gpus of one sort get of the host's memory together was measured to differ by some percent: 159 to 171 GB/s. What is as good as far as is known may be that far above the bound.
                assert reply["proven_optimal"] and 0 <= reply["gap"] <= (0.075 if "host_bytes" in traffic else 0.03), (tasks, traffic, reply["gap"])


def several_gpus_a_task_are_proven_and_stay_together():
    with node() as daemon:
        for tasks, each in ((4, 2), (3, 2), (2, 2), (2, 3), (2, 4)):
            for traffic in ({"pattern": "ring", "bytes": 1 << 26}, {"pattern": "alltoall", "bytes": 1 << 26}, {"host_bytes": 1 << 26}):
                reply = daemon.call(BIND, {"tasks": tasks, "gpus_per_task": each, **traffic})
                torn = [task["gpus"] for task in reply["tasks"] if each == 2 and int(task["gpus"][0][3:]) // 2 != int(task["gpus"][1][3:]) // 2]
                assert reply["predicted"]["time_ns"] <= reply["baseline"]["time_ns"] * (0.99 if torn else 1 + 1e-9), (tasks, each, traffic)
                if each == 2 and not torn or "host_bytes" not in traffic:  # else its memory is none that the search could know
                    assert reply["proven_optimal"] and reply["gap"] <= 0.03, (tasks, each, traffic, reply["gap"])


TESTS = [others_are_answered_meanwhile, the_calls_of_a_connection_stay_in_order, the_same_question_has_the_same_answer_on_any_thread, nothing_is_shuffled_for_nothing,
         several_gpus_a_task_are_proven_and_stay_together, who_leaves_leaves_nothing_behind, it_ends_while_plans_are_made, many_plans_do_not_hold_up_measuring, under_a_key_the_first_plan_stands]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
