#!/bin/bash
# shellcheck disable=SC2015 # not_ok ends the script
# deploy.sh [DEBS]: a node's image as etc/ansible and etc/warewulf make it, and its boots without a disk of its own. The role berth runs with Debian's ansible-core in
# a clean Debian, against itself: as a check, for real, and again. The overlay is rendered by a stand-in for Warewulf (render.go). With both the image boots three
# times in QEMU from memory, its state directory empty each time, with a shared folder for baselines (9p): n1, and twice n7. tests/package/deploy.py judges what they
# printed. LOG keeps the console. Needs root, and make deb before it.
set -eu
cd "$(dirname "$0")/../.."
debs=${1:-build/deb}
. tests/package/steps.sh
log=${LOG:-$work/console} share=$work/share
need check-deploy qemu-system-x86_64 cpio busybox mmdebstrap dpkg-scanpackages go
kernel=$(tests/lib/kernel.sh 2>/dev/null) || leave_out "$kernel"

# A Debian with Ansible and a repository of berth's packages, as a site has one.
VARIANT=apt MORE=ansible-core,python3-apt tests/package/root.sh "$root"
keep_services
mkdir -p "$root/play/roles" "$root/cluster" "$share"
take_debs "$debs"
(cd "$root/debs" && dpkg-scanpackages . >Packages 2>/dev/null)
rm -rf "$root"/etc/apt/sources.list*
echo "deb [trusted=yes] file:/debs ./" >"$root/etc/apt/sources.list"
cp -r etc/ansible/roles/berth "$root/play/roles"
cat >"$root/play/site.yml" <<'EOF'
- name: The image of a node
  hosts: localhost
  connection: local
  roles:
    - role: berth
      vars: {berth_config: {quick_budget_ms: 20000, duty_percent: 0}, berth_baseline: /cluster/berth, berth_uid: 990, berth_started: false}
EOF
# within COMMAND...: runs it in the image, with its /proc and /dev
# shellcheck disable=SC2016 # the inner shell expands
within() {
    unshare --mount --propagation private sh -eu -c 'root=$1 && shift && mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' - "$root" "$@" >"$work/log" 2>&1 </dev/null
}
play() { within ansible-playbook -i localhost, /play/site.yml "$@"; }
counts() { sed -n "s/^localhost .*\b$1=\([0-9]*\).*/\1/p" "$work/log"; }

within apt-get -q update || not_ok "the image reads the repository"
play --check --diff || not_ok "the role runs as a check"
[ ! -e "$root/usr/bin/berthd" ] && [ ! -e "$root/etc/berth" ] && [ "$(counts changed)" -gt 3 ] || not_ok "the role as a check says what it would do, and does nothing"
ok "the role as a check says what it would do, and does nothing"
play || not_ok "the role makes an image"
[ "$(counts failed)" = 0 ] && [ -x "$root/usr/bin/berthd" ] && [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] || not_ok "the role makes an image"
[ "$(stat -c '%u:%g' "$root/cluster/berth")" = 990:990 ] || not_ok "the folder for baselines is the user berth's, by the number that was asked for"
ok "the role makes an image: packages, configuration, folder, drop-in, enabled units"
for mode in --check --diff; do
    play $mode || not_ok "the role runs again"
    [ "$(counts changed)" = 0 ] && [ "$(counts ok)" -gt 6 ] || not_ok "another run changes nothing"
done
ok "another run changes nothing, and as a check says so"
sed 's/quick_budget_ms: 20000/quik_budget_ms: 20000/' "$root/play/site.yml" >"$root/play/wrong.yml"
! within ansible-playbook -i localhost, /play/wrong.yml && grep -q "quik_budget_ms" "$work/log" && ! grep -q quik "$root/etc/berth/berth.conf" || not_ok "berthd looks at a configuration before it is there"
ok "a key that berthd does not know ends the run, before the file is written"

go build -o "$work/render" tests/package/render.go
node='{"Id": "n7", "Resources": {"berth": {"quick_budget_ms": "20000", "duty_percent": "0", "baseline": "/cluster/berth"}}}'
rendered() { (cd etc/warewulf/overlays/berth/rootfs && "$work/render" "$1" "$node") >"$work/log" 2>&1; }
(cd etc/warewulf/overlays/berth/rootfs && find . -type f) >"$work/overlay"
while read -r file; do
    case $file in
    *.ww) rendered "$file" || not_ok "$file is rendered" ;;
    *) cp "etc/warewulf/overlays/berth/rootfs/$file" "$work/log" ;;
    esac
    cmp -s <(grep -v '^#' "$work/log") <(grep -v '^#' "$root/${file%.ww}") || not_ok "the overlay's $file says what the role's does"
    mkdir -p "$(dirname "$root/$file")" && cp "$work/log" "$root/${file%.ww}"
done <"$work/overlay"
ok "the overlay (by a stand-in for Warewulf) says of each of its files what the role does"
node='{"Id": "n8"}'
rendered etc/berth/berth.conf.ww && ! grep -q = "$work/log" || not_ok "without the resource the configuration is empty"
! rendered etc/systemd/system/berthd.service.d/baseline.conf.ww && [ ! -s "$work/log" ] || not_ok "without a folder there is no drop-in"
ok "a node without the resource has the defaults, and no drop-in"

# The image without its tools, and what tells of its boots.
rm -rf "$root"/{debs,play,usr/sbin/policy-rc.d} "$root"/usr/lib/python3/dist-packages/ansible* "$root"/usr/share/{man,doc,locale,perl5} "$root"/usr/lib/*/perl* "$root"/var/lib/{apt,dpkg} \
    "$root"/var/cache/* "$root"/cluster/*
mkdir -p "$root/guest" "$root/etc/systemd/system/multi-user.target.wants"
cp tests/package/diskless.sh "$(command -v busybox)" "$root/guest/"
find "$(dirname "$kernel")/../lib/modules/${kernel##*/vmlinuz-}" -name '*.ko' -exec cp {} "$root/guest/" \;
cp tests/package/diskless.service "$root/etc/systemd/system/"
ln -s ../diskless.service "$root/etc/systemd/system/multi-user.target.wants/"
echo "cluster /cluster 9p trans=virtio,version=9p2000.L 0 0" >>"$root/etc/fstab"
printf '[Service]\nTimeoutStartSec=300\n' >"$root/etc/systemd/system/berthd.service.d/emulated.conf" # where two cpus are emulated by few
cat >"$root/init" <<'EOF'
#!/guest/busybox sh
for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci netfs fscache 9pnet 9pnet_virtio 9p; do /guest/busybox insmod /guest/$module.ko; done
exec /lib/systemd/systemd
EOF
chmod 755 "$root/init"
(cd "$root" && find . -xdev | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"
rm -rf "$root"
mkdir "$share/berth" && chown 990:990 "$share/berth"

for boot in n1 n7 "n7 again"; do
    status=0
    echo "@@@ $boot" >>"$log"
    timeout -k 5 "${BOOT_SECONDS:-400}" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -kernel "$kernel" -initrd "$work/initrd" \
        -virtfs "local,path=$share,mount_tag=cluster,security_model=passthrough" \
        -append "console=ttyS0 quiet panic=-1 tsc=reliable systemd.show_status=0 systemd.hostname=${boot%% *}" -nographic -no-reboot -nodefaults -serial stdio </dev/null >>"$log" 2>&1 || status=$?
    [ $status = 0 ] || echo "# qemu ended with $status at the boot of $boot"
    # In the place of berth fleet --baseline, which wants five nodes of a class.
    [ "$boot" != n1 ] || mv "$share/berth/n1.baseline" "$share/berth/$(sed -n '1s/.*"fingerprint":"\([0-9a-f]*\)".*/\1/p' "$share/berth/n1.baseline").baseline" || true
done
python3 tests/package/deploy.py "$log" "$number" "$share/berth"
