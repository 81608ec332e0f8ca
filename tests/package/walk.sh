#!/bin/bash
# walk.sh: does what docs/ADMIN.md and docs/SLURM.md tell an administrator, with the commands that stand there. Their code blocks "sh build machine" run in a
# fresh Debian, those "sh node" on another one that is booted with systemd as PID 1 in QEMU's software emulation: eight cpus on four NUMA nodes, and the network for
# apt. tests/package/walk.py judges what the node printed, and PAGE gets it as a page for docs/measured. KEEP names a new folder in which the node's disk (after each
# boot), kernel and console are left, to look at or to boot again. Needs root, Debian's mirror, and a quarter of an hour.
set -eu
cd "$(dirname "$0")/../.."
if [ -n "${KEEP:-}" ]; then mkdir "$KEEP" && work=$(realpath "$KEEP"); else work=$(mktemp -d); fi
log=$work/console

leave_out() {
    echo "1..0 # SKIP $*"
    exit 77
}
finish() {
    ! mountpoint -q "$work/build/proc" || umount "$work/build/proc"
    rm -rf "$work/build" "$work/node"
    [ -n "${KEEP:-}" ] || rm -rf "$work"
}
[ "$(id -u)" = 0 ] || leave_out "only root can install packages"
for tool in qemu-system-x86_64 mmdebstrap mke2fs; do
    command -v $tool >/dev/null || leave_out "$tool is not here; make check-walk installs it"
done
trap finish EXIT

# A fresh Debian with a kernel and a network. Its apt installs no recommended packages, so that what a guide needs stands in the guide.
fresh=${ROOT_CACHE:-build/root}/fresh.tar
if [ ! -e "$fresh" ]; then
    mkdir -p "$(dirname "$fresh")"
    mmdebstrap --quiet --variant=important --include=linux-image-amd64,systemd-sysv,ca-certificates,ifupdown,isc-dhcp-client --aptopt='Apt::Install-Recommends "false"' \
        bookworm "${fresh%.tar}.new.tar" "${MIRROR:-http://deb.debian.org/debian}"
    mv "${fresh%.tar}.new.tar" "$fresh"
fi
mkdir "$work/build" "$work/node"
for root in "$work/build" "$work/node"; do tar -x -C "$root" -f "$fresh"; done

# blocks WHERE FOLDER: the code blocks of that machine, in their order, a file each
blocks() {
    mkdir -p "$2"
    for guide in ADMIN SLURM; do
        awk -v begin="\`\`\`sh $1" -v out="$2/$guide" '$0 == begin { on = 1; n++; next } /^```$/ { on = 0 } on { print >sprintf("%s-%02d", out, n) }' docs/$guide.md
    done
}

mkdir "$work/build/srv/berth"
tests/lib/ours.sh | tar -c -T - | tar -x -C "$work/build/srv/berth"
rm -f "$work/build/etc/resolv.conf" && cp -L /etc/resolv.conf "$work/build/etc/"
mount -t proc proc "$work/build/proc"
blocks "build machine" "$work/build/blocks"
for block in "$work"/build/blocks/*; do
    echo "# build machine: ${block##*/}"
    chroot "$work/build" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive bash -e -c "cd /srv/berth && . /blocks/${block##*/}" >"$work/said" 2>&1 </dev/null ||
        { sed 's/^/# /' "$work/said" | tail -n 60 && echo "not ok 1 - what the guides say for the build machine works" && exit 1; }
done

# The node: what the guides have copied to it, their commands, and who runs these.
node=$work/node
cp "$work"/build/srv/berth/build/deb/*.deb "$node/root" && rm -f "$node"/root/*-dbgsym_*
cp -r "$work/build/srv/berth/build/virtual-node" "$node/root"
blocks "node" "$node/walk/blocks"
${CC:-cc} -std=c17 -D_GNU_SOURCE -O2 -o "$node/walk/app" tests/slurm/app.c
cp tests/package/walker.sh "$node/walk/" && cp tests/package/walker.service "$node/etc/systemd/system/"
ln -s ../walker.service "$node/etc/systemd/system/multi-user.target.wants/"
ln -s /dev/null "$node/etc/systemd/system/serial-getty@ttyS0.service" # a login would take the console over
echo n1 >"$node/etc/hostname" && printf '127.0.0.1 localhost\n127.0.1.1 n1\n' >"$node/etc/hosts"
printf 'auto lo\niface lo inet loopback\nauto eth0\niface eth0 inet dhcp\n' >"$node/etc/network/interfaces"
rm -f "$node/etc/resolv.conf"
cp "$node"/boot/vmlinuz-* "$work/kernel" && cp "$node"/boot/initrd.img-* "$work/initrd"
truncate -s 4G "$work/disk" && mke2fs -q -t ext4 -d "$node" "$work/disk"
rm -rf "$node"

options=(-machine q35 -accel "tcg,thread=multi" -cpu "max,l3-cache=off" -smp "8,sockets=4,cores=2,threads=1" -m 2048)
for number in 0 1 2 3; do
    options+=(-object "memory-backend-ram,id=m$number,size=512M" -numa "node,nodeid=$number,cpus=$((2 * number))-$((2 * number + 1)),memdev=m$number")
done
# It is booted twice, and shut down as an administrator would: a machine that was set up has to come up so by itself.
for boot in 1 2; do
    status=0
    timeout -k 5 "${BOOT_SECONDS:-2400}" qemu-system-x86_64 "${options[@]}" -kernel "$work/kernel" -initrd "$work/initrd" -drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" \
        -netdev user,id=net -device virtio-net-pci,netdev=net -object rng-random,id=random,filename=/dev/urandom -device virtio-rng-pci,rng=random \
        -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check net.ifnames=0 systemd.show_status=0" -nographic -no-reboot -nodefaults -serial stdio \
        </dev/null >>"$log" 2>&1 || status=$?
    [ -z "${KEEP:-}" ] || cp --sparse=always "$work/disk" "$work/disk.$boot"
    [ $status = 0 ] || { echo "# qemu ended with $status at boot $boot" && break; }
    ! grep -q '@@ end [1-9]' "$log" || break # a block of the guides failed
done
[ -z "${LOG:-}" ] || cp "$log" "$LOG"
python3 tests/package/walk.py "$log" ${PAGE:+"$PAGE"}
