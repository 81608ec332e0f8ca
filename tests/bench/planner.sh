#!/bin/bash
# Measures how long answers of Bind, Route and Allocate take, and prints one table: over the socket,
# beside an echo of the same answer; and the planner alone, in processor time: the median of the
# slowest request, which is named NODE/REQUEST. Ends with the number of rows that miss their target.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tests/bench/rows.sh
source tests/bench/rows.sh

taskset -c "$cpu" "$BENCH/echo_server" "$work/echo.sock" &
pids+=($!)
gcds "$work/mi250x-measured"
python3 tests/lib/runs_node.py "$work/packages-4x2"
daemon gcds --node "$work/mi250x-measured"
taskset -acp "$cpu" "$pid" >/dev/null

row figure measured reference ratio target ""
# echo_of CALL: a call of the echo whose reply is as long as the answer
echo_of() {
    python3 -c 'import json, sys
sys.path.insert(0, "tests/lib")
from varlink import call
asked = json.loads(sys.argv[2])
error, answer = call(sys.argv[1], asked["method"], asked["parameters"])
assert error is None, (error, answer)
print(json.dumps({"parameters": answer}, separators=(",", ":")))' "$work/gcds.sock" "$1"
}
placement() { printf '{"method":"io.berth.Placement.%s","parameters":%s}' "$1" "$2"; }
bind=$(placement Bind '{"tasks":8,"cores_per_task":1,"pattern":"ring","bytes":67108864}')
route=$(placement Route '{"from":"gpu0","to":"gpu2","bytes":1073741824}')
access='{"by":"gpu0","reads_bytes":1073741824,"writes_bytes":0,"pattern":"stream"}'
allocate=$(placement Allocate "{\"bytes\":1073741824,\"accesses\":[$access]}")
taskset -c "$cpu" "$BENCH/roundtrip" 20 20 \
    Bind "$work/gcds.sock" "$bind" Bind-echo "$work/echo.sock" "$(echo_of "$bind")" \
    Route "$work/gcds.sock" "$route" Route-echo "$work/echo.sock" "$(echo_of "$route")" \
    Allocate "$work/gcds.sock" "$allocate" \
    Allocate-echo "$work/echo.sock" "$(echo_of "$allocate")" \
    >"$work/roundtrip"
kill "$pid"
took() { value "$1" "$work/roundtrip"; }
within "round trip, one core: Bind, a ring of 8 GCDs" "$(took Bind)" "$(took Bind-echo)" 5
within "round trip, one core: Route, 8 GCDs" "$(took Route)" "$(took Route-echo)" 1
within "round trip, one core: Allocate, 8 GCDs" "$(took Allocate)" "$(took Allocate-echo)" 1

"$BENCH/bind" "$work/mi250x-measured" "$work/packages-4x2" >"$work/planner"
"$BENCH/plan" "$work/mi250x-measured" "$work/packages-4x2" \
    tests/nodes/{h200x4,gh200-quad,mi300a} >>"$work/planner"
# matching BEGIN: those requests, the slowest first
matching() { grep -E "^$1" "$work/planner" | sort -k2 -gr; }
# slowest FIGURE BEGIN LIMIT UNIT
slowest() {
    local name most _
    read -r name most _ < <(matching "$2")
    absolute "$1: ${name#*-}" "$most" "$3" "$4"
}
# median BEGIN: of all that match
median() {
    information "  the median of $(matching "$1" | wc -l) requests" \
        "$(matching "$1" | awk '{ ms[NR] = $2 } END { print ms[int((NR + 1) / 2)] }') ms" - -
}
slowest "Bind, 8 GPUs" '8-[^/]*/[a-z]' 5 ms
slowest "  each flow of another size" '8-[^/]*/[0-9]' 5 ms
median 8-
information "  of these proven" "$(matching 8- | grep -c ' 0\.00$')" - -
slowest "Bind, 16 GPUs" 16- 50 ms
slowest "Bind, 64 GPUs" 64- 500 ms
slowest "  worst of ten orders of the GPUs" spread-64- 1 %
slowest Route route- 1 ms
median route-
slowest Allocate allocate- 1 ms
median allocate-
slowest "derived once for a snapshot" derived- 20 ms
exit "$missed"
