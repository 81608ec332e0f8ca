"""berth watch says what changed, and berth claim -q a number alone.

Prints TAP.
"""
import os
import pathlib
import pwd
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, Daemon, fake_probe  # noqa: E402
from berthd import RUN as BERTHD_RUN  # noqa: E402
from tap import run_tests  # noqa: E402

# The first run measures 20 GB/s, the second 10 GB/s, the third the same and one cell more, the
# fourth hardly another value, the fifth six cells more, the sixth other values of these.
SCRIPT = f"""n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) > "$0.n"
echo '{BERTHD_RUN}' | sed "s/1790000000/$(date +%s)/"
cell() {{ echo '{{"record":"value","metric":"memory_bandwidth","from":"numa0","to":"numa0","axes":{{"threads":"'$1'"}},"value":'$2',"n":9}}'; }}
case $n in 0) cell 1 20e9;; 3) cell 1 10001e6;; *) cell 1 10e9;; esac
[ $n -lt 2 ] || cell 2 30e9
[ $n -lt 4 ] || for threads in 3 4 5 6 7 8; do cell $threads $((n * threads))e9; done
echo '{{"record":"end","status":"complete","elapsed_ns":1}}'
"""
WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ "


def a_change_has_its_values():
    with fake_probe(SCRIPT) as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        daemon.wait_ready()
        watcher = subprocess.Popen([BIN / "berth", "--socket", daemon.socket, "watch"], stdout=subprocess.PIPE, text=True)
        try:
            line = watcher.stdout.readline()
            assert re.fullmatch(WHEN + r"watching from snapshot \S+\n", line), line
            again = "memory_bandwidth: measured again, no value changed by 0.1 % or more"
            wanted = ["memory_bandwidth numa0 to numa0 .*threads=1.*: 20 GB/s to 10 GB/s \\(-50.0 %\\)", "memory_bandwidth: 1 new value", again, "memory_bandwidth: 6 new values"]
            wanted += 5 * ["memory_bandwidth numa0 to numa0 .*threads=[3-8].* GB/s \\([+]25.0 %\\)"] + ["memory_bandwidth: 1 more value changed by at most 25.0 %"]
            for i, words in enumerate(wanted):
                if i < 5:
                    daemon.call("io.berth.Health.Probe")
                line = watcher.stdout.readline()
                assert re.fullmatch(WHEN + words + "\n", line), (words, line)
            number = subprocess.run([BIN / "berth", "--socket", daemon.socket, "claim", "core0", "--ttl", "60", "-q"], capture_output=True, text=True)
            assert number.returncode == 0 and re.fullmatch(r"c[0-9a-z]+\n", number.stdout), number
            name, user = number.stdout.strip(), pwd.getpwuid(os.getuid()).pw_name
            line = watcher.stdout.readline()
            assert re.fullmatch(WHEN + f"claim {name} began: {user} has core0 \\(.+\\) until {WHEN.rstrip()}\n", line), line
            done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "release", name], capture_output=True, text=True)
            assert done.returncode == 0, done
            line = watcher.stdout.readline()
            assert re.fullmatch(WHEN + f"claim {name} ended: {user} has core0 \\(.+\\)\n", line), line
        finally:
            watcher.kill()
            watcher.wait()
            watcher.stdout.close()


if __name__ == "__main__":
    sys.exit(run_tests([a_change_has_its_values]) > 0)
