"""Statements of answers about decisive figures and proofs. Prints TAP."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES, Daemon  # noqa: E402
from reasons import texts  # noqa: E402
from tap import run_tests  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30


def bind(daemon, **request):
    return daemon.call("io.berth.Placement.Bind", {"allowed": {}, **request})


def by(place, reads=0, writes=0, **more):
    return {"by": place, "reads_bytes": reads, "writes_bytes": writes, **more}


def where_nothing_has_a_price_the_heaviest_user_is_named():
    """Cores of several NUMA nodes share a buffer: the lowest of equals is named."""
    with Daemon("--node", NODES / "epyc-2s") as daemon:
        cases = [([], "numa0"),
                 ([by("package0", reads=4 * GIB), by("package1", reads=4 * GIB)], "numa0"),
                 ([by("package1", reads=4 * GIB), by("core0", reads=GIB)], "numa2"),
                 ([by("package1", reads=4 * GIB), by("numa1", writes=3 * GIB)], "numa1"),
                 ([by("core0", reads=GIB), by("numa3", reads=GIB, cores=2), by("package1", reads=4 * GIB)], "numa3"),
                 ([by("numa2", reads=4 * GIB)], "numa2")]
        for accesses, heaviest in cases:
            reply = daemon.call("io.berth.Placement.Allocate", {"bytes": 4 * GIB, "allowed": {}, **({"accesses": accesses} if accesses else {})})
            assert [(r["code"], r["subjects"]) for r in reply["reasons"]] == [("option-nearest", [heaviest, "system", heaviest])], (accesses, reply)
            assert reply["options"][0]["memory"] == heaviest, reply["options"]


def a_shared_gpu_more_may_take_a_price_away():
    """As documented in docs/ADVICE.md: each of the gpus that tasks share has some tasks, also one
    without a known path to the others. Tasks with gpus of their own avoid it.
    """
    corona = NODES.parent.parent.parent / "shared/nodes/mi50-corona"
    if not corona.is_dir():
        return
    with Daemon("--node", corona) as daemon:
        request = {"order": "rank", "pattern": "allreduce", "bytes": 64 * MIB, "flows": [{"from": 0, "to": 2, "bytes": MIB}]}
        few, more = {"gpus": ["gpu0", "gpu1", "gpu3"]}, {"gpus": ["gpu0", "gpu1", "gpu3", "gpu7"]}
        shared = [bind(daemon, tasks=5, tasks_per_gpu=2, **request, allowed=gpus) for gpus in (few, more)]
        own = [bind(daemon, tasks=3, **request, allowed=gpus) for gpus in (few, more)]
        assert shared[0]["predicted"] is not None and shared[1]["predicted"]["source"] == "lower_bound", shared
        assert own[0]["predicted"] == own[1]["predicted"] != None, own


def why_nothing_is_proven_of_tasks_without_gpus_is_said():
    """Plans of cores are compared only with the launcher's order.

    One task with all cores only chooses the memory.
    """
    last = "not proven to be the best: of tasks without gpus only few orders of cores are weighed"
    for name, allowed, tasks, is_proven in (("h200x4", {}, 1, True), ("h200x4", {}, 2, False), ("mi250x", {}, 1, False), ("mi250x", {"memory": ["numa1"]}, 1, True), ("mi250x", {}, 4, False)):
        with Daemon("--node", NODES / name) as daemon:
            answer = bind(daemon, tasks=tasks, gpus_per_task=0, host_bytes=MIB, allowed=allowed)
            assert answer["proven_optimal"] == is_proven and answer["gap"] == (0 if is_proven else None), answer
            assert is_proven != texts(answer, "reasons")[-1].startswith(last), texts(answer, "reasons")
            assert bind(daemon, tasks=1, gpus_per_task=0)["proven_optimal"], "nothing moves"


if __name__ == "__main__":
    run_tests([where_nothing_has_a_price_the_heaviest_user_is_named, a_shared_gpu_more_may_take_a_price_away,
               why_nothing_is_proven_of_tasks_without_gpus_is_said])
