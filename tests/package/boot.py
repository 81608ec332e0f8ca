#!/usr/bin/env python3
"""Judges what tests/package/guest.sh printed on the machine that the packages were booted on: boot.py CONSOLE."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from guest import Console

console = Console(sys.argv[1])
check, said, reply = console.check, console.said, console.reply


def properties(part):
    return dict(line.split("=", 1) for line in said(part)[0].split("\n") if "=" in line)


console.came_through()
log = said("log")[0]

service, socket = properties("service"), properties("socket")
check("installing the package has enabled service and socket", service.get("UnitFileState") == socket.get("UnitFileState") == "enabled", (service, socket))
check("the service came up at boot, at the first try", service.get("ActiveState") == "active" and service.get("SubState") == "running" and service.get("NRestarts") == "0", (service, log))

status = reply("slurmd's status")
check("slurmd.service begins when the daemon is ready", status.get("state") == "ready", said("slurmd's status")[0])
values = [c["value"] for c in reply("slurmd's matrix").get("cells", []) if c["value"] is not None]
check("and finds the node measured", len(values) > 0 and all(v > 0 for v in values), (said("slurmd's matrix")[0], log))

process = said("process")[0]
fields = dict(re.findall(r"^(\w+):\t(.*)$", process, re.M))
check("the daemon is nobody's but its own: no root, no capability, no new privileges, system calls filtered",
      fields.get("Uid", "0").split()[0] != "0" and int(fields.get("CapEff", "1"), 16) == 0 and fields.get("NoNewPrivs") == "1" and fields.get("Seccomp") == "2", process)
files = said("files")[0]
check("everybody may ask at the socket, and what is kept is the daemon's alone",
      re.search(r"^srw-rw-rw- .* /run/berth/berth\.sock$", files, re.M) and re.search(r"^drwxr-x--- \d+ berth berth .* /var/lib/berth$", files, re.M) and
      re.search(r"^-rw-r----- \d+ berth berth .* /var/lib/berth/berth\.db$", files, re.M), files)
hwloc = said("hwloc")[0]
check("the daemon keeps hwloc's file beside the socket, and everybody's tasks load it",
      re.search(r"^-rw-r--r-- \d+ berth berth .* /run/berth/hwloc\.xml$", hwloc, re.M) and "\nHWLOC_XMLFILE=/run/berth/hwloc.xml\n" in hwloc + "\n", hwloc)
gpus = [p for p in reply("topology").get("places", []) if p["kind"] == "gpu"]
check("the daemon discovers gpus through the driver's sysfs tree from within the sandbox", len(gpus) == 8, (len(gpus), said("topology")[0][:1500]))

parts = said("inside")[0].split("\n-\n")
check("a program and both probes ran inside the sandbox", said("sandbox")[1] == 0 and len(parts) == 4, (said("sandbox")[0], said("inside")[0][-1500:]))
wanted, refused, cpu, gpu = (parts + [""] * 4)[:4]
wanted = dict(line.rsplit(": ", 1) for line in wanted.split("\n") if ": " in line)
for what, answer in wanted.items():
    check(f"in the sandbox one can {what}", answer == "yes", answer)
check("of those none was left out", {"write /dev/kfd", "write /dev/dri/renderD128", "write /dev/nvidiactl", "read /sys/class/kfd/kfd/topology/nodes/4/properties", "pin 256 MiB",
                                     "execute what was written", "execute a file of /tmp", "start a compiler", "bind memory", "move pages", "meet on the loopback interface"} <= set(wanted), wanted)
check("memory may be pinned without a limit", "memlock unlimited" in refused, refused)
check("the service's user is in the groups of GPUs' device nodes", re.search(r"^id uid=\d+\(berth\).*\(video\).*\(render\)|^id uid=\d+\(berth\).*\(render\).*\(video\)", refused, re.M), refused)
tried = dict(line.rsplit(": ", 1) for line in refused.split("\n") if ": " in line)
for what, answer in tried.items():
    check(f"in the sandbox one cannot {what}", answer != "yes", answer)
check("of those none was left out", {"write /etc/inside", "write /proc/sys/kernel/panic", "read /home/.public", "read /etc/shadow", "mount", "become root", "make a namespace", "trace others", "reach another address"} <= set(tried), tried)
check("what goes to another address is dropped on the way", tried.get("reach another address") == "Operation now in progress", tried)


def records(text):
    found = []
    for line in text.split("\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


measured = [r for r in records(cpu) if r.get("record") == "value" and r.get("metric") == "memory_latency"]
check("the CPU probe measures inside the sandbox", measured and records(cpu)[-1].get("status") in ("complete", "budget"), cpu[-1500:])
copies = [r for r in records(gpu) if r.get("record") == "value" and r.get("metric") == "host_gpu_copy_engine"]
check("the GPU probe measures inside the sandbox, on a stand-in for the driver", len(copies) > 10 and "gpu probe ended with 0" in gpu, gpu[-1500:])

check("it is reloaded", said("reload")[1] == 0 and "configuration read again" in log, (said("reload"), log))
killed = properties("killed")
check("it is started anew after it was killed", killed.get("ActiveState") == "active" and killed.get("NRestarts") == "1", killed)
check("the watchdog leaves a daemon alone that works", said("watched")[1] == 0, said("watched"))
hung = properties("hung")
check("and ends one that hangs, which is started anew", hung.get("ActiveState") == "active" and int(hung.get("NRestarts", 0)) >= 1 and "atchdog" in log, (hung, log))
check("nothing of it runs on when it is stopped", said("stopped") == ("", 0), said("stopped"))
check("who asks then has it started by the socket", said("woken")[1] == 0 and said("woken service")[0] == "active", (said("woken"), said("woken service")))
check("and when the socket is stopped too, nothing is left", said("gone") == ("", 0) and said("the socket")[1] == 1, (said("gone"), said("the socket")))
sys.exit(console.end())
