#!/bin/bash
# Shows the main job of berth on this machine: a private daemon in a temporary directory discovers
# and measures it, stores the values in SQLite and answers. Then one recorded machine, and the parts
# left out. BIN holds the programs.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
work=$(mktemp -d "${TMPDIR:-/tmp}/berth-demo.XXXXXX")
export BERTH_SOCKET=$work/berth.sock
pid=""
finish() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

bold="" plain=""
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
title() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }

# show ARG...: prints the command as one would type it, and runs it
show() {
    printf '\n%s$ berth %s%s\n' "$bold" "$*" "$plain"
    "$BIN/berth" "$@"
}

title "A private daemon discovers and measures this machine"
echo "\$ berthd --socket $BERTH_SOCKET --state-dir $work/state"
mkdir "$work/state"
"$BIN/berthd" --socket "$BERTH_SOCKET" --state-dir "$work/state" 2>"$work/berthd.log" &
pid=$!
show status --wait || { cat "$work/berthd.log" && exit 1; }

title "What the machine is made of"
show topo
title "Measured matrices, with their 95 % intervals (berth matrix lists all metrics)"
measured=$("$BIN/berth" matrix | awk '($3 == "higher" || $3 == "lower") && $4 > 0 { print $1 }')
for metric in $measured; do
    show matrix "$metric"
done
title "Where to put an allocation, and where to run two tasks"
show alloc 1G
tasks=2
[ "$(nproc)" -ge 2 ] || tasks=1
show bind -n $tasks -c 1
title "Is it fit to run jobs"
show health || true

title "The measurements are kept in SQLite"
find "$work/state" -name "berth.db*" -size +0 -printf "%p: %s bytes\n"
if command -v sqlite3 >/dev/null; then
    sqlite3 -readonly "$work/state/berth.db" \
        "SELECT metric || ': ' || count(*) || ' series, ' || count(value) || ' with a value'
         FROM series GROUP BY metric"
else
    echo "(sqlite3, the command, is not here to look inside; the daemon does not need it)"
fi

title "A machine that is not here, from its recorded or reconstructed facts: 4 MI250X, 8 GPUs"
show --node tests/nodes/mi250x topo
show --node tests/nodes/mi250x bind -n 8 -c 7 --order rank
show --node tests/nodes/mi250x bind -n 4 --pattern ring --bytes 100MB --mechanism kernel

title "Another, as it was measured there: 4 H200"
show --node tests/nodes/h200x4 alloc 4G --by gpu0:reads=16G
show --node tests/nodes/h200x4 route gpu0 gpu1 64M

title "Left out on this machine"
left_out=()
[ -e /dev/nvidiactl ] || left_out+=("no NVIDIA GPU")
[ -e /dev/kfd ] || left_out+=("no AMD GPU")
command -v nvcc >/dev/null || left_out+=("no CUDA compiler")
command -v hipcc >/dev/null || left_out+=("no HIP compiler")
printf '%s\n' "${left_out[@]-nothing}"
[ -e /dev/nvidiactl ] || [ -e /dev/kfd ] ||
    echo "GPUs are measured where there are any; a recording of two H200: build/bin/berth" \
        "--node tests/nodes/h200x2 contention (curves gpu_gpu_copy_engine, matrix memory_latency)."
