"""Conditions of a run of berth-probe-gpu: known ones in its record, a reason for each other one.

The daemon keeps them and berth history shows them. Prints TAP.
"""
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

from berthd import BIN
from gpu_virtual import berth, daemon_over, probed, virtual
from tap import run_tests
from virtual_node import ENVIRONMENT, NODES, command, measured

SYSTEM = {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never", "proc/sys/kernel/numa_balancing": "1",
          "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance"}
PCI = "sys/bus/pci/devices/{}/"
AMD = PCI.format("0000:c1:00.0")
MI250X = {**SYSTEM, AMD + "current_compute_partition": "SPX", AMD + "current_memory_partition": "NPS1", AMD + "hwmon/hwmon3/power1_cap": "560000000",
          AMD + "pp_dpm_sclk": "0: 500Mhz\n1: 1700Mhz *", AMD + "pp_dpm_mclk": "0: 400Mhz\n1: 1600Mhz *", AMD + "iommu_group/type": "DMA"}


@contextlib.contextmanager
def system_root(files):
    """A folder with these files of /sys and /proc."""
    with tempfile.TemporaryDirectory(prefix="berth-root-") as name:
        for path, text in files.items():
            put(pathlib.Path(name), path, text)
        yield pathlib.Path(name)


def put(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text + "\n")


@contextlib.contextmanager
def fake_addresses():
    """The virtual node with four H200 where the fake library has its GPUs."""
    text = (NODES / "h200x4.node").read_text()
    for number in range(4):
        text = text.replace(f"0000:00:0{6 + number}.0", f"0000:1{number}:00.0")
    with tempfile.NamedTemporaryFile("w", suffix=".node") as file:
        file.write(text)
        file.flush()
        yield file.name


def both_ends(records):
    """Conditions of a run, and those known only at its end."""
    assert records[0]["record"] == "run" and records[-1]["record"] == "end" and records[-1]["status"] == "complete", records[-1]
    return records[0]["conditions"], records[-1]["conditions"]


def conditions_of(node, root, **environment):
    done = subprocess.run(command(node, "--root", root, "--metrics", "memory_bandwidth"), capture_output=True, text=True, env={**ENVIRONMENT, **environment}, timeout=100)
    assert done.returncode == 0, done.stderr
    return both_ends([json.loads(line) for line in done.stdout.splitlines()])


def without_a_library_each_is_null_with_its_reason():
    h200 = [PCI.format(f"0000:1{i}:00.0") for i in range(4)]
    with fake_addresses() as node, system_root({**SYSTEM, **{place + "vendor": "0x10de" for place in h200[:3]}, **{place + "iommu_group/type": "identity" for place in h200[:2]}}) as root:
        first, last = conditions_of(node, root)
    assert (first["thp"], first["numa_balancing"], first["governor"]) == ("madvise", "1", "performance"), first
    assert [first[f"gpu_{key}"] for key in ("ecc", "mig", "power_cap_w")] == [None] * 3 and first["boost"] is None, first
    assert "gpu_ecc, gpu_mig, gpu_power_cap_w: there is no libnvidia-ml.so.1" in first["not_known"], first
    assert ", boost, " in first["not_known"] and "governor" not in first["not_known"], first
    assert first["gpu_iommu"] == "0000:10:00.0 identity, 0000:11:00.0 identity, 0000:12:00.0 none, 0000:13:00.0 -", first
    assert last["gpu_clock_mhz"] is None and last["not_known_at_end"] == "gpu_clock_mhz, gpu_memory_clock_mhz, gpu_throttle: there is no libnvidia-ml.so.1", last


def what_nvidia_says():
    with fake_addresses() as node, system_root({**SYSTEM, **{PCI.format(f"0000:1{i}:00.0") + "iommu_group/type": "DMA-FQ" for i in range(4)}}) as root:
        (root / "usr/lib").mkdir(parents=True)
        (root / "usr/lib/libnvidia-ml.so.1").symlink_to((BIN.parent / "standin/nvml/libnvidia-ml.so.1").resolve())
        first, last = conditions_of(node, root)
        assert (first["gpu_driver"], first["gpu_ecc"], first["gpu_power_cap_w"], first["gpu_iommu"]) == ("580.95.05", "on", "600", "DMA-FQ"), first
        assert first["gpu_mig"] == "0000:10:00.0 off, 0000:11:00.0 off, 0000:12:00.0 off, 0000:13:00.0 on" and "gpu_" not in first["not_known"], first
        assert (last["gpu_clock_mhz"], last["gpu_memory_clock_mhz"]) == ("345", "3201") and last["gpu_throttle"] and "not_known_at_end" not in last, last
        first, last = conditions_of(node, root, FAKE_NVML="nvmlDeviceGetEccMode=3 nvmlDeviceGetClockInfo@2=3")
        assert first["gpu_ecc"] is None and "gpu_ecc: the driver does not say it" in first["not_known"], first
        assert last["gpu_clock_mhz"] == "0000:10:00.0 345, 0000:11:00.0 345, 0000:12:00.0 -, 0000:13:00.0 345", last
        first, last = conditions_of(NODES / "h200x4.node", root)
        assert first["gpu_ecc"] is None and "gpu_ecc, gpu_mig, gpu_power_cap_w: libnvidia-ml.so.1 does not list the GPU" in first["not_known"], first


def what_amd_says():
    one, rest = "0000:c1:00.0 {}" + ", 0000:{}:00.0 -" * 7, ("c6", "c9", "ce", "d1", "d6", "d9", "de")
    with system_root(MI250X) as root:
        first, last = conditions_of(NODES / "mi250x.node", root)
    for key, value in (("partition", "SPX"), ("memory_partition", "NPS1"), ("power_cap_w", "560"), ("iommu", "DMA")):
        assert first[f"gpu_{key}"] == one.format(value, *rest), (key, first)
    assert first["gpu_xnack"] == "off" and first["gpu_ecc"] is None and "gpu_ecc: sysfs does not show it" in first["not_known"], first
    assert (last["gpu_clock_mhz"], last["gpu_memory_clock_mhz"]) == (one.format("1700", *rest), one.format("1600", *rest)), last
    assert last["gpu_throttle"] is None and last["not_known_at_end"] == "gpu_throttle: sysfs does not show it", last


def a_stand_in_has_none_of_this_machine():
    first, last = both_ends(measured(NODES / "h200x4.node", "--metrics", "memory_bandwidth"))
    assert "gpu_ecc, gpu_mig, gpu_power_cap_w, gpu_iommu: the driver is a stand-in" in first["not_known"], first
    assert first["gpu_mig"] is None and last["gpu_throttle"] is None and first["kernel"], (first, last)


def the_daemon_keeps_them():
    """Stored with the run; History returns them and berth history shows changes."""
    with system_root(MI250X) as root, virtual() as (node, probes), daemon_over(node, probes, "--no-probe") as daemon:
        program = probes / "berth-probe-gpu"
        program.write_text(program.read_text().replace('"$@"', f'--root {root} "$@"'))
        for choice in ("madvise", "always"):
            put(root, "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never" if choice == "always" else "always [madvise] never")
            probed(daemon, metrics=["memory_bandwidth"], places=["gpu0"])
            daemon.wait_ready(60)
        points = daemon.call("io.berth.Fabric.History", {"metric": "memory_bandwidth", "from": "gpu0", "to": "gpu0"})["points"]
        assert [point["conditions"]["thp"] for point in points] == ["madvise", "always"], points
        kept = points[1]["conditions"]
        assert kept["gpu_partition"].startswith("0000:c1:00.0 SPX, ") and kept["gpu_clock_mhz"].startswith("0000:c1:00.0 1700, "), kept
        assert kept["gpu_ecc"] == "null" and "gpu_ecc: sysfs does not show it" in kept["not_known"] and kept["not_known_at_end"], kept
        said = berth("--socket", daemon.socket, "history", "memory_bandwidth", "gpu0", "gpu0")
        assert "    thp was madvise, is always\n" in said and said.count(" was ") == 1, said


TESTS = [without_a_library_each_is_null_with_its_reason, what_nvidia_says, what_amd_says, a_stand_in_has_none_of_this_machine, the_daemon_keeps_them]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS) > 0)
