"""berth-probe-mpi under mpiexec of MPICH and of Open MPI: the record, tables, wrong launchers."""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
from berthd import BIN  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
SHORT = ["--budget-ns", "1500000000"]
# Open MPI refuses root and more ranks than cores, unless it is told.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
FOLDER = tempfile.TemporaryDirectory()


@functools.cache
def built(kind):
    """The probe built with that library, and its launcher."""
    compiler, launcher = shutil.which(f"mpicc.{kind}"), shutil.which(f"mpiexec.{kind}")
    library = BUILD / "libprobe.a"
    if compiler is None or launcher is None or not (BIN / "berth-probe-mpi").exists():
        raise LeftOut(f"there is no {kind}, or berth-probe-mpi was left out (make check installs both)")
    program = pathlib.Path(FOLDER.name) / kind
    flags = ["-std=c17", "-D_GNU_SOURCE", '-DBERTH_VERSION="0"', "-O1", "-pthread", "-Ischema", "-iquote", "probes"]
    subprocess.run([compiler, *flags, "-o", program, *sorted((ROOT / "probes/mpi").glob("*.c")), library, "-lm"],
                   cwd=ROOT, check=True)
    return program, launcher


def start(program, launcher, ranks, *words):
    return subprocess.run([launcher, "-n", str(ranks), program, *words], env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=120)


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def check_record(kind):
    run, *middle, end = records(start(*built(kind), 2, *SHORT, "--metrics", "mpi_latency,mpi_bandwidth").stdout)
    assert run["record"] == "run" and run["probe"] == "mpi" and end["record"] == "end", (run, end)
    assert {"mpich": "MPICH", "openmpi": "Open MPI"}[kind] in run["conditions"]["mpi"], run
    assert run["conditions"]["mpi_memory"] == "host" and run["conditions"]["mpi_ranks"] == 2, run
    cells = [(one["metric"], one["from"], one["to"], one["axes"].get("direction", "one"))
             for one in middle if one["record"] in ("value", "skip")]
    assert len(set(cells)) == len(cells), cells
    values = [one for one in middle if one["record"] == "value"]
    assert values, middle
    if run["conditions"]["mpi_cores"] == 2:
        assert ("mpi_latency", "core0", "core1", "one") in cells and ("mpi_latency", "core1", "core0", "one") in cells
        assert ("mpi_bandwidth", "core0", "core1", "both") in cells and len(cells) == 5, cells
    for value in values:
        assert all(0 < one["median_ns"] < 1e9 for one in value["samples"]), value


def check_collectives(kind):
    """Four ranks, which share the cores of a small machine: groups of two and of four."""
    run, *middle, end = records(start(*built(kind), 4, *SHORT, "--metrics", "mpi_collective_latency").stdout)
    cells = [(one["axes"].get("operation", "allreduce"), one["axes"].get("members", "2"))
             for one in middle if one["record"] in ("value", "skip")]
    wanted = ("allreduce", "allgather", "alltoall", "broadcast", "reduce", "reducescatter")
    assert sorted(cells) == sorted((name, members) for name in wanted for members in ("2", "4")), cells
    values = [one for one in middle if one["record"] == "value"]
    assert values and all(one["samples"][0]["bytes"] == 8 and one["samples"][0]["n"] >= 6 for one in values), middle
    skips = [one for one in middle if one["record"] == "skip"]
    assert all(one["why"] == "time budget" for one in skips), skips
    assert end["status"] == ("budget" if skips else "complete") and run["conditions"]["mpi_ranks"] == 4, (run, end)


def test_collectives_under_mpich():
    check_collectives("mpich")


def test_collectives_under_open_mpi():
    check_collectives("openmpi")


def test_the_record_under_mpich():
    check_record("mpich")


def test_the_record_under_open_mpi():
    check_record("openmpi")


def test_tables_for_a_person():
    shown = start(*built("mpich"), 2, *SHORT, "--table", "--metrics", "mpi_latency").stdout
    assert "mpi_latency bytes=8, ns" in shown and "mpi_bandwidth" not in shown, shown


def test_one_rank_is_not_enough():
    done = start(*built("mpich"), 1)
    assert done.returncode != 0 and "there is one rank on this node" in done.stderr, done
    assert '"record":"value"' not in done.stdout, done


def test_a_launcher_of_another_mpi_is_noticed():
    done = start(built("mpich")[0], built("openmpi")[1], 2, "--ranks", "2")
    assert done.returncode != 0 and "is it of another MPI" in done.stderr, done
    assert '"record":"value"' not in done.stdout, done


def test_wrong_words():
    program, _ = built("mpich")
    for words in (["--profile", "slow"], ["--ranks", "x"], ["--budget-ns", "0"], ["--metrics", "memory_latency"]):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 64 and len(done.stderr.splitlines()) == 1, (words, done)


if __name__ == "__main__":
    failed = run_tests([test_the_record_under_mpich, test_the_record_under_open_mpi, test_collectives_under_mpich,
                        test_collectives_under_open_mpi, test_tables_for_a_person,
                        test_one_rank_is_not_enough, test_a_launcher_of_another_mpi_is_noticed, test_wrong_words])
    FOLDER.cleanup()
    sys.exit(failed > 0)
