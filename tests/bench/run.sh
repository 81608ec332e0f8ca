#!/bin/bash
# Measures berth against its targets and prints one table. A ratio is to a reference measured in the same run, in turns;
# where a figure is an absolute one the table says so. BIN holds the programs, BENCH the benches.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/rows.sh
source tests/bench/rows.sh

taskset -c "$cpu" "$BENCH/echo_server" "$work/echo.sock" &
pids+=($!)
daemon live --state-dir "$work/state"
live=$pid
taskset -acp "$cpu" "$live" >/dev/null

echo "berth $("$BIN/berthd" --version 2>/dev/null | awk '{ print $NF }') on $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
echo "Median of the quietest of 10 batches, taken in turns with the reference. The references are"
echo "tests/bench/echo_server.c (libuv and jansson, 75 bytes) and tests/bench/echo_client.c (jansson)."
echo "*  the reference is the echo of the same 64 cells   ** the reference is GetStatus alone"
echo
row figure measured reference ratio target ""

# A node with 288 cores.
python3 tests/lib/large_node.py "$work/node288"
daemon large --node "$work/node288"
large=$pid

numa=$("$BIN/berth" --socket "$work/live.sock" --json topo | python3 -c 'import json, sys
print(next(p["name"] for p in json.load(sys.stdin)["places"] if p["kind"] == "numa"))')
call() { printf '{"method":"io.berth.%s","parameters":%s}' "$1" "$2"; }
cores() { seq -f '"core%g"' "$1" "$2" | paste -sd ,; }
cells64=$(call Fabric.GetMatrix "{\"metric\":\"cpu_pingpong\",\"from\":[$(cores 0 7)],\"to\":[$(cores 8 15)]}")
# What the echo says to be compared with 64 cells: the same 64 cells.
same=$(python3 -c 'import json, sys
sys.path.insert(0, "tests/lib")
from varlink import call
cells = call(sys.argv[1], "io.berth.Fabric.GetMatrix", json.loads(sys.argv[2])["parameters"])[1]
assert len(cells["cells"]) == 64, len(cells["cells"])
print(json.dumps({"parameters": cells}, separators=(",", ":")))' "$work/large.sock" "$cells64")
taskset -acp "$cpu" "$large" >/dev/null
taskset -c "$cpu" "$BENCH/roundtrip" 1000 20 \
    echo "$work/echo.sock" '{"method":"io.berth.Bench.Echo","parameters":{"text":"123456789012345678"}}' \
    GetStatus "$work/live.sock" "$(call Fabric.GetStatus '{}')" \
    GetMatrix "$work/live.sock" "$(call Fabric.GetMatrix '{"metric":"numa_distance"}')" \
    one-cell "$work/live.sock" "$(call Fabric.GetMatrix "{\"metric\":\"memory_latency\",\"to\":[\"$numa\"],\"where\":{\"bytes\":\"memory\"}}")" \
    64-cells "$work/large.sock" "$cells64" \
    64-cells-echo "$work/echo.sock" "$same" \
    >"$work/roundtrip"
took() { value "$1" "$work/roundtrip"; }
ratio "round trip, one core: GetStatus" "$(took GetStatus)" "$(took echo)" 1.5
ratio "round trip, one core: GetMatrix, distances" "$(took GetMatrix)" "$(took echo)" 1.5
ratio "round trip, one core: GetMatrix, latency" "$(took one-cell)" "$(took echo)" 1.5
ratio "round trip, one core: GetMatrix, 64 cells*" "$(took 64-cells)" "$(took 64-cells-echo)" 1.5
information "  the same beside the echo of 75 bytes" "$(human_ns "$(took 64-cells)")" "$(human_ns "$(took echo)")" \
    "$(awk -v a="$(took 64-cells)" -v b="$(took echo)" 'BEGIN { printf "%.2f", a / b }')"

taskset -acp "$(taskset -pc $$ | sed 's/.*: //')" "$large" >/dev/null
"$BENCH/beside" "$work/large.sock" "$(call Fabric.GetStatus '{}')" "$(call Fabric.GetMatrix '{"metric":"cpu_pingpong"}')" 9 >"$work/beside"
kill "$large"
beside() { value "$1" "$work/beside"; }
millis() { awk -v ns="$1" 'BEGIN { printf "%.1f", ns / 1e6 }'; }
absolute "GetMatrix of $(beside cells) cells ($(millis "$(beside bytes)") MB)" "$(millis "$(beside large)")" 150 ms
ratio "GetStatus while that is made and read slowly**" "$(beside beside)" "$(beside alone)" 1.5
absolute "  the slowest in a thousand (alone $(millis "$(beside alone_worst)") ms)" "$(millis "$(beside beside_worst)")" 15 ms

taskset -c "$cpu" "$BENCH/spawn" 1000 echo "$BENCH/echo_client" "$work/echo.sock" -- \
    alloc "$BIN/berth" --socket "$work/live.sock" alloc 1G >"$work/spawn"

# A command in its berth beside the command alone, and beside hwloc's way to bind one; on a machine of its own measurements and on one of eight GCDs.
binder=()
command -v hwloc-bind >/dev/null && binder=(-- hwloc-bind "$(command -v hwloc-bind)" core:0 /bin/true)
gcds "$work/gcds"
daemon exec --node "$work/gcds"
taskset -acp "$cpu" "$pid" >/dev/null
exec_pid=$pid
taskset -c "$cpu" "$BENCH/spawn" 1000 direct /bin/true -- exec "$BIN/berth" --socket "$work/live.sock" exec -n 1 -t 0 /bin/true -- \
    gcds "$BIN/berth" --socket "$work/exec.sock" exec --strict -n 1 -t 0 --gpus 0-7 --host-bytes 64M /bin/true "${binder[@]}" >"$work/exec"
over() { awk -v a="$(value "$1" "$work/exec")" -v b="$(value direct "$work/exec")" 'BEGIN { printf "%.2f", (a - b) / 1e6 }'; }
absolute "berth exec, over the command alone ($(human_ns "$(value direct "$work/exec")"))" "$(over exec)" 2 ms
absolute "  with a plan over eight GCDs" "$(over gcds)" 2 ms
[ ${#binder[@]} = 0 ] || information "  hwloc-bind, over the same" "$(over hwloc-bind) ms" - -
kill "$exec_pid"

ratio "berth alloc as a process" "$(value alloc "$work/spawn")" "$(value echo "$work/spawn")" 2

kill "$live"
wait "$live" 2>/dev/null || true
"$BENCH/start" 9 "$work/start.sock" "$(call Fabric.GetMatrix '{"metric":"memory_bandwidth"}')" '"source":"measured"' \
    "$BIN/berthd" --socket "$work/start.sock" --state-dir "$work/state" --no-probe 2>"$work/start.log" >"$work/start"
absolute "start to first answer from a database" "$(awk '{ printf "%.1f", $2 / 1e6 }' "$work/start")" 30 ms

# 1,900 cells every hour of a year: some minutes. On a disk in memory, if there is one: what is measured is the file and the program.
year=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo "$work")/berth-year-XXXXXX")
trap 'end; rm -rf "$year"' EXIT
"$BENCH/year" "$year" 1 "$(date +%s)" >"$work/year" || missed=$((missed + 1))
figure() { awk -v name="$1" '$1 == name { print $2 }' "$work/year"; }
absolute "a year of 1,900 cells every hour" "$(figure size)" 200 MB
absolute "  its log at the most" "$(figure log)" 20 MB
information "  written in, processor time" "$(figure writing) s" - -
information "  settled and thinned in, processor time" "$(figure tending) s" - -
absolute "  History of one cell, the store alone" "$(figure history)" 5 ms
absolute "  open and load the latest values" "$(figure start)" 30 ms
of_year=$(call Fabric.GetMatrix '{"metric":"memory_bandwidth","where":{"threads":"1900"}}')
"$BENCH/start" 9 "$work/start.sock" "$of_year" '"source":"measured"' \
    "$BIN/berthd" --socket "$work/start.sock" --state-dir "$year" --no-probe 2>"$work/start.log" >"$work/start"
absolute "  start to first answer with it" "$(awk '{ printf "%.1f", $2 / 1e6 }' "$work/start")" 30 ms
daemon year --state-dir "$year" --no-probe
"$BENCH/roundtrip" 10 10 History "$work/year.sock" \
    "$(call Fabric.History '{"metric":"memory_bandwidth","from":"numa0","to":"numa0","where":{"threads":"7"}}')" >"$work/roundtrip"
absolute "  History over the socket" "$(took History | awk '{ printf "%.2f", $1 / 1e6 }')" 5 ms
"$BENCH/spawn" 50 history "$BIN/berth" --socket "$work/year.sock" history memory_bandwidth numa0 numa0 --where threads=7 >"$work/spawn" || true
information "  berth history as a process" "$(human_ns "$(value history "$work/spawn")")" - -
kill "$pid"
wait "$pid" 2>/dev/null || true
rm -rf "$year"

begin=$(date +%s%N)
"$BIN/berth-probe-cpu" --profile quick >"$work/probe"
absolute "quick CPU profile" "$(awk -v a="$begin" -v b="$(date +%s%N)" 'BEGIN { printf "%.2f", (b - a) / 1e9 }')" 3 s
[ "$(nproc)" -lt 2 ] || absolute "all ping-pongs of 128 cores, extrapolated" "$(tests/bench/pingpong.sh)" 5 s

python3 tests/bench/background.py claims 100 >"$work/background"
absolute "a claim stops background measuring, median" "$(value median_ms "$work/background")" 50 ms
absolute "  99th percentile" "$(value p99_ms "$work/background")" 50 ms
python3 tests/bench/background.py openings 60 >"$work/background"
absolute "so does a process that opens a GPU, median" "$(value median_ms "$work/background")" 50 ms
absolute "  99th percentile" "$(value p99_ms "$work/background")" 50 ms

node=tests/nodes/mi250x
daemon idle --node "$node"
sleep 1
switches() { cat /proc/"$pid"/task/*/status | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'; }
before=$(switches)
sleep 10
absolute "idle: wake-ups in 10 s" $(($(switches) - before)) 0 ""
memory() { awk -v key="$1:" '$1 == key { printf "%.1f", $2 * 1024 / 1e6 }' /proc/"$pid"/status; }
absolute "idle: resident with $(basename "$node") ($(memory RssAnon) MB its own)" "$(memory VmRSS)" 10 MB

"$BENCH/map" "$work/idle.sock" >"$work/map" 2>/dev/null
look_up() { value "$1" "$work/map"; }
absolute "mapped look-up of a transfer" "$(look_up transfer)" 50 ns
information "  a dictionary of the same answers" "$(look_up dictionary) ns" - -
absolute "mapped look-up of the nearest memory" "$(look_up nearest)" 50 ns
information "  hwloc_get_local_numanode_objs, this machine" "$(look_up hwloc) ns" - -
absolute "mapped look-up of whether it is current" "$(look_up current)" 50 ns

echo
BIN=$BIN BENCH=$BENCH tests/bench/planner.sh || missed=$((missed + $?))

echo
BIN=$BIN BENCH=$BENCH tests/bench/hostile.sh || [ $? = 77 ] || missed=$((missed + 1))

echo
echo "targets not met: $missed"
[ "$missed" = 0 ]
