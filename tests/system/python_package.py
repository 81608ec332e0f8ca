"""The Python package as programs meet it: a wheel, installed in a clean environment. Prints TAP."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/lib"))
from berthd import BIN, Daemon  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

PYTHON = shutil.which("/usr/bin/python3") or sys.executable  # Debian's has Debian's packages
WORK = pathlib.Path(tempfile.mkdtemp(prefix="berth-python-"))
WHEEL, SOURCE, INSIDE = WORK / "build/python", WORK / "build/python/source", WORK / "venv/bin/python"
EXAMPLES = ROOT / "docs/examples"
CPUS = len(os.sched_getaffinity(0))


def clean_environment(**more):
    """Without variables of a launcher, of a user, or of the make that may have started this."""
    others = ("SLURM_", "PMI", "MPI_", "OMPI_", "MV2_", "JSM_", "PALS_", "FLUX_", "TORCHELASTIC_", "CROSS_", "BERTH_", "MAKE", "PYTHON", "LD_PRELOAD")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(*words, **how):
    """Output of a command that has to succeed."""
    variables = how.pop("variables", {})
    done = subprocess.run([*map(str, words)], env=clean_environment(**variables), text=True, timeout=200,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout[-8000:]}"
    return done.stdout


def needs(*modules):
    for module in modules:
        if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
            raise LeftOut(f"{PYTHON} has no {module}")


def built():
    needs("setuptools", "wheel", "venv")
    pip = next(pathlib.Path("/usr/share/python-wheels").glob("pip-*.whl"), None)
    if pip is None:
        raise LeftOut("python3-pip-whl is not here")
    if not INSIDE.exists():
        run("make", "-s", "python", f"BUILD={WORK}/build", f"PYTHON={PYTHON}", cwd=ROOT)
        run(PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", WORK / "venv")
        run(INSIDE, "-m", "pip", "install", "-q", "--no-index", *WHEEL.glob("*.whl"),
            variables={"PYTHONPATH": str(pip)})


def a_wheel_in_a_clean_environment():
    built()
    version = re.search(r"^VERSION *:= *(\S+)", (ROOT / "Makefile").read_text(), re.M)[1]
    told = run(INSIDE, "-c", "import berth; print(berth.__version__, berth.__file__)", cwd=WORK)
    assert told.split() == [version, str(next((WORK / "venv").rglob("berth/__init__.py")))], told


def types_are_strict():
    built()
    needs("mypy")
    told = run(PYTHON, "-m", "mypy", "--cache-dir", WORK / "mypy", cwd=SOURCE)
    assert told.startswith("Success"), told
    bad = WORK / "bad.py"
    bad.write_text('import berth\nberth.bind("4")\nberth.alloc(1).options[0].prize\n'
                   'berth.bind(1, pattern="rings")\n')
    done = subprocess.run([PYTHON, "-m", "mypy", "--strict", "--cache-dir", WORK / "mypy", bad], text=True,
                          env=clean_environment(MYPYPATH=str(SOURCE)), capture_output=True, cwd=WORK)
    assert [re.search(rf"bad.py:{line}: error", done.stdout) is not None for line in (2, 3, 4)] == \
        [True] * 3, done.stdout


def tests_of_calls():
    built()
    needs("pytest")
    told = run(INSIDE, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/python", cwd=WORK,
               variables={"BIN": str(BIN)})
    print("# pytest:", told.splitlines()[-1])


def ranks(daemon, word, told):
    """Cpus of each rank, from the lines of an example."""
    found = dict(re.findall(rf"^{word} (\d) of 2: cpus ([\d,-]+), ", told, re.M))
    assert sorted(found) == ["0", "1"], (told, daemon.said())
    return found["0"], found["1"]


def under_mpiexec():
    built()
    needs("mpi4py")
    if shutil.which("mpiexec.openmpi") is None:
        raise LeftOut("mpiexec.openmpi is not here")
    here = {"OMPI_MCA_plm": "isolated"}  # one node needs no ssh, which may be absent
    start = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    with Daemon("--no-probe") as daemon:
        daemon.wait_ready()
        told = run(*start, INSIDE, EXAMPLES / "mpi_take.py", variables={**here, "BERTH_SOCKET": daemon.socket})
        first, second = ranks(daemon, "rank", told)
        assert (first != second) == (CPUS > 1), told
    told = run(*start, INSIDE, EXAMPLES / "mpi_take.py", variables={**here, "BERTH_SOCKET": str(WORK / "none")})
    assert told.count("no berth: no daemon at") == 2, told
    assert told.count("this program runs without a berth") == 1, told


def under_torchrun():
    """Two workers on the CPU train together (gloo)."""
    if "FRAMEWORKS" not in os.environ:
        raise LeftOut("PyTorch is for make check-frameworks")
    needs("torch")
    # Without a redirection Debian's PyTorch 1.13 fails under Python 3.11.
    start = [INSIDE, "-m", "torch.distributed.run", "--standalone", "-r", "1", "-t", "1", "--nproc_per_node", "2",
             "--log_dir", WORK / "torch"]
    with Daemon("--no-probe") as daemon:
        daemon.wait_ready()
        told = run(*start, EXAMPLES / "torch_take.py", variables={"BERTH_SOCKET": daemon.socket})
        first, second = ranks(daemon, "worker", re.sub(r"^\[default\d\]:", "", told, flags=re.M))
        assert (first != second) == (CPUS > 1), told
        assert len(set(re.findall(r"loss (\d\.\d\d)$", told, re.M))) == 1, told
    told = run(*start, EXAMPLES / "torch_take.py", variables={"BERTH_SOCKET": str(WORK / "none")})
    assert len(re.findall(r"worker \d of 2: no berth: no daemon at .*, loss", told)) == 2, told


TESTS = [a_wheel_in_a_clean_environment, types_are_strict, tests_of_calls, under_mpiexec, under_torchrun]

if __name__ == "__main__":
    try:
        with contextlib.suppress(LeftOut, AssertionError):  # each test says it again
            built()
        failures = run_tests(TESTS, at_once=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(1 if failures else 0)
