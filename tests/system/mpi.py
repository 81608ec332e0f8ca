"""berth-probe-mpi under mpiexec of MPICH and of Open MPI: the record, tables, wrong launchers; whole daemons that store it."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))
from berthd import BIN, Daemon, call, cells, fake_probe, until  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402
from varlink import Connection  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
SHORT = ["--budget-ns", "1500000000"]
BUDGET = object() # of a run
BUDGETS_S = (1.5, 6, 24) # a busy machine needs more, until there is a value
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
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]  # UCX warns on standard output


def measure(words, environment=None):
    """The records of a run that has a value."""
    for budget_s in BUDGETS_S:
        text = [str(word) if word is not BUDGET else str(int(budget_s * 1e9)) for word in words]
        done = subprocess.run(text, env={**ENVIRONMENT, **(environment or {})}, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done
        if '"record":"value"' in done.stdout:
            break
    return records(done.stdout)


def check_record(kind):
    program, launcher = built(kind)
    run, *middle, end = measure([launcher, "-n", 2, program, "--budget-ns", BUDGET, "--metrics", "mpi_latency,mpi_bandwidth"])
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
    program, launcher = built(kind)
    run, *middle, end = measure([launcher, "-n", 4, program, "--budget-ns", BUDGET, "--metrics", "mpi_collective_latency"])
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


RUN = '{"record":"run","schema":1,"probe":"mpi","backend":"mpi","started_at":1790000000}'
VALUE = '{"record":"value","metric":"mpi_collective_latency","from":"core0","to":"core0","value":900,"low":890,"high":950,"n":9}'
END = '{"record":"end","status":"complete","elapsed_ns":5}'


def berth(daemon, *words, text=None, environment=None, timeout=120):
    return subprocess.run([BIN / "berth", "--socket", daemon.socket, *words], input=text, capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(environment or {})})


def add(daemon, *lines):
    return call(daemon.socket, "io.berth.Health.AddRun", {"records": "\n".join(lines) + "\n"})


def check_command(kind):
    """berth probe --mpi with this launcher: the values are in the matrix, and in the recorded node."""
    program, launcher = built(kind)
    with tempfile.TemporaryDirectory() as folder, Daemon("--no-probe") as daemon:
        wrapper = pathlib.Path(folder) / "mpiexec"  # puts the probe of that library in place of the build's
        wrapper.write_text(f'#!/bin/sh\nshift 3\nexec {launcher} -n 2 {program} --metrics mpi_collective_latency "$@"\n')
        wrapper.chmod(0o755)
        done = berth(daemon, "probe", "--mpi", "--ranks", "2", "--launcher", str(wrapper))
        assert done.returncode == 0 and "values measured" in done.stdout, done
        found = [cell for cell in cells(daemon, "mpi_collective_latency") if cell["value"] is not None]
        assert found and all(cell["source"] == "measured" and cell["value"] > 0 for cell in found), found
        assert daemon.call("io.berth.Placement.ListClaims")["claims"] == []
        assert berth(daemon, "record", folder + "/node").returncode == 0
        with Daemon("--node", folder + "/node") as recorded:
            again = [cell for cell in cells(recorded, "mpi_collective_latency") if cell["value"] is not None]
            assert [(one["axes"], one["value"]) for one in again] == [(one["axes"], one["value"]) for one in found], again


def test_too_many_ranks_are_refused():
    """They would only wait for each other, and for all else on the node."""
    built("mpich")
    cores = len({path.read_text() for path in pathlib.Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings")})
    with Daemon("--no-probe") as daemon:
        for ranks in (max(2 * cores, 4) + 1, 4096):
            done = berth(daemon, "probe", "--mpi", "--ranks", str(ranks), "--launcher", "false")
            assert done.returncode == 64 and f"--ranks {ranks} on {cores} core" in done.stderr, done
        assert berth(daemon, "probe", "--mpi", "--ranks", str(max(2 * cores, 4)), "--launcher", "false").returncode not in (0, 64)


def test_the_command_with_mpich():
    check_command("mpich")


def test_the_command_with_open_mpi():
    check_command("openmpi")


def test_records_of_a_site():
    """The store has them after a restart; berth probe METRIC tells how they are measured."""
    with Daemon("--no-probe") as daemon:
        done = berth(daemon, "probe", "--records", "-", text="\n".join(["srun: a word", RUN, VALUE, END, ""]))
        assert done.returncode == 0 and done.stdout.startswith("1 value measured, 0 left out"), done
        done = berth(daemon, "probe", "mpi_latency")
        assert done.returncode != 0 and "berth probe --mpi does" in done.stderr, done
        assert daemon.stop()[0] == 0
        with Daemon("--no-probe", directory=daemon.directory) as again:
            value, = [cell for cell in cells(again, "mpi_collective_latency") if cell["value"] is not None]
            assert (value["value"], value["low"], value["high"], value["repetitions"]) == (900, 890, 950, 9), value


def test_hostile_records():
    """One bad line or a time to come, and nothing is taken; nor does anything pass that the daemon measures itself, or that drains a node."""
    finding = '{"record":"finding","code":"gpu-lost","from":"core0","to":"core0","why":"x"}'
    future = re.sub('"started_at":[0-9]+', f'"started_at":{int(time.time()) + 3600}', RUN)
    shapes = RUN[:-1] + ',"conditions":{"shapes":"x"}}'
    own = VALUE.replace("mpi_collective_latency", "memory_latency").replace('"to":"core0"', '"to":"numa0"')
    with Daemon("--no-probe") as daemon:
        for lines in ([RUN, VALUE], [VALUE, END], [RUN, "{", VALUE, END], [RUN, own, END], [RUN, finding, END],
                      [shapes, VALUE, END], [future, VALUE, END], [RUN, VALUE.replace("core0", "core77"), END], [RUN, VALUE, END, VALUE],
                      [RUN, VALUE.replace("900", "1e999"), END], ["x" * 70000], ["\ud7ff" * 9000], []):
            error, reply = add(daemon, *lines)
            assert error == "org.varlink.service.InvalidParameter" and reply["parameter"] == "records", (lines, error, reply)
        assert not [cell for cell in cells(daemon, "mpi_collective_latency") if cell["value"] is not None]
        assert add(daemon, RUN, VALUE, END)[0] is None


def test_records_beside_a_probe_and_of_a_caller_that_leaves():
    with fake_probe(f"echo '{RUN}'\nsleep 60\n") as probes, Daemon(config=f"probe_dir = {probes}\n") as daemon:
        assert until(lambda: daemon.status()["state"] == "probing")
        error, reply = add(daemon, RUN, VALUE, END)
        assert error == "io.berth.Health.Busy" and reply["by"] == "probe", (error, reply)
        daemon.call("io.berth.Health.CancelProbe")
        assert until(lambda: daemon.status()["state"] == "ready")
        for _ in range(20):
            with Connection(daemon.socket) as leaving:
                leaving.send("io.berth.Health.AddRun", {"records": "\n".join([RUN, VALUE, END])})
        assert until(lambda: add(daemon, RUN, VALUE, END)[0] is None)  # the last of them may still be at work
        assert daemon.stop()[0] == 0


def test_without_mpicc():
    """It is left out with a word; berth probe --mpi says so."""
    said = subprocess.run(["make", "-n", "MPICC=", "all"], cwd=ROOT, capture_output=True, text=True, timeout=120).stdout
    assert "left out: berth-probe-mpi, without mpicc" in said and "-o build/bin/berth-probe-mpi" not in said, said[-500:]
    with tempfile.TemporaryDirectory() as folder, Daemon("--no-probe") as daemon:
        shutil.copy(BIN / "berth", folder)
        done = subprocess.run([folder + "/berth", "--socket", daemon.socket, "probe", "--mpi"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 71 and "it is built where there is mpicc" in done.stderr, done


def test_hostile_launchers():
    """One that hangs is ended with what it started, also what ignores SIGTERM; one that floods; the daemon answers all the while."""
    with tempfile.TemporaryDirectory() as folder, Daemon("--no-probe") as daemon:
        def probe(script, *words):
            wrapper = pathlib.Path(folder) / "mpiexec"
            wrapper.write_text("#!/bin/sh\n" + script)
            wrapper.chmod(0o755)
            return berth(daemon, "probe", "--mpi", "--launcher", str(wrapper), *words)
        if not (BIN / "berth-probe-mpi").exists():
            raise LeftOut("berth-probe-mpi was left out of the build")
        begin = time.monotonic()
        done = probe(f"trap '' TERM\nsleep 300 & echo $! >{folder}/pid\nwait\nwait\n", "--timeout", "1s")
        assert done.returncode == 75 and "was ended after 1 s" in done.stderr and time.monotonic() - begin < 20, done
        left = int(pathlib.Path(folder, "pid").read_text())
        assert not pathlib.Path(f"/proc/{left}").exists() or "Z" in pathlib.Path(f"/proc/{left}/stat").read_text().split(")")[1]
        done = probe("yes '{\"record\":\"value\"}'\n")
        assert done.returncode == 65 and "more than 16 MiB" in done.stderr, done
        done = probe("echo hello\n")
        assert done.returncode == 65 and 'there are no records, but: "hello"' in done.stderr, done
        done = probe("echo broken >&2; exit 3\n")
        assert done.returncode == 75 and done.stderr.endswith("broken\n"), done
        assert daemon.status()["state"] == "ready" and daemon.call("io.berth.Placement.ListClaims")["claims"] == []


def test_the_claim_lasts_as_long_as_the_launcher():
    """Also where the command is killed: the node is free when the launcher has ended its ranks."""
    if not (BIN / "berth-probe-mpi").exists():
        raise LeftOut("berth-probe-mpi was left out of the build")
    with tempfile.TemporaryDirectory() as folder, Daemon("--no-probe") as daemon:
        wrapper, ended = pathlib.Path(folder) / "mpiexec", pathlib.Path(folder) / "ended"
        wrapper.write_text(f"#!/bin/sh\ntrap 'sleep 1; echo 1 >{ended}; exit' TERM\necho $$ >{folder}/pid\nwhile :; do sleep 0.1; done\n")
        wrapper.chmod(0o755)
        command = subprocess.Popen([BIN / "berth", "--socket", daemon.socket, "probe", "--mpi", "--launcher", str(wrapper)])
        assert until(lambda: pathlib.Path(folder, "pid").exists() and pathlib.Path(folder, "pid").read_text())
        command.kill()
        command.wait()
        while True:
            was_running = not ended.exists()  # before the list, which then has the claim
            claims = daemon.call("io.berth.Placement.ListClaims")["claims"]
            if not was_running:
                break
            assert claims, "the claim has ended before the launcher"
            time.sleep(0.02)
        assert until(lambda: daemon.call("io.berth.Placement.ListClaims")["claims"] == [])


def check_between(name, words, environment, wanted):
    """Messages over one interface of the machine itself, labelled so."""
    run, *middle, end = measure(words, environment)
    found = [one for one in middle if one["record"] in ("value", "skip")]
    assert found and all(one["metric"] == "mpi_internode_bandwidth" and one["from"] == "machine0" and
                         one["axes"]["interface"] == name and one["axes"]["between"] == wanted for one in found), middle
    assert [one for one in found if one["record"] == "value"], found
    return found


def test_over_loopback():
    program, launcher = built("mpich")
    words = [launcher, "-n", 2, program, "--interface", "lo", "--budget-ns"]
    over = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
    check_between("lo", [*words, BUDGET], over, "loopback")
    done = subprocess.run([*map(str, words), SHORT[1]], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert "% of the bytes went over lo: tell MPI to use it" in done.stdout and '"value"' not in done.stdout, done.stdout
    done = subprocess.run([*map(str, words[:5]), "nic77"], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "there is no interface nic77" in done.stderr, done


def test_between_namespaces():
    """Two network namespaces, joined by a pair of interfaces of one name."""
    program, launcher = built("mpich")
    ours = [f"berth{os.getpid()}{side}" for side in "ab"]

    def ip(*words, check=True):
        return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)
    if os.geteuid() != 0 or shutil.which("ip") is None or ip("netns", "add", ours[0], check=False).returncode != 0:
        raise LeftOut("network namespaces need root, ip and their capability")
    try:
        ip("netns", "add", ours[1])
        ip("-n", ours[0], "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", ours[1])
        for number, name in enumerate(ours, 1):
            ip("-n", name, "addr", "add", f"10.77.7.{number}/24", "dev", "veth0")
            ip("-n", name, "link", "set", "veth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        assert until(lambda: all("state UP" in ip("-n", name, "link", "show", "veth0").stdout for name in ours))
        rank = [program, "--interface", "veth0", "--budget-ns", BUDGET]
        words = [launcher, "-n", "1", "ip", "netns", "exec", ours[0], *rank, ":", "-n", "1", "ip", "netns", "exec", ours[1], *rank]
        check_between("veth0", words, {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "veth0"}, "netns")
    finally:
        for name in ours:
            ip("netns", "del", name, check=False)


TESTS = [test_too_many_ranks_are_refused, test_the_record_under_mpich, test_the_record_under_open_mpi, test_collectives_under_mpich,
         test_collectives_under_open_mpi, test_tables_for_a_person, test_one_rank_is_not_enough,
         test_a_launcher_of_another_mpi_is_noticed, test_wrong_words, test_the_command_with_mpich,
         test_the_command_with_open_mpi, test_records_of_a_site, test_hostile_records,
         test_records_beside_a_probe_and_of_a_caller_that_leaves, test_without_mpicc, test_hostile_launchers,
         test_the_claim_lasts_as_long_as_the_launcher,
         test_over_loopback, test_between_namespaces]

if __name__ == "__main__":
    failed = run_tests(TESTS)
    FOLDER.cleanup()
    sys.exit(failed > 0)
