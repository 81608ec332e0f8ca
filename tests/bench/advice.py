"""The regret bench: what berth advises, what would have been best, what others do. Virtual nodes only: it shows that answers are consistent, real GPUs are the judge.

For each node and way of sharing, berthd measures the virtual node with the real GPU probe and answers over its socket; advice_run carries out the options as an application would."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import advice_alloc  # noqa: E402
import advice_bind  # noqa: E402
import advice_nodes  # noqa: E402
import advice_report  # noqa: E402
import advice_route  # noqa: E402
from advice_execute import BUILD, Virtual  # noqa: E402
from advice_node import Node  # noqa: E402
from advice_requests import METHODS  # noqa: E402
from berthd import BIN, Daemon  # noqa: E402
from varlink import Connection  # noqa: E402

# What advice on gpus rests on: all that the quick profile measures but latencies over sizes and what computes, which take a virtual node's driver long.
METRICS = ["host_gpu_copy_engine", "host_gpu_kernel", "gpu_gpu_copy_engine", "gpu_gpu_kernel", "copy_latency", "transfer_overhead", "memory_bandwidth", "gpu_stream",
           "host_gpu_copy_engine_concurrent", "host_gpu_kernel_concurrent", "gpu_gpu_copy_engine_concurrent", "gpu_gpu_kernel_concurrent"]
PLACEMENT = "io.berth.Placement."
ASKED = {"bind": ("Bind", advice_bind.judge), "route": ("Route", advice_route.judge), "alloc": ("Allocate", advice_alloc.judge)}


def daemon_over(folder, described, text):
    """A daemon that discovers the node's folder, and whose gpu probe measures what the text describes. folder is empty, and the daemon's alone."""
    advice_nodes.write_folder(described, text, folder / "node")
    (folder / "probes").mkdir()
    (folder / "measured.node").write_text(text)
    program = folder / "probes/berth-probe-gpu"
    program.write_text(f"#!/bin/bash\nSTANDIN={BUILD}/standin exec {HERE.parent}/standin/run.sh {folder}/measured.node {BIN}/berth-probe-gpu \"$@\"\n")
    program.chmod(0o755)
    return Daemon("--node", folder / "node", "--no-probe", config=f"probe_dir = {folder}/probes\n")


def measure(daemon):
    with Connection(daemon.socket, timeout=300) as asker:
        replies = list(asker.stream("io.berth.Health.Probe", {"metrics": METRICS}))
    assert replies and all(error is None for error, _ in replies), replies[-1:]
    daemon.wait_ready(60)


def judge_one(node, run, noisy, asker, method, request, draw, options):
    begin = time.monotonic()
    error, answer = asker.call(PLACEMENT + ASKED[method][0], request)
    row = {"method": method, "request": request, "answer_s": time.monotonic() - begin}
    if error is not None:
        return {**row, "error": f"{error}: {answer}"}
    return {**row, **ASKED[method][1](node, run, noisy, request, answer, draw, options["repeats"])}


def judge_node(name, discipline, count, options):
    """All rows of a node under a way of sharing."""
    described = advice_nodes.listed()[name]
    draw = random.Random(f"{options['seed']} {name} {discipline}")
    with tempfile.TemporaryDirectory(prefix="berth-advice-") as folder:
        folder = pathlib.Path(folder)
        measured = advice_nodes.description(described, discipline, options["noise"], options["seed"] + 1)
        with daemon_over(folder, described, measured) as daemon:
            measure(daemon)
            node = Node(daemon.call("io.berth.Fabric.GetNode"), measured)
            run = Virtual(folder / "exact.node", advice_nodes.description(described, discipline, 0, 0))
            noisy = Virtual(folder / "noisy.node", advice_nodes.description(described, discipline, options["noise"], options["seed"] + 2))
            with Connection(daemon.socket, timeout=60) as asker:
                rows = []
                for i in range(count):
                    method = options["methods"][i % len(options["methods"])]
                    rows.append(judge_one(node, run, noisy, asker, method, METHODS[method](draw, node), draw, options))
            steps = run.steps() + noisy.steps()
            run.close()
            noisy.close()
    return [{"node": name, "discipline": discipline, **row} for row in rows], steps


def spread(total, nodes, disciplines):
    """How many requests each node and discipline gets: as even as can be."""
    jobs = [(node, discipline) for node in nodes for discipline in disciplines]
    return [(node, discipline, total // len(jobs) + (i < total % len(jobs))) for i, (node, discipline) in enumerate(jobs)]


def judged(total, nodes, disciplines, options, workers):
    """All rows, and how many steps were carried out."""
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(judge_node, *job, options) for job in spread(total, nodes, disciplines) if job[2] > 0]
        results = [job.result() for job in jobs]
    return [row for rows, _ in results for row in rows], sum(steps for _, steps in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--nodes", type=lambda text: text.split(","), default=list(advice_nodes.listed()))
    parser.add_argument("--disciplines", type=lambda text: text.split(","), default=list(advice_nodes.DISCIPLINES))
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(ASKED))
    parser.add_argument("--noise", type=float, default=0.01, help="relative standard deviation of what an operation takes")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--worst", type=int, default=12, help="how many of the worst requests are shown")
    parser.add_argument("--rows", help="a file for all rows, one JSON object a line")
    args = parser.parse_args()
    begin = time.monotonic()
    options = {key: getattr(args, key) for key in ("noise", "repeats", "seed", "methods")}
    rows, steps = judged(args.requests, args.nodes, args.disciplines, options, args.workers)
    if args.rows:
        pathlib.Path(args.rows).write_text("".join(json.dumps(row) + "\n" for row in rows))
    advice_report.show(rows, steps, time.monotonic() - begin, args)
    return 0 if all("error" not in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
