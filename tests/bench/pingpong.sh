#!/bin/bash
# How long the ping-pong of all ordered pairs of 128 cores would take, in seconds, from the rate on this machine: the least of
# three runs of all its pairs by load and store, verification included. N cores take 2 (N - 1) batches of N / 2 pairs side by side, so
# 128 cores take 254 batches, each as long as one here. Where fewer pairs went at once than could, each pair counts instead.
set -eu
BIN=${BIN:-build/bin}
for seed in 1 2 3; do
    "$BIN/berth-probe-cpu" --profile full --metrics cpu_pingpong --seed $seed | python3 -c '
import json, sys
lines = [json.loads(line) for line in sys.stdin]
cores, end = lines[0]["conditions"]["cores"], lines[-1].get("statistics", {})
if "store_pairs_ns" not in end:
    sys.exit("fewer than two cores")
side_by_side = end["store_pairs_at_once"] >= cores // 2
share = 254 / (2 * (cores - 1 + cores % 2)) if side_by_side else 128 * 127 / (cores * (cores - 1))
print("%.2f" % (end["store_pairs_ns"] / 1e9 * share))'
done | sort -n | head -n 1
