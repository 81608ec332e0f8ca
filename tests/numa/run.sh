#!/bin/bash
# berth on a machine with four NUMA nodes, the last one of memory alone, distances of its own and cgroups: Debian's kernel under QEMU's
# software emulation, which says nothing about speed. The real daemon, probe, command and docs/examples/alloc.c run in it;
# tests/numa/check.py judges what they print. BUILD is the folder of the build; LOG keeps the console.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=${LOG:-$work/console}

leave_out() {
    echo "1..0 # SKIP $*"
    exit 77
}
for tool in qemu-system-x86_64 cpio busybox; do
    command -v $tool >/dev/null || leave_out "$tool is not here; make check-numa installs it"
done
ldd "$(command -v busybox)" >/dev/null 2>&1 && leave_out "busybox is not the static one; make check-numa installs it"

kernel=$(tests/lib/kernel.sh) || leave_out "$kernel"

# The guest's whole system: busybox, what was built, and the libraries it is linked to.
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,state,narrow,usr/bin,usr/sbin,sbin}
cp "$(command -v busybox)" "$root/bin/busybox"
cp tests/numa/guest.sh "$root/init"
cp "$BUILD"/bin/{berthd,berth,berth-probe-cpu} "$BUILD/examples/alloc" "$root/bin/"
for file in "$root"/bin/*; do
    ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true
done | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
mkdir -p "$root/lib"
cp -L "$BUILD"/lib/libberth.so.* "$root/lib/"
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"

options=(-machine "q35" -accel "tcg,thread=multi" -cpu "max,l3-cache=off" -smp "6,sockets=3,cores=2,threads=1" -m 2048)
for node in 0 1 2 3; do
    cpus=",cpus=$((2 * node))-$((2 * node + 1))"
    [ $node != 3 ] || cpus=""
    options+=(-object "memory-backend-ram,id=m$node,size=512M" -numa "node,nodeid=$node$cpus,memdev=m$node")
done
for pair in 0:1:12 0:2:20 0:3:17 1:2:14 1:3:28 2:3:11; do
    IFS=: read -r from to distance <<<"$pair"
    options+=(-numa "dist,src=$from,dst=$to,val=$distance" -numa "dist,src=$to,dst=$from,val=$distance")
done
status=0
timeout -k 5 "${NUMA_SECONDS:-280}" qemu-system-x86_64 "${options[@]}" -kernel "$kernel" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable" -nographic -no-reboot -nodefaults -serial stdio </dev/null >"$log" 2>&1 || status=$?
[ $status = 0 ] || echo "# qemu ended with $status"
python3 tests/numa/check.py "$log"
