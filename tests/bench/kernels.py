#!/usr/bin/env python3
"""How far the streaming times of one GPU are from those that another one's values predict.

usage: kernels.py [NODE...]: node folders, by default the recorded nodes with H200. Each measured
size of gpu_stream is compared with PredictKernel of gpu0 of each node. Prints a table.
"""
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/lib"))
from berthd import NODES, Daemon  # noqa: E402


def measured(daemon):
    """Test, bytes and nanoseconds of each size of each GPU."""
    for cell in daemon.call("io.berth.Fabric.GetMatrix", {"metric": "gpu_stream"})["cells"]:
        size = cell["axes"]["bytes"]
        if size != "large" and cell["value"] and cell["source"] == "measured":
            yield cell["axes"]["test"], int(size), int(size) / cell["value"] * 1e9


def compare(values, model):
    errors, within = [], 0
    for test, size, ns in values:
        asked = {"place": "gpu0", "test": test, "reads_bytes": size}
        time = model.call("io.berth.Fabric.PredictKernel", asked)["queued"]
        errors.append(abs(time["time_ns"] / ns - 1))
        within += time["low_ns"] <= ns <= time["high_ns"]
    errors.sort()
    return (f"{len(errors)} | {statistics.median(errors):.1%} | {errors[len(errors) * 95 // 100]:.1%} | "
            f"{errors[-1]:.1%} | {within / len(errors):.0%}")


def main(folders):
    print("| sizes of | predicted by gpu0 of | sizes | median | 95th percentile | worst | within |\n|---|---|---|---|---|---|---|")
    for sizes in folders:
        for model in folders:
            with Daemon("--node", sizes) as here, Daemon("--node", model) as there:
                print(f"| {sizes.name} | {model.name} | {compare(measured(here), there)} |")


if __name__ == "__main__":
    main([pathlib.Path(name) for name in sys.argv[1:]] or [NODES / name for name in ("h200x1", "h200x2", "h200x4")])
