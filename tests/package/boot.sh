#!/bin/bash
# boot.sh [DEBS]: the packages on a Debian whose PID 1 is systemd, in QEMU's software emulation: what is enabled, who runs, what works in the
# service's sandbox and what does not. tests/package/guest.sh runs there, tests/package/boot.py judges what it prints. LOG keeps the console. Needs root, and make deb
# and make standins before it.
set -eu
cd "$(dirname "$0")/../.."
debs=${1:-build/deb} BUILD=${BUILD:-build}
. tests/package/steps.sh
log=${LOG:-$work/console}
need check-package qemu-system-x86_64 cpio busybox mmdebstrap
kernel=$(tests/lib/kernel.sh) || leave_out "$kernel"

tests/package/root.sh "$root"
keep_services
mkdir -p "$root/guest/standin"
take_debs "$debs"
within sh -c 'dpkg -i /debs/*.deb' || not_ok "the packages can be installed"
rm -r "$root/debs" "$root/usr/sbin/policy-rc.d" "$root"/usr/share/{man,doc,locale,perl5} "$root"/var/lib/dpkg "$root"/var/cache/*
echo "quick_budget_ms = 20000" >>"$root/etc/berth/berth.conf"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"

# What the guest needs of ours: the tests, a driver's sysfs tree, and a stand-in for its library.
${CC:-cc} -std=c17 -D_GNU_SOURCE -O2 -o "$root/guest/inside" tests/package/inside.c
cp tests/package/guest.sh "$root/guest/"
cp -r tests/nodes/mi250x/kfd "$root/guest/"
cp "$BUILD/standin/hip/"*.so.5 "$root/guest/standin/"
cp tests/standin/nodes/mi250x.node "$root/guest/"
cp "$(command -v busybox)" "$root/guest/"
cp tests/package/*.service "$root/etc/systemd/system/"
for unit in gpu-driver slurmd guest; do ln -s "../$unit.service" "$root/etc/systemd/system/multi-user.target.wants/"; done
# The service as it is, with another program in it.
sed -e '/^\(Exec\|Type\|Restart\|Watchdog\|Timeout\|Before\|After\|Requires\|WantedBy\|Also\)/d' -e '/^\[Install\]/d' "$root/lib/systemd/system/berthd.service" >"$root/etc/systemd/system/inside.service"
mkdir "$root/etc/systemd/system/inside.service.d"
cat >"$root/etc/systemd/system/inside.service.d/what.conf" <<'EOF'
[Service]
Type=oneshot
TimeoutStartSec=240
StandardOutput=file:/run/inside.log
StandardError=inherit
ExecStart=/guest/guest.sh inside
EOF
ln -sf /lib/systemd/systemd "$root/init"
(cd "$root" && find . -xdev | cpio --quiet -o -H newc) >"$work/initrd"
rm -rf "$root"

status=0
timeout -k 5 "${BOOT_SECONDS:-280}" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -kernel "$kernel" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable systemd.show_status=0 systemd.unit=multi-user.target" -nographic -no-reboot -nodefaults -serial stdio </dev/null >"$log" 2>&1 || status=$?
[ $status = 0 ] || { echo "# qemu ended with $status" && tail -n 5 "$log" | sed 's/^/# /'; }
python3 tests/package/boot.py "$log"
