#!/bin/bash
# shellcheck disable=SC2317,SC2016 # functions and scripts that check calls
# berth-probe-cpu as a whole: the record, the tables, wrong usage, and every way to end it. BIN is the folder of the programs.
set -u
BIN=${BIN:-build/bin}
probe=$(readlink -f "$BIN")/berth-probe-cpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0 failed=0

# check NAME COMMAND...: one TAP line
check() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@"; then echo "ok $number - $name"; else
        echo "not ok $number - $name"
        failed=1
    fi
}

# allowed MILLISECONDS: that, and as much more as a busy loop takes longer than its processor time on a machine that others use
allowed() {
    local TIMEFORMAT='%R %U %S' i
    { time for ((i = 0; i < 100000; i++)); do :; done; } 2>&1 | awk -v ms="$1" '{ s = $1 / ($2 + $3); print int(s > 1 ? ms * s : ms) }'
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# has_ended PID MILLISECONDS: gone (or a zombie) within that time
has_ended() {
    local until=$(($(now_ms) + $2))
    while [ "$(now_ms)" -lt "$until" ]; do
        [ -d "/proc/$1" ] || return 0
        grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null && return 0
        sleep 0.002
    done
    return 1
}

# status_is STATUS COMMAND...: exit status and one line on standard error
status_is() {
    local wanted=$1 status=0
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    [ "$status" = "$wanted" ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ]
}

# every_cell FILE: run first, end last, and values and skips for all cells of the last progress record
every_cell() {
    local total
    total=$(grep '"record":"progress"' "$1" | tail -n 1 | sed 's/.*"total":\([0-9]*\).*/\1/')
    head -n 1 "$1" | grep -q '^{"record":"run","schema":1,"probe":"cpu"' &&
        tail -n 1 "$1" | grep -Eq '^\{"record":"end","status":"(complete|budget)","elapsed_ns":[0-9]+(,"statistics":\{[^{}]+\})?\}$' &&
        [ "$(grep -c '^{"record":"\(value\|skip\)".*}$' "$1")" -ge "$total" ] &&
        ! grep -Eq 'nan|inf[,}]' "$1"
}

begin=$(now_ms)
"$probe" >"$work/quick"
status=$?
took=$(($(now_ms) - begin))
echo "# quick took $took ms"
check "the quick profile succeeds" [ "$status" = 0 ]
check "what differs from run to run is no condition" bash -c '! head -n 1 "$1" | grep -Eq "conditions.*(loadavg|seed)"' - "$work/quick"
check "the quick profile takes at most 3 s" [ "$took" -le "$(allowed 3000)" ]
check "each cell has its record" every_cell "$work/quick"

"$probe" --profile full --budget-ns 300000000 >"$work/full"
check "a full profile cut short succeeds" every_cell "$work/full"
check "and says that time ran out" grep -q '"why":"time budget"' "$work/full"

# measured_or_why FILE METRIC PATTERN: each value of the metric has the pattern, and there is one unless no time was left for it, as on a busy
# machine, or memory or the CPUs failed it, which its skips say
measured_or_why() {
    local values skips
    [ "$(nproc)" -ge 2 ] || return 0
    values=$(grep "\"value\",\"metric\":\"$2\"" "$1")
    skips=$(grep "\"skip\",\"metric\":\"$2\"" "$1")
    [ -n "$values$skips" ] && ! grep -Ev "$3|^$" <<<"$values" && ! grep -Ev 'time budget|do not run at the same time|memory|^$' <<<"$skips"
}
check "copies have six sizes at least, or say why they have none" measured_or_why "$work/quick" cpu_copy '"samples":\[(\{[^}]*\},?){6,}\]'
check "queues have the pace of both sides, or say why not" measured_or_why "$work/quick" cpu_queue '"axes":\{("side":"reader")?\}'
check "and of each side" [ "$(nproc)" -lt 2 -o "$(grep '"cpu_queue"' "$work/quick" | grep -c '"axes":{}')" = "$(grep -c '"side":"reader"' "$work/quick")" ]
"$probe" --budget-ns 1 >"$work/none"
check "without time each metric of quick has a record still" bash -c \
    'for m in cpu_pingpong cpu_copy cpu_queue memory_bandwidth memory_latency; do grep -q "\"metric\":\"$m\"" "$1" || exit 1; done' - "$work/none"
check "how pairs were measured is in the end record" bash -c \
    'n=$(nproc); [ "$n" -lt 2 ] || ! grep -q "\"value\",\"metric\":\"cpu_pingpong\"" "$1" || tail -n 1 "$1" | grep -q "\"store_pairs_at_once\":[1-9]"' - "$work/quick"

"$probe" --table --metrics cpu_copy,cpu_queue --budget-ns 10000000000 >"$work/table"
check "a table of copies for each size" bash -c \
    'n=$(nproc); [ "$n" -lt 2 ] || { grep -q "^cpu_copy bytes=4096, GB/s" "$1" && grep -q "^cpu_queue side=reader, GB/s" "$1"; } ||
     grep -Eq "not measured, .*(time budget|same time)" "$1"' - "$work/table"
"$probe" --table --metrics memory_latency --budget-ns 1000000000 >"$work/table"
check "a table has a title with its unit" grep -q '^memory_latency, ns' "$work/table"
check "and no record" bash -c '! grep -q record "$1"' - "$work/table"

first=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
taskset -c "$first" "$probe" --metrics cpu_pingpong >"$work/one"
check "one core alone says why there is no ping-pong" grep -q '"skip","metric":"cpu_pingpong".*fewer than two cores' "$work/one"
check "nor between its threads" grep -Eq '"skip","metric":"cpu_pingpong","from":"(core[0-9]+)","to":"\1".*thread' "$work/one"
taskset -c "$first" "$probe" --metrics cpu_copy,cpu_queue >"$work/one"
check "nor copies and queues" [ "$(grep -c 'fewer than two cores' "$work/one")" = 2 ]

# refuses WORD ARGUMENT...: wrong usage, in one line that has the word
refuses() {
    local word=$1
    shift
    status_is 64 "$probe" "$@" && grep -qF -e "$word" "$work/err"
}

check "an unknown option is named" refuses "unknown option: --what;" --what
check "an unknown letter too" refuses "unknown option: -xyz;" --table -xyz
check "an option without its argument too" refuses "missing after: --seed;" --table --seed
check "an argument too many too" refuses "takes no argument: --table=3;" --table=3
check "an unknown profile is wrong usage" status_is 64 "$probe" --profile slow
check "an unknown metric is named" refuses "no such metric: speed; there are cpu_pingpong, " --metrics cpu_pingpong,speed
check "a place that is not here is named" refuses "numa: numa77; there are core" --places numa77,core0
check "and what there is" refuses "numa0" --places numa77
check "a metric of another probe is refused by hand" refuses "does not measure: gpu_gpu_kernel; there are cpu_pingpong, cpu_copy" --metrics cpu_copy,gpu_gpu_kernel
check "a list without a metric is refused" refuses "at least one name;" --metrics ,
check "a short word for help" bash -c '"$1" -h | grep -q "^  --places "' - "$probe"
check "by hand one of another probe too" refuses gpu0 --places gpu0
check "a budget of rubbish is wrong usage" status_is 64 "$probe" --budget-ns 1e9
check "a negative seed is wrong usage" status_is 64 "$probe" --seed -1
check "a list of rubbish is wrong usage" status_is 64 "$probe" --cpus 3-1
check "CPUs that are not there are wrong usage" status_is 64 "$probe" --cpus 4095
check "an operand is named" refuses "what is: quick;" --table quick --what
check "a missing /sys is said" status_is 64 "$probe" --root "$work/none"
"$probe" --child --places gpu0,numa77 --metrics cpu_pingpong >"$work/others" 2>&1
check "places of other probes are ignored in a child" [ $? = 0 ]
check "and measure nothing" bash -c '! grep -q "\"record\":\"value\"" "$1"' - "$work/others"
"$probe" --child --metrics gpu_gpu_kernel >"$work/other"
check "metrics of other probes are left to them" [ "$(wc -l <"$work/other")" = 2 ]

# The first of three tries that makes it counts, and 50 ms are as much more as the machine is crowded.
for _ in 1 2 3; do
    "$probe" --profile full >"$work/cancelled" &
    pid=$!
    sleep 0.7
    begin=$(now_ms)
    kill -TERM $pid
    wait $pid
    status=$?
    took=$(($(now_ms) - begin))
    limit=$(allowed 50)
    echo "# SIGTERM took $took ms of $limit ms"
    [ "$took" -gt "$limit" ] || break
done
check "SIGTERM ends it within 50 ms" [ "$took" -le "$limit" ]
check "with status 75" [ "$status" = 75 ]
check "and the end record" bash -c 'tail -n 1 "$1" | grep -q "^{.record.:.end.,.status.:.cancelled.,.elapsed_ns.:[0-9]*}$"' - "$work/cancelled"

# The same where the kernel gives small pages only, as PR_SET_THP_DISABLE makes it do for a process and what it starts: the kernel takes long to
# get many of those back.
small() { exec python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])' "$@"; }
for signal in TERM KILL; do
    for _ in 1 2 3 4 5; do
        : >"$work/small"
        small "$probe" --profile full --metrics memory_bandwidth,memory_latency >"$work/small" &
        pid=$!
        until grep -q '"record":"value"' "$work/small" || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
        begin=$(now_ms)
        kill -$signal $pid
        { wait $pid; } 2>/dev/null
        took=$(($(now_ms) - begin))
        limit=$(allowed 50)
        echo "# SIG$signal on small pages took $took ms of $limit ms"
        [ "$took" -gt "$limit" ] || break
    done
    check "SIG$signal ends it within 50 ms on small pages" [ "$took" -le "$limit" ]
done
check "these were small pages" grep -Eq '"pages":"(small|reserved huge)"' "$work/small"
small "$probe" --metrics memory_latency,memory_bandwidth >"$work/small" &
wait $!
check "and bandwidth is measured on them" grep -q '"record":"value","metric":"memory_bandwidth"' "$work/small"

"$probe" --profile full --metrics memory_noise --table >"$work/noise"
check "noise is measured with what it disturbs, or says why not" grep -Eq '^memory_latency noise=core, ns' "$work/noise"
check "and says what it read itself" grep -q '^memory_noise, GB/s' "$work/noise"

# A reader that stops reading but stays: the end record finds no room and is not waited for.
mkfifo "$work/pipe"
exec 3<>"$work/pipe"
head -c 65536 /dev/zero >&3
"$probe" >&3 &
pid=$!
sleep 0.5
check "a full pipe is waited for" [ -d /proc/$pid ]
kill -TERM $pid
check "SIGTERM ends it though nobody reads" has_ended $pid 1000
exec 3>&-

# A reader that goes away; the parent ignores SIGPIPE.
(
    trap '' PIPE
    "$probe" --profile full 2>"$work/err"
    echo $? >"$work/status"
) | head -n 2 >"$work/two"
check "a closed pipe ends it" [ "$(cat "$work/status")" = 141 ]

# The parent is killed: with --child the probe goes too.
bash -c '"$1" --child --profile full >/dev/null & echo $! >"$2"; sleep 20' - "$probe" "$work/pid" &
parent=$!
sleep 0.5
child=$(cat "$work/pid")
check "a child runs while its parent does" [ -d "/proc/$child" ]
{ kill -KILL $parent && wait $parent; } 2>/dev/null
check "and ends with it, at once" has_ended "$child" 1000

echo "1..$number"
exit $failed
