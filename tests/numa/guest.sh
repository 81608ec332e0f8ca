#!/bin/busybox sh
# shellcheck shell=dash
# The first process of the emulated machine: runs the real daemon, probe, command and example program on it, and prints what they
# say between "@@ name" and "@@ end STATUS" lines, for tests/numa/check.py to judge. It judges nothing itself.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
echo "+cpuset" >/sys/fs/cgroup/cgroup.subtree_control

# say NAME COMMAND...: its output, standard error too, and its exit status
say() {
    name=$1
    shift
    echo "@@ $name"
    "$@" 2>&1
    echo "
@@ end $?"
}

# confined CPUS MEMS COMMAND...: in a cgroup that may use those alone
confined() {
    group=/sys/fs/cgroup/job
    mkdir -p $group
    echo "$1" >$group/cpuset.cpus
    echo "$2" >$group/cpuset.mems
    shift 2
    sh -c 'echo $$ >/sys/fs/cgroup/job/cgroup.procs; exec "$@"' sh "$@"
    status=$?
    rmdir $group
    return $status
}

# daemon ARG...: starts it and waits until it is ready
daemon() {
    berthd --socket /s "$@" 2>/log &
    pid=$!
    berth status --wait --timeout 300 >/dev/null 2>&1
}

# stop: ends the daemon, with its log
stop() {
    kill $pid
    wait $pid
    say "log of $1" cat /log
}

export BERTH_SOCKET=/s
say cpuinfo cat /proc/cpuinfo
say nodes sh -c 'cd /sys/devices/system/node; grep . online has_cpu node*/cpulist node*/distance'

daemon --no-probe
say topology berth --json topo
for cpu in 0 2 4; do
    say "unmeasured, cpu $cpu" taskset -c $cpu alloc 16
done
stop "the unmeasured one"

echo "quick_budget_ms = 120000
max_connections = 64" >/conf
daemon --config /conf --state-dir /state
say status berth --json status
for metric in memory_latency memory_bandwidth cpu_pingpong; do
    say "matrix $metric" berth --json matrix $metric
done
say "table" berth matrix memory_latency
for cpu in 0 2 4; do
    say "answer, cpu $cpu" taskset -c $cpu berth --json alloc 16M
    say "measured, cpu $cpu" taskset -c $cpu alloc 16
done
say "answer by numa1" berth --json alloc 16M --by numa1:reads=16M
say "answer in cgroup 2-3 1" confined 2-3 1 berth --json alloc 16M
say "follow in cgroup 2-3 1" confined 2-3 1 alloc 16
say "answer in cgroup 0-1 3" confined 0-1 3 berth --json alloc 16M
say "follow in cgroup 0-1 3" confined 0-1 3 alloc 16
say "answer in cgroup 4-5 0,2" confined 4-5 0,2 berth --json alloc 16M
say "bind in cgroup 2-3,5 1-2" confined 2-3,5 1-2 berth --json bind -n 3 -c 1
say "bind too many" confined 2-3 1 berth --json bind -n 3 -c 1
say health berth --json health
stop "the measured one"

# The daemon itself confined: the probe measures what it may use, and says so of the rest.
confined 0-3 0-1 sh -c 'exec berthd --config /conf --socket /s --state-dir /narrow 2>/log' &
pid=$!
berth status --wait --timeout 300 >/dev/null 2>&1
say "narrow topology" berth --json topo
say "narrow matrix" berth --json matrix memory_latency
kill $pid
say "narrow log" cat /log
echo "@@ done"
poweroff -f
