"""A daemon with a fast clock (tests/standin/fast_clock.c): its idle hours take seconds, its timers
are exact, and a probe costs the time that it took. Prints TAP.
"""
import json
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import NODES, Daemon, RUN, fake_probe, fast_clock, until  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

TIMES = 3600
WEEK = 604800
PLACEMENT = "io.berth.Placement."
END = '{"record":"end","status":"complete","elapsed_ns":5}'


def claims(daemon):
    return daemon.call("io.berth.Placement.ListClaims")["claims"]


def an_hour_is_a_second():
    with Daemon("--no-probe", environment=fast_clock(TIMES)) as daemon:
        begin = time.monotonic()
        daemon.call("io.berth.Placement.Claim",
                    {"places": ["core0"], "purpose": "compute", "ttl_s": 3600})
        assert claims(daemon), daemon.said()
        assert until(lambda: not claims(daemon)), "the claim of an hour has not ended"
        took = time.monotonic() - begin
        assert 0.5 < took < 10, took


def a_probe_takes_its_own_time():
    with fake_probe(f"echo '{RUN}'\nsleep 1\necho '{END}'\n") as probes, \
            Daemon(config=f"probe_dir = {probes}\n", environment=fast_clock(TIMES)) as daemon:
        daemon.wait_ready()
        took = re.search(r"left out in ([0-9.]+) s", daemon.said())
        assert took and 1 <= float(took[1]) < 20, daemon.said()


def the_thread_pool_takes_its_own_time():
    """Two claims around a plan, sent in one piece: the daemon's clock passes as long as it plans."""
    claim = {"method": PLACEMENT + "Claim",
             "parameters": {"places": ["core0"], "purpose": "compute", "ttl_s": WEEK, "key": "k"}}
    plan = {"method": PLACEMENT + "Bind", "parameters": {"tasks": 56, "tasks_per_gpu": 7,
                                                         "pattern": "alltoall", "bytes": 1 << 20}}
    with Daemon("--node", NODES / "mi250x", "--no-probe", environment=fast_clock(TIMES)) as daemon, \
            Connection(daemon.socket) as asker:
        begin = time.monotonic()
        asker.socket.sendall(b"".join(json.dumps(call).encode() + b"\0"
                                      for call in (claim, plan, claim)))
        first, _, last = (asker.receive() for _ in range(3))
        took = time.monotonic() - begin
        until_s = [reply["parameters"]["claim"]["expires_at_s"] for reply in (first, last)]
        passed = until_s[1] - until_s[0]
        assert passed <= took + 2, (passed, took)


def probes_have_the_clock_of_the_machine():
    with fake_probe(f"echo '{RUN}'\ntest -z \"$LD_PRELOAD$FAST_CLOCK\" && echo '{END}'\n") \
            as probes, \
            Daemon(config=f"probe_dir = {probes}\n", environment=fast_clock(TIMES)) as daemon:
        daemon.wait_ready()
        assert "complete" in daemon.said(), daemon.said()


if __name__ == "__main__":
    sys.exit(run_tests([an_hour_is_a_second, a_probe_takes_its_own_time,
                        the_thread_pool_takes_its_own_time,
                        probes_have_the_clock_of_the_machine]))
