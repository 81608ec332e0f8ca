#!/usr/bin/env python3
"""Judges what tests/package/diskless.sh printed at three boots: deploy.py CONSOLE CHECKS_BEFORE FOLDER, the folder of the baselines."""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from guest import Console

consoles = {}
for part in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace").split("@@@ ")[1:]:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(part.partition("\n")[2])
        file.flush()
        consoles[part.partition("\n")[0].strip()] = Console(file.name)
number = failed = 0


def check(what, good, shown=""):
    console.number = int(sys.argv[2]) + number
    console.check(what, good, shown)
    return 1, not good


for boot, console in consoles.items():
    log = console.said("log")[0]
    for what, good, shown in (
            (f"{boot}: it came up", console.last == "done" and "ActiveState=active" in console.said("service")[0] and "NRestarts=0" in console.said("service")[0], (console.said("service"), log)),
            (f"{boot}: the shared folder is there", " 9p " in console.said("share")[0], console.said("share")),
            (f"{boot}: it says a verdict", console.reply("verdict").get("verdict") in ("healthy", "degraded", "unhealthy"), console.said("verdict")),
            (f"{boot}: its baseline is accepted and written", console.said("accept")[1] == 0 and
             re.search(rf"^-rw-r----- 1 990 990 .* {boot[:2]}\.baseline$", console.said("folder")[0], re.M),
             (console.said("accept"), console.said("folder"), log))):
        more, bad = check(what, good, shown)
        number, failed = number + more, failed + bad
    expected = console.reply("expected")
    if boot == "n1":
        what, good = "n1: the first node of its class finds no baseline", expected == {"file": None, "series": []}
    else:
        what = f"{boot}: with an empty state directory it has " + ("the baseline of its class" if boot == "n7" else "its own baseline, from before")
        good = (expected.get("file") == "n7.baseline") == (boot == "n7 again") and bool(expected.get("series")) and \
            all(baseline and baseline["begun_at_s"] == begun for begun, baseline in expected["series"])
    more, bad = check(what, good, (console.said("expected"), log))
    number, failed = number + more, failed + bad
files = sorted(path.name for path in pathlib.Path(sys.argv[3]).iterdir())
more, bad = check("the folder has the baselines of the class and of n7, and nothing else", len(files) == 2 and files[1] == "n7.baseline", files)
number, failed = number + more, failed + bad
print(f"1..{int(sys.argv[2]) + number}")
sys.exit(failed > 0)
