"""Times PyTorch on a real gpu with memory and copies by berth: copies from the host, berth.copy
beside copy_, and a small GPT's decoding with its weights and KV cache in each placement.

    BERTH_SOCKET=... BERTH_LIBRARY=build/lib/libberth.so.1 PYTHONPATH=build/python/source \\
        python3 tests/bench/torch_gpu.py

Starts nothing and compiles nothing; `make python build/lib/libberth.so.1` makes both beforehand.
Takes less than a minute and 6 GiB of the gpu's memory. A section that fails says so, and the next
one goes on; exit status 1 then.
"""
import math
import statistics
import sys
import time
import traceback

import berth
import torch
from berth._load import gpu_of

MIB = 1 << 20
LAYERS, WIDTH, HEADS, WORDS, PAST, STEPS = 12, 1024, 16, 16384, 1024, 64
DEVICE = torch.device("cuda", 0)


def seconds(work):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def medians(works, tries):
    """Median seconds of each, in turns, after one time that does not count."""
    taken = [[] for _ in works]
    for turn in range(tries + 1):
        for k in range(len(works)):
            k = (k + turn) % len(works)
            taken[k] += [seconds(works[k])] * (turn > 0)
    return [statistics.median(its) for its in taken]


def copies(gpu):
    """From pageable, pinned and berth's memory, each by copy_."""
    print(f"{'host to gpu by copy_':24} {'pageable':>10} {'pinned':>10} {'berth':>10}  GB/s")
    for size in (256 * MIB, 1024 * MIB):
        ours = berth.empty(size, torch.uint8, by=gpu, allowed=None)
        sources = [torch.empty(size, dtype=torch.uint8),
                   torch.empty(size, dtype=torch.uint8, pin_memory=True), ours]
        target = torch.empty(size, dtype=torch.uint8, device=DEVICE)
        for source in sources:
            source.fill_(1)
        taken = medians([lambda s=s: target.copy_(s, non_blocking=True) for s in sources], 7)
        print(f"{size // MIB:>6} MiB{'':14}" + "".join(f" {size / t / 1e9:10.2f}" for t in taken),
              f" is_pinned {ours.is_pinned()}", flush=True)


def advised(gpu):
    """berth.copy beside copy_, both ways, and whether the bytes are right."""
    size = 1024 * MIB
    host = berth.empty(size // 8, torch.int64, by=gpu, operation="both", allowed=None)
    back = berth.empty(size // 8, torch.int64, by=gpu, operation="both", allowed=None)
    torch.arange(size // 8, out=host)
    target = torch.zeros(size // 8, dtype=torch.int64, device=DEVICE)
    print(f"{'1 GiB':24} {'copy_':>10} {'berth.copy':>10}  GB/s   ratio")
    for way, to, from_ in (("host to gpu", target, host), ("gpu to host", back, target)):
        how = berth.copy(to, from_)
        torch.cuda.synchronize()
        one, ours = medians([lambda: to.copy_(from_, non_blocking=True),
                             lambda: berth.copy(to, from_)], 9)
        rates = "".join(f" {size / taken / 1e9:10.2f}" for taken in (one, ours))
        print(f"{way:24}{rates} {one / ours:13.3f}  {how}")
    print("same bytes" if torch.equal(back, host) else "WRONG BYTES", flush=True)


def loaded():
    """berth.load of 2 GiB in pageable memory beside PyTorch's to()."""
    state = {str(i): torch.full((128 * MIB // 4,), float(i)) for i in range(16)}
    state["again"] = state["0"]
    size, found = 2048 * MIB, {}
    plain, ours = medians([
        lambda: [value.to(DEVICE) for value in list(state.values())[:-1]],
        lambda: found.update(berth.load(state, DEVICE))], 3)
    right = found["again"] is found["0"] and all(
        torch.equal(value, state[name].to(DEVICE)) for name, value in found.items())
    print(f"2 GiB of weights: to() {size / plain / 1e9:.2f} GB/s, berth.load {size / ours / 1e9:.2f}"
          f" GB/s, {'same bytes' if right else 'WRONG BYTES'}", flush=True)


class Gpt:
    """A decoder with random weights; one step writes its key and value and attends to all before.

    Weights and KV cache are in pool; None: PyTorch's own memory of the gpu.
    """

    def __init__(self, pool):
        self.bytes = 0
        shapes = [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)]
        kv = (2, HEADS, PAST + STEPS, WIDTH // HEADS)
        self.layers = [([self.make(shape, pool) for shape in shapes], self.make(kv, pool))
                       for _ in range(LAYERS)]
        self.head = self.make((WORDS, WIDTH), pool)
        self.word = torch.zeros(1, dtype=torch.long, device=DEVICE)
        self.at = torch.full((1,), PAST, dtype=torch.long, device=DEVICE)
        self.places = torch.arange(PAST + STEPS, device=DEVICE)

    def make(self, shape, pool):
        torch.manual_seed(math.prod(shape) + self.bytes)
        values = torch.randn(shape, dtype=torch.float16, device=DEVICE) * 0.02
        if pool is not None:
            with torch.cuda.use_mem_pool(pool):
                kept = torch.empty(shape, dtype=torch.float16, device=DEVICE)
            torch.mul(values, 1, out=kept)  # a kernel writes to each kind of memory
            values = kept
        self.bytes += values.numel() * 2
        return values

    def step(self):
        x = self.head[self.word]
        hidden = self.places > self.at
        for (qkv, out, up, down), kv in self.layers:
            normal = torch.nn.functional.layer_norm(x, (WIDTH,))
            q, k, v = (normal @ qkv.T).view(3, HEADS, 1, WIDTH // HEADS)
            kv[0].index_copy_(1, self.at, k)
            kv[1].index_copy_(1, self.at, v)
            scores = (q @ kv[0].transpose(1, 2)) / math.sqrt(WIDTH // HEADS)
            scores = scores.masked_fill(hidden, -math.inf).softmax(-1)
            x = x + (scores @ kv[1]).view(1, WIDTH) @ out.T
            normal = torch.nn.functional.layer_norm(x, (WIDTH,))
            x = x + torch.nn.functional.gelu(normal @ up.T) @ down.T
        self.scores = torch.nn.functional.layer_norm(x, (WIDTH,)) @ self.head.T
        self.word.copy_(self.scores.argmax(-1))
        self.at += 1


def decoded(pool):
    """Milliseconds of a token, bytes of weights and KV cache, and a sum over the last scores,
    which is the same in each placement.

    The step is a CUDA graph, so that launches do not hide the memory's time.
    """
    model = Gpt(pool)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model.step()
    taken = []
    for _ in range(4):
        model.at.fill_(PAST)
        model.word.zero_()
        taken.append(seconds(lambda: [graph.replay() for _ in range(STEPS)]))
    total = float(model.scores.float().abs().sum())
    return statistics.median(taken[1:]) / STEPS * 1e3, model.bytes, total


def predicted(gpu, size, kind):
    """Milliseconds that Allocate predicts for reading all once, and the memory."""
    answer = berth.alloc(size, accesses=[berth.Access(gpu, size, 0)], kinds=[kind],
                         allowed=None)
    if not answer.options:
        return None, "no memory"
    own = [option for option in answer.options if option.memory == gpu and kind == "managed"]
    best = (own + list(answer.options))[0]  # the allocator prefers the gpu's
    return best.predicted.time_ns / 1e6, f"{best.memory}, {best.predicted.source}"


def decoding(gpu, placement):
    pool = None if placement == "torch" else \
        torch.cuda.MemPool(berth.torch_allocator(placement).allocator())
    taken, size, total = decoded(pool)
    text = f"{placement:24} {taken:10.3f} {size / taken / 1e6:10.1f}"
    if placement != "torch":
        expected, where = predicted(gpu, size, placement)
        text += f" {expected:10.3f} {taken / expected:7.2f}  {where}" if expected else f"  {where}"
    print(text, f" sum {total:.2f}", flush=True)


def main():
    begin, failed = time.monotonic(), 0
    torch.cuda.init()
    gpu = gpu_of(torch, DEVICE) or "gpu0"
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)} is {gpu},"
          f" {torch.cuda.device_count()} visible", flush=True)
    sections = [lambda: copies(gpu), lambda: advised(gpu), loaded, lambda: print(
        f"{'GPT, one token':24} {'ms':>10} {'GB/s':>10} {'Allocate':>10} {'ratio':>7}")]
    sections += [lambda p=p: decoding(gpu, p) for p in ("torch", "device", "pinned", "managed")]
    for section in sections:
        try:
            section()
        except Exception:
            failed = 1
            print("FAILED:", traceback.format_exc(limit=-3), flush=True)
        torch.cuda.empty_cache()
    print(f"{time.monotonic() - begin:.0f} s in all")
    return failed


if __name__ == "__main__":
    sys.exit(main())
