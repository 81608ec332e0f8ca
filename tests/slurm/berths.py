"""Judges what tests/slurm/guest.init printed on the emulated machine: berths.py CONSOLE; one TAP line for each check."""
import json
import sys

from console import PREFERRED, Jobs

VISIBLE = "ROCR_VISIBLE_DEVICES"

console = Jobs(sys.argv[1])
check, said, tasks, lines = console.check, console.text, console.tasks, console.lines


def cpus(text):
    return [cpu for part in text.split(",") for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


def is_in_berth(task, plan):
    return (task["cpus"] == cpus(plan["cpus"]) and task["policy"] == PREFERRED and task["nodes"] == sum(1 << int(memory[4:]) for memory in plan["memory"]) and
            all(task.get(key) == value for key, value in plan["environment"].items()) and not any(key in task for key in plan["unset"]))


def follows(part, plan):
    try:
        berths = json.loads(said(plan))["tasks"]
    except ValueError:
        return False
    found = tasks(part)
    return len(found) == 1 and len(found[0]) == len(berths) and all(is_in_berth(found[0][berth["task"]], berth) for berth in berths) and not lines(part)


console.came_through()
check("srun -n8 --gpus=8 without another word: each task has the cpus, the memory and the gpus that berth bind prints", follows("job 8", "plan 8"),
      said("plan 8")[:1500] + "\n" + said("job 8"))
for count in 1, 2:
    found = tasks(f"job {count}")
    check(f"srun -n{count} --gpus=8: all gpus are somebody's, and memory is near the cpus", len(found) == 1 and len(found[0]) == count and
          sum(len(t[VISIBLE].split(",")) for t in found[0].values()) == 8 and all(t["policy"] == PREFERRED and t["nodes"] == 1 << t["cpus"][0] // 2 for t in found[0].values()),
          said(f"job {count}"))
ring = tasks("job ring")
own = [g for n in range(4) for g in ring[0][n][VISIBLE].split(",")[:2]] if ring and len(ring[0]) == 4 else []
check("--berth=pattern=ring,bytes=64M,visible=all: each task has two gpus of its own in front of the others", sorted(own) == [str(n) for n in range(8)] and
      all(len(t[VISIBLE].split(",")) == 8 for t in ring[0].values()) and not lines("job ring"), said("job ring"))
off = tasks("job off")
check("--berth=off leaves the job as Slurm has placed it", len(off) == 1 and all(t["policy"] == 0 and t[VISIBLE] == "0,1" for t in off[0].values()) and not lines("job off"), said("job off"))
check("a word that is wrong is told, and there is no job", not tasks("job wrong") and "pattern takes none, pairs" in said("job wrong"), said("job wrong"))
bound = tasks("job cpus bound")
check("--cpu-bind stays and is told once", len(bound) == 1 and all(bound[0][n]["cpus"] == [7 - n] for n in range(8)) and len(lines("job cpus bound")) == 1 and "cpus" in lines("job cpus bound")[0],
      said("job cpus bound"))
bound = tasks("job gpus bound")
check("--gpu-bind stays and is told once", len(bound) == 1 and [bound[0][n][VISIBLE] for n in range(8)] == [str(7 - n) for n in range(8)] and
      sorted(cpu for t in bound[0].values() for cpu in t["cpus"]) == list(range(8)) and len(lines("job gpus bound")) == 1, said("job gpus bound"))
some = tasks("job some gpus bound")
check("--gpu-bind of some of the step's gpus: each task has the cores next to its own", len(some) == 1 and [some[0][n][VISIBLE] for n in range(4)] == list("1257") and
      len({cpu for t in some[0].values() for cpu in t["cpus"]}) == sum(len(t["cpus"]) for t in some[0].values()) and all(t["policy"] == PREFERRED for t in some[0].values()) and
      [some[0][n]["nodes"] for n in range(4)] == [1 << module for module in (3, 1, 0, 2)] and len(lines("job some gpus bound")) == 1, said("job some gpus bound"))
shared = tasks("share")
check("two jobs on the node have cpus and gpus apart, also with visible=all", len(shared) == 2 and [len(job) for job in shared] == [4, 2] and
      len({cpu for job in shared for t in job.values() for cpu in t["cpus"]}) == 6 and
      not {g for t in shared[0].values() for g in t[VISIBLE].split(",")} & {g for t in shared[1].values() for g in t[VISIBLE].split(",")} and
      all(len(t[VISIBLE].split(",")) == 4 for t in shared[1].values()), said("share"))
for how in "hung", "absent":
    found = tasks(f"job {how}")
    check(f"the daemon {how}: the job runs, with one line", len(found) == 1 and len(found[0]) == 2 and len(lines(f"job {how}")) == 1 and "as Slurm has placed them" in said(f"job {how}"), said(f"job {how}"))

sys.exit(console.end())
