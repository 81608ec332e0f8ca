#!/usr/bin/env python3
"""Judges what tests/package/walker.sh printed on the machine that was set up by the guides: walk.py CONSOLE [PAGE]. PAGE gets what was run and printed."""
import datetime
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from guest import Console

ROOT = HERE.parent.parent
PREFERRED = 1
VISIBLE = "ROCR_VISIBLE_DEVICES"
GUIDES = "ADMIN", "SLURM"
# What apt and dpkg say on the way, in the blocks that call them.
PROGRESS = re.compile(r"^(Get:|Hit:|Selecting |Preparing |Unpacking |Setting up |Reading |Building |Processing |\(Reading |Fetched |debconf: |dpkg-preconfigure|update-alternatives|Need to get|After this|"
                      r"Extracting |N: |The following |Suggested |Recommended |  [a-z]|Scanning )")

console = Console(sys.argv[1])
check, said = console.check, console.said


def blocks(guide):
    """The commands for the node, as tests/package/walk.sh takes them from a guide."""
    return re.findall(r"^```sh node\n(.*?)^```$", (ROOT / f"docs/{guide}.md").read_text(), re.S | re.M)


def cpus(text):
    return [cpu for part in text.split(",") for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


def tasks(part):
    """By their numbers on the node."""
    found = [json.loads(line[5:]) for line in said(part)[0].split("\n") if line.startswith("task {")]
    return {int(task["SLURM_LOCALID"]): task for task in found}


def is_in_berth(task, berth):
    return (task["cpus"] == cpus(berth["cpus"]) and task["policy"] == PREFERRED and task["nodes"] == sum(1 << int(memory[4:]) for memory in berth["memory"]) and
            all(task.get(key) == value for key, value in berth["environment"].items()) and not any(key in task for key in berth["unset"]))


def follows(part):
    berths, found = console.reply("plan").get("tasks", []), tasks(part)
    return len(berths) == len(found) == 8 and all(is_in_berth(found[berth["task"]], berth) for berth in berths)


names = [f"{guide}-{number + 1:02d}" for guide in GUIDES for number in range(len(blocks(guide)))]
ran = [name for name in names if said(name)[1] == 0]
check(f"the {len(names)} code blocks of the guides for a node work on a fresh Debian, one after the other", len(ran) == len(names) > 8,
      "\n".join(f"{name}: {said(name)[1]}\n{said(name)[0][-1500:]}" for name in names if name not in ran))

# The last one is what the guide has an administrator look at.
shown = said(names[-1])[0]
seen = {int(n): (cpus(where), gpus) for n, where, gpus in re.findall(rf"^(\d): Cpus_allowed_list: (\S+) .*{VISIBLE}=(\S+)", shown, re.M)}
planned = {int(n): (cpus(where), gpus) for n, gpus, where in re.findall(r"^ +(\d+)  gpu(\d+) +(\S+) +numa", shown, re.M)}
check("srun -n8 --gpus=8 shows there what berth bind prints", len(seen) == 8 and seen == planned, shown)

check("everything comes up again by itself after a boot", console.last == "done" and said("boot: slurmd")[1] == 0 and said("boot: berthd")[0].split() == ["NRestarts=0", "ActiveState=active"],
      f"{console.last}\n{said('boot: berthd')[0]}\n{said('boot: slurmd')[0]}\n{said('boot: why not')[0]}")
for who in "job", "job of a user":
    check(f"{who}: srun -n8 --gpus=8 gives each task the cpus, the memory and the gpu that berth bind prints", follows(who), said("plan")[0][:1500] + "\n" + said(who)[0])
four = tasks("job of four")
check("a job whose script says more: each of four tasks sees all gpus, two of its own first, on cpus of its own",
      len(four) == 4 and all(sorted(t[VISIBLE].split(",")) == [str(n) for n in range(8)] for t in four.values()) and
      sorted(g for t in four.values() for g in t[VISIBLE].split(",")[:2]) == [str(n) for n in range(8)] and
      all(t["cpus"] for t in four.values()) and len(cores := [c for t in four.values() for c in t["cpus"]]) == len(set(cores)), said("job of four")[0])
opened = said("opens")[0]
check("Slurm's control groups leave a task the gpus of its step alone", re.search(r"^0::/", said("cgroup")[0], re.M) is not None and  # srun may say before that it waits
      len(re.findall(r"^/dev/dri/renderD\d+ .*No such device", opened, re.M)) == 3 and len(re.findall(r"^/dev/dri/renderD\d+ .*not permitted", opened, re.M)) == 5, (said("cgroup")[0], opened))


if len(sys.argv) > 2 and not console.failed:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip() or "not kept"
    parts = [f"# From a fresh Debian to a job\n\n| | |\n|---|---|\n| date | {datetime.date.today():%Y-%m-%d} |\n| machine | a node emulated in software ({said('versions')[0]}) |\n"
             f"| commit | {commit} |\n| command | `make check-walk` |\n\nWhat that ran, and what that printed: the commands of [ADMIN.md](../ADMIN.md) and "
             "[SLURM.md](../SLURM.md), after the packages were built and copied there. Lines in which apt and dpkg tell their progress are left out. The GPUs are those of the virtual node, and what was measured are figures of an emulator. "
             "Tasks may wait for their berths up to 30 s there (timeout_ms=30000 behind the plugin's line), eight cpus being emulated by those of a host that has other things to do.\n"]
    for guide in GUIDES:
        parts.append(f"## {guide}.md\n")
        for number, block in enumerate(blocks(guide)):
            lines = [line.rstrip() for line in said(f"{guide}-{number + 1:02d}")[0].split("\n")]
            if "apt-get" in block:
                lines = [line for line in lines if line and not PROGRESS.match(line)]
            commands = "".join(f"# {line}\n" for line in block.splitlines())
            parts.append(f"```\n{commands}" + "".join(f"{line}\n" for line in lines).lstrip("\n") + "```\n")
    parts.append("## After another boot\n")
    for title, part in (("systemctl show berthd.service -p ActiveState -p NRestarts", "boot: berthd"), ("sinfo -h -o %t        # until it is idle", "boot: slurmd"), ("berth bind -n 8", "plan shown"),
                        ("srun -n8 --gpus=8 /walk/app        # tests/slurm/app.c", "job")):
        parts.append(f"```\n# {title}\n{said(part)[0]}\n```\n")
    parts.append("What was judged by all that (tests/package/walk.py):\n\n```\n" + "\n".join(console.passed) + "\n```\n")
    pathlib.Path(sys.argv[2]).write_text("\n".join(parts))
sys.exit(console.end())
