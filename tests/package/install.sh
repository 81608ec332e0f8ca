#!/bin/bash
# shellcheck disable=SC2015 # not_ok ends the script
# install.sh [DEBS]: the packages in a clean Debian: installed, upgraded, removed, purged. Needs root, and make deb before it.
set -eu
cd "$(dirname "$0")/../.."
debs=${1:-build/deb}
. tests/package/steps.sh
need check-package mmdebstrap

tests/package/root.sh "$root"
keep_services
take_debs "$debs"
files ./var/lib/dpkg ./debs >"$work/before"

within sh -c 'dpkg -i /debs/*.deb' || not_ok "the packages can be installed"
within dpkg --audit && [ ! -s "$work/log" ] || not_ok "nothing is left half done"
for package in berthd berth berth-slurm libberth1 libberth-dev python3-berth; do within dpkg -s $package && grep -q '^Status: install ok installed' "$work/log" || not_ok "$package is installed"; done
ok "the packages are installed, with what a clean system and their dependencies have"
check_user_and_units
ok "the user is there and the units are enabled"
check_programs PYTHONDONTWRITEBYTECODE=1
within berth --node /debs status || [ $? = 65 ] || not_ok "berth finds berthd"
for file in usr/share/man/man{1/berth.1,3/libberth.3,5/berth.conf.5,8/berthd.8}.gz usr/share/bash-completion/completions/berth usr/share/zsh/vendor-completions/_berth \
    usr/include/berth.h usr/include/berth.hpp usr/include/berth.f90 usr/libexec/berth/berth-probe-cpu usr/libexec/berth/berth-probe-gpu usr/libexec/berth/berth-probe-events usr/libexec/berth/slurm/prolog usr/share/doc/berthd/ADMIN.md.gz usr/share/doc/berthd/measured/cpu.md.gz; do
    [ -e "$root/$file" ] || { echo "$file" >"$work/log" && not_ok "pages, completion, header and documents are there"; }
done
ok "programs start; pages, completion, header and documents are there"

make_changes
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
keeps_changes dpkg-dist
ok "an upgrade keeps a changed configuration, what was measured, and a service disabled"

within dpkg -r berth-slurm libberth-dev libberth1 python3-berth berthd berth || not_ok "the packages can be removed"
[ ! -e "$root/usr/bin/berthd" ] && [ ! -e "$root/usr/libexec/berth" ] && [ ! -e "$root/lib/systemd/system/berthd.service" ] || not_ok "programs and units go"
[ -e "$root/etc/berth/berth.conf" ] && [ -e "$root/var/lib/berth/berth.db" ] || not_ok "configuration and measurements stay"
ok "removing takes the programs and the units, and leaves the configuration and what was measured"
within dpkg -P berth-slurm libberth-dev libberth1 python3-berth berthd berth || not_ok "the packages can be purged"
files ./var/lib/dpkg ./debs >"$work/after"
diff "$work/before" "$work/after" >"$work/log" || not_ok "purging leaves nothing"
ok "purging leaves nothing but the user"
within sh -c 'dpkg -i /debs/*.deb' && wanted || not_ok "after that they can be installed again"
ok "after that they can be installed again"
echo "1..$number"
