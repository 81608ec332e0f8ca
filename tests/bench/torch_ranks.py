#!/usr/bin/env python3
"""Carries out Bind's placements on this machine's gpus by another program: PyTorch's copies, a stream for each. Then NCCL's
all-reduce, a process a gpu, in Bind's order of the gpus and in others.

    BERTH_SOCKET=... PYTHONPATH=build/python/source python3 tests/bench/torch_ranks.py

Each pattern is carried out as advised, in rank order and in drawn orders; medians of rounds in which all follow each other. A row
has the regret of the advised order beside the best that was tried, and the error of the prediction. Each is timed in two ways:
by the host's clock, from the first call of PyTorch to the end of the last copy; and queued, where all copies wait for one event
of gpu 0 and gpu 0 waits for all, timed by its events. PyTorch's calls are in the first alone, some 80 us for two gpus and more for
four. It needs two gpus and a daemon that has measured; a minute. Exit status: 0 done, 69 gpus are missing.
"""
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing

MIB = 1 << 20
ROUNDS, TRIES, ORDERS = 5, 3, 6
PORT = 29517
HELD_CYCLES = 8_000_000  # some 4 ms: the host has queued all copies by then


def patterns(gpus):
    """(title, tasks, options of bind, destinations of each task, bytes to each, bytes from and to the host)."""
    def ring(count):
        return [[(task + 1) % count] for task in range(count)]

    for count in range(2, gpus + 1):
        others = [[(task + step) % count for step in range(1, count)] for task in range(count)]
        for size in (16 * MIB, 256 * MIB):
            yield f"ring of {count}", count, ["--pattern", "ring", "--bytes", str(size)], ring(count), size, 0
            yield f"all-to-all of {count}", count, ["--pattern", "alltoall", "--bytes", str(size)], others, size, 0
            yield f"host of {count}", count, ["--host-bytes", str(size)], [[]] * count, 0, size
        yield (f"ring and host of {count}", count, ["--pattern", "ring", "--bytes", str(256 * MIB), "--host-bytes", str(64 * MIB)],
               ring(count), 256 * MIB, 64 * MIB)
    double = 2 * gpus
    yield (f"ring of {double} on {gpus}", double, ["--tasks-per-gpu", "2", "--pattern", "ring", "--bytes", str(256 * MIB)],
           ring(double), 256 * MIB, 0)
    yield f"host of {double} on {gpus}", double, ["--tasks-per-gpu", "2", "--host-bytes", str(64 * MIB)], [[]] * double, 0, 64 * MIB


def advised(tasks, options):
    """Gpu numbers of the tasks, and the predicted nanoseconds with their interval; None: refused."""
    done = subprocess.run(["build/bin/berth", "--json", "bind", "-n", str(tasks), "--cores-per-task", "1", "--mechanism", "copy_engine",
                           *options], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return None
    answer = json.loads(done.stdout)
    predicted = answer["predicted"]
    return [int(task["gpus"][0][3:]) for task in answer["tasks"]], [predicted[key] for key in ("time_ns", "low_ns", "high_ns")]


def orders(tasks, gpus, first):
    """The advised one, rank order, and drawn ones."""
    draw, found = random.Random(1), [first, [task % gpus for task in range(tasks)]]
    while len(found) < ORDERS:
        row = [gpu for gpu in range(gpus) for _ in range(-(-tasks // gpus))]
        draw.shuffle(row)
        found.append(row[:tasks])
    return found


def copies(order, destinations, size, host_bytes):
    """(stream, target, source) of all tasks, each with buffers of its own: the first of each task, then the second ones."""
    tasks = []
    for task, gpu in enumerate(order):
        device = torch.device("cuda", gpu)
        mine = torch.empty(size, dtype=torch.uint8, device=device)
        found = [(torch.cuda.Stream(device), torch.empty(size, dtype=torch.uint8, device=f"cuda:{order[to]}"), mine)
                  for to in destinations[task] if order[to] != gpu]
        if host_bytes:
            out, back = (torch.empty(host_bytes, dtype=torch.uint8, pin_memory=True) for _ in range(2))
            there, here = (torch.empty(host_bytes, dtype=torch.uint8, device=device) for _ in range(2))
            found += [(torch.cuda.Stream(device), there, out), (torch.cuda.Stream(device), back, here)]
        tasks.append(found)
    return [copy for turn in itertools.zip_longest(*tasks) for copy in turn if copy is not None]


def by_clock(listed):
    """Seconds of all copies at once, by the host's clock."""
    begin = time.perf_counter()
    for stream, target, source in listed:
        with torch.cuda.stream(stream):
            target.copy_(source, non_blocking=True)
    for stream, _, _ in listed:
        stream.synchronize()
    return time.perf_counter() - begin


def queued(listed):
    """Seconds of all copies at once, by events of gpu 0; None: a copy was not yet queued when the first began."""
    first = torch.cuda.Stream(0)
    start, done = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(first):
        torch.cuda._sleep(HELD_CYCLES)
        start.record()
    for stream, target, source in listed:
        stream.wait_event(start)
        with torch.cuda.stream(stream):
            target.copy_(source, non_blocking=True)
        first.wait_stream(stream)
    done.record(first)
    all_queued = not start.query()
    done.synchronize()
    return start.elapsed_time(done) / 1e3 if all_queued else None


def carried_out(rows, destinations, size, host_bytes):
    """Median seconds of each order, by the clock and queued. Each round takes them in another turn."""
    plans = [copies(order, destinations, size, host_bytes) for order in rows]
    taken = [([], []) for _ in plans]
    for turn in range(ROUNDS + 1):
        for k in ((k + turn) % len(plans) for k in range(len(plans))):
            for timed, times in zip((by_clock, queued), taken[k]):
                found = [timed(plans[k]) for _ in range(TRIES if turn else 1)]
                times += [seconds for seconds in found if turn and seconds is not None]
    return [[statistics.median(its[way]) for its in taken] for way in range(2)]


def reduce(rank, order, sizes, port, results):
    """NCCL's all-reduce among the gpus of an order."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    device = torch.device("cuda", order[rank])
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=len(order), device_id=device)
    for size in sizes:
        data, taken = torch.zeros(size // 2, dtype=torch.bfloat16, device=device), []
        for _ in range(9):
            torch.distributed.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(10):
                torch.distributed.all_reduce(data)
            torch.cuda.synchronize()
            taken.append((time.perf_counter() - begin) / 10)
        if rank == 0:
            results.put((size, statistics.median(taken[2:])))
    torch.distributed.destroy_process_group()


def reduced(gpus):
    """All-reduce as Bind orders the gpus for one, in rank order, and in drawn orders."""
    found, sizes = advised(gpus, ["--pattern", "allreduce", "--bytes", str(256 * MIB)]), (65536, 16 * MIB, 256 * MIB)
    if found is None:
        return
    print(f"\n{'all-reduce by NCCL, us':24}{'64 KiB':>10}{'16 MiB':>10}{'256 MiB':>10}")
    context = torch.multiprocessing.get_context("spawn")
    for number, (name, order) in enumerate(zip(["advised", "rank order", "drawn"], orders(gpus, gpus, found[0]))):
        results = context.Queue()
        started = [context.Process(target=reduce, args=(rank, order, sizes, PORT + number, results)) for rank in range(gpus)]
        for process in started:
            process.start()
        taken = dict(results.get(timeout=60) for _ in sizes)
        for process in started:
            process.join(30)
        print(f"{name:24}" + "".join(f"{taken[size] * 1e6:10.1f}" for size in sizes) + f"  {order}", flush=True)


class Score:
    """Regrets, errors and intervals of one way of timing."""

    def __init__(self):
        self.regrets, self.errors, self.inside = [], [], []

    def row(self, took, predicted, low, high):
        """The row's columns; the first order is the advised one."""
        regret, error = took[0] / min(took) - 1, predicted / 1e9 / took[0] - 1
        self.regrets.append(regret)
        self.errors.append(abs(error))
        self.inside += [low <= took[0] * 1e9 <= high] if low is not None else []
        return "".join(f"{value * 1e6:9.1f}" for value in (took[0], took[1], max(took))) + f"{100 * regret:7.1f}{100 * error:7.1f}"

    def __str__(self):
        return (f"regret {100 * statistics.mean(self.regrets):.1f} % mean, {100 * max(self.regrets):.1f} % worst; error "
                f"{100 * statistics.median(self.errors):.1f} % median; {sum(self.inside)} of {len(self.inside)} in their intervals")


def main():
    gpus = torch.cuda.device_count()
    if gpus < 2:
        print("torch_ranks.py: fewer than two gpus", file=sys.stderr)
        return 69
    clock, events = Score(), Score()
    columns = f"{'advised':>9}{'rank':>9}{'worst':>9}{'regret':>7}{'error':>7}"
    print(f"{'':41}{'by the host clock':^41}{'queued':^41}")
    print(f"{'us, %':24}{'MiB':>7}{'predicted':>10}{columns}{columns}")
    for title, tasks, options, destinations, size, host in patterns(gpus):
        found = advised(tasks, options)
        if found is None:
            print(f"{title:24} bind refused {options}")
            continue
        order, limits = found
        took = carried_out(orders(tasks, gpus, order), destinations, size, host)
        print(f"{title:24}{(size or host) // MIB:7}{limits[0] / 1e3:10.1f}" + clock.row(took[0], *limits) + events.row(took[1], *limits) +
              f"  {order}", flush=True)
        torch.cuda.empty_cache()
    print(f"by the host clock: {clock}\nqueued: {events}")
    reduced(gpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
