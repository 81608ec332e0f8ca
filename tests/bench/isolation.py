"""What a parser process and a system call filter cost: prints the tables of docs/ARCHITECTURE.md. BIN and BENCH are folders of a build."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import under_filter  # noqa: E402
from berthd import NODES, Daemon  # noqa: E402

BENCH = pathlib.Path(os.environ.get("BENCH", "build/bench")).resolve()
UNIT = HERE.parent.parent / "systemd/berthd.service.in"
CALL = '{"method":"io.berth.Fabric.GetStatus","parameters":{}}'
ROUNDS = 5


def memory_kib(pid):
    return sum(int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Private_"))


def measure(under):
    begin = time.monotonic()
    with Daemon("--node", NODES / "mi250x", under=under) as daemon:
        start = time.monotonic() - begin
        printed = subprocess.run([BENCH / "roundtrip", "1000", "10", "it", daemon.socket, CALL], capture_output=True, text=True, check=True).stdout
        return float(printed.split()[1]) / 1e3, start * 1e3, memory_kib(daemon.process.pid)


def main():
    known = under_filter.numbers()
    unit = {known[name] for name in under_filter.allowed(UNIT) if name in known}
    # The same Python is in the way of each start.
    code = f"import os, sys; sys.path.insert(0, {str(HERE.parent / 'lib')!r}); import under_filter; SET; os.execvp(sys.argv[1], sys.argv[1:])"
    ways = {name: [sys.executable, "-c", code.replace("SET", step)] for name, step in (
        ("no filter", "None"), ("a filter that allows all", "under_filter.install(None)"), (f"the unit's, {len(unit)} calls", f"under_filter.install({sorted(unit)})"))}
    took = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, under in ways.items():
            took[name].append(measure(under))
    for name, rows in took.items():
        print(f"{name:26}", *(f"{what} {statistics.median(values):.1f} {unit}" for what, unit, values in zip(("GetStatus", "start", "private"), ("us", "ms", "KiB"), zip(*rows))), sep="  ")
    print(subprocess.run([BENCH / "parser", "2000"], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
