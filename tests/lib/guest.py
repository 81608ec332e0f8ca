"""Output of an emulated machine on its console, and TAP checks of it.

Each part is between "@@ NAME" and "@@ end STATUS" lines.
"""
import json
import re


class Console:
    def __init__(self, path):
        self.parts, self.number, self.failed, self.passed, name, text = {}, 0, 0, [], None, []
        for line in open(path, encoding="utf-8",
                         errors="replace").read().replace("\r", "").split("\n"):
            if match := re.search(r"@@ end (\d+)$", line):
                self.parts[name] = ("\n".join(text).strip(), int(match[1]))
                name = None
            elif match := re.search(r"@@ (.+)$", line):
                name, text = match[1], []
            elif name is not None:
                text.append(line)
        self.last = name

    def said(self, part):
        """Output of that part, and its exit status."""
        return self.parts.get(part, ("it was not reached", -1))

    def reply(self, part):
        try:
            return json.loads(self.said(part)[0])
        except ValueError:
            return {}

    def check(self, what, good, shown=""):
        self.number += 1
        print(line := f"{'ok' if good else 'not ok'} {self.number} - {what}")
        if good:
            self.passed.append(line)
        else:
            self.failed += 1
            print("\n".join(f"# {line[:2000]}" for line in str(shown).split("\n")))

    def came_through(self):
        """Checks that the guest reached its last line."""
        self.check("the machine came up and everything ran", self.last == "done",
                   "\n".join(f"{k}: {v[1]}" for k, v in self.parts.items()))

    def end(self):
        print(f"1..{self.number}")
        return self.failed != 0
