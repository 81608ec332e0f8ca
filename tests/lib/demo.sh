#!/bin/bash
# Shows the main job of berth on this machine in about 60 lines: a private daemon in a temporary
# directory discovers and measures it, stores the values in SQLite and answers. Then a placement on
# a machine that is not here, and a page. BIN holds the programs, PAGE names the page.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
PAGE=${PAGE:-build/demo.html}
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

# show ARG...: prints the command as one would type it, and runs it
show() {
    printf '\n%s$ berth %s%s\n' "$bold" "$*" "$plain"
    "$BIN/berth" "$@"
}

# the metric whose heat map tells most of this machine
heat_map() {
    local measured metric
    measured=$("$BIN/berth" matrix | awk '{ print $1 }')
    for metric in gpu_gpu_copy_engine host_gpu_copy_engine cpu_pingpong memory_bandwidth; do
        if grep -qx "$metric" <<<"$measured"; then echo "$metric" && return; fi
    done
}

mkdir "$work/state"
"$BIN/berthd" --socket "$BERTH_SOCKET" --state-dir "$work/state" 2>"$work/berthd.log" &
pid=$!
echo "A private daemon measures this machine."
"$BIN/berth" status --wait >"$work/status" || { cat "$work/berthd.log" && exit 1; }

show topo
metric=$(heat_map)
[ -z "$metric" ] || show matrix "$metric" | sed '/ size[s]* besides/,$d'
show alloc 1G
show health || true

printf '\n%s\n' "A machine that is not here: 4 MI250X, as published. Two tasks copy 1 GiB to the host and back:"
show --node tests/nodes/mi250x bind -n 2 --host-bytes 1G

"$BIN/berth" report -o "$PAGE" >"$work/report"
printf '\nThe page with pictures of this machine: %s\n' "$PAGE"
left_out=()
[ -e /dev/nvidiactl ] || left_out+=("no NVIDIA GPU")
[ -e /dev/kfd ] || left_out+=("no AMD GPU")
command -v nvcc >/dev/null || left_out+=("no CUDA compiler")
command -v hipcc >/dev/null || left_out+=("no HIP compiler")
[ ${#left_out[@]} = 0 ] || (IFS=, && echo "Left out on this machine: ${left_out[*]}" | sed 's/,/, /g')
