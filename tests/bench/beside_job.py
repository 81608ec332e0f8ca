#!/usr/bin/env python3
"""What measuring beside a job (measure_beside_jobs) costs the job: PyTorch's matrix products and NCCL's all-reduce on the second
half of this machine's gpus, while a private berthd measures on the first half.

    python3 tests/bench/beside_job.py [TURNS [SECONDS]]

In turns berthd runs, or is stopped by a signal once its probe has ended. Its idle time passes 20 times faster (tests/standin), so
that it measures most of its turn. A row has the median and the mean time of an iteration of the job: with berthd stopped, with
berthd, and of iterations during which a probe ran, each with the ratio to the first. It needs four gpus, PyTorch and `make all
standins`; 12 turns of 10 s take three minutes. Exit status: 0 done, 1 nothing was measured beside the job, 69 gpus are missing.
"""
import contextlib
import os
import pathlib
import signal
import statistics
import sys
import threading
import time

import torch
import torch.distributed
import torch.multiprocessing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import Daemon, cells, fast_clock, until  # noqa: E402

METRICS = ("gpu_stream", "memory_bandwidth", "gpu_gpu_copy_engine", "gpu_gpu_kernel")
CONFIG = "measure_beside_jobs = yes\nduty_percent = 100\nfreshness_s = 60\ngpu_retry_s = 0\n"
PORT = 29531
FIRST_S = 1  # of each turn, that do not count
MIB = 1 << 20


def job(rank, gpus, end, started, results):
    """Begin and end of each iteration of the first rank, by the clock of all processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT))
    device = torch.device("cuda", gpus[rank])
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=len(gpus), device_id=device)
    a, b = (torch.randn(8192, 8192, dtype=torch.bfloat16, device=device) for _ in range(2))
    gradient = torch.zeros(128 * MIB, dtype=torch.bfloat16, device=device)
    batch, target = torch.empty(8 * MIB, dtype=torch.uint8, pin_memory=True), torch.empty(8 * MIB, dtype=torch.uint8, device=device)
    taken, goes_on = [], torch.ones(1, device=device)
    while goes_on.item():
        begin = time.monotonic()
        target.copy_(batch, non_blocking=True)
        for _ in range(16):
            torch.matmul(a, b)
        torch.distributed.all_reduce(gradient)
        torch.cuda.synchronize()
        taken.append((begin, time.monotonic()))
        started.set()
        goes_on.fill_(0 if rank == 0 and end.is_set() else 1)
        torch.distributed.broadcast(goes_on, 0)
    if rank == 0:
        results.put(taken)
    torch.distributed.destroy_process_group()


def children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def probes(daemon):
    """Probes of the daemon: children of its guardians."""
    return [probe for guardian in children(daemon.process.pid) for probe in children(guardian)]


def watch(daemon, end, running):
    """Adds the [begin, end] of each moment of a probe."""
    while not end.is_set():
        now, is_running = time.monotonic(), bool(probes(daemon))
        if is_running and running and running[-1][1] is None:
            pass
        elif is_running:
            running.append([now, None])
        elif running and running[-1][1] is None:
            running[-1][1] = now
        time.sleep(0.002)


def times_of(daemon):
    return {(metric, c["from"], c["to"], str(c["axes"])): c["measured_at_s"] for metric in METRICS for c in cells(daemon, metric)
            if c["source"] == "measured"}


def take_turns(daemon, turns, seconds):
    """[begin, end] of each turn, stopped ones first and then every second; units and values measured meanwhile."""
    spans, units, values, before = [], set(), 0, times_of(daemon)
    for turn in range(turns):
        is_stopped = turn % 2 == 0
        if is_stopped:
            daemon.process.send_signal(signal.SIGSTOP)
            assert until(lambda: not probes(daemon), 60)
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            time.sleep(0.25)
            if not is_stopped:
                measuring = daemon.status()["measuring"]
                units.add((measuring["last"], measuring["last_at_s"]))
        spans.append((begin + FIRST_S, time.monotonic()))
        daemon.process.send_signal(signal.SIGCONT)
        if not is_stopped:
            after = times_of(daemon)
            values += sum(after[key] != before.get(key) for key in after)
            before = after
    return spans, len(units) - 1, values


def tell(name, taken, base):
    median, mean = statistics.median(taken) * 1e3, statistics.mean(taken) * 1e3
    print(f"{name:24}{len(taken):11}{median:12.3f}{mean:12.3f}" + (f"{median / base[0]:12.4f}{mean / base[1]:12.4f}" if base else ""))
    return median, mean


def compare(taken, spans, running):
    def within(span, rows):
        return [row for row in rows if row[0] >= span[0] and row[1] <= span[1]]

    stopped = [row for span in spans[0::2] for row in within(span, taken)]
    with_berthd = [row for span in spans[1::2] for row in within(span, taken)]
    beside = [row for row in with_berthd if any(row[0] < (end or row[1]) and row[1] > begin for begin, end in running)]
    print(f"{'job':24}{'iterations':>11}{'median ms':>12}{'mean ms':>12}{'ratio':>12}{'of means':>12}")
    base = None
    for name, rows in (("berthd stopped", stopped), ("berthd runs", with_berthd), ("while a probe runs", beside)):
        if rows:
            its = tell(name, [end - begin for begin, end in rows], base)
            base = base or its


def main():
    turns, seconds = ([int(word) for word in sys.argv[1:]] + [12, 10][len(sys.argv) - 1:])[:2]
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    count = torch.cuda.device_count()
    if count < 4:
        print("beside_job.py: fewer than four gpus", file=sys.stderr)
        return 69
    gpus, context = list(range(count // 2, count)), torch.multiprocessing.get_context("spawn")
    end, started, results, running = context.Event(), context.Event(), context.Queue(), []
    with Daemon(config=CONFIG, environment=fast_clock(20)) as daemon:
        daemon.wait_ready(180)
        ranks = [context.Process(target=job, args=(rank, gpus, end, started, results)) for rank in range(len(gpus))]
        for rank in ranks:
            rank.start()
        started.wait(120)
        is_beside = until(lambda: daemon.status()["measuring"]["beside"], 60)
        print(f"the job is on {gpus}, berthd measures beside: {is_beside}", flush=True)
        watcher = threading.Thread(target=watch, args=(daemon, end, running))
        watcher.start()
        spans, units, values = take_turns(daemon, turns - turns % 2, seconds)
        end.set()
        taken = results.get(timeout=60)
        watcher.join()
        for rank in ranks:
            rank.join(60)
        compare(taken, spans, running)
        print(f"{values} values renewed by {units} units beside the job; {daemon.status()['measuring']}")
    return 0 if values and is_beside else 1


if __name__ == "__main__":
    sys.exit(main())
