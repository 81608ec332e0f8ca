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

# first: each block of the guides, until one fails
first() {
    for block in /walk/blocks/*; do
        say "${block##*/}" timeout 1200 bash -e "$block" || break
    done
}

is_idle() { [[ "$(sinfo -h -o %t 2>&1)" = idle* ]]; }

wait_until_idle() {
    for _ in $(seq 300); do
        ! is_idle || return 0
        sleep 1
    done
    return 1
}

# $file is the task's.
# shellcheck disable=SC2016
second() {
    say "boot: berthd" systemctl show berthd.service -p ActiveState -p NRestarts
    say "boot: slurmd" wait_until_idle
    # The epilog of the job before the boot may not have run to its end, and berth bind plans around the claims of others.
    berth --json claims | grep -o '"claim":"[^"]*"' | cut -d '"' -f 4 | xargs -r -n 1 berth release >/dev/null 2>&1
    say plan berth --json bind -n 8
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
sync
systemctl poweroff --force --force
