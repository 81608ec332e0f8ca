#!/bin/bash
# Runs on the emulated machine and prints what is there between "@@ name" and "@@ end STATUS" lines; it judges nothing itself.
#   guest.sh driver: makes what a GPU's driver would have made; guest.sh inside: runs in the service's sandbox; guest.sh: everything else.
gpus=(/dev/kfd /dev/dri/renderD128 /dev/nvidiactl)

driver() {
    # Devices that can be opened, with the owners and modes that the drivers give theirs.
    mkdir -p /dev/dri
    for file in /dev/kfd /dev/dri/renderD128; do
        mknod -m 660 $file c 1 5
        chgrp render $file
    done
    mknod -m 666 /dev/nvidiactl c 1 5
    echo "everybody may read this" >/home/.public
    # The links of /sys/class stay good, being relative.
    cp -a /sys/class /run/class
    mkdir -p /run/class/kfd
    cp -a /guest/kfd /run/class/kfd/kfd
    mount --bind /run/class /sys/class
    /guest/busybox ip address add 10.9.8.7/32 dev lo
}

inside() {
    /guest/inside "${gpus[@]}"
    echo "memlock $(ulimit -l)"
    echo "id $(id)"
    echo "-"
    /usr/libexec/berth/berth-probe-cpu --metrics memory_latency --budget-ns 10000000000 2>&1
    echo "-"
    env LD_PRELOAD=/guest/standin/libamdhip64.so.5 LD_LIBRARY_PATH=/guest/standin BERTH_STANDIN=/guest/mi250x.node \
        /usr/libexec/berth/berth-probe-gpu --metrics host_gpu_copy_engine --places numa0 --budget-ns 60000000000 2>&1
    echo "gpu probe ended with $?"
}

say() {
    name=$1
    shift
    printf '@@ %s\n' "$name"
    "$@" 2>&1
    printf '\n@@ end %s\n' $?
}

# running: the programs of the user berth
running() { grep -ls "^Uid:[[:space:]]*$(id -u berth)[[:space:]]" /proc/[0-9]*/status | xargs -r -n 1 sed -n 's/^Name:[[:space:]]*//p'; }

pid() { systemctl show berthd -P MainPID; }

# again OLD: waits until another process than that serves
again() {
    for _ in $(seq 60); do
        [ "$(pid)" = "$1" ] || [ "$(pid)" = 0 ] || break
        sleep 0.5
    done
    berth status --wait --timeout 30 >/dev/null 2>&1
}

all() {
    say systemd systemctl --version
    say service systemctl show berthd.service -p ActiveState -p SubState -p Result -p NRestarts -p UnitFileState -p LimitMEMLOCK
    say socket systemctl show berthd.socket -p ActiveState -p UnitFileState
    say "slurmd's status" cat /run/slurmd-saw
    say "slurmd's matrix" cat /run/slurmd-matrix
    say process grep -E '^(Name|Uid|CapEff|NoNewPrivs|Seccomp):' "/proc/$(pid)/status"
    say files ls -ld /run/berth /run/berth/berth.sock /var/lib/berth /var/lib/berth/berth.db
    for _ in $(seq 60); do [ ! -e /run/berth/hwloc.xml ] || break; sleep 0.5; done
    say hwloc sh -c 'ls -l /run/berth/hwloc.xml; setpriv --reuid=65534 --regid=65534 --clear-groups berth exec -- env'
    say topology berth --json topo
    say sandbox systemctl start inside.service
    say inside cat /run/inside.log
    say reload systemctl reload berthd
    sleep 1

    old=$(pid)
    kill -KILL "$old"
    again "$old"
    say killed systemctl show berthd -p ActiveState -p NRestarts
    mkdir -p /run/systemd/system/berthd.service.d
    printf '[Service]\nWatchdogSec=4\n' >/run/systemd/system/berthd.service.d/watchdog.conf
    systemctl daemon-reload
    systemctl restart berthd
    old=$(pid)
    sleep 9
    say "watched" test "$(pid)" = "$old"
    kill -STOP "$old"
    again "$old"
    say hung systemctl show berthd -p ActiveState -p NRestarts

    systemctl stop berthd.service
    say stopped running
    say woken berth status --wait --timeout 60
    say "woken service" systemctl is-active berthd.service
    systemctl stop berthd.service berthd.socket
    say gone running
    say "the socket" test -e /run/berth/berth.sock
    say log journalctl -u berthd --no-pager -o cat
    echo "@@ done"
    systemctl poweroff --force --force
}

case ${1-all} in
driver) driver ;;
inside) inside ;;
all) all >/dev/ttyS0 2>&1 ;;
esac
