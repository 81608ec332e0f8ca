"""The jobs of tests/slurm/guest.init: what their tasks printed."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from guest import Console  # noqa: E402

PREFERRED = 1


class Jobs(Console):
    def text(self, part):
        return self.said(part)[0]

    def tasks(self, part):
        """Of each job by its number, in order, the tasks by their number on the node."""
        found = [json.loads(line[5:]) for line in self.text(part).split("\n") if line.startswith("task {")]
        jobs = sorted({int(task["SLURM_JOB_ID"]) for task in found})
        return [{int(task["SLURM_LOCALID"]): task for task in found if int(task["SLURM_JOB_ID"]) == job} for job in jobs]

    def lines(self, part):
        """What is not from the tasks themselves."""
        return [line for line in self.text(part).split("\n") if line and not line.startswith("task {")]
