#!/bin/bash
# shellcheck disable=SC2015 # not_ok ends the script
# install.sh [DEBS]: the packages in a clean Debian: installed, upgraded, removed, purged. Needs root, and make deb before it.
set -eu
cd "$(dirname "$0")/../.."
debs=${1:-build/deb}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root can install packages" && exit 77; }
command -v mmdebstrap >/dev/null || { echo "1..0 # SKIP mmdebstrap is not here; make check-package installs it" && exit 77; }
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
number=0
ok() { number=$((number + 1)) && echo "ok $number - $1"; }
not_ok() {
    echo "not ok $((number + 1)) - $1"
    sed 's/^/# /' "$work/log"
    exit 1
}
within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" >"$work/log" 2>&1 </dev/null; }
# files: all there are, but what dpkg and the makers of users keep for themselves
files() { (cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./debs \) -prune -o -print) | grep -vE '^\./etc/(passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)-?$' | sort; }
wanted() { [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] && [ -L "$root/etc/systemd/system/sockets.target.wants/berthd.socket" ]; }

tests/package/root.sh "$root"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"
rm -f "$root"/debs/*-dbgsym_*
files >"$work/before"

within sh -c 'dpkg -i /debs/*.deb' || not_ok "the packages can be installed"
within dpkg --audit && [ ! -s "$work/log" ] || not_ok "nothing is left half done"
for package in berthd berth berth-slurm libberth1 libberth-dev python3-berth; do within dpkg -s $package && grep -q '^Status: install ok installed' "$work/log" || not_ok "$package is installed"; done
ok "the packages are installed, with what a clean system and their dependencies have"
within id berth && grep -q 'render' "$work/log" && grep -q 'video' "$work/log" || not_ok "the user berth is made, in the groups of GPUs' device nodes"
wanted || not_ok "the units are enabled"
ok "the user is there and the units are enabled"
within berth --version && grep -qx "berth $version" "$work/log" || not_ok "berth starts"
within berthd --check-config || not_ok "the configuration that comes along is right"
within python3 -c 'import berth; print(berth.__version__, berth.take().reason)' && grep -qx "$version no daemon at /run/berth/berth.sock" "$work/log" || not_ok "Python has the package"
within berth --node /debs status || [ $? = 65 ] || not_ok "berth finds berthd"
for file in usr/share/man/man{1/berth.1,3/libberth.3,5/berth.conf.5,8/berthd.8}.gz usr/share/bash-completion/completions/berth usr/share/zsh/vendor-completions/_berth \
    usr/include/berth.h usr/include/berth.hpp usr/include/berth.f90 usr/libexec/berth/berth-probe-cpu usr/libexec/berth/berth-probe-gpu usr/libexec/berth/berth-probe-events usr/libexec/berth/slurm/prolog usr/share/doc/berthd/ADMIN.md.gz usr/share/doc/berthd/measured/cpu.md.gz; do
    [ -e "$root/$file" ] || { echo "$file" >"$work/log" && not_ok "pages, completion, header and documents are there"; }
done
ok "programs start; pages, completion, header and documents are there"

echo "admin_group = wheel" >>"$root/etc/berth/berth.conf"
mkdir -p "$root/var/lib/berth" && echo kept >"$root/var/lib/berth/berth.db"
within systemctl disable berthd.service || not_ok "the service can be disabled"
mkdir "$root/debs/new"
for deb in "$root"/debs/*.deb; do
    dpkg-deb -R "$deb" "$work/unpacked"
    sed -i -e "s/^Version: .*/Version: $version+1/" -e "s/(= $version)/(= $version+1)/" "$work/unpacked/DEBIAN/control"
    [ ! -e "$work/unpacked/etc/berth/berth.conf" ] || { echo "# a newer default" >>"$work/unpacked/etc/berth/berth.conf" &&
        (cd "$work/unpacked" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums); }
    dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/unpacked" "$root/debs/new" >/dev/null
    rm -r "$work/unpacked"
done
within sh -c 'dpkg --force-confold -i /debs/new/*.deb' || not_ok "the packages can be upgraded"
within dpkg --audit && [ ! -s "$work/log" ] || not_ok "nothing is left half done by the upgrade"
grep -q '^admin_group = wheel' "$root/etc/berth/berth.conf" && [ -e "$root/etc/berth/berth.conf.dpkg-dist" ] || not_ok "an upgrade keeps a changed configuration, the new one beside it"
[ "$(cat "$root/var/lib/berth/berth.db")" = kept ] || not_ok "an upgrade keeps what was measured"
ok "an upgrade keeps a changed configuration and what was measured"
! [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] || not_ok "a service that was disabled stays disabled over an upgrade"
ok "a service that was disabled stays disabled over an upgrade"

within dpkg -r berth-slurm libberth-dev libberth1 python3-berth berthd berth || not_ok "the packages can be removed"
[ ! -e "$root/usr/bin/berthd" ] && [ ! -e "$root/usr/libexec/berth" ] && [ ! -e "$root/lib/systemd/system/berthd.service" ] || not_ok "programs and units go"
[ -e "$root/etc/berth/berth.conf" ] && [ -e "$root/var/lib/berth/berth.db" ] || not_ok "configuration and measurements stay"
ok "removing takes the programs and the units, and leaves the configuration and what was measured"
within dpkg -P berth-slurm libberth-dev libberth1 python3-berth berthd berth || not_ok "the packages can be purged"
files >"$work/after"
diff "$work/before" "$work/after" >"$work/log" || not_ok "purging leaves nothing"
ok "purging leaves nothing but the user"
within sh -c 'dpkg -i /debs/*.deb' && wanted || not_ok "after that they can be installed again"
ok "after that they can be installed again"
echo "1..$number"
