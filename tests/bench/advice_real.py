"""Advice on the GPUs of this machine, carried out: transfers over sizes, copies from and to the host at once, pairs, rings and all-to-all, as advised, by default, and as the
worst of what was tried. berthd measures first, with its own probe; advice_run carries out the options as an application would."""
import argparse
import contextlib
import json
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import advice_bind  # noqa: E402
import advice_nodes  # noqa: E402
import advice_report  # noqa: E402
import advice_route  # noqa: E402
from advice import PLACEMENT, daemon_over, measure  # noqa: E402
from advice_execute import BUILD, ROUNDS, Executor, Virtual  # noqa: E402
from advice_node import Node  # noqa: E402
from berthd import Daemon  # noqa: E402
from varlink import Connection  # noqa: E402

LARGE = 1 << 28
MOST = 2 * LARGE  # of one flow: an allreduce sends up to twice its bytes
JUDGES = {"Route": advice_route.judge, "Bind": advice_bind.judge}


def requests(node):
    """(title, method, request) of all that is asked."""
    first, near, last = node.gpus[0], node.numa_of[node.gpus[0]], node.gpus[-1]
    for source, target in ((first, near), (near, first)) + (((first, last),) if last != first else ()):
        for size in (1 << bits for bits in range(12, 29, 4)):
            yield f"{source} to {target}", "Route", {"from": source, "to": target, "bytes": size}
        yield f"{source} to {target}, computing", "Route", {"from": source, "to": target, "bytes": LARGE, "overlap": True}
        yield f"{source} to {target}, both ways", "Route", {"from": source, "to": target, "bytes": LARGE, "both_directions": True}
    for tasks in range(1, len(node.gpus) + 1):
        for size in (1 << 20, LARGE):
            yield f"{tasks} tasks from and to the host", "Bind", {"tasks": tasks, "gpus_per_task": 1, "cores_per_task": 1, "host_bytes": size}
    for pattern in ("ring", "alltoall", "allreduce") if len(node.gpus) > 1 else ():
        for mechanism in ("copy_engine", "kernel", "best"):
            for size in (1 << 16, LARGE):
                yield (f"{pattern} of {len(node.gpus)}, {mechanism}", "Bind",
                       {"tasks": len(node.gpus), "gpus_per_task": 1, "cores_per_task": 1, "pattern": pattern, "bytes": size, "mechanism": mechanism})
    if len(node.gpus) > 1:
        yield "ring and host", "Bind", {"tasks": len(node.gpus), "gpus_per_task": 1, "cores_per_task": 1, "pattern": "ring", "bytes": LARGE, "host_bytes": LARGE // 4}


@contextlib.contextmanager
def machine(args):
    """A daemon that has measured, its node, and an executor: of this machine, or to try this program of a virtual node."""
    with tempfile.TemporaryDirectory(prefix="berth-advice-") as folder, contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder)
        described = advice_nodes.listed()[args.virtual] if args.virtual else None
        text = advice_nodes.description(described, "maxmin", 0.01, 1) if described else None
        daemon = stack.enter_context(daemon_over(folder, described, text, 0.01, 1) if described else Daemon("--no-probe"))
        measure(daemon)
        node = Node(daemon.call("io.berth.Fabric.GetNode"), text)
        callers = [] if args.threads else ["--ranks", str(len(node.gpus))]
        run = Virtual(folder / "run.node", text, args.tries) if described else Executor([args.run, "--bytes", str(MOST), *callers], {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, args.tries)
        yield daemon, node, run
        run.close()


def size_of(request):
    size = request.get("bytes") or request.get("host_bytes")
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"


def print_row(title, row):
    def us(ns):
        return f"{ns / 1e3:>10.1f}"

    predicted = row["predicted"]["time_ns"] if row["predicted"] else None
    off = advice_report.error(row)
    print(f"{title:<34}{size_of(row['request']):>9}{us(row['took_ns'])}{us(row['rivals']['in order'])}{us(row['worst_ns'])}{us(row['best_ns'])}{100 * advice_report.regret(row):>9.1f}{100 * advice_report.noise(row):>8.1f}"
          f"{us(predicted) if predicted else '         -'}{f'{100 * off:>8.1f}' if off is not None else '       -'}  {row['chosen'][:70]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default=str(BUILD / "bench/advice_run"), help="the executor")
    parser.add_argument("--tries", type=int, default=7, help="how often each step is carried out; the median counts")
    parser.add_argument("--threads", action="store_true", help="tasks are threads of one process, which wait for each other in the driver; else a process each, as a job's ranks are")
    parser.add_argument("--rows", type=pathlib.Path, help="a file to which all rows are added, one JSON object a line")
    parser.add_argument("--virtual", help="a node of advice/nodes.json instead of this machine, to try this program")
    args = parser.parse_args()
    begin, rows = time.monotonic(), []
    with machine(args) as (daemon, node, run):
        callers = "callers in turn on one clock" if args.virtual else "a thread" if args.threads else "a process"
        print(f"{len(node.gpus)} GPUs, {len(node.numas)} NUMA nodes, origin {daemon.status()['basis']['origin']}, measured after {time.monotonic() - begin:.1f} s; tasks of Bind: {callers}{'' if args.virtual else ' each'}")
        print(f"microseconds, medians of {ROUNDS} rounds of {args.tries}, in which advised, default, worst and best follow each other; noise: how far the medians of three rounds and of the other three differ, of the advised or the best")
        print(f"{'':<34}{'':>9}{'advised':>10}{'default':>10}{'worst':>10}{'best':>10}{'regret %':>9}{'noise %':>8}{'predicted':>10}{'error %':>8}  chosen")
        for title, method, request in requests(node):
            with Connection(daemon.socket, timeout=60) as asker:
                error, answer = asker.call(PLACEMENT + method, request)
            if error is not None:
                print(f"{title:<34}{size_of(request):>9}  {error} {answer}")
                continue
            row = {"name": title, "method": method, "request": request, "answer": answer, **JUDGES[method](node, run, run, request, answer, random.Random(1), args.tries)}
            rows.append(row)
            if args.rows:
                with args.rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            print_row(title, row)
    if rows:
        print("\n" + advice_report.HEAD)
        for name, group in advice_report.grouped(rows, lambda row: row["method"]).items():
            print(advice_report.line(f"question {name}", group))
        print(advice_report.line("all", rows))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
