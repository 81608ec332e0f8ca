#!/usr/bin/env python3
"""What the GPU probe's kernels wait for on this machine's first GPU, by CUPTI: own memory, the host's, and another GPU's where there is one.

Prints the shares of each kernel. Exit status: 0 each kernel was sampled, its sampled rate is at least half of its own, and a kernel on the host's memory waits for memory
more than for anything else; 1 not; 75 nothing could be sampled, with the reason; 64 wrong usage; 70 the probe did not run.
"""
import argparse
import json
import subprocess
import sys

MEMORY = {"long_scoreboard", "lg_throttle", "drain", "membar", "mio_throttle"}
ISSUES = {"selected", "not_selected"}


def records(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        print(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        sys.exit(70)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", default="build/bin/berth-probe-gpu")
    parser.add_argument("--gpus", type=lambda text: text.split(","), help="PCI addresses; those that the drivers name by default")
    parser.add_argument("--json", action="store_true", help="print the probe's records, too")
    options = parser.parse_args()
    gpus = options.gpus or [record["pci"] for record in records(options.probe, "--facts") if record["record"] == "device" and record.get("vendor") == "nvidia"]
    if not gpus:
        print("nothing was sampled: there is no GPU of NVIDIA")
        return 75
    wrong, reasons = [], set()
    for target in [gpus[0], "numa0", *gpus[1:2]]:
        for record in records(options.probe, "--explain", f"{gpus[0]},{target}"):
            if options.json:
                print(json.dumps(record))
            name = f"{record['operation']} on the memory of {'itself' if target == gpus[0] else target}"
            if "stalls" not in record:
                reasons.add(record.get("why", "no reason"))
                wrong.append(f"{name}: not sampled")
                print(f"{name}: {record.get('bytes_per_s', 0) / 1e9:.0f} GB/s; {record.get('why')}")
                continue
            shares = sorted(((count / max(record["samples"], 1), reason) for reason, count in record["stalls"].items()), reverse=True)
            print(f"{name}: {record['bytes_per_s'] / 1e9:.1f} GB/s, under sampling {record['sampled_bytes_per_s'] / 1e9:.1f}; {record['samples']} samples, "
                  f"{record['dropped']} lost: " + ", ".join(f"{share:.1%} {reason}" for share, reason in shares[:6]))
            if record["samples"] < 1000:
                wrong.append(f"{name}: few samples")
            if record["sampled_bytes_per_s"] < record["bytes_per_s"] / 2:
                wrong.append(f"{name}: sampling halves its rate")
            if target == "numa0" and shares and next((reason for _, reason in shares if reason not in ISSUES), None) not in MEMORY:
                wrong.append(f"{name}: it does not wait for memory")
    if reasons and len(wrong) == len([one for one in wrong if one.endswith("not sampled")]):
        print(f"nothing was sampled: {'; '.join(sorted(reasons))}")
        return 75
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
