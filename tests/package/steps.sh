# shellcheck shell=bash
# shellcheck disable=SC2015 # not_ok ends the script
# steps.sh: what the scripts of this folder share; they source it in the project's folder. It makes the folder $work, which goes when the script ends, and names a root in it.
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
number=0

leave_out() {
    echo "1..0 # SKIP $*"
    exit 77
}
# need GOAL TOOL...: leaves the test out without root or one of the tools, which that goal of make installs
need() {
    local goal=$1 tool
    [ "$(id -u)" = 0 ] || leave_out "only root can install packages"
    for tool in "${@:2}"; do
        command -v "$tool" >/dev/null || leave_out "$tool is not here; make $goal installs it"
    done
}
ok() { number=$((number + 1)) && echo "ok $number - $1"; }
# not_ok TEXT: ends the script, with the end of what the last command printed
not_ok() {
    echo "not ok $((number + 1)) - $1"
    tail -n 30 "$work/log" | sed 's/^/# /'
    exit 1
}
# within COMMAND...: runs it in the root
within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" >"$work/log" 2>&1 </dev/null; }
# keep_services: nothing is started by an installation
keep_services() { printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod 755 "$root/usr/sbin/policy-rc.d"; }
# take_debs FOLDER: the packages of that folder into /debs of the root, less those of debugging symbols
take_debs() { mkdir -p "$root/debs" && cp "$1"/*.deb "$root/debs" && rm -f "$root"/debs/*-dbgsym_*; }
# files PATH...: all files of the root but below these paths, and but what makers of users keep for themselves
files() {
    local path but=(-path ./var/log -o -path ./var/cache)
    for path; do but+=(-o -path "$path"); done
    (cd "$root" && find . -xdev \( "${but[@]}" \) -prune -o -print) | grep -vE '^\./etc/(passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)-?$' | sort
}

# ---- what is true of each kind of package ----

wanted() { [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] && [ -L "$root/etc/systemd/system/sockets.target.wants/berthd.socket" ]; }
check_user_and_units() {
    within id berth && grep -q render "$work/log" && grep -q video "$work/log" || not_ok "the user berth is made, in the groups of GPUs' device nodes"
    wanted || not_ok "service and socket are enabled"
}
# check_programs VARIABLE...: command, daemon and Python package start; the variables are Python's
check_programs() {
    within berth --version && grep -qx "berth $version" "$work/log" || not_ok "berth starts"
    within berthd --check-config || not_ok "the configuration that comes along is right"
    within env "$@" python3 -c 'import berth; print(berth.__version__, berth.take().reason)' && grep -qx "$version no daemon at /run/berth/berth.sock" "$work/log" || not_ok "Python has the package"
}
# An administrator's changes, and whether an upgrade has left them: keeps_changes SUFFIX of the newer configuration
make_changes() {
    echo "admin_group = wheel" >>"$root/etc/berth/berth.conf"
    mkdir -p "$root/var/lib/berth" && echo kept >"$root/var/lib/berth/berth.db"
    within systemctl disable berthd.service || not_ok "the service can be disabled"
}
keeps_changes() {
    grep -q '^admin_group = wheel' "$root/etc/berth/berth.conf" && [ -e "$root/etc/berth/berth.conf.$1" ] || not_ok "an upgrade keeps a changed configuration, the new one beside it"
    [ "$(cat "$root/var/lib/berth/berth.db")" = kept ] || not_ok "an upgrade keeps what was measured"
    ! [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] || not_ok "a service that was disabled stays disabled over an upgrade"
}
