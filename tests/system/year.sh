#!/bin/bash
# A year of hourly runs, with a fiftieth of the cells of an 8-GPU node (make bench writes all), and
# a daemon that starts on it.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
work=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/berth-year-XXXXXX")
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
make --no-print-directory -s build/bench/year
build/bench/year "$work" 0.02 "$(date +%s)"

"$BIN/berthd" --no-probe --socket "$work/socket" --state-dir "$work" 2>"$work/log" &
daemon=$!
"$BIN/berth" --socket "$work/socket" status --wait >/dev/null
points=$("$BIN/berth" --socket "$work/socket" --json history memory_bandwidth numa0 numa0 --where threads=7 | grep -o measured_at_s | wc -l)
[ "$points" = $((90 * 24 + 24 + 365 - 91)) ] || { echo "berth history has $points" >&2; cat "$work/log" >&2; exit 1; }
