"""Judges what tests/slurm/guest.init printed where Slurm constrains devices: constrained.py CONSOLE VERSION; one TAP line for each check."""
import json
import re
import sys

PREFERRED = 1
VISIBLE = "ROCR_VISIBLE_DEVICES"

parts = {}
name = None
for line in open(sys.argv[1], encoding="utf-8", errors="replace").read().replace("\r", "").split("\n"):
    if match := re.search(r"@@ end (\d+)$", line):
        parts[name] = "\n".join(text).strip()
        name = None
    elif match := re.search(r"@@ (.+)$", line):
        name, text = match[1], []
    elif name is not None:
        text.append(line)

number = failed = 0


def check(what, good, shown=""):
    global number, failed
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    if not good:
        failed += 1
        print("\n".join(f"# {line[:1000]}" for line in str(shown).split("\n")))


def said(part):
    return parts.get(part, "it was not reached")


def tasks(part):
    return {int(task["SLURM_LOCALID"]): task for line in said(part).split("\n") if line.startswith("task {") for task in [json.loads(line[5:])]}


def lines(part):
    return [line for line in said(part).split("\n") if line and not line.startswith("task {")]


check("the machine came up and everything ran", name == "done", "\n".join(f"{part}: {text[:400]}" for part, text in parts.items()))
first = tasks("first")
check("a job of the first four gpus may open these alone, and sees them", len(first) == 1 and first[0]["devices"] == [0, 1, 2, 3] and
      sorted(first[0][VISIBLE].split(",")) == list("0123") and not lines("first"), said("first") + said("output of slurmd"))
taken = set(first[0]["cpus"]) if first else set()
for part, what in (("second", "each task has one of them"), ("second free", "also with --cpu-bind=none --gpu-bind=none, which leaves no variables"), ("second exec", "and by berth exec")):
    found = tasks(part)
    check(f"a second job may open the next two gpus, which count from 0 in it; {what}", len(found) == 2 and all(task["devices"] == [4, 5] for task in found.values()) and
          sorted(task.get(VISIBLE) for task in found.values()) == ["0", "1"] and not lines(part), said(part))
    check(f"{part}: its tasks have cpus of their own, away from the first job's, and memory there", len(found) == 2 and not taken & {cpu for task in found.values() for cpu in task["cpus"]} and
          not set(found[0]["cpus"]) & set(found[1]["cpus"]) and all(task["policy"] == PREFERRED and task["nodes"] == 1 << task["cpus"][0] // 2 for task in found.values()), said(part))
found = tasks("second all")
check("visible=all: both, its own first", sorted(task.get(VISIBLE) for task in found.values()) == ["0,1", "1,0"], said("second all"))
found = tasks("second off")
check("--berth=off: both, as Slurm has it", len(found) == 2 and all(task[VISIBLE] == "0,1" and task["policy"] == 0 for task in found.values()), said("second off"))
claims = [claim for claim in json.loads(said("claims"))["claims"] if claim["key"] == "slurm/1"] if said("claims").startswith("{") else []
is_owned = bool(claims) and re.search(r"/job_1$", claims[0]["owner_cgroup"] or "") is not None
gpus = [place for place in claims[0]["places"] if place.startswith("gpu")] if claims else []  # none where the prolog's tenth of a second was too short for an emulated machine
check("the first job's claim has its cores beside what its prolog has claimed" + (", and ends with its cgroup" if sys.argv[2] == "v2" else ""), len(claims) == 1 and
      gpus in ([], [f"gpu{n}" for n in range(4)]) and len(taken) > 0 and {f"core{cpu}" for cpu in taken} <= set(claims[0]["places"]) and
      is_owned == (sys.argv[2] == "v2"), said("claims"))
check("no claim is left", said("claims after") == '{"claims":[]}', said("claims after"))

print(f"1..{number}")
sys.exit(failed > 0)
