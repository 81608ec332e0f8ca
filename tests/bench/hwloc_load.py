"""What hwloc's discovery costs the ranks of a node: hwloc_topology_load in 64 processes at once, by themselves and with the daemon's file.

BIN=build/bin python3 tests/bench/hwloc_load.py [RANKS] [ROUNDS]
Rounds alternate. Prints, for each, the median and the largest of the medians and maxima over the rounds: the time of the call by each
process's clock, its CPU time (user and system), and the time until all have loaded.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, Daemon, until  # noqa: E402

PROGRAM = r"""
#include <hwloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
int main(void)
{
    hwloc_topology_t topology;
    char byte;
    if (read(0, &byte, 1) != 0) /* the pipe's end: all begin at once */
        return 1;
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (hwloc_topology_init(&topology) != 0 || hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
        hwloc_topology_load(topology) != 0)
        return 1;
    printf("%.3f %.3f %d\n", now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu, hwloc_topology_is_thissystem(topology));
    return 0;
}
"""


def environment_of(daemon):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HWLOC_")}
    listed = subprocess.run([BIN / "berth", "--socket", daemon.socket, "exec", "--", "env", "-0"], env=plain, capture_output=True, text=True, check=True).stdout
    given = dict(item.split("=", 1) for item in listed.split("\0") if item.startswith("HWLOC_"))
    assert given, "berth exec has given no file"
    return {"by themselves": plain, "with the file": {**plain, **given}}


def load(program, ranks, environment):
    """(milliseconds of each call, CPU milliseconds of each, milliseconds until all are through)."""
    read_end, write_end = os.pipe()
    running = [subprocess.Popen([program], stdin=read_end, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(ranks)]
    os.close(read_end)
    time.sleep(0.5)  # all wait in read
    begun = time.monotonic()
    os.close(write_end)
    outputs = [one.communicate()[0].split() for one in running]
    all_ms = (time.monotonic() - begun) * 1e3
    assert all(one.returncode == 0 for one in running) and all(words[2] == "1" for words in outputs)
    return [float(words[0]) for words in outputs], [float(words[1]) for words in outputs], all_ms


def main():
    ranks, rounds = (int(word) for word in (sys.argv[1:] + ["64", "9"][len(sys.argv) - 1:]))
    with tempfile.TemporaryDirectory() as folder, Daemon(config="probe_at_start = no\n") as daemon:
        source = pathlib.Path(folder) / "load.c"
        source.write_text(PROGRAM)
        program = source.with_suffix("")
        subprocess.run(["cc", "-O2", "-o", program, source, "-lhwloc"], check=True)
        until((daemon.directory / "hwloc.xml").exists, 30)
        environments = environment_of(daemon)
        found = {name: [] for name in environments}
        for _ in range(rounds):
            for name, environment in environments.items():
                found[name].append(load(program, ranks, environment))
    for name, times in found.items():
        median = statistics.median
        print(f"{ranks} ranks {name}: a call {median(median(t[0]) for t in times):.1f} ms (largest {median(max(t[0]) for t in times):.1f}), "
              f"CPU time {median(median(t[1]) for t in times):.2f} ms, all {median(t[2] for t in times):.0f} ms "
              f"({min(t[2] for t in times):.0f} to {max(t[2] for t in times):.0f})")


if __name__ == "__main__":
    main()
