"""What tests/slurm/guest.init printed on the emulated machine, by its parts, and TAP lines of what is checked there."""
import json
import re

PREFERRED = 1


class Console:
    def __init__(self, path):
        self.parts, self.last, self.number, self.failed = {}, None, 0, 0
        text = []
        for line in open(path, encoding="utf-8", errors="replace").read().replace("\r", "").split("\n"):
            if re.search(r"@@ end (\d+)$", line):
                self.parts[self.last] = "\n".join(text).strip()
                self.last = None
            elif match := re.search(r"@@ (.+)$", line):
                self.last, text = match[1], []
            elif self.last is not None:
                text.append(line)

    def check(self, what, good, shown=""):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {what}")
        if not good:
            self.failed += 1
            print("\n".join(f"# {line[:2000]}" for line in str(shown).split("\n")))

    def check_all_ran(self):
        self.check("the machine came up and everything ran", self.last == "done", "\n".join(f"{part}: {text[:400]}" for part, text in self.parts.items()))

    def said(self, part):
        return self.parts.get(part, "it was not reached")

    def tasks(self, part):
        """Of each job by its number, in order, the tasks by their number on the node."""
        found = [json.loads(line[5:]) for line in self.said(part).split("\n") if line.startswith("task {")]
        jobs = sorted({int(task["SLURM_JOB_ID"]) for task in found})
        return [{int(task["SLURM_LOCALID"]): task for task in found if int(task["SLURM_JOB_ID"]) == job} for job in jobs]

    def lines(self, part):
        """What is not from the tasks themselves."""
        return [line for line in self.said(part).split("\n") if line and not line.startswith("task {")]

    def end(self):
        """The exit status."""
        print(f"1..{self.number}")
        return self.failed > 0
