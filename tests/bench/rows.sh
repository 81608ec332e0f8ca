# Rows of the tables of run.sh and planner.sh, and daemons that they ask. BIN holds the programs,
# BENCH the benches. Sourced at the repository's root.
# shellcheck shell=bash
BIN=${BIN:-build/bin} BENCH=${BENCH:-build/bench}
work=$(mktemp -d)
pids=()
end() {
    for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
missed=0

# The last CPU this shell may use: both ends of a round trip share it, or the machine's wake-up cost
# hides everything.
# shellcheck disable=SC2034 # for the scripts that source this
cpu=$(taskset -pc $$ | sed 's/.*[-, ]//')

# row FIGURE MEASURED REFERENCE RATIO TARGET MET
row() { printf '%-50s %12s %12s %7s  %-10s %s\n' "$@"; }
verdict() { awk -v a="$1" -v limit="$2" 'BEGIN { print (a <= limit) ? "met" : "NOT met" }'; }

# within FIGURE MEASURED_NS REFERENCE_NS LIMIT_MS: an absolute target, and the reference beside it
within() {
    local met
    met=$(verdict "$2" "$4e6")
    row "$1" "$(human_ns "$2")" "$(human_ns "$3")" \
        "$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.2f", a / b }')" "<= $4 ms" "$met"
    [ "$met" = met ] || missed=$((missed + 1))
}

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
human_ns() {
    awk -v ns="$1" 'BEGIN { if (ns < 1e6) printf "%.1f us", ns / 1e3
        else printf "%.2f ms", ns / 1e6 }'
}
# information FIGURE MEASURED REFERENCE RATIO: no target stands beside it
information() { row "$1" "$2" "$3" "$4" "" ""; }
value() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }

# daemon NAME ARG...: a berthd of its own on $work/NAME.sock, ready when this returns; its pid in
# $pid
daemon() {
    local name=$1
    shift
    "$BIN/berthd" --socket "$work/$name.sock" "$@" 2>"$work/$name.log" &
    pid=$!
    pids+=("$pid")
    "$BIN/berth" --socket "$work/$name.sock" status --wait >/dev/null ||
        { cat "$work/$name.log" >&2; exit 1; }
}


# gcds FOLDER: eight GCDs measured by the GPU probe on the stand-in driver: curves, sets, both
# mechanisms
gcds() {
    mkdir "$1"
    cp -r tests/nodes/mi250x/. "$1"
    STANDIN=$(dirname "$BIN")/standin tests/standin/run.sh mi250x "$BIN/berth-probe-gpu" \
        --budget-ns 12000000000 >"$1/measurements.jsonl"
}
