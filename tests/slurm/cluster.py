"""A private Slurm of one node: munge, slurmctld and slurmd with keys, ports, sockets and state in a folder of their own, and gpus that are device files."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "lib"))
from tap import LeftOut

NODE = "n1"
PROGRAMS = "munged", "slurmctld", "slurmd", "srun", "scontrol", "unshare"


def enter_private_machine():
    """Runs the calling program again with processes, mounts and /dev of its own: what it starts ends with it, and what it mounts nobody else sees."""
    for program in PROGRAMS:
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin") is None:
            print(f"1..0 # SKIP {program} is not here; make check-cluster installs Slurm")
            sys.exit(77)
    if os.geteuid() != 0:
        print("1..0 # SKIP Slurm's daemons are started as root")
        sys.exit(77)
    if os.environ.get("BERTH_PRIVATE") != "1":
        os.environ["BERTH_PRIVATE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv])
    make_devices()


def make_devices():
    """A /dev of its own, with what programs need and eight gpus like those of the virtual node."""
    keep = pathlib.Path(tempfile.mkdtemp(prefix="berth-dev-"))
    subprocess.run(["mount", "--bind", "/dev", keep], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "dev", "/dev"], check=True)
    for name in "null", "zero", "full", "random", "urandom", "tty":
        os.mknod(f"/dev/{name}", 0o20666, os.stat(keep / name).st_rdev)
        os.chmod(f"/dev/{name}", 0o666)
    for name in "shm", "pts":
        os.mkdir(f"/dev/{name}")
    subprocess.run(["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=666", "devpts", "/dev/pts"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "shm", "/dev/shm"], check=True)
    os.symlink("pts/ptmx", "/dev/ptmx")
    for number, name in enumerate(("fd", "fd/0", "fd/1", "fd/2")):
        os.symlink("/proc/self/" + name, "/dev/" + ("fd", "stdin", "stdout", "stderr")[number])
    subprocess.run(["umount", keep], check=True)
    keep.rmdir()
    os.mkdir("/dev/dri")
    for path, minor in (("/dev/kfd", 0), *((f"/dev/dri/renderD{128 + n}", 128 + n) for n in range(8))):
        os.mknod(path, 0o20666, os.makedev(240, minor))
        os.chmod(path, 0o666)  # the umask has cut it


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(subprocess.CalledProcessError):
            if found := condition():
                return found
        time.sleep(0.1)
    raise AssertionError(f"after {seconds} s: {what}")


class Cluster:
    """settings: more lines of slurm.conf; gres: gres.conf; hooks: a file name in etc/slurm by the setting that names it; plugin: that of SPANK; threads: of each core."""

    def __init__(self, berth_socket, bin_folder, settings="", gres="NodeName=n1 Name=gpu Type=mi250x File=/dev/dri/renderD[128-135]\n", hooks=None, plugin=None, threads=1):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-slurm-"))
        self.folder.chmod(0o755)
        self.started = []
        subprocess.run(["hostname", NODE], check=True)
        hosts = self.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {NODE}\n")
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        lines = [self.hook_line(setting, name, berth_socket, bin_folder) for setting, name in (hooks or {}).items()]
        self.write("gres.conf", gres)
        if plugin is not None:
            lines.append(f"PlugStackConfig={self.write('plugstack.conf', f'required {plugin} socket={berth_socket}')}")
        self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n")
        self.write("slurm.conf", f"""
ClusterName=berth
SlurmctldHost={NODE}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge/socket
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd.log
SlurmdDebug=verbose
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
PrologFlags=Alloc
ReturnToService=2
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1
{chr(10).join(lines)}
{settings}
NodeName={NODE} NodeAddr=127.0.0.1 Sockets=1 CoresPerSocket=64 ThreadsPerCore={threads} CPUs={64 * threads} RealMemory=100 Gres=gpu:mi250x:8 State=UNKNOWN
PartitionName=all Nodes={NODE} Default=YES MaxTime=10 State=UP
""")
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        for name in "munge", "state", "spool":
            (self.folder / name).mkdir(mode=0o755)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def hook_line(self, setting, hook, berth_socket, bin_folder):
        """The real hook, told where this test's daemon and command are, as an administrator's own script would. It keeps the time that the hook took."""
        name, _, more = hook.partition(" ")
        script = self.write(f"{setting}.sh", f"""#!/bin/sh
export BERTH_SOCKET={berth_socket} BERTH={bin_folder}/berth SLURM_CONF={self.folder}/slurm.conf PATH=/usr/bin:/bin
begin=$(date +%s%N)
{ROOT}/etc/slurm/{name} {more}
status=$?
echo "$SLURM_JOB_ID $status $((($(date +%s%N) - begin) / 1000000))" >>{self.folder}/{setting}.log
env | grep SLURM >{self.folder}/{setting}.env
exit $status
""")
        if setting == "TaskProlog":
            script.write_text(f"#!/bin/sh\nexport BERTH_SOCKET={berth_socket} BERTH={bin_folder}/berth\nexec {ROOT}/etc/slurm/{name} {more}\n")
        script.chmod(0o755)
        return f"{setting}={script}"

    def hook_runs(self, setting):
        """(job, exit status, milliseconds) of each run of a hook."""
        path = self.folder / f"{setting}.log"
        return [tuple(int(word or 0) for word in line.split(" ")) for line in path.read_text().splitlines()] if path.exists() else []

    def start(self):
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.spawn("munged", "--foreground", f"--socket={self.folder}/munge/socket", f"--key-file={key}", f"--pid-file={self.folder}/munge/pid",
                   f"--log-file={self.folder}/munge/log", f"--seed-file={self.folder}/munge/seed", "--force")
        wait(lambda: (self.folder / "munge" / "socket").exists(), "munged makes no socket")
        self.spawn("slurmctld", "-D")
        self.spawn("slurmd", "-D", "-N", NODE)
        self.wait_idle()

    def spawn(self, *command):
        output = open(self.folder / (command[0] + ".out"), "wb")
        self.started.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output))

    def logs(self):
        return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-1500:]}" for p in self.folder.glob("*.log"))

    def run(self, *command, **more):
        return subprocess.run(command, env={**self.environment, **more.pop("environment", {})}, capture_output=True, text=True, timeout=60, **more)

    def show_node(self):
        done = self.run("scontrol", "show", "node", NODE)
        return dict(word.split("=", 1) for line in done.stdout.splitlines() for word in ([line.strip()] if "Reason=" in line else line.split()) if "=" in word)

    def node_state(self):
        return self.show_node().get("State")

    def wait_idle(self):
        """A job's end is not its node's: the controller hears of the epilog later."""
        wait(lambda: self.node_state() == "IDLE", "the node is not idle", 60)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        subprocess.run(["umount", "/etc/hosts"], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
