"""Slurm's prolog, epilog and health check under a real Slurm of one node with eight device files for gpus: claims, daemons that are not there or hang, draining. Prints TAP."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
from cluster import ROOT, Cluster, enter_private_machine, wait  # noqa: E402
from berthd import BIN, Daemon, GPU_RUN, NODES, fake_gpu_probe  # noqa: E402
from claiming import PLACEMENT, claimed, listed  # noqa: E402
from tap import run_tests  # noqa: E402
from varlink import call  # noqa: E402

JOB_HOOKS = {"Prolog": "prolog", "Epilog": "epilog"}


def places_by_key(daemon):
    return {c["key"]: c["places"] for c in listed(daemon).values()}


def job(cluster, gpus):
    """A job that has begun and ends with its input, as srun's process."""
    number = len(cluster.hook_runs("Prolog"))
    process = subprocess.Popen(["srun", "-Q", "-n1", f"--gpus={gpus}", "sh", "-c", "echo begun; cat"], env=cluster.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    assert len(cluster.hook_runs("Prolog")) > number
    return process


def ended(cluster, *jobs):
    done = len(cluster.hook_runs("Epilog")) + len(jobs)
    for process in jobs:
        process.stdin.close()
        process.wait(20)
    wait(lambda: len(cluster.hook_runs("Epilog")) >= done, "the epilog has not run")


def jobs_that_share_the_node_claim_their_gpus_and_release_them():
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, hooks=JOB_HOOKS) as cluster:
        one, two = job(cluster, 3), job(cluster, 5)
        assert places_by_key(daemon) == {"slurm/1": ["gpu0", "gpu1", "gpu2"], "slurm/2": [f"gpu{n}" for n in range(3, 8)]}, places_by_key(daemon)
        error, reply = call(daemon.socket, PLACEMENT + "Bind", {"tasks": 5, "key": "slurm/2.0"})
        assert error is None and sorted(t["gpus"][0] for t in reply["tasks"]) == [f"gpu{n}" for n in range(3, 8)], reply
        ended(cluster, one)
        assert set(places_by_key(daemon)) == {"slurm/2"}
        ended(cluster, two)
        assert listed(daemon) == {}
        without = cluster.run("srun", "-n1", "true")
        assert without.returncode == 0 and listed(daemon) == {}, without
        assert all(status == 0 for _, status, _ in cluster.hook_runs("Prolog") + cluster.hook_runs("Epilog"))


def slurms_numbers_are_places_in_its_list_of_files():
    for n in range(8):
        os.mknod(f"/dev/fake{n}", 0o20666, os.makedev(240, 135 - n))
    lines = "AutoDetect=off\nName=gpu Type=mi250x File=/dev/fake[4-7]\nNodeName=other Name=gpu File=/dev/fake[0-7]\nNodeName=n[0-3] Name=gpu Type=mi250x File=/dev/fake[0-3]\n"
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, hooks=JOB_HOOKS, gres=lines) as cluster:
        listed_so = re.findall(r"Gres Name=gpu.* File=(\S+)", cluster.run("slurmd", "-G", "-N", "n1").stderr)
        assert listed_so == ["/dev/fake[4-7]", "/dev/fake[0-3]"], listed_so
        running = job(cluster, 3)
        assert "SLURM_JOB_GPUS=0,1,2\n" in (cluster.folder / "Prolog.env").read_text()
        assert places_by_key(daemon) == {"slurm/1": ["gpu1", "gpu2", "gpu3"]}, places_by_key(daemon)  # fake4 has the minor number 131, and so on
        ended(cluster, running)


def the_exported_lines_set_the_variables_of_the_gpus_vendor_alone():
    def variables(cluster):
        done = cluster.run("srun", "-Q", "-n1", "--gpus=2", "sh", "-c", "env | grep _VISIBLE_DEVICES= | sort")
        return done.stdout.split(), done.stderr

    with Daemon("--node", NODES / "mi250x") as daemon:
        lines = call(daemon.socket, "io.berth.Fabric.Export", {"format": "gres"})[1]["text"]
        with Cluster(daemon.socket, BIN, hooks=JOB_HOOKS, gres=lines) as cluster:
            assert variables(cluster) == (["ROCR_VISIBLE_DEVICES=0,1"], ""), variables(cluster)
            running = job(cluster, 3)
            numbers = re.search(r"^SLURM_JOB_GPUS=(\S+)", (cluster.folder / "Prolog.env").read_text(), re.M)[1].split(",")
            assert len(numbers) == 3 and list(places_by_key(daemon).values()) == [[f"gpu{n}" for n in numbers]], (numbers, places_by_key(daemon))
            ended(cluster, running)
        with Cluster(daemon.socket, BIN, gres=lines.replace(" Flags=amd_gpu_env", "")) as cluster:
            assert "CUDA_VISIBLE_DEVICES=0,1" in variables(cluster)[0], "Slurm sets no more without the flag"


def a_daemon_that_is_gone_or_hangs_costs_no_job():
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, hooks=JOB_HOOKS) as cluster:
        daemon.process.send_signal(signal.SIGSTOP)
        ended(cluster, job(cluster, 8))
        daemon.process.send_signal(signal.SIGCONT)
        wait(lambda: listed(daemon) == {}, "what came late is not left over: the epilog's release was read after the prolog's claim")
        daemon.process.kill()
        daemon.process.wait()
        ended(cluster, job(cluster, 8))
        os.unlink(daemon.socket)
        ended(cluster, job(cluster, 8))
        runs = cluster.hook_runs("Prolog") + cluster.hook_runs("Epilog")
        assert len(runs) == 6 and all(status == 0 for _, status, _ in runs), runs
        cluster.wait_idle()


@contextlib.contextmanager
def full_log():
    """A system log that takes no more lines."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
        log.bind("/dev/log")
        filler.setblocking(False)
        filler.connect("/dev/log")
        with contextlib.suppress(BlockingIOError):
            while True:
                filler.send(b"x")
        try:
            yield
        finally:
            os.unlink("/dev/log")


@contextlib.contextmanager
def system_log():
    """What is logged meanwhile: a function that gives the lines."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind("/dev/log")
        log.setblocking(False)
        def lines():
            found = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    found.append(log.recv(4096).decode())
            return found
        try:
            yield lines
        finally:
            os.unlink("/dev/log")


@contextlib.contextmanager
def ahead_of_others():
    """What this program starts runs before other work of the machine, as on a node that is idle; where that is not allowed, beside it."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def time_hook(daemon, hook, what, runs):
    """A tenth is within the limit: on a busy machine many are late."""
    took = []
    for number in range(runs):
        begin = time.monotonic()
        # Without a timeout: with one Python looks for the end of a process that has closed its output only now and then.
        done = subprocess.run([ROOT / "etc/slurm" / hook], capture_output=True, check=False, env={
            "BERTH": str(BIN / "berth"), "BERTH_SOCKET": daemon.socket, **STEP, "SLURM_JOB_ID": str(number), "SLURM_JOB_GPUS": "0-7", "SLURM_STEP_GPUS": "0,1"})
        took.append(1000 * (time.monotonic() - begin))
        assert done.returncode == 0 and done.stderr == b"" and (done.stdout == b"" or hook == "taskprolog"), done
    took.sort()
    print(f"# {hook}, {what}: {took[0]:.1f} ms, median {took[runs // 2]:.1f}, of 100 the slowest {took[runs * 99 // 100]:.1f}, at most {took[-1]:.1f}")
    assert took[runs // 10] < 100, took


def hooks_take_less_than_a_tenth_of_a_second():
    """BERTH_HOOK_RUNS: how many of each."""
    runs = int(os.environ.get("BERTH_HOOK_RUNS", "7"))
    with Daemon("--node", NODES / "mi250x") as daemon, ahead_of_others():
        for hook in "prolog", "epilog", "taskprolog":
            time_hook(daemon, hook, "the daemon answers", runs)
        daemon.process.send_signal(signal.SIGSTOP)
        for hook in "prolog", "epilog", "taskprolog":
            time_hook(daemon, hook, "the daemon hangs", runs)
        with full_log():
            for hook in "prolog", "epilog", "taskprolog":
                time_hook(daemon, hook, "the daemon and the system log hang", runs)
        daemon.process.send_signal(signal.SIGCONT)


def shown(cluster, *options):
    """Which gpus the variable shows to each task, by its number; what came beside that."""
    done = cluster.run("srun", "-Q", *options, "sh", "-c", "echo task $SLURM_LOCALID $ROCR_VISIBLE_DEVICES")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    return {int(line.split()[1]): (line.split() + [""])[2] for line in lines if line.startswith("task ")}, [line for line in lines if not line.startswith("task ")], done.stderr


def planned(daemon, tasks, gpus, **more):
    error, reply = call(daemon.socket, PLACEMENT + "Bind", {"tasks": tasks, "allowed": {"gpus": gpus}, **more})
    assert error is None, reply
    return {task["task"]: task["environment"].get("ROCR_VISIBLE_DEVICES") for task in reply["tasks"]}


def a_job_that_asks_by_itself_gets_what_it_has():
    ask = [BIN / "berth", "--json", "bind", "-n", "2", "--gpus-per-task", "1", "--gpus", "gpu0,gpu1"]
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, hooks=JOB_HOOKS) as cluster:
        def gpus(*more, prefix=("srun", "-Q", "-n1", "--gpus=2"), **environment):
            done = cluster.run(*prefix, *ask, *more, environment={"BERTH_SOCKET": daemon.socket, **environment})
            return done.returncode, sorted(gpu for task in json.loads(done.stdout)["tasks"] for gpu in task["gpus"]) if done.returncode == 0 else done.stderr
        assert gpus() == (0, ["gpu0", "gpu1"])
        assert gpus("--order", "rank") == (0, ["gpu0", "gpu1"])
        assert gpus(BERTH_KEY="")[0] != 0, "without the key they are another's"
        assert gpus("--key", "another")[0] != 0
        wait(lambda: listed(daemon) == {}, "the epilog has not released them")
        claimed(daemon, "gpu0", "gpu1", key="site/9")
        assert gpus(prefix=())[0] != 0 and gpus(prefix=(), BERTH_KEY="site/9.4") == (0, ["gpu0", "gpu1"])


def the_task_prolog_shows_each_task_the_gpus_of_its_berth():
    every = [f"gpu{n}" for n in range(8)]
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, hooks={"TaskProlog": "taskprolog"}, settings="TaskPlugin=task/none\n") as cluster:
        def soon(expected, *options):
            """On a loaded machine a task prolog's time may be over before it is done."""
            wait(lambda: shown(cluster, *options) == (expected, [], ""), f"{options}: not {expected}")
        for tasks, gpus in (2, 2), (2, 8), (4, 4), (1, 1):
            plan = planned(daemon, tasks, every[:gpus], gpus_per_task=gpus // tasks)
            assert len(set(plan.values())) == tasks and None not in plan.values(), plan
            soon(plan, f"-n{tasks}", "-O", f"--gpus={gpus}")
        for tasks, gpus, more in (2, 3, {"gpus_per_task": 1, "visible": "all"}), (4, 2, {"gpus_per_task": 1, "tasks_per_gpu": 2}):
            soon(planned(daemon, tasks, every[:gpus], **more), f"-n{tasks}", "-O", f"--gpus={gpus}")
        assert shown(cluster, "-n2", "--gpus=2", "--gpu-bind=map_gpu:1,0")[0] == {0: "1", 1: "0"}, "what Slurm has bound stays"
        assert shown(cluster, "-n2")[0] == {0: "", 1: ""}
        daemon.process.send_signal(signal.SIGSTOP)
        assert shown(cluster, "-n2", "--gpus=2") == ({0: "0,1", 1: "0,1"}, [], "")
        daemon.process.send_signal(signal.SIGCONT)
        daemon.process.kill()
        daemon.process.wait()
        assert shown(cluster, "-n2", "--gpus=2") == ({0: "0,1", 1: "0,1"}, [], "")
        cluster.wait_idle()


STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_LOCALID": "1", "SLURM_PROCID": "1", "SLURM_NODEID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_GPUS_ON_NODE": "2"}


def in_time(hook, **environment):
    """A hook's run; on a loaded machine its time may be over before it is done, and it is run again."""
    for _ in range(5):
        done = subprocess.run([BIN / "berth", "slurm", hook], capture_output=True, text=True, timeout=20, check=False, env=environment)
        if "within 50 ms" not in done.stderr:
            break
    assert done.returncode == 0 and done.stderr.count("\n") <= 1, done
    return done


def task_prolog(daemon, **variables):
    done = in_time("task", BERTH_SOCKET=daemon.socket, **{**STEP, **variables})
    return done.stdout.splitlines(), done.stderr


def the_gpus_of_a_step_are_slurms_and_not_those_of_renumbered_variables():
    with Daemon("--node", NODES / "mi250x") as daemon:
        error, reply = call(daemon.socket, PLACEMENT + "Bind", {"tasks": 2, "allowed": {"gpus": ["gpu4", "gpu5"]}, "gpus_per_task": 1})
        assert error is None, reply
        number = {"gpu4": 4, "gpu5": 5}[reply["tasks"][1]["gpus"][0]]
        for inside in "0,1", "4,5":  # ConstrainDevices, and without it
            lines, said = task_prolog(daemon, SLURM_STEP_GPUS="4,5", ROCR_VISIBLE_DEVICES=inside, CUDA_VISIBLE_DEVICES=inside)
            wanted = [f"export ROCR_VISIBLE_DEVICES={number - 4 if inside == '0,1' else number}", "unset CUDA_VISIBLE_DEVICES", "unset GPU_DEVICE_ORDINAL", "unset HIP_VISIBLE_DEVICES"]
            assert sorted(lines) == wanted and said == "", (lines, said, wanted)
        for given in {"SLURM_STEP_GPUS": "4,9"}, {"SLURM_STEP_GPUS": "5"}, {}:
            assert task_prolog(daemon, **given) == ([], ""), given
        for given, why in ({"SLURM_STEP_GPUS": "4,9"}, "number 9"), ({"SLURM_STEP_GPUS": "4-x"}, "no list"), ({"SLURM_STEP_GPUS": "4,5", "SLURM_STEP_TASKS_PER_NODE": "x"}, "TASKS_PER_NODE"):
            lines, line = task_prolog(daemon, SLURM_LOCALID="0", **given)  # the first task says it for all
            assert lines == [] and "slurm/7.0" in line and why in line, (lines, line)


def prolog(daemon, **variables):
    return in_time("prolog", BERTH_SOCKET=daemon.socket, **variables).stderr


def only_claims_of_slurms_jobs_are_taken_over():
    with Daemon("--node", NODES / "mi250x") as daemon:
        claimed(daemon, "gpu2", "gpu3", key="slurm/4")
        # On a loaded machine its time may be over before it is done; the next one is no worse off.
        said = [prolog(daemon, SLURM_JOB_ID="5", SLURM_JOB_GPUS="3,6") for _ in range(3)]
        assert "slurm/4" in said[0] and places_by_key(daemon) == {"slurm/5": ["gpu3", "gpu6"]}, (said, places_by_key(daemon))
        said = [prolog(daemon, SLURM_JOB_ID="5", SLURM_JOB_GPUS="1,2") for _ in range(3)] # requeued, and its epilog found no daemon
        assert places_by_key(daemon) == {"slurm/5": ["gpu1", "gpu2"]}, (said, places_by_key(daemon))
        call(daemon.socket, PLACEMENT + "Release", {"key": "slurm/5"})
        claimed(daemon, "gpu3", key="mine")
        said = prolog(daemon, SLURM_JOB_ID="5", SLURM_JOB_GPUS="2-3")
        assert "not claimed" in said and "gpu3" in said, said
        assert places_by_key(daemon) == {"mine": ["gpu3"]}


def what_a_hook_cannot_know_is_one_line():
    with Daemon("--node", NODES / "mi250x") as daemon:
        for given, said in ({}, "SLURM_JOB_ID"), ({"SLURM_JOB_ID": "7; rm"}, "SLURM_JOB_ID"), ({"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0-x"}, "no list"), (
                {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "8"}, "number 8"):
            assert said in (line := prolog(daemon, **given)), (given, line)
        assert listed(daemon) == {}


def a_hook_that_is_called_wrongly_is_one_line_and_fails_nothing():
    calls = {("health", "--resume", "three"): "not three", ("health", "--resume", "0"): "not 0", ("health", "--resume"): "needs a value", ("health", "x"): "does not take x",
             ("health",): "SLURMD_NODENAME", ("prolog", "--x"): "no option --x", ("epilog", "7"): "does not take 7", ("task", "--socket"): "needs a value",
             ("--node", "/nope", "prolog"): "recorded node", ("prolgo",): "which hook?"}
    with system_log() as lines:
        for words, why in calls.items():
            done = subprocess.run([BIN / "berth", "slurm", *words], capture_output=True, text=True, timeout=20, check=False, env={"BERTH_SOCKET": "/nope"})
            logged = lines()
            assert done.returncode == 0 and done.stdout == "" and done.stderr.count("\n") == 1 and why in done.stderr, (words, done)
            assert len(logged) == 1 and why in logged[0] and "berth-slurm" in logged[0], (words, logged)


def the_scripts_say_what_the_command_could_not():
    with system_log() as lines, tempfile.TemporaryDirectory() as folder:
        killed = pathlib.Path(folder) / "killed"
        killed.write_text("#!/bin/sh\nkill -9 $$\n")
        killed.chmod(0o755)
        for hook in "prolog", "epilog", "taskprolog", "health":
            for command in "/nope", killed:
                def run(*words, **more):
                    done = subprocess.run([ROOT / "etc/slurm" / hook, *words], capture_output=True, check=False, env={"BERTH": str(command), "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", **more})
                    assert done.returncode == 0 and done.stdout + done.stderr == b"", done
                    return lines()
                # In the tenth of a second of a busy machine the line itself may be too late.
                said = next((found for _ in range(20) if (found := run())), [])
                assert len(said) == 1 and "berth-slurm" in said[0] and "killed" in said[0], (hook, command, said)
        run = subprocess.run([ROOT / "etc/slurm/health", "--resume", "three"], check=False, env={"BERTH": str(BIN / "berth"), "SLURMD_NODENAME": "n1"})
        assert run.returncode == 0 and "not three" in "".join(lines())


def the_health_check_releases_claims_of_jobs_that_have_ended():
    """Their epilogs were killed, or found no daemon."""
    with Daemon("--node", NODES / "mi250x") as daemon, Cluster(daemon.socket, BIN, hooks=JOB_HOOKS) as cluster:
        running = job(cluster, 2)
        claimed(daemon, "gpu6", key="slurm/77")  # of which Slurm knows nothing
        claimed(daemon, "gpu5", key="site/77")
        claimed(daemon, "gpu4", key="slurm/77.mine")
        done = cluster.run(BIN / "berth", "slurm", "health", environment={"BERTH_SOCKET": daemon.socket, "SLURMD_NODENAME": "n1"})
        assert done.returncode == 0 and "slurm/77: its claim is released" in done.stderr and done.stderr.count("\n") == 1, done
        assert set(places_by_key(daemon)) == {"slurm/1", "site/77", "slurm/77.mine"}, places_by_key(daemon)
        (cluster.folder / "Epilog.sh").write_text("#!/bin/sh\necho 1 0 0 >>$(dirname $0)/Epilog.log\n")  # it is lost
        ended(cluster, running)
        said = []
        def is_released():
            said[:] = cluster.run(BIN / "berth", "slurm", "health", environment={"BERTH_SOCKET": daemon.socket, "SLURMD_NODENAME": "n1"}).stderr, cluster.run("scontrol", "show", "job", "1")
            return "slurm/1" not in places_by_key(daemon)
        try:
            wait(is_released, "the claim of a job that has ended stands")
        except AssertionError as failed:
            steps = subprocess.run(["ps", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True, check=False).stdout
            raise AssertionError(f"{failed}\n{said}\n{steps}\n{cluster.logs()}") from None
        assert set(places_by_key(daemon)) == {"site/77", "slurm/77.mine"}, places_by_key(daemon)


WRONG = {"record": "finding", "code": "wrong-bytes", "from": "gpu1", "to": "gpu2", "why": "4096 of 65536 bytes are wrong"}
END = {"record": "end", "status": "complete", "elapsed_ns": 5}


def the_health_check_drains_with_the_reason_and_resumes_only_its_own():
    def script(*records):
        return "".join(f"echo '{record if isinstance(record, str) else json.dumps(record)}'\n" for record in records)
    settings = "HealthCheckInterval=1\nHealthCheckNodeState=ANY\n"
    with fake_gpu_probe(script(GPU_RUN, WRONG, END)) as (node, probes), Daemon("--node", node, "--no-probe", config=f"probe_dir = {probes}\n") as daemon:
        state = daemon.directory / "health"
        hook = {"HealthCheckProgram": f"health --resume 2 --state {state}"}
        with Cluster(daemon.socket, BIN, hooks=hook, settings=settings) as cluster:
            wait(lambda: len(cluster.hook_runs("HealthCheckProgram")) > 1, "the health check does not run")
            cluster.wait_idle()
            cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=the administrator's")
            seen = len(cluster.hook_runs("HealthCheckProgram"))
            wait(lambda: len(cluster.hook_runs("HealthCheckProgram")) > seen + 3, "the health check does not run")
            assert "DRAIN" in cluster.node_state(), "what others have drained is not resumed"
            cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
            wait(lambda: "DRAIN" not in cluster.node_state(), "not resumed")

            daemon.call("io.berth.Health.Probe", {"profile": "quick"})
            daemon.wait_ready()
            check = daemon.call("io.berth.Health.Check")
            assert check["drain"], check
            wait(lambda: "DRAIN" in cluster.node_state(), "not drained")
            reason = cluster.show_node()["Reason"]
            assert reason.startswith("berth: " + check["reason"]), (reason, check)

            (probes / "berth-probe-gpu").write_text("#!/bin/sh\n" + script(GPU_RUN, END))
            daemon.call("io.berth.Health.Probe", {"profile": "quick"})
            daemon.wait_ready()
            assert not daemon.call("io.berth.Health.Check")["drain"]
            wait(lambda: "DRAIN" not in cluster.node_state(), "not resumed")
            daemon.process.kill()
            daemon.process.wait()
            seen = len(cluster.hook_runs("HealthCheckProgram"))
            wait(lambda: len(cluster.hook_runs("HealthCheckProgram")) > seen + 1, "the health check does not run without a daemon")
            cluster.wait_idle()  # a daemon that is not there drains nothing


if __name__ == "__main__":
    enter_private_machine()
    sys.exit(run_tests([
        jobs_that_share_the_node_claim_their_gpus_and_release_them,
        slurms_numbers_are_places_in_its_list_of_files,
        the_exported_lines_set_the_variables_of_the_gpus_vendor_alone,
        a_daemon_that_is_gone_or_hangs_costs_no_job,
        hooks_take_less_than_a_tenth_of_a_second,
        a_job_that_asks_by_itself_gets_what_it_has,
        the_task_prolog_shows_each_task_the_gpus_of_its_berth,
        the_gpus_of_a_step_are_slurms_and_not_those_of_renumbered_variables,
        only_claims_of_slurms_jobs_are_taken_over,
        what_a_hook_cannot_know_is_one_line,
        a_hook_that_is_called_wrongly_is_one_line_and_fails_nothing,
        the_scripts_say_what_the_command_could_not,
        the_health_check_releases_claims_of_jobs_that_have_ended,
        the_health_check_drains_with_the_reason_and_resumes_only_its_own,
    ]) > 0)
