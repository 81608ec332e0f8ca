"""runs_node.py FOLDER: writes a node of eight gpus, two on each of four packages, with 3,000 runs
of concurrent transfers. Figures are invented; the origin is standin.
"""
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "bench"))
from hive_node import Hives  # noqa: E402

RUNS = 3000


class ManyRuns(Hives):
    def sets(self, pairs, draw):
        """All sets of the probe, then different ones of three to six transfers each, drawn."""
        kept = list(super().sets(None, draw))
        every = list(itertools.permutations(range(self.count), 2))
        seen = set()
        while len(kept) < RUNS:
            flows = sorted(draw.sample(every, draw.randrange(3, 7)))
            if tuple(flows) not in seen:
                seen.add(tuple(flows))
                kept.append(flows)
        yield from kept


if __name__ == "__main__":
    ManyRuns([2, 2, 2, 2]).write(sys.argv[1])
