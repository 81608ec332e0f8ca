"""Variables that select the nics next to a task: in answers, in a shell, and set by berth exec.

Prints TAP.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from berthd import BIN, NODES, Daemon  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

BIND = "io.berth.Placement.Bind"
INSIDE = [sys.executable, HERE.parent / "lib/inside.py"]
CHOOSE = ("UCX_NET_DEVICES", "NCCL_IB_HCA")
MARKS = tuple("BERTH_" + name for name in CHOOSE)


@contextlib.contextmanager
def infiniband(states=("4", "4", "4", "4"), second=None):
    """The mi250x node with an InfiniBand device in place of each Slingshot port; second: the state
    of another port of mlx5_1.
    """
    with tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(shutil.copytree(NODES / "mi250x", pathlib.Path(folder) / "node"))
        text = (node / "topology.xml").read_text()
        for i, state in enumerate(states):
            ports = f'<info name="Port1State" value="{state}"/>' + (f'<info name="Port2State" value="{second}"/>' if second and i == 1 else "")
            text, count = re.subn(rf'<object type="OSDev" name="hsi{i}" osdev_type="2" gp_index="(\d+)"/>',
                                  rf'<object type="OSDev" name="ib{i}" osdev_type="2" gp_index="\1"/>'
                                  rf'<object type="OSDev" name="mlx5_{i}" osdev_type="3" gp_index="9\g<1>">{ports}</object>', text)
            assert count == 1
        text, count = re.subn(r"0200 \[17db:0501\]", "0207 [15b3:101b]", text)
        assert count == 4
        (node / "topology.xml").write_text(text)
        yield node


def bind(node, **request):
    with Daemon("--node", node) as daemon:
        return daemon.call(BIND, {"allowed": {}, **request})


def chosen(answer):
    """By task: its nics, and both variables."""
    return [(task["nics"], *(task["environment"].get(name) for name in CHOOSE)) for task in answer["tasks"]]


def warned(answer):
    return [(reason["code"], reason["subjects"]) for reason in answer["warnings"] if reason["code"].startswith("nic-")]


def each_task_uses_its_own_and_all_see_the_same():
    """UCX takes the task's own device; NCCL's ranks on one node must all see the same ones, whoever asks for how many."""
    with infiniband() as node:
        answer = bind(node, tasks=8, order="rank")
        every = "=mlx5_0,mlx5_1,mlx5_2,mlx5_3"
        assert chosen(answer) == [([f"nic{n // 2}"], f"mlx5_{n // 2}:1", every) for n in range(8)] and not warned(answer), answer
        assert answer["launcher"].get("cray_mpich") is None, answer["launcher"]
        assert chosen(bind(node, tasks=1, allowed={"gpus": ["gpu4"]})) == [(["nic2"], "mlx5_2:1", every)]
        two = bind(node, tasks=2, gpus_per_task=4, order="rank")
        assert [task["environment"]["UCX_NET_DEVICES"].split(",") for task in two["tasks"]] == [[f"mlx5_{nic[3:]}:1" for nic in task["nics"]] for task in two["tasks"]], two
        none = bind(node, tasks=4, gpus_per_task=0)
        assert all(ucx is not None and nccl is None for _, ucx, nccl in chosen(none)), "without gpus there is no NCCL"


def what_is_not_surely_right_is_left_out():
    """A port that is down, and a device with several of which nobody says which: a warning names it."""
    with infiniband(states=("4", "1", "4", "4")) as node:
        answer = bind(node, tasks=8, order="rank")
        assert chosen(answer)[2:4] == [(["nic1"], None, "=mlx5_0,mlx5_2,mlx5_3")] * 2 and chosen(answer)[0][1] == "mlx5_0:1", answer
        assert warned(answer) == [("nic-no-port", ["nic1"])], warned(answer)
    with infiniband(second="4") as node:
        answer = bind(node, tasks=8, order="rank")
        assert chosen(answer)[2] == (["nic1"], None, "=mlx5_0,mlx5_1,mlx5_2,mlx5_3"), answer
        assert warned(answer) == [("nic-no-port", ["nic1"])], warned(answer)
    answer = bind(NODES / "epyc-2s", tasks=4)
    assert chosen(answer) == [(["nic0"], "mlx5_0:1", None)] * 2 + [(["nic1"], None, None)] * 2, answer
    for name in ("h200x4", "gh200-quad"):
        assert all(ucx is None and nccl is None for _, ucx, nccl in chosen(bind(NODES / name, tasks=4))), name


def slingshots_are_for_all_ranks_of_a_job():
    """No variable is one task's there; Cray MPICH takes each rank's by its NUMA node, where that is the task's."""
    policy = "MPICH_OFI_NIC_POLICY=NUMA"
    for name in ("mi250x", "mi300a"):
        answer = bind(NODES / name, tasks=4)
        assert all(ucx is None and nccl is None for _, ucx, nccl in chosen(answer)) and not warned(answer), answer
        assert answer["launcher"]["cray_mpich"] == policy, answer["launcher"]
    away = bind(NODES / "mi250x", tasks=1, allowed={"gpus": ["gpu0"], "cpus": "0-15"})
    assert away["tasks"][0]["nics"] == ["nic0"] and away["launcher"].get("cray_mpich") is None, "its cores are in another NUMA node than its nic"
    with tempfile.TemporaryDirectory() as folder:  # as HPE calls them
        node = pathlib.Path(shutil.copytree(NODES / "mi250x", pathlib.Path(folder) / "node"))
        (node / "topology.xml").write_text((node / "topology.xml").read_text().replace('name="hsi', 'name="hsn'))
        assert bind(node, tasks=8)["launcher"]["cray_mpich"] == policy
    done = subprocess.run([BIN / "berth", "--node", NODES / "mi250x", "bind", "-n", "8", "--format", "cray_mpich"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == policy + "\n", done
    done = subprocess.run([BIN / "berth", "--node", NODES / "epyc-2s", "bind", "-n", "4", "--format", "cray_mpich"], capture_output=True, text=True)
    assert done.returncode == 65 and "no options for cray_mpich would be right here" in done.stderr, done


def in_a_shell(node, task, before, *arguments):
    command = [BIN / "berth", "--node", node, "bind", "-n", "8", "--order", "rank", "--format", "env", "--task", str(task), *arguments]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    show = "; ".join(f'echo "${{{name}-}}"' for name in (*CHOOSE, *MARKS))
    kept = {name: value for name, value in os.environ.items() if name not in (*CHOOSE, *MARKS)}
    done = subprocess.run(["sh", "-euc", text + show], env={**kept, **before}, capture_output=True, text=True, check=True)
    return text, done.stdout.split("\n")[:4]


def a_shell_keeps_what_is_set():
    every = "=mlx5_0,mlx5_1,mlx5_2,mlx5_3"
    with infiniband() as node:
        assert in_a_shell(node, 3, {})[1] == ["mlx5_1:1", every, "mlx5_1:1", every]
        assert in_a_shell(node, 3, {"UCX_NET_DEVICES": "all"})[1] == ["all", every, "", every]
        assert in_a_shell(node, 3, {"UCX_NET_DEVICES": ""})[1] == ["", every, "", every]
        assert in_a_shell(node, 3, {"BERTH_UCX_NET_DEVICES": "mlx5_0:1"})[1] == ["mlx5_1:1", every, "mlx5_1:1", every]
        assert in_a_shell(node, 3, {"UCX_NET_DEVICES": "mlx5_0:1", "BERTH_UCX_NET_DEVICES": "mlx5_0:1", "NCCL_IB_HCA": "mlx5"})[1] == ["mlx5_1:1", "mlx5", "mlx5_1:1", ""]
        assert "would not surely choose" not in in_a_shell(node, 3, {})[0]
    with infiniband(states=("4", "1", "4", "4")) as node:
        text, shown = in_a_shell(node, 3, {})
        assert "# UCX_NET_DEVICES would not surely choose the task's own nics: nic1\n# UCX_NET_DEVICES is not set for tasks next to nic1 alone: no port is known to be the active one\n" in text and shown[0] == "" and shown[1] == "=mlx5_0,mlx5_2,mlx5_3", (text, shown)
    text, shown = in_a_shell(NODES / "mi250x", 0, {})
    assert "# for all ranks of a job with Cray MPICH: MPICH_OFI_NIC_POLICY=NUMA\n" in text and shown == [""] * 4, (text, shown)


def a_task_takes_them_and_keeps_what_is_set():
    """berth exec, and one within another's task."""
    if sorted(os.sched_getaffinity(0))[:2] != [0, 1]:
        raise LeftOut("it takes cpus 0 and 1")
    with infiniband() as node, Daemon("--node", node) as daemon:
        daemon.wait_ready()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "PMI", "MPI_", "OMPI_", "PALS_", "FLUX_", "BERTH_")) and name not in CHOOSE}

        def found(gpu, *command, **before):
            done = subprocess.run([BIN / "berth", "--socket", daemon.socket, "exec", "--gpus", gpu, "--", *command], env={**kept, **before}, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done
            environment = json.loads(done.stdout)["environment"]
            return [environment.get(name) for name in CHOOSE]

        every = "=mlx5_0,mlx5_1,mlx5_2,mlx5_3"
        assert found("4", *INSIDE) == ["mlx5_2:1", every]
        assert found("4", *INSIDE, UCX_NET_DEVICES="mlx5_7:1", NCCL_IB_HCA="^mlx5_9") == ["mlx5_7:1", "^mlx5_9"]
        inner = [BIN / "berth", "--socket", daemon.socket, "exec", "--gpus", "6", "--", *INSIDE]
        assert found("4", "env", "-u", "ROCR_VISIBLE_DEVICES", *inner) == ["mlx5_3:1", every], "what a berth has set is another berth's to set"


if __name__ == "__main__":
    run_tests([each_task_uses_its_own_and_all_see_the_same, what_is_not_surely_right_is_left_out, slingshots_are_for_all_ranks_of_a_job, a_shell_keeps_what_is_set,
               a_task_takes_them_and_keeps_what_is_set])
