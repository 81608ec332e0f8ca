#!/bin/bash
# Runs on the emulated machine that is to become a node, after each of two boots, and prints what is there between "@@ name" and "@@ end STATUS" lines. It judges nothing itself.
export DEBIAN_FRONTEND=noninteractive # nobody sits there to be asked

say() {
    name=$1
    shift
    printf '@@ %s\n' "$name"
    "$@" 2>&1 </dev/null | cat # a terminal would get progress bars
    status=${PIPESTATUS[0]}
    printf '\n@@ end %s\n' "$status"
    return "$status"
}

# first: each block of the guides, until one fails. Where eight cpus are emulated by two or by one, a task's second for its berth is too short.
first() {
    for block in /walk/blocks/*; do
        say "${block##*/}" timeout 1200 bash -e "$block" || break
        sed -i '/timeout_ms/!s/$/ timeout_ms=30000/' /etc/slurm/plugstack.conf.d/berth.conf 2>/dev/null
    done
}

# wait_until_idle: says each state in which Slurm sees the node on the way, and after how many seconds
wait_until_idle() {
    before='' SECONDS=0
    while [ $SECONDS -lt 300 ]; do
        state=$(timeout 30 sinfo -h -o %t 2>&1)
        [ "$state" = "$before" ] || echo "$SECONDS s: $state"
        [ "$state" != idle ] || return 0
        before=$state
        sleep 1
    done
    return 1
}

# why_not: what there is to find out why the node is not idle
why_not() {
    timeout 30 sinfo -R
    timeout 30 scontrol show node
    timeout 30 squeue -l
    systemctl --no-pager --failed list-units
    systemctl --no-pager list-jobs
    systemctl --no-pager status slurmd slurmctld munge dbus berthd
    tail -n 60 /var/log/slurm/slurmctld.log /var/log/slurm/slurmd.log
    journalctl -b --no-pager -o short-monotonic | tail -n 200
}

# $file is the task's.
# shellcheck disable=SC2016
second() {
    say versions bash -c '. /etc/os-release && echo "$PRETTY_NAME, Linux $(uname -r), $(slurmd -V), $(systemctl --version | head -n 1 | cut -d " " -f 1,2)"'
    say "boot: berthd" systemctl show berthd.service -p ActiveState -p NRestarts
    say "boot: slurmd" wait_until_idle || say "boot: why not" why_not
    say plan berth --json bind -n 8
    say "plan shown" berth bind -n 8
    say job timeout 300 srun -n8 --gpus=8 /walk/app
    say "job of a user" timeout 300 runuser -u nobody -- srun --chdir=/ -n8 --gpus=8 /walk/app
    say "job of four" timeout 300 srun -n4 --gpus=8 --berth=pattern=ring,bytes=64M,visible=all /walk/app
    say opens timeout 300 srun -n1 --gpus=3 sh -c 'for file in /dev/dri/renderD*; do echo "$file $( (: <"$file") 2>&1)"; done'
    say "cgroup" timeout 300 srun -n1 --gpus=1 cat /proc/self/cgroup
    say "log of slurmd" tail -n 40 /var/log/slurm/slurmd.log
    say "log of berth" journalctl -b -t berthd -t berth-slurm --no-pager -o cat
    echo "@@ done"
}

if [ -e /walk/walked ]; then
    second >/dev/ttyS0
else
    touch /walk/walked
    first >/dev/ttyS0
fi
systemctl poweroff
