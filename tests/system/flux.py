"""berth under an instance of Flux of this test's own; FLUX names its command. Prints TAP."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, Daemon, NODES  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

FLUX = os.environ.get("FLUX", "flux")
SHOWN = ["sh", "-c", 'echo "$FLUX_TASK_RANK cpus $(sed -n "s/Cpus_allowed_list:\\t//p" /proc/self/status) cuda $CUDA_VISIBLE_DEVICES rocr $ROCR_VISIBLE_DEVICES"']


def flux_run(*words):
    """Output of flux run in an instance of one broker: (lines sorted, standard error)."""
    if shutil.which(FLUX) is None:
        raise LeftOut("there is no Flux: Debian has no package of it, FLUX names one built by hand")
    if sorted(os.sched_getaffinity(0))[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1")
    done = subprocess.run([FLUX, "start", "-s1", FLUX, "run", *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return sorted(done.stdout.splitlines()), done.stderr


def tasks_take_their_berths():
    with Daemon("--node", NODES / "mi250x") as daemon:
        take = [BIN / "berth", "--socket", daemon.socket, "exec", "--gpus", "0-7", "--", *SHOWN]
        found, said = flux_run("-n2", "-o", "cpu-affinity=off", "-o", "gpu-affinity=off", *take)
        assert found == ["0 cpus 0 cuda  rocr 0", "1 cpus 1 cuda  rocr 4"], (found, said)
        found, said = flux_run("-n2", "-o", "cpu-affinity=map:1;0", "-o", "gpu-affinity=off", *take)
        assert [line.split()[2] for line in found] == ["1", "0"] and "flux has bound its tasks, and that stays: task 0 to cpus 1" in said, (found, said)


def a_job_without_gpus_has_none():
    """Flux gives such a job CUDA_VISIBLE_DEVICES=-1."""
    with Daemon("--node", NODES / "h200x4") as daemon:
        found, said = flux_run("-n2", "-o", "cpu-affinity=off", BIN / "berth", "--socket", daemon.socket, "exec", "--", *SHOWN)
        assert [line.split(" cuda ")[1] for line in found] == ["-1 rocr "] * 2, (found, said)


def options(*arguments):
    done = subprocess.run([BIN / "berth", *map(str, arguments), "--format", "flux"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def flux_binds_as_planned():
    with Daemon(config="probe_at_start = no\n") as daemon:
        found, said = flux_run("-n2", *options("--socket", daemon.socket, "bind", "-n", "2", "-g", "0", "--cpus", "0-1"), *SHOWN)
        assert [line.split()[2] for line in found] == ["0", "1"], (found, said)
    cpus = "48-55,112-119", "16-23,80-87"
    dry = [word.replace("cpu-affinity=", "cpu-affinity=dry-run,") for word in options("--node", NODES / "mi250x", "bind", "-n", "2")]
    found, said = flux_run("-n2", *dry, *SHOWN)
    assert [line.split(" cuda ")[1].split()[0] for line in found] == ["0", "2"], (found, said)
    assert all(f"task {n}: cpus: {list_}" in said for n, list_ in enumerate(cpus)), said
    dry = [word.replace("cpu-affinity=", "cpu-affinity=dry-run,") for word in options("--node", NODES / "mi250x", "bind", "-n", "2", "-g", "4")]
    found, said = flux_run("-n2", *dry, *SHOWN)
    assert [line.split(" cuda ")[1].split()[0] for line in found] == ["0,1,2,3", "4,5,6,7"], (found, said)


if __name__ == "__main__":
    sys.exit(1 if run_tests([tasks_take_their_berths, a_job_without_gpus_has_none, flux_binds_as_planned]) else 0)
