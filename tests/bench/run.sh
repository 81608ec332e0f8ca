#!/bin/bash
# Measures berth against its targets and prints one table. A ratio is to a reference measured in the same run, in turns;
# where a figure is an absolute one the table says so. BIN holds the programs, BENCH the benches.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin} BENCH=${BENCH:-build/bench}
work=$(mktemp -d)
pids=()
trap 'for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$work"' EXIT
missed=0

# The last CPU this shell may use: both ends of a round trip share it, or the machine's wake-up cost hides everything.
cpu=$(taskset -pc $$ | sed 's/.*[-, ]//')

# row FIGURE MEASURED REFERENCE RATIO TARGET MET
row() { printf '%-46s %12s %12s %7s  %-10s %s\n' "$@"; }
verdict() { awk -v a="$1" -v limit="$2" 'BEGIN { print (a <= limit) ? "met" : "NOT met" }'; }

# ratio FIGURE MEASURED_NS REFERENCE_NS LIMIT
ratio() {
    local r met
    r=$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.2f", a / b }')
    met=$(verdict "$r" "$4")
    row "$1" "$(human_ns "$2")" "$(human_ns "$3")" "$r" "<= $4" "$met"
    [ "$met" = met ] || missed=$((missed + 1))
}

# absolute FIGURE MEASURED LIMIT UNIT
absolute() {
    local met
    met=$(verdict "$2" "$3")
    row "$1" "$2 $4" - - "<= $3 $4" "$met"
    [ "$met" = met ] || missed=$((missed + 1))
}
human_ns() { awk -v ns="$1" 'BEGIN { if (ns < 1e6) printf "%.1f us", ns / 1e3; else printf "%.2f ms", ns / 1e6 }'; }
value() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }

# daemon NAME ARG...: a berthd of its own on $work/NAME.sock, ready when this returns; its pid in $pid
daemon() {
    local name=$1
    shift
    "$BIN/berthd" --socket "$work/$name.sock" "$@" 2>"$work/$name.log" &
    pid=$!
    pids+=("$pid")
    "$BIN/berth" --socket "$work/$name.sock" status --wait >/dev/null || { cat "$work/$name.log" >&2; exit 1; }
}

taskset -c "$cpu" "$BENCH/echo_server" "$work/echo.sock" &
pids+=($!)
daemon live --state-dir "$work/state"
live=$pid
taskset -acp "$cpu" "$live" >/dev/null

echo "berth $("$BIN/berthd" --version 2>/dev/null | awk '{ print $NF }') on $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
echo "Median of the quietest of 10 batches, taken in turns with the reference. The references are"
echo "tests/bench/echo_server.c (libuv and jansson, 75 bytes) and tests/bench/echo_client.c (jansson)."
echo
row figure measured reference ratio target ""

numa=$("$BIN/berth" --socket "$work/live.sock" --json topo | python3 -c 'import json, sys
print(next(p["name"] for p in json.load(sys.stdin)["places"] if p["kind"] == "numa"))')
call() { printf '{"method":"io.berth.%s","parameters":%s}' "$1" "$2"; }
taskset -c "$cpu" "$BENCH/roundtrip" 1000 20 \
    echo "$work/echo.sock" '{"method":"io.berth.Bench.Echo","parameters":{"text":"123456789012345678"}}' \
    GetStatus "$work/live.sock" "$(call Fabric.GetStatus '{}')" \
    Allocate "$work/live.sock" "$(call Placement.Allocate '{"bytes":1073741824}')" \
    GetMatrix "$work/live.sock" "$(call Fabric.GetMatrix '{"metric":"numa_distance"}')" \
    one-cell "$work/live.sock" "$(call Fabric.GetMatrix "{\"metric\":\"memory_latency\",\"to\":[\"$numa\"],\"where\":{\"bytes\":\"memory\"}}")" \
    >"$work/roundtrip"
echo_ns=$(value echo "$work/roundtrip")
ratio "round trip, one core: GetStatus" "$(value GetStatus "$work/roundtrip")" "$echo_ns" 2
ratio "round trip, one core: Allocate" "$(value Allocate "$work/roundtrip")" "$echo_ns" 2
ratio "round trip, one core: GetMatrix, distances" "$(value GetMatrix "$work/roundtrip")" "$echo_ns" 2
ratio "round trip, one core: GetMatrix, latency" "$(value one-cell "$work/roundtrip")" "$echo_ns" 2

taskset -c "$cpu" "$BENCH/spawn" 1000 echo "$BENCH/echo_client" "$work/echo.sock" -- \
    alloc "$BIN/berth" --socket "$work/live.sock" alloc 1G >"$work/spawn"
ratio "berth alloc as a process" "$(value alloc "$work/spawn")" "$(value echo "$work/spawn")" 2

kill "$live"
wait "$live" 2>/dev/null || true
"$BENCH/start" 9 "$work/start.sock" "$(call Fabric.GetMatrix '{"metric":"memory_bandwidth"}')" '"source":"measured"' \
    "$BIN/berthd" --socket "$work/start.sock" --state-dir "$work/state" --no-probe 2>"$work/start.log" >"$work/start"
absolute "start to first answer from a database" "$(awk '{ printf "%.1f", $2 / 1e6 }' "$work/start")" 30 ms

begin=$(date +%s%N)
"$BIN/berth-probe-cpu" --profile quick >"$work/probe"
absolute "quick CPU profile" "$(awk -v a="$begin" -v b="$(date +%s%N)" 'BEGIN { printf "%.2f", (b - a) / 1e9 }')" 3 s

node=tests/nodes/mi250x
daemon idle --node "$node"
sleep 1
switches() { cat /proc/"$pid"/task/*/status | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'; }
before=$(switches)
sleep 10
absolute "idle: wake-ups in 10 s" $(($(switches) - before)) 0 ""
memory() { awk -v key="$1:" '$1 == key { printf "%.1f", $2 * 1024 / 1e6 }' /proc/"$pid"/status; }
absolute "idle: resident with $(basename "$node") ($(memory RssAnon) MB its own)" "$(memory VmRSS)" 10 MB

echo
echo "targets not met: $missed"
[ "$missed" = 0 ]
