#!/usr/bin/env python3
"""Judges what tests/numa/guest.sh printed on the emulated machine: check.py CONSOLE; one TAP line for each check."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from guest import Console

NODES = {f"numa{n}" for n in range(4)}
CPU_NODES = {0: 0, 2: 1, 4: 2}  # the first cpu of each node that has some
DISTANCE = {(0, 0): 10, (0, 1): 12, (0, 2): 20, (0, 3): 17, (1, 1): 10, (1, 2): 14, (1, 3): 28, (2, 2): 10, (2, 3): 11, (3, 3): 10}

console = Console(sys.argv[1])
check, said, reply = console.check, console.said, console.reply


def memories(part):
    return [option["memory"] for option in reply(part).get("options", [])]


def cells(part, **axes):
    return [c for c in reply(part).get("cells", []) if c["value"] is not None and all(c["axes"].get(k) == v for k, v in axes.items())]


console.came_through()

places = reply("topology").get("places", [])
numa = {p["name"]: p for p in places if p["kind"] == "numa"}
check("the daemon sees four NUMA nodes, and cores in three", set(numa) == NODES and
      {n for n in NODES if any(p["kind"] == "core" and p["numa"] == n for p in places)} == NODES - {"numa3"}, said("topology")[0])
check("the one of memory alone has memory", (numa.get("numa3", {}).get("capacity_bytes") or 0) > 400 << 20, numa.get("numa3"))

for cpu, node in CPU_NODES.items():
    text, status = said(f"unmeasured, cpu {cpu}")
    check(f"unmeasured: from cpu {cpu} the nearest node, numa{node}, is advised and the pages are there",
          status == 0 and f"advised numa{node} " in text and text.endswith("4096 of 4096 pages there"), text)

check("the quick profile was measured and stored", reply("status").get("state") == "ready" and reply("status").get("store") == "ok", said("status")[0])
log, _ = said("log of the measured one")
check("without an error", "complete" in log and "no records" not in log, log)
for metric in "memory_latency", "memory_bandwidth":
    seen = cells(f"matrix {metric}")
    check(f"{metric} was measured to all four nodes, from places with cores alone",
          {c["to"] for c in seen} == NODES and not any(c["from"] == "numa3" for c in seen), said(f"matrix {metric}")[0])
# The emulator's CPUs run at the same time only where the real machine has some to spare.
between = [c for c in reply("matrix cpu_pingpong").get("cells", []) if {c["from"], c["to"]} == {"core0", "core4"}]
check("cpu_pingpong was measured between cores of different nodes, or says that they do not run at the same time",
      between and all(c["value"] is not None or "do not run at the same time" in (c["why_not"] or "") for c in between), said("matrix cpu_pingpong")[0])

for cpu in CPU_NODES:
    options = reply(f"answer, cpu {cpu}").get("options", [])
    times = [o["predicted"] for o in options if o["predicted"]]
    # The emulator's four memories are one: the nearest goes first of those whose times are equal within their errors.
    check(f"measured: from cpu {cpu} all four memories have a price, none that is surely cheaper behind another",
          len(times) == 4 and not any(later["high_ns"] < one["low_ns"] for i, one in enumerate(times) for later in times[i + 1:]) and {o["memory"] for o in options} == NODES, said(f"answer, cpu {cpu}")[0])
    text, status = said(f"measured, cpu {cpu}")
    check(f"measured: from cpu {cpu} the advice is followed and the pages are there",
          status == 0 and re.search(r"advised numa[0-3] \(numa_alloc_onnode\(16777216, [0-3]\)\), 4096 of 4096 pages there$", text), text)
check("the answer for numa1 cites values from numa1's cores",
      all(e["from"] in ("numa1", "llc2", "llc3") for o in reply("answer by numa1").get("options", [{"evidence": [{"from": "none"}]}]) for e in o["evidence"]),
      said("answer by numa1")[0])

for cpus, mems, nodes in ("2-3", "1", {"numa1"}), ("0-1", "3", {"numa3"}), ("4-5", "0,2", {"numa0", "numa2"}):
    part = f"in cgroup {cpus} {mems}"
    check(f"a cgroup with cpus {cpus} and memory {mems} is offered no other", set(memories(f"answer {part}")) == nodes, said(f"answer {part}")[0])
for part, node in ("follow in cgroup 2-3 1", "numa1"), ("follow in cgroup 0-1 3", "numa3"):
    text, status = said(part)
    check(f"{part}: the pages are on {node}", status == 0 and f"advised {node} " in text and "4096 of 4096" in text, text)

tasks = reply("bind in cgroup 2-3,5 1-2").get("tasks", [])
check("Bind in a cgroup gives its three cores, one to each task, and its memory alone",
      sorted(t["cpus"] for t in tasks) == ["2", "3", "5"] and all(set(t["memory"]) <= {"numa1", "numa2"} for t in tasks), said("bind in cgroup 2-3,5 1-2")[0])
text, status = said("bind too many")
check("more tasks than the cgroup has cores are refused in one line", status == 65 and "2" in text and text.splitlines()[-1].startswith("berth: 3 tasks need"), text)

narrow = reply("narrow topology").get("places", [])
check("a daemon whose own cgroup is narrow sees the whole node",
      {p["name"] for p in narrow if p["kind"] == "numa"} == NODES and sum(p["kind"] == "core" for p in narrow) == 6, said("narrow topology")[0])
seen = cells("narrow matrix")
check("it measures what it may use", {c["to"] for c in seen} == {"numa0", "numa1"} and {c["from"] for c in seen} <= {f"llc{n}" for n in range(4)} and seen,
      said("narrow matrix")[0])
log, _ = said("narrow log")
check("and says nothing that is no record", "complete" in log and "no records" not in log, log)

sys.exit(console.end())
