"""The thread pool at work from every side at once: runs are stored and published, history is read, baselines are accepted, the node is
looked at again, replies are printed by workers, while streams follow. With a ThreadSanitizer build of the daemon (BIN=build/san-thread/bin)
no data race may be reported; with any, nobody fails and it ends as it should. BERTH_SECONDS=4. Prints TAP."""
import contextlib
import os
import pathlib
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import RUN, fake_probe  # noqa: E402
from survival import Survivor, record, scratch, value  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

SECONDS = float(os.environ.get("BERTH_SECONDS", 4))
LINES = [RUN] + [value("memory_latency", "core0", "numa0", 90 + i, bytes=1000 + i) for i in range(40)] + [record(record="end", status="complete", elapsed_ns=5)]
PROBE = "".join(f"echo '{line}'\n" for line in LINES)
HISTORY = {"metric": "memory_latency", "from": "core0", "to": "numa0", "where": {"bytes": "1000"}}
MATRIX = {"metric": "memory_latency"}
CALLERS = [
    [("io.berth.Fabric.History", HISTORY), ("io.berth.Fabric.GetMatrix", MATRIX)],
    [("io.berth.Fabric.History", HISTORY), ("io.berth.Health.ListFindings", {}), ("io.berth.Fabric.GetNode", {})],
    [("io.berth.Health.AcceptBaseline", {}), ("io.berth.Health.Check", {}), ("io.berth.Fabric.GetCurves", {"metric": "cpu_copy"})],
    [("io.berth.Fabric.GetMatrix", MATRIX), ("io.berth.Placement.Bind", {"tasks": 1}), ("io.berth.Placement.Allocate", {"bytes": 4096})],
]


def call_on(path, calls, end, problems, counts):
    count = 0
    with Connection(path, timeout=30) as connection:
        while time.monotonic() < end:
            for method, parameters in calls:
                error, reply = connection.call(method, parameters)
                count += 1
                if error is not None and not error.endswith((".Busy", ".Unavailable")):
                    problems.append((method, error, reply))
    counts.append(count)


def follow(path, end, problems, counts):
    """A stream that is left in the middle, again and again, and a node folder as it is recorded. Nothing changes any more when the others end."""
    count = 0
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError), Connection(path) as connection:
            connection.send("io.berth.Fabric.GetStatus", more=True)
            for _ in range(5):
                connection.socket.settimeout(max(0.1, end - time.monotonic()))
                if connection.receive() is None:
                    problems.append(("GetStatus", "closed"))
                count += 1
        with Connection(path, timeout=30) as connection:
            if [error for error, _ in connection.stream("io.berth.Fabric.Record") if error]:
                problems.append(("Record", "failed"))
    counts.append(count)


def every_worker_at_once():
    folder = scratch()
    with fake_probe(PROBE) as probes:
        survivor = Survivor(folder / "d", config=f"probe_dir = {probes}\n")
        survivor.start()
        with survivor.connect() as connection:
            connection.call("io.berth.Fabric.GetStatus")
        end, problems, counts = time.monotonic() + SECONDS, [], []
        threads = [threading.Thread(target=call_on, args=(survivor.socket, calls, end, problems, counts)) for calls in CALLERS]
        threads.append(threading.Thread(target=call_on, args=(survivor.socket, [("io.berth.Health.Probe", {"metrics": ["memory_latency"]})], end, problems, counts)))
        threads.append(threading.Thread(target=follow, args=(survivor.socket, end, problems, counts)))
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            time.sleep(0.3)
            survivor.process.send_signal(signal.SIGHUP)
        for thread in threads:
            thread.join(60)
        assert not problems, (problems[:3], survivor.said())
        assert len(counts) == len(CALLERS) + 2 and min(counts) > 2, (counts, survivor.said())
        code = survivor.stop()
        assert "ThreadSanitizer" not in survivor.log.read_text(errors="replace"), survivor.log.read_text(errors="replace")[:6000]
        assert code == 0, (code, survivor.said())
    print(f"# {sum(counts)} calls from {len(counts)} callers")
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(run_tests([every_worker_at_once]) > 0)
