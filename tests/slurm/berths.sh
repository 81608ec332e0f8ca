#!/bin/bash
# Jobs on an emulated machine with eight cpus on four NUMA nodes, of which the virtual MI250X node
# has as many: Debian's kernel under QEMU, a private Slurm with berth's plugin and hooks in it, and
# berthd. tests/slurm/berths.py judges what each task found itself in. BUILD is the folder of the
# build; LOG keeps the console. CONSTRAIN is off, or v1 or v2: the version of the cgroups by which
# Slurm constrains cores and devices (tests/slurm/constrained.sh), there with NODE=h200x4 on the
# first cpus, the one NUMA node and the gpus of the recorded H200 node. SLURM_ROOT is the root of
# another Slurm than the system's, and PLUGIN berth's for it (tests/slurm/versions.sh).
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} CONSTRAIN=${CONSTRAIN:-off} NODE=${NODE:-mi250x} from=${SLURM_ROOT:-}
plugin=${PLUGIN:-$BUILD/lib/spank_berth.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=${LOG:-$work/console}
PATH=$PATH:/usr/sbin

leave_out() {
    echo "1..0 # SKIP $*"
    exit 77
}
for tool in qemu-system-x86_64 cpio busybox "$from"/usr/sbin/{slurmd,slurmctld,munged} "$from"/usr/bin/{srun,scontrol}; do
    command -v "$tool" >/dev/null || leave_out "$tool is not here; make check-cluster installs it"
done
[ -e "$plugin" ] || leave_out "Slurm's plugin was not built: no slurm/spank.h"
kernel=$(tests/lib/kernel.sh) || leave_out "$kernel"

root=$work/root plugins=$(dirname "$(find "$from/usr/lib" -name select_cons_tres.so)")
plugins=${plugins#"$from"}
mkdir -p "$root"/{bin,proc,sys,dev,tmp,node,run/munge,etc/slurm,etc/munge,usr/bin,usr/sbin,sbin,lib,var/log/munge,var/lib/munge,var/spool/ctld,var/spool/slurmd,usr/libexec/berth/slurm}
chmod 711 "$root/run/munge"
mkdir -p "$root$plugins"
cp "$(command -v busybox)" "$root/bin/busybox"
cp tests/slurm/guest.init "$root/init"
cp tests/slurm/guest.conf "$root/etc/slurm/slurm.conf"
if [ "$NODE" = mi250x ]; then
    echo "Name=gpu Type=mi250x File=/dev/dri/renderD[128-135]" >"$root/etc/slurm/gres.conf"
    python3 tests/slurm/node.py "$root/node" 1
else
    sed -i 's/gpu:mi250x:8/gpu:h200:4/; s/SocketsPerBoard=4 CoresPerSocket=2/SocketsPerBoard=1 CoresPerSocket=8/' "$root/etc/slurm/slurm.conf"
    echo "Name=gpu Type=h200 File=/dev/nvidia[0-3] Flags=nvidia_gpu_env" >"$root/etc/slurm/gres.conf"
    python3 tests/slurm/node.py "$root/node" 8 "$NODE"
fi
echo "CgroupPlugin=cgroup/v1" >"$root/etc/slurm/cgroup.conf"
echo "required /usr/lib/spank_berth.so socket=/run/berth.sock timeout_ms=10000" >"$root/etc/slurm/plugstack.conf"
echo "root:x:0:0:root:/:/bin/sh" >"$root/etc/passwd"
echo "root:x:0:" >"$root/etc/group"
echo "127.0.0.1 localhost n1" >"$root/etc/hosts"
for hook in etc/slurm/*; do
    { echo '#!/bin/sh' && echo 'export BERTH_SOCKET=/run/berth.sock' && tail -n +2 "$hook"; } >"$root/usr/libexec/berth/slurm/${hook##*/}"
done
chmod +x "$root"/usr/libexec/berth/slurm/* "$root/init"
cp "$BUILD"/bin/{berthd,berth} "$BUILD/slurm/app" "$root/bin/"
cp "$from"/usr/sbin/{slurmctld,slurmd,munged,slurmstepd} "$root/usr/sbin/"
cp "$from"/usr/bin/{srun,scontrol} "$root/usr/bin/"
mkdir -p "$root/usr/lib" && cp "$plugin" "$root/usr/lib/spank_berth.so"
find "$from$plugins" -name '*.so' ! -name 'mpi_pmix*' ! -name 'libslurm_pmi*' -exec cp {} "$root$plugins/" \;
# Libraries as the root's own loader finds them.
loader=/lib64/ld-linux-x86-64.so.2 folders=$from/lib/x86_64-linux-gnu:$from/usr/lib/x86_64-linux-gnu:$from$plugins
find "$root" -type f \( -perm -100 -o -name '*.so' \) | while read -r file; do
    "$from$loader" --library-path "$folders" --list "$file" 2>/dev/null | sed -n "s,.* => $from\(/[^ ]*\) .*,\1,p"
done | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    [ -e "$root$library" ] || cp -L "$from$library" "$root$library"
done
mkdir -p "$root/lib64" && cp -L "$from$loader" "$root$loader"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"

options=(-machine q35 -accel "tcg,thread=multi" -cpu "max,l3-cache=off" -m 2048)
if [ "$NODE" = mi250x ]; then
    options+=(-smp "8,sockets=4,cores=2,threads=1")
    for node in 0 1 2 3; do
        options+=(-object "memory-backend-ram,id=m$node,size=512M" -numa "node,nodeid=$node,cpus=$((2 * node))-$((2 * node + 1)),memdev=m$node")
    done
else
    options+=(-smp "8,sockets=1,cores=8,threads=1" -object "memory-backend-ram,id=m0,size=2048M" -numa "node,nodeid=0,cpus=0-7,memdev=m0")
fi
status=0
timeout -k 5 "${CLUSTER_SECONDS:-900}" qemu-system-x86_64 "${options[@]}" -kernel "$kernel" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check nosoftlockup constrain=$CONSTRAIN node=$NODE" -nographic -no-reboot -nodefaults -serial stdio </dev/null >"$log" 2>&1 || status=$?
[ $status = 0 ] || echo "# qemu ended with $status"
if [ "$CONSTRAIN" = off ]; then python3 tests/slurm/berths.py "$log"; else python3 tests/slurm/constrained.py "$log" "$CONSTRAIN" "$NODE"; fi
