"""Carries transfers out on a virtual node by advice_run, a program that calls the driver as an application would."""
import os
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parent.parent / "build")).resolve()
BATCH = 128


class Executor:
    """The program on the GPUs that its driver shows. tries: how often a step is carried out to take the median, after once for nothing."""

    def __init__(self, command, environment, tries=1):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.tries = tries
        self.known = {}
        self.count = 0

    def carry_out(self, lines, times):
        """A list of nanoseconds for each line."""
        for first in range(0, len(lines), BATCH):
            batch = lines[first:first + BATCH]
            self.process.stdin.write("".join(line.replace(" ", f" {times} ", 1) + "\n" for line in batch))
            self.process.stdin.flush()
            for line in batch:
                answer = self.process.stdout.readline().split()
                assert len(answer) == times, f"advice_run ended at: {line}"
                self.count += 1
                yield [float(ns) for ns in answer]

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

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


def virtual(path, text, tries=1):
    """On a node that the description's text says; bytes that really move are few, because only times count here."""
    path.write_text(text + "bytes 64\n")
    return Executor([HERE.parent / "standin/run.sh", path, BUILD / "bench/advice_run"], {"STANDIN": str(BUILD / "standin")}, tries)


def hop(kind, source, target, driver=None):
    """A copy between two memories, "gpu3" or "numa1", by the engine ("e") or by a kernel ("k") of driver: the source where that is a gpu, else the target."""
    if driver is None:
        driver = source if source.startswith("gpu") else target
    short = [name[3:] if name.startswith("gpu") else "h" + name[4:] for name in (source, target)]
    return f"{kind}:{short[0]}:{short[1]}:{driver[3:]}"


def flow(size, hops, chunk=0):
    return f"{size}/{chunk}/{','.join(hops)}"
