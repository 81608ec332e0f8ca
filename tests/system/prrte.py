"""berth's rank files and berth exec under prterun; PRTERUN names it. Prints TAP."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, Daemon  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

PRTERUN = os.environ.get("PRTERUN", "prterun")
SHOWN = ["sh", "-c", 'echo "$PMIX_RANK cpus $(sed -n "s/Cpus_allowed_list:\\t//p" /proc/self/status)"']
QUIET = "probe_at_start = no\n"


def prterun(*words):
    """What two ranks print: (lines sorted, standard error)."""
    if shutil.which(PRTERUN) is None:
        raise LeftOut("there is no PRRTE: Debian has no package of it, PRTERUN names one built by hand")
    if sorted(os.sched_getaffinity(0))[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1")
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    done = subprocess.run([PRTERUN, *root, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return sorted(done.stdout.splitlines()), done.stderr


def ranks_are_bound_by_the_rank_file():
    """As planned, and the other way round where the file is turned by hand."""
    with tempfile.TemporaryDirectory() as folder, Daemon(config=QUIET) as daemon:
        ranks = pathlib.Path(folder) / "ranks"
        subprocess.run([BIN / "berth", "--socket", daemon.socket, "export", "rankfile", "-n", "2", "-o", ranks], check=True, capture_output=True)
        for wanted in (["0 cpus 0", "1 cpus 1"], ["0 cpus 1", "1 cpus 0"]):
            found, said = prterun("--map-by", f"rankfile:file={ranks}", "-n", "2", *SHOWN)
            assert found == wanted, (found, said, ranks.read_text())
            ranks.write_text("rank 0=localhost slot=1\nrank 1=localhost slot=0\n")


def exec_says_what_pmix_does_not_tell():
    """PMIx gives a rank's number in the job by a variable, and that on its node by its library alone. -n and -t tell it."""
    with Daemon(config=QUIET) as daemon:
        free = ["--map-by", ":oversubscribe", "--bind-to", "none", "-n", "2"]
        berth = f"{BIN}/berth --socket {daemon.socket} exec"
        found, said = prterun(*free, "sh", "-c", f'{berth} -- "$@"', "sh", *SHOWN)
        assert len(found) == 2 and "PMIX_RANK is set, but pmix does not tell a task's number on its node" in said, (found, said)
        found, said = prterun(*free, "sh", "-c", f'{berth} -n 2 -t "$PMIX_RANK" -- "$@"', "sh", *SHOWN)
        assert found == ["0 cpus 0", "1 cpus 1"] and "warning" not in said, (found, said)


TESTS = [ranks_are_bound_by_the_rank_file, exec_says_what_pmix_does_not_tell]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
