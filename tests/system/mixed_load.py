"""One daemon under all loads for some seconds: its threads meet in every combination.

Loads are small and large questions, history, recording, streams, claims, measuring, and SIGHUP.
Every reply must be valid, and the daemon must end well. With SAN=thread (ThreadSanitizer) a race
makes it end badly. Prints TAP.
"""
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import large_node  # noqa: E402
from berthd import Daemon, fake_probe  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

SECONDS = float(os.environ.get("LOAD_SECONDS", "6"))
MAY_FAIL = (".NotMeasured", ".NotEnough", ".Unavailable", ".NothingAllowed")  # without a value or a store, or all claimed

PROBE = """echo '{"record":"run","schema":1,"probe":"cpu","backend":"cpu","started_at":'$(date +%s)',"conditions":{}}'
for i in 1 2 3 4 5 6 7 8; do
echo '{"record":"value","metric":"memory_latency","from":"numa0","to":"numa0","axes":{"bytes":"'$i'"},"value":'$i$(date +%N | cut -c 1-2)',"low":1,"high":99999,"n":6}'
done
echo '{"record":"end","status":"ok"}'
"""

QUESTIONS = [("io.berth.Fabric.GetStatus", {}), ("io.berth.Fabric.GetNode", {}), ("io.berth.Fabric.ListMetrics", {}),
             ("io.berth.Fabric.GetMatrix", {"metric": "memory_latency"}), ("io.berth.Fabric.GetMatrix", {"metric": "cpu_pingpong"}),
             ("io.berth.Fabric.GetMatrix", {"metric": "memory_latency", "at_s": 1790000000}), ("io.berth.Fabric.GetCurves", {"metric": "memory_latency"}),
             ("io.berth.Placement.Allocate", {"bytes": 1 << 20}), ("io.berth.Placement.Bind", {"tasks": 1}), ("io.berth.Health.Check", {}),
             ("io.berth.Fabric.History", {"metric": "memory_latency", "from": "numa0", "to": "numa0"}), ("io.berth.Fabric.GetContention", {}),
             ("io.berth.Health.ListFindings", {}), ("io.berth.Health.GetBaseline", {"metric": "memory_latency", "from": "numa0", "to": "numa0"}),
             ("io.berth.Placement.ListClaims", {})]


class Load:
    def __init__(self, daemon):
        self.daemon, self.end, self.failures, self.asked = daemon, time.monotonic() + SECONDS, [], 0

    def until_the_end(self, what):
        try:
            while time.monotonic() < self.end and not self.failures:
                what()
        except Exception:  # noqa: BLE001
            self.failures.append(traceback.format_exc())

    def ask(self):
        with Connection(self.daemon.socket, timeout=60) as connection:
            for _ in range(random.randint(1, 20)):
                method, parameters = random.choice(QUESTIONS)
                error, reply = connection.call(method, parameters)
                self.asked += 1
                if error and not error.endswith(MAY_FAIL):
                    self.failures.append(f"{method} {parameters}: {error} {reply}")

    def leave(self):
        """Asks for much, reads little and goes."""
        with Connection(self.daemon.socket, timeout=60) as connection:
            connection.send("io.berth.Fabric.Record", more=True)
            for _ in range(3):
                connection.send("io.berth.Fabric.GetMatrix", {"metric": "cpu_pingpong"})
            time.sleep(random.random() / 20)

    def watch(self):
        with Connection(self.daemon.socket, timeout=60) as connection:
            connection.send(random.choice(["io.berth.Fabric.Watch", "io.berth.Fabric.GetStatus"]), more=True)
            assert connection.receive() is not None
            time.sleep(random.random() / 5)

    def claim(self):
        with Connection(self.daemon.socket, timeout=60) as connection:
            connection.call("io.berth.Placement.Claim", {"places": ["numa0"], "purpose": "compute", "key": "load", "ttl_s": 5})
            time.sleep(random.random() / 5)
            connection.call("io.berth.Placement.Release", {"key": "load"})

    def probe(self):
        with Connection(self.daemon.socket, timeout=60) as connection:
            connection.call("io.berth.Health.Probe", {"metrics": ["memory_latency"]})
            if random.random() < 0.3:
                connection.call("io.berth.Health.CancelProbe", {})

    def reload(self):
        self.daemon.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)


def everything_at_once(*arguments, environment=None, config=""):
    with Daemon(*arguments, config=config) as daemon:
        load = Load(daemon)
        whats = [load.ask] * 4 + [load.leave] * 2 + [load.watch, load.probe, load.claim, load.reload]
        threads = [threading.Thread(target=load.until_the_end, args=(what,)) for what in whats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not load.failures, load.failures[0]
        code, _ = daemon.stop()
        said = daemon.said()
        assert code == 0 and "Sanitizer" not in said, (code, said[:8000])
        print(f"# {load.asked} calls")


def a_live_daemon_that_measures():
    with fake_probe(PROBE) as folder:
        everything_at_once(config=f"probe_dir = {folder}\n")


def a_recorded_node_with_many_values():
    with tempfile.TemporaryDirectory(prefix="berth-test-") as folder:
        large_node.write(folder, 96)
        everything_at_once("--node", folder)


TESTS = [a_live_daemon_that_measures, a_recorded_node_with_many_values]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
