"""Judges what tests/slurm/guest.init printed where Slurm constrains devices: constrained.py CONSOLE VERSION NODE; one TAP line for each check."""
import json
import re
import sys

from console import PREFERRED, Jobs

VERSION, NODE = sys.argv[2:]
IS_AMD = NODE == "mi250x"
VISIBLE = "ROCR_VISIBLE_DEVICES" if IS_AMD else "CUDA_VISIBLE_DEVICES"
HALF = 4 if IS_AMD else 2  # of the node's gpus: the first job has the first half, the second job the next two
NEXT = [HALF, HALF + 1]

console = Jobs(sys.argv[1])
check, said, lines = console.check, console.text, console.lines


def tasks(part):
    """A part here is of one job."""
    found = console.tasks(part)
    return found[0] if len(found) == 1 else {}


def names(gpus, first_of_job):
    """By which berth names gpus to a task: AMD's without a UUID count within the job."""
    return [str(gpu - first_of_job) if IS_AMD else f"GPU-00000000-0000-0000-0000-{gpu:012}" for gpu in gpus]


def memory_near(cpu):
    """The mask of the NUMA node that the virtual node has the cpu in."""
    return 1 << cpu // 2 if IS_AMD else 1


console.came_through()
first = tasks("first")
check("a job of the first half of the gpus may open these alone, and sees them", len(first) == 1 and first[0]["devices"] == list(range(HALF)) and
      sorted(str(first[0].get(VISIBLE)).split(",")) == names(range(HALF), 0) and not lines("first"), said("first") + said("output of slurmd"))
taken = set(first[0]["cpus"]) if first else set()
for part, what in (("second", "each task has one of them"), ("second free", "also with --cpu-bind=none --gpu-bind=none, which leaves no variables"), ("second exec", "and by berth exec")):
    found = tasks(part)
    check(f"a second job may open the next two gpus, which count from 0 in it; {what}", len(found) == 2 and all(task["devices"] == NEXT for task in found.values()) and
          sorted(str(task.get(VISIBLE)) for task in found.values()) == names(NEXT, HALF) and not lines(part), said(part))
    check(f"{part}: its tasks have cpus of their own, away from the first job's, and memory there", len(found) == 2 and not taken & {cpu for task in found.values() for cpu in task["cpus"]} and
          not set(found[0]["cpus"]) & set(found[1]["cpus"]) and all(task["policy"] == PREFERRED and task["nodes"] == memory_near(task["cpus"][0]) for task in found.values()), said(part))
found = tasks("second all")
check("visible=all: both, its own first", sorted(str(task.get(VISIBLE)) for task in found.values()) == [",".join(names(pair, HALF)) for pair in (NEXT, NEXT[::-1])], said("second all"))
found = tasks("second bound")
own = [task["devices"] for _, task in sorted(found.items())]
check("berth exec where each task may open only the gpu that Slurm has bound it to: berths from one plan for both", sorted(own) == [[gpu] for gpu in NEXT] and
      lines("second bound") == [f"berth: slurm has bound its tasks, and that stays: task 0 to gpus gpu{own[0][0]}"] and not set(found[0]["cpus"]) & set(found[1]["cpus"]) and
      all(task[VISIBLE] == "0" and task["policy"] == PREFERRED and task["nodes"] == memory_near(task["cpus"][0]) for task in found.values()), said("second bound"))
found = tasks("second off")
check("--berth=off: both, as Slurm has it", len(found) == 2 and all(task.get(VISIBLE) == "0,1" and task["policy"] == 0 for task in found.values()), said("second off"))
claims = [claim for claim in json.loads(said("claims"))["claims"] if claim["key"] == "slurm/1"] if said("claims").startswith("{") else []
is_owned = bool(claims) and re.search(r"/(job_1|s[0-9A-Z]{13})$", claims[0]["owner_cgroup"] or "") is not None
gpus = [place for place in claims[0]["places"] if place.startswith("gpu")] if claims else []  # none where the prolog's tenth of a second was too short for an emulated machine
check("the first job's claim has its cores beside what its prolog has claimed" + (", and ends with its cgroup" if VERSION == "v2" else ""), len(claims) == 1 and
      gpus in ([], [f"gpu{n}" for n in range(HALF)]) and len(taken) > 0 and {f"core{cpu}" for cpu in taken} <= set(claims[0]["places"]) and
      is_owned == (VERSION == "v2"), said("claims"))
check("no claim is left", said("claims after").startswith('{"claims":[],'), said("claims after"))

sys.exit(console.end())
