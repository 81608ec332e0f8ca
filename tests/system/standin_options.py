"""Options, names and start of berth-probe-gpu on virtual nodes; standin.py tests its measurements.

Prints TAP.
"""
import contextlib
import os
import subprocess
import sys

from tap import run_tests
from virtual_node import ENVIRONMENT, NODES, command, ended, measured, probe_folder, refused


def test_folder():
    """Starts the probe like a daemon: with an empty environment, from a folder of probes."""
    with probe_folder(NODES / "h200x4.node") as folder:
        done = subprocess.run([os.path.join(folder, "berth-probe-gpu"), "--metrics", "gpu_gpu_copy_engine"], env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                              capture_output=True, text=True, timeout=100)
        assert done.returncode == 0 and '"backend":"standin"' in done.stdout.splitlines()[0], done.stderr


def test_names():
    """An unknown name is refused with the list of known ones.

    A program that starts the probe may use names of another probe.
    """
    node = NODES / "h200x4.node"
    gpus = ", ".join(f"0000:00:0{number}.0" for number in (6, 7, 8, 9))
    assert refused(node, "--without", "0000:00:07.0,gpu0").endswith(f"--without: no such GPU: gpu0; there are 0000:00:06.0, 0000:00:08.0, 0000:00:09.0, 0000:00:07.0\n")
    assert f"no such GPU or NUMA node: numa9; there are {gpus}, numa0\n" in refused(node, "--places", "numa0,numa9")
    assert f"places of this machine: copy_latency numa0; there are {gpus}, numa0\n" in refused(node, "--skip", "copy_latency numa0")
    for cell in ("copy_latency numa0 gpu1", "speed numa0 numa0", "copy_latency numa0 0000:00:06.0 too"):
        assert f"places of this machine: {cell}; there are" in refused(node, "--skip", cell)
    for asked in ("0000:00:06.0>0000:00:07.0", "0000:00:06.0>0000:00:06.0+0000:00:07.0>0000:00:08.0", "0000:00:06.0>0000:00:07.0+0000:00:08.0>gpu0"):
        assert f"--sets: not \"[kernel/]FROM>TO+FROM>TO\" with GPUs of this machine: {asked}; there are {gpus}\n" in refused(node, "--sets", asked)
    assert "no such metric: speed; there are host_gpu_copy_engine, " in refused(node, "--metrics", "copy_latency,speed")
    assert "this probe does not measure: cpu_copy; there are host_gpu_copy_engine, " in refused(node, "--metrics", "cpu_copy")
    good = "NVIDIA H200/13000: read 512x132u4 write 256x0u4 copy 512x132u8"
    for shapes in ("garbage", "", "NVIDIA H200/13000: read 512x132u4", good + "; garbage"):
        assert "--shapes is not what the conditions of a run say" in refused(node, "--shapes", shapes)
    assert "--variant is of AMD's driver, --backend hip, not: cuda" in refused(node, "--variant", "xnack", "--backend", "cuda")
    done = subprocess.run(command(node, "--variant", "no-sdma"), capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == 69 and done.stdout == "" and "libamdhip64" in done.stderr, (done.returncode, done.stderr)
    ended(measured(node, "--shapes", good + "; Other/1: host-read 512x132u4 host-write 256x0u4 host-copy 512x132u8", "--metrics", "memory_bandwidth"))
    few = ("--metrics", "memory_bandwidth", "--skip", "memory_bandwidth 0000:00:09.0 0000:00:09.0", "--without", "0000:00:07.0", "--places", "00000000:00:06.0,0000:00:09.0")
    records = ended(measured(node, *few))
    assert {record["from"] for record in records if record["record"] == "value"} == {"0000:00:06.0"}, records
    assert [record["why"] for record in records if record["record"] == "skip"] == ["it hung before"] * 3, records
    ended(measured(node, "--child", "--without", "0000:99:00.0", "--places", "numa9,core0", "--metrics", "cpu_copy,memory_bandwidth"))


def test_help():
    for argument in ("-h", "--help"):
        said = subprocess.run([command("x")[2], argument], capture_output=True, text=True, check=True, timeout=60).stdout
        assert said.startswith("Usage: berth-probe-gpu [options]\n") and all(f"\n  --{option} " in said for option in ("without", "places", "skip", "metrics", "version")), said


def test_nothing_installed():
    """Without the stand-in there is no virtual GPU, whatever the environment says of a description."""
    with contextlib.ExitStack():
        done = subprocess.run([command("x")[2], "--backend", "hip"], env={"BERTH_STANDIN": str(NODES / "mi250x.node")}, capture_output=True, text=True, timeout=60)
        assert "MI250X" not in done.stdout and "standin" not in done.stdout, done.stdout[:500]


if __name__ == "__main__":
    sys.exit(run_tests([test for name, test in list(globals().items()) if name.startswith("test_")]) > 0)
