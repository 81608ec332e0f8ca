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
from berthd import BIN, Daemon, findings  # noqa: E402
from varlink import Connection  # noqa: E402

# What advice on gpus rests on: all that the quick profile measures but latencies over sizes and what computes, which take a virtual node's driver long.
METRICS = ["host_gpu_copy_engine", "host_gpu_kernel", "gpu_gpu_copy_engine", "gpu_gpu_kernel", "copy_latency", "transfer_overhead", "memory_bandwidth", "gpu_stream",
           "host_gpu_copy_engine_concurrent", "host_gpu_kernel_concurrent", "gpu_gpu_copy_engine_concurrent", "gpu_gpu_kernel_concurrent"]
NOT_RUN = ("probe-failed", "probe-crashed", "probe-stuck", "probe-garbage")
PLACEMENT = "io.berth.Placement."
ASKED = {"bind": ("Bind", advice_bind.judge), "route": ("Route", advice_route.judge), "alloc": ("Allocate", advice_alloc.judge)}


def write_probe(path, line):
    path.write_text(f"#!/bin/bash\n{line}\n")
    path.chmod(0o755)


def daemon_over(folder, described, text, noise, seed):
    """A daemon that discovers the node's folder, and whose gpu probe measures what the text describes. folder is empty, and the daemon's alone."""
    advice_nodes.write_folder(described, text, folder / "node")
    (folder / "probes").mkdir()
    (folder / "measured.node").write_text(text)
    (folder / "cores.jsonl").write_text("".join(json.dumps(record) + "\n" for record in advice_nodes.core_records(text, noise, seed)))
    write_probe(folder / "probes/berth-probe-gpu", f"STANDIN={BUILD}/standin exec {HERE.parent}/standin/run.sh {folder}/measured.node {BIN}/berth-probe-gpu \"$@\"")
    write_probe(folder / "probes/berth-probe-cpu", f"exec cat {folder}/cores.jsonl")
    return Daemon("--node", folder / "node", "--no-probe", config=f"probe_dir = {folder}/probes\n")


def measure(daemon):
    """Ends the program with a line where not everything could be tried: the daemon would answer from what is nominal."""
    with Connection(daemon.socket, timeout=300) as asker:
        replies = list(asker.stream("io.berth.Health.Probe", {"metrics": METRICS}))
    failed = [f"{error}: {reply.get('detail')}" for error, reply in replies if error is not None]
    failed += [finding["text"] for code, finding in findings(daemon).items() if code in NOT_RUN]
    if failed or not replies or not replies[-1][1]["measured"]:
        sys.exit(f"nothing to judge, the daemon could not measure: {'; '.join(failed) or 'no reason was given'}")
    daemon.wait_ready(60)


def judge_one(node, run, noisy, asker, name, options):
    """The request of that name, which is drawn by itself: the same whatever else is asked."""
    number = int(name.rsplit("/", 1)[1])
    draw = random.Random(f"{options['seed']} {name}")
    method = list(ASKED)[number % len(ASKED)]
    request = METHODS[method](draw, node)
    if method == "route" and options["allow_unmeasured"]:
        request["allow_unmeasured"] = True
    begin = time.monotonic()
    error, answer = asker.call(PLACEMENT + ASKED[method][0], request)
    row = {"seed": options["seed"], "name": name, "method": method, "request": request, "answer_s": time.monotonic() - begin}
    if error is not None:
        return {**row, "error": f"{error}: {answer}"}
    return {**row, "answer": answer, **ASKED[method][1](node, run, noisy, request, answer, draw, options["repeats"])}


def judge_node(name, discipline, numbers, options):
    """The rows of those requests of a node under a way of sharing; options: of one seed."""
    described = advice_nodes.listed()[name]
    with tempfile.TemporaryDirectory(prefix="berth-advice-") as folder:
        folder = pathlib.Path(folder)
        measured = advice_nodes.description(described, discipline, options["noise"], options["seed"] + 1)
        with daemon_over(folder, described, measured, options["noise"], options["seed"]) as daemon:
            measure(daemon)
            node = Node(daemon.call("io.berth.Fabric.GetNode"), measured)
            run = Virtual(folder / "exact.node", advice_nodes.description(described, discipline, 0, 0))
            noisy = Virtual(folder / "noisy.node", advice_nodes.description(described, discipline, options["noise"], options["seed"] + 2))
            with Connection(daemon.socket, timeout=60) as asker:
                rows = [judge_one(node, run, noisy, asker, f"{name}/{discipline}/{number}", options) for number in numbers]
            steps = run.steps() + noisy.steps()
            run.close()
            noisy.close()
    return rows, steps


def jobs_of(args):
    """(node, discipline, numbers of requests) of all that is asked: each node and discipline as many as can be, requests of all questions in turn; or those named."""
    if args.only:
        named = [name.rsplit("/", 1) for name in args.only]
        return [(*pair.split("/"), [int(number) for other, number in named if other == pair]) for pair in dict.fromkeys(pair for pair, _ in named)]
    pairs = [(node, discipline) for node in args.nodes for discipline in args.disciplines]
    kept = [i for i, method in enumerate(ASKED) if method in args.methods]
    result = []
    for i, pair in enumerate(pairs):
        count = args.requests // len(pairs) + (i < args.requests % len(pairs))
        result.append((*pair, [k // len(kept) * len(ASKED) + kept[k % len(kept)] for k in range(count)]))
    return [job for job in result if job[2]]


def judged(jobs, options, workers):
    """All rows, and how many steps were carried out; options: one for each seed."""
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        results = [job.result() for job in [pool.submit(judge_node, *job, of_seed) for of_seed in options for job in jobs]]
    return [row for rows, _ in results for row in rows], sum(steps for _, steps in results)


def read_seeds(text):
    """The numbers of 1-6 or 1,4."""
    parts = [part.split("-") for part in text.split(",")]
    return [seed for part in parts for seed in range(int(part[0]), int(part[-1]) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=600, help="of each seed")
    parser.add_argument("--nodes", type=lambda text: text.split(","), default=list(advice_nodes.listed()))
    parser.add_argument("--disciplines", type=lambda text: text.split(","), default=list(advice_nodes.DISCIPLINES))
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(ASKED))
    parser.add_argument("--noise", type=float, default=0.01, help="relative standard deviation of what an operation takes")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seeds", type=read_seeds, default=[1], help="as 1-6 or 1,4")
    parser.add_argument("--allow-unmeasured", action="store_true", help="in Route what was not measured together may lead")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=lambda text: text.split(","), help="just these requests, by name, as mi250x/maxmin/17")
    parser.add_argument("--worst", type=int, default=12, help="how many of the worst requests are shown")
    parser.add_argument("--missed", action="store_true", help="all requests that miss a target, by which they miss")
    parser.add_argument("--answers", action="store_true", help="with what was answered to each request that is shown")
    parser.add_argument("--rows", type=pathlib.Path, help="a file for all rows, one JSON object a line")
    parser.add_argument("--again", type=pathlib.Path, nargs="+", help="show the rows of such files; nothing is asked")
    parser.add_argument("--beside", type=pathlib.Path, nargs="+", help="such files of an earlier time: figures of both, and what is worse now")
    parser.add_argument("--groups", action="store_true", help="figures of each node and way of sharing, too")
    args = parser.parse_args()
    begin, steps = time.monotonic(), 0
    options = [{"noise": args.noise, "repeats": args.repeats, "seed": seed, "allow_unmeasured": args.allow_unmeasured} for seed in args.seeds]
    if args.again:
        rows = advice_report.read_rows(args.again)
    else:
        rows, steps = judged(jobs_of(args), options, args.workers)
    if args.rows:
        args.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    advice_report.show(rows, steps, time.monotonic() - begin, args)
    return 0 if all("error" not in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
