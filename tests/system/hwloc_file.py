"""hwloc's topology file: kept by berthd, given to tasks by berth exec and the task prolog. Prints TAP."""
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import mpi_ranks  # noqa: E402
from berthd import BIN, Daemon, NODES, until  # noqa: E402
from cpuset import cpuset  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

QUIET = "probe_at_start = no\n"
NAMES = ("HWLOC_FSROOT", "HWLOC_THISSYSTEM", "HWLOC_THISSYSTEM_ALLOWED_RESOURCES", "HWLOC_XMLFILE", "HWLOC_COMPONENTS")
CPUS = sorted(os.sched_getaffinity(0))


def clean_environment(**variables):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("HWLOC_", "SLURM_", "PMI", "MPI_", "OMPI_", "BERTH_"))}
    return {**kept, **variables}


def kept_by(daemon):
    """The file of a daemon, once it is there."""
    path = daemon.directory / "hwloc.xml"
    until(path.exists, 30)
    return path


def given(daemon, *, cpus=None, **variables):
    """hwloc's variables in a task of berth exec."""
    done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "exec", "--", "env"], env=clean_environment(**variables), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("HWLOC_"))


def snapshot_in(path):
    return re.search(r'name="BerthSnapshot" value="([^"]+)"', path.read_text()).group(1)


def the_file_follows_the_snapshot():
    """It is Export's, readable by all, and new after a measurement. It outlives the daemon: tasks have its path."""
    with Daemon(config=QUIET, under=("sh", "-c", 'umask 077; exec "$@"', "sh")) as daemon:
        path = kept_by(daemon)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path.stat()
        assert path.read_text() == daemon.call("io.berth.Fabric.Export", {"format": "hwloc"})["text"]
        before, file = snapshot_in(path), path.stat()
        until(lambda: daemon.call("io.berth.Health.Probe", {"metrics": ["memory_latency"]})["measured"] > 0, 60)
        until(lambda: "<memattr" in path.read_text(), 30)
        assert path.stat().st_ino != file.st_ino and snapshot_in(path) != before
        assert not [name for name in os.listdir(daemon.directory) if name.startswith("hwloc.xml.")]
        assert daemon.stop()[0] == 0 and path.exists(), daemon.said()


def no_file_is_kept():
    """Of a recorded node, and where the configuration wants none: an old one is removed."""
    folder = tempfile.mkdtemp(prefix="berth-test-")
    (pathlib.Path(folder) / "hwloc.xml").write_text('<info name="BerthSnapshot" value="1"/>')
    with Daemon("--node", NODES / "mi250x") as daemon, Daemon(config=QUIET + "hwloc_file =\n", directory=folder) as other:
        with Daemon(config=QUIET) as third:
            kept_by(third)
        for one in (daemon, other):
            assert not (one.directory / "hwloc.xml").exists() and given(one) == {}, os.listdir(one.directory)


def a_file_that_cannot_be_written_is_one_line():
    with tempfile.TemporaryDirectory() as folder, Daemon(config=f"{QUIET}hwloc_file = {folder}/none/hwloc.xml\n") as daemon:
        until(lambda: "no topology file" in daemon.said(), 30)
        until(lambda: daemon.call("io.berth.Health.Probe", {"metrics": ["memory_latency"]})["measured"] > 0, 60)
        until(lambda: daemon.status()["state"] == "ready", 30)
        lines = [line for line in daemon.said().splitlines() if "topology file" in line]
        assert len(lines) == 1 and "cannot be written: No such file or directory" in lines[0], lines
        assert daemon.stop()[0] == 0, daemon.said()


def a_file_of_somebody_else_stays():
    """Beside a private daemon's socket, whether a file is kept there or not."""
    for config in (QUIET, QUIET + "hwloc_file =\n"):
        folder = tempfile.mkdtemp(prefix="berth-test-")
        theirs = pathlib.Path(folder) / "hwloc.xml"
        theirs.write_text("<topology/>")
        with Daemon(config=config, directory=folder) as daemon:
            until(lambda: config != QUIET or f"{theirs} is not a file of berthd" in daemon.said(), 30)
            assert theirs.read_text() == "<topology/>"


def a_path_of_the_site():
    with tempfile.TemporaryDirectory() as folder, Daemon(config=f"{QUIET}hwloc_file = {folder}/node.xml\n") as daemon:
        until((pathlib.Path(folder) / "node.xml").exists, 30)
        assert given(daemon) == {}, "tasks look beside the socket"


def tasks_get_what_nobody_has_set():
    with Daemon(config=QUIET) as daemon:
        path = kept_by(daemon)
        expected = dict(zip(NAMES, ("/", "1", "1", str(path), "xml")))
        assert given(daemon) == expected
        for name in (*NAMES, "HWLOC_SYNTHETIC", "HWLOC_CPUID_PATH"):
            assert given(daemon, **{name: ""}) == {name: ""}, name
        prolog = [BIN / "berth", "--socket", daemon.socket, "slurm", "task"]
        said = subprocess.run(prolog, env=clean_environment(SLURM_STEP_ID="0"), capture_output=True, text=True).stdout
        assert said.splitlines() == [f"export {name}={value}" for name, value in expected.items()], said
        for others in ({"SLURM_STEP_ID": "0", "HWLOC_XMLFILE": "mine"}, {"SLURM_STEP_ID": "4294967291"}, {}):  # a batch script's step
            said = subprocess.run(prolog, env=clean_environment(**others), capture_output=True, text=True).stdout
            assert said == "", (others, said)
        daemon.process.send_signal(signal.SIGSTOP)  # no daemon is asked for it
        try:
            done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "exec", "--timeout", "1", "--", "env"], env=clean_environment(), capture_output=True, text=True, timeout=60)
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        assert f"HWLOC_XMLFILE={path}\n" in done.stdout, done


def a_file_that_others_could_have_written_is_not_taken():
    with Daemon(config=QUIET) as daemon:
        path = kept_by(daemon)
        path.chmod(0o664)
        assert given(daemon) == {}
        path.chmod(0o644)
        daemon.directory.chmod(0o777)  # anybody may replace it
        assert given(daemon) == {}
        daemon.directory.chmod(0o700)
        moved = path.rename(daemon.directory / "other.xml")
        path.symlink_to(moved)
        assert given(daemon) == {}
        path.unlink()
        path.mkdir()
        assert given(daemon) == {}
        path.rmdir()
        moved.rename(path)
        assert set(given(daemon)) == set(NAMES)
        if os.geteuid() == 0:
            os.chown(path, 12345, -1)
            assert given(daemon) == {}
            os.chown(daemon.directory, 12345, -1)  # as systemd's runtime directory is the daemon's
            assert set(given(daemon)) == set(NAMES)


def a_broken_file_is_not_handed_on():
    with Daemon(config=QUIET) as daemon:
        path = kept_by(daemon)
        whole = path.read_bytes()
        for broken in (b"", b"x", whole[:len(whole) // 2], whole[:-2], whole[1:], bytes(len(whole)), b"<topology/>\n"):
            path.write_bytes(broken)
            assert given(daemon) == {}, broken[-80:]
        path.write_bytes(whole)
        assert set(given(daemon)) == set(NAMES)


# ---- bindings ----

def two_daemons():
    """One that keeps a file, and one that keeps none."""
    if CPUS[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1, and this may run on " + ",".join(map(str, CPUS)))
    return Daemon(config=QUIET), Daemon(config=QUIET + "hwloc_file =\n")


def confined():
    """Confinements as (name, function of the child): none, an affinity, and a cpuset of cpu 1 where one can be made."""
    yield "free", None
    yield "taskset", lambda: os.sched_setaffinity(0, [1])
    try:
        with cpuset(1) as enter:
            yield "cpuset", enter
    except LeftOut as left_out:
        print(f"# without a cpuset: {left_out}")


def both(daemons, command, enter, before=()):
    """Output of a command in berth exec, with the file and without: (status, standard output, what it says of bindings)."""
    outputs = []
    for daemon, has_file in zip(daemons, (True, False)):
        assert (daemon.directory / "hwloc.xml").exists() == has_file
        words = [word for part in (before, (BIN / "berth", "--socket", daemon.socket, "exec", "--"), command) for word in part]
        done = subprocess.run(list(map(str, words)), env=clean_environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HYDRA_TOPO_DEBUG="1"),
                              capture_output=True, text=True, timeout=120, preexec_fn=enter)
        reported = [re.sub(r"^\[[^]]*\] ", "", line) for line in done.stderr.splitlines() if re.search(r"\bbound to\b|\bbinding\b", line)]
        outputs.append((done.returncode, sorted(done.stdout.splitlines()), sorted(reported), done.stderr))
    return outputs


def same(daemons, command, enter, before=()):
    """The output of both, which must agree."""
    with_file, without = both(daemons, command, enter, before)
    assert with_file[:3] == without[:3] and with_file[0] == 0, (command, with_file, without)
    return with_file


def hwlocs_tools_find_the_same():
    if shutil.which("hwloc-calc") is None:
        raise LeftOut("there is no hwloc-calc (make check installs it)")
    keeps, plain = two_daemons()
    with keeps, plain:
        kept_by(keeps)
        for name, enter in confined():
            for command in (("hwloc-calc", "all"), ("hwloc-calc", "-I", "pu", "all"), ("hwloc-bind", "--get"), ("hwloc-bind", "core:all", "--", "hwloc-bind", "--get")):
                same((keeps, plain), command, enter)
            allowed = same((keeps, plain), ("hwloc-calc", "all"), enter)[1]
            assert allowed == (["0x00000002"] if name == "cpuset" else ["0x00000003"]), (name, allowed)


def programs_of(folder):
    """Ranks that print their cpus, by launcher: its words, the variable of its binding, the program."""
    found = []
    python = next((one for one in (sys.executable, "/usr/bin/python3")
                   if subprocess.run([one, "-c", "import mpi4py"], capture_output=True).returncode == 0), None)
    if shutil.which("orterun") and python:
        code = "from mpi4py import MPI; import os; w = MPI.COMM_WORLD; os.write(1, f'{w.rank} {w.size} {os.sched_getaffinity(0)}\\n'.encode())"
        found.append((["orterun", "--oversubscribe", "--report-bindings"], "--bind-to", [python, "-c", code]))
    try:
        found.append(([mpi_ranks.MPIEXEC], "-bind-to", [mpi_ranks.build(folder)]))
    except LeftOut as left_out:
        print(f"# {left_out}")
    if not found:
        raise LeftOut("there is neither Open MPI with mpi4py nor MPICH (make check installs them)")
    return found


def mpi_binds_the_same():
    """Ranks that load the file, and launchers that do, to which a cpuset matters."""
    keeps, plain = two_daemons()
    with keeps, plain, tempfile.TemporaryDirectory() as folder:
        kept_by(keeps)
        programs = programs_of(folder)
        for name, enter in confined():
            for launcher, option, program in programs:
                ranks = 2 if name == "free" else 1
                launch = [*launcher, option, "core", "-n", str(ranks)]
                found = [same((keeps, plain), program, enter, before=launch)]
                if name == "cpuset":
                    found.append(same((keeps, plain), [*launch, *program], enter))
                for _, printed, reported, said in found:
                    assert sum(line[0].isdigit() for line in printed) == ranks, (name, launch, printed, said)
                    assert any("bound" in line or "binding:" in line for line in printed + reported), (name, launch, printed, said)


TESTS = [the_file_follows_the_snapshot, no_file_is_kept, a_file_that_cannot_be_written_is_one_line, a_file_of_somebody_else_stays, a_path_of_the_site, tasks_get_what_nobody_has_set,
         a_file_that_others_could_have_written_is_not_taken, a_broken_file_is_not_handed_on, hwlocs_tools_find_the_same, mpi_binds_the_same]

if __name__ == "__main__":
    sys.exit(1 if run_tests(TESTS) else 0)
