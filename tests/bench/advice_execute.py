"""Carries transfers out on a virtual node by advice_run, a program that calls the driver as an application would."""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parent.parent / "build")).resolve()
BATCH = 128
ROUNDS = 6  # of carrying out what is compared; even, as halves of them are


class Executor:
    """The program on the GPUs that its driver shows. tries: how often a step is carried out to take the median, after once for nothing; 1: there is no noise."""

    def __init__(self, command, environment, tries=1):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.tries = tries
        self.known = {}
        self.count = 0
        self.seen_ns = 0
        self.others = {}

    def carry_out(self, lines, times):
        """A list of nanoseconds for each line."""
        for first in range(0, len(lines), BATCH):
            batch = lines[first:first + BATCH]
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write("".join(line.replace(" ", f" {times} ", 1) + "\n" for line in batch))
                self.process.stdin.flush()
            for line in batch:
                answer = self.process.stdout.readline().split()
                if len(answer) != times:
                    with contextlib.suppress(BrokenPipeError):
                        self.process.stdin.close()
                    sys.exit(f"advice_run ended with {self.process.wait(30)} at: {line}")
                self.count += 1
                yield [float(ns) + self.seen_ns for ns in answer]

    def run(self, steps, repeats=1):
        """The nanoseconds of each of the steps, (mode, flows, other flows); lists where they are repeated. A step that was carried out once is not again, unless it is repeated."""
        lines = [f"{mode} {' '.join(flows)}{' | ' + ' '.join(others) if others else ''}" for mode, flows, others in steps]
        if repeats > 1:
            return list(self.carry_out(lines, repeats))
        todo = list(dict.fromkeys(line for line in lines if line not in self.known))
        warm = self.tries > 1
        for line, took in zip(todo, self.carry_out(todo, self.tries + warm)):
            self.known[line] = statistics.median(took[warm:])
        return [self.known[line] for line in lines]

    def compared(self, steps):
        """{name: rounds of nanoseconds} of named steps, carried out in turn, round after round. Where there is no noise, each once. Nothing moves in a step without flows."""
        lines = {name: f"{mode} {' '.join(flows)}{' | ' + ' '.join(others) if others else ''}" for name, (mode, flows, others) in steps.items()}
        if self.tries == 1:
            return {name: [self.run([steps[name]]) if steps[name][1] else [0.0]] for name in steps}
        moving = list(dict.fromkeys(lines[name] for name in steps if steps[name][1]))
        rounds = [dict(zip(moving, self.carry_out(moving, self.tries + 1))) for _ in range(ROUNDS)]
        return {name: [took[line][1:] if line in took else [0.0] * self.tries for took in rounds] for name, line in lines.items()}

    def callers(self, count):
        """The executor for steps that so many callers begin. Real ones are threads or processes."""
        return self

    def steps(self):
        """How many were carried out."""
        return self.count + sum(other.count for other in self.others.values())

    def close(self):
        for other in self.others.values():
            other.close()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


class Virtual(Executor):
    """On a node that the description's text says; bytes that really move are few, because only times count here.

    The virtual clock is one for all threads, so callers take turns, and calls by which one starts transfers and looks at them take as much less as there are callers; what seeing the
    end takes, which each does for itself, is added once."""

    def __init__(self, path, text, tries=1, seen_ns=0):
        self.path, self.text = path, text
        path.write_text(text + "bytes 64\n")
        super().__init__([HERE.parent / "standin/run.sh", path, BUILD / "bench/advice_run", "--in-turn"], {"STANDIN": str(BUILD / "standin")}, tries)
        self.seen_ns = seen_ns

    def callers(self, count):
        if count > 1 and count not in self.others:
            calls = [line.split() for line in self.text.splitlines() if line.startswith("call ")]
            shared = "".join(f"call {group} {float(ns) / count:g}\n" for _, group, ns in calls if group in ("copy", "launch", "query", "event", "device"))
            seen_ns = next((float(ns) for _, group, ns in calls if group == "sync"), 0)
            self.others[count] = Virtual(self.path.with_suffix(f".{count}.node"), self.text + shared + "call sync 0\n", self.tries, seen_ns)
        return self.others.get(count, self)


def flat(rounds):
    return [ns for took in rounds for ns in took]


def halves(rounds):
    """How far the medians of every other round and of those between differ, as a share: what two equal choices may differ by. None of one round."""
    if len(rounds) < 2:
        return None
    even, odd = (statistics.median(flat(rounds[k::2])) for k in (0, 1))
    return abs(even / odd - 1) if even > 0 and odd > 0 else 0.0


def judged(run, noisy, steps, again):
    """What judges say of named steps: "advised", of what was found the "fastest" and the "worst", and the others, which are rivals. All times come from the same rounds: the least of many noisy ones,
    by which something was found the fastest, is less than that takes again. again: how often noisy, where it is another executor, carries out the advised one, which is how the prediction is judged."""
    rounds = run.compared(steps)
    took = {name: statistics.median(flat(own)) for name, own in rounds.items()}
    repeats = flat(rounds["advised"]) if run is noisy else noisy.run([steps["advised"]], again)[0] if steps["advised"][1] else [0.0] * again
    return {"took_ns": took["advised"], "best_ns": min(took["advised"], took["fastest"]), "worst_ns": took["worst"], "rivals": {name: ns for name, ns in took.items() if name not in ("advised", "fastest", "worst")},
            "again_ns": repeats, "halves": {name: halves(rounds[name]) for name in ("advised", "fastest")}}


def hop(kind, source, target, driver=None):
    """A copy between two memories, "gpu3" or "numa1", by the engine ("e") or by a kernel ("k") of driver: the source where that is a gpu, else the target."""
    if driver is None:
        driver = source if source.startswith("gpu") else target
    short = [name[3:] if name.startswith("gpu") else "h" + name[4:] for name in (source, target)]
    return f"{kind}:{short[0]}:{short[1]}:{driver[3:]}"


def together(callers):
    """The flows of a step, of which each caller has some."""
    return [word for i, flows in enumerate(flows for flows in callers if flows) for word in ([";"] if i > 0 else []) + flows]


def flow(size, hops, chunk=0):
    return f"{size}/{chunk}/{','.join(hops)}"
