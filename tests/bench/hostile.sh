#!/bin/bash
# What a good peer waits for while others attack the same server: one line for each attack, berthd beside a bare libuv echo. The server and the
# peer share a CPU, the attackers have another. RUNS runs of SECONDS each, taken in turns; the medians count. Names behind it choose among the attacks.
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin} BENCH=${BENCH:-build/bench} RUNS=${RUNS:-5} SECONDS_EACH=${SECONDS_EACH:-2} NODE=${NODE:-tests/nodes/mi250x}
[ "$(id -u)" = 0 ] || { echo "left out: only root can be several users"; exit 77; }
mapfile -t cpus < <(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
[ ${#cpus[@]} -ge 2 ] || { echo "left out: it takes two CPUs"; exit 77; }
peer_cpu=${cpus[-1]} attack_cpu=${cpus[-2]}
work=$(mktemp -d)
chmod 755 "$work"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

# serve berthd|echo: a fresh one in $server.
serve() {
    rm -f "$work/socket"
    if [ "$1" = echo ]; then
        taskset -c "$peer_cpu" "$BENCH/echo_bare" "$work/socket" &
    else
        printf 'socket_mode = 0666\nmax_connections = 2048\n' >"$work/conf"
        taskset -c "$peer_cpu" "$BIN/berthd" --config "$work/conf" --socket "$work/socket" --node "$NODE" 2>"$work/log" &
    fi
    server=$!
    for _ in $(seq 100); do
        [ -S "$work/socket" ] && break
        sleep 0.02
    done
    [ "$1" = echo ] || "$BIN/berth" --socket "$work/socket" status --wait >/dev/null
}
# column N of FILE, its median
column() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

missed=0
echo "A good peer beside hostile users, $RUNS runs of $SECONDS_EACH s, medians in ms; targets: p99 at most 5 times the echo's, the worst at most 50 ms more."
printf '%-52s %9s %9s %9s %9s %9s %9s  %s\n' attack p50 p99 worst "echo p50" p99 worst ""
while IFS=$'\t' read -r name about; do
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    for ((run = 0; run < RUNS; run++)); do
        for which in echo berthd; do
            serve $which
            "$BENCH/hostile" "$name" "$SECONDS_EACH" "$peer_cpu" "$attack_cpu" "$work/socket" >>"$work/$name.$which"
            kill -9 "$server"
            wait "$server" 2>/dev/null || true
            server=
        done
    done
    b="$work/$name.berthd" e="$work/$name.echo"
    met=$(awk -v p="$(column "$b" 2)" -v w="$(column "$b" 3)" -v ep="$(column "$e" 2)" -v ew="$(column "$e" 3)" \
        'BEGIN { print (p <= 5 * ep && w <= ew + 50e6) ? "met" : "NOT met" }')
    [ "$met" = met ] || missed=$((missed + 1))
    ms() { awk -v ns="$(column "$1" "$2")" 'BEGIN { printf "%.3f", ns / 1e6 }'; }
    printf '%-52s %9s %9s %9s %9s %9s %9s  %s\n' "$about" "$(ms "$b" 1)" "$(ms "$b" 2)" "$(ms "$b" 3)" "$(ms "$e" 1)" "$(ms "$e" 2)" "$(ms "$e" 3)" "$met"
done < <("$BENCH/hostile" list)
[ "$missed" = 0 ]
