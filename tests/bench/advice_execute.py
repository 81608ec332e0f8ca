"""Carries transfers out on a virtual node by advice_run, a program that calls the driver as an application would."""
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parent.parent / "build")).resolve()
BATCH = 128


class Executor:
    """The program on a node that the description's text says; bytes that really move are few, because only times count here."""

    def __init__(self, path, text):
        path.write_text(text + "bytes 64\n")
        self.process = subprocess.Popen([HERE.parent / "standin/run.sh", path, BUILD / "bench/advice_run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "STANDIN": str(BUILD / "standin")})
        self.known = {}
        self.count = 0

    def run(self, steps, repeats=1):
        """The nanoseconds of each of the steps, each of them (mode, flows, other flows); lists where they are repeated. A step that was carried out once is not again."""
        lines = [f"{mode} {repeats} {' '.join(flows)}{' | ' + ' '.join(others) if others else ''}" for mode, flows, others in steps]
        todo = list(dict.fromkeys(line for line in lines if line not in self.known))
        for first in range(0, len(todo), BATCH):
            batch = todo[first:first + BATCH]
            self.process.stdin.write("".join(line + "\n" for line in batch))
            self.process.stdin.flush()
            for line in batch:
                answer = self.process.stdout.readline().split()
                assert len(answer) == repeats, f"advice_run ended at: {line}"
                self.known[line] = [float(ns) for ns in answer]
        self.count += len(todo)
        return [self.known[line] if repeats > 1 else self.known[line][0] for line in lines]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


def hop(kind, source, target, driver=None):
    """A copy between two memories, "gpu3" or "numa1", by the engine ("e") or by a kernel ("k") of driver: the source where that is a gpu, else the target."""
    if driver is None:
        driver = source if source.startswith("gpu") else target
    short = [name[3:] if name.startswith("gpu") else "h" + name[4:] for name in (source, target)]
    return f"{kind}:{short[0]}:{short[1]}:{driver[3:]}"


def flow(size, hops, chunk=0):
    return f"{size}/{chunk}/{','.join(hops)}"
