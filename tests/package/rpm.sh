#!/bin/bash
# shellcheck disable=SC2015 # not_ok ends the script
# rpm.sh [RPMS [DEBS]]: the RPM packages by rpm's own database, in a clean Debian: installed, run, upgraded, erased, and their files
# beside the Debian packages'. No Rocky: what those packages require by Rocky's names is printed, and --nodeps passes over it. Needs
# root, and make rpm deb before it.
set -eu
cd "$(dirname "$0")/../.."
rpms=${1:-build/rpm} debs=${2:-build/deb}
. tests/package/steps.sh
need check-rpm rpm rpmbuild mmdebstrap
installer() { rpm --root "$root" --dbpath /var/lib/rpm "$@" >"$work/log" 2>&1; }
own=(./var/lib/rpm ./usr/lib/.build-id ./etc/ld.so.cache) # rpm's database, links of build identifiers

tests/package/root.sh "$root"
cp -r tests/nodes/mi250x "$root/srv"
mapfile -t first < <(find "$rpms/RPMS" -name '*.rpm' ! -name '*-debug*' | sort)
site=$(rpm -qpl "${first[@]}" 2>/dev/null | grep -m 1 -o '.*/site-packages')
# Folders that Rocky's own packages have.
mkdir -p "$root/usr/share/licenses" "$root/usr/lib64/pkgconfig" "$root$site"
files "${own[@]}" >"$work/before"
slurm=$(basename "$(find "$rpms/RPMS" -name 'berth-slurm-*')" .rpm)
built=$(echo '#include <slurm/slurm_version.h>' | cpp -dM - 2>/dev/null | sed -n 's/^#define SLURM_VERSION_NUMBER //p')
[[ $slurm == "berth-slurm-$version-1$([ -z "$built" ] || printf .slurm%d.%02d $((built >> 16)) $((built >> 8 & 255)))"* ]] || not_ok "$slurm does not name Slurm's version"
ok "$slurm names the Slurm of its plugin"

installer --initdb && installer -i --nodeps "${first[@]}" || not_ok "the packages can be installed"
! grep -vE '^(Creat(ing|ed)|rpm:) ' "$work/log" || not_ok "installing tells of the user and the units alone, and Debian's rpm of itself"
installer -qa && [ "$(wc -l <"$work/log")" = 6 ] || not_ok "six packages are installed"
installer -V -a --nodeps || not_ok "what is installed is what was packed"
ok "the packages are installed, and rpm -V finds no difference"
check_user_and_units
for timer in berth-export.timer berth-events.timer; do ! within systemctl is-enabled $timer || not_ok "$timer is the administrator's"; done
ok "the user is there, service and socket are enabled, the timers are not"

check_programs "PYTHONPATH=$site" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=/usr/lib64
for probe in cpu gpu events; do within "/usr/libexec/berth/berth-probe-$probe" --version || not_ok "berth-probe-$probe starts"; done
within berth --node /srv/mi250x bind -n 8 || not_ok "berth starts berthd, and that answers"
grep -q gpu0 "$work/log" || not_ok "an answer has GPUs"
ldd "$root/usr/lib64/libberth.so.1" >"$work/log" && ! grep 'not found' "$work/log" || not_ok "the library finds its own"
ok "command, daemon, probes, library and Python package run from there"
rpm -qp --requires "${first[@]}" 2>/dev/null | grep -vE '^(/|rpmlib|berth|libberth|libc\.so|libm\.so|libdl|libpthread|rtld|ld-linux)' | sort -u | sed 's/^/# required by a name that Rocky has: /'

make_changes
# A newer package of the same files, with another configuration.
mkdir "$work/unpacked"
for rpm in "${first[@]}"; do rpm2cpio "$rpm" | (cd "$work/unpacked" && cpio -id --quiet); done
echo "# a newer default" >>"$work/unpacked/etc/berth/berth.conf"
tar -xzf "build/dist/berth-$version.tar.gz" -C "$work"
awk -v from="$work/unpacked" '/^%prep/ { skip = 1; print "%install\ncp -a " from "/. %{buildroot}" } /^# The user stays/ { skip = 0 } !skip' \
    etc/rpm/berth.spec >"$work/newer.spec"
rpmbuild --nodeps --define "_topdir $work/newer" --define "_builddir $work/berth-$version" --define 'build_number 2' -bb "$work/newer.spec" >"$work/log" 2>&1 ||
    not_ok "a newer package can be made"
mapfile -t second < <(find "$work/newer/RPMS" -name '*.rpm')
installer -U --nodeps "${second[@]}" || not_ok "the packages can be upgraded"
keeps_changes rpmnew
ok "an upgrade keeps a changed configuration, what was measured, and a service disabled"

installer -e --nodeps berth-slurm libberth-devel libberth1 python3-berth berthd berth || not_ok "the packages can be erased"
[ "$(cat "$root/var/lib/berth/berth.db")" = kept ] && [ -e "$root/etc/berth/berth.conf.rpmsave" ] || not_ok "what was measured and a changed configuration stay"
rm -r "$root/var/lib/berth" "$root/etc/berth"
files "${own[@]}" >"$work/after"
diff "$work/before" "$work/after" >"$work/log" || not_ok "erasing leaves nothing"
ok "erasing leaves the user, what was measured and a changed configuration, and nothing else"

# Lines "PACKAGE FILE" of both kinds, with the folders by name that the distributions put elsewhere.
rpm_files() {
    rpm -qp --qf '[%{=NAME} %{FILEMODES:perms} %{FILENAMES}\n]' "${first[@]}" 2>/dev/null | awk '$2 !~ /^d/ { print $1, $3 }' |
        sed -E 's|^([^ ]*)-devel |\1-dev |; s|/usr/lib64/|/LIB/|; s|/usr/lib/systemd|/lib/systemd|; s|site-functions|vendor-completions|; s|/usr/lib/python3[.0-9]*/site-packages|/PYTHON|'
}
deb_files() {
    local deb
    for deb in "$debs"/*.deb; do
        [[ $deb == *-dbgsym_* ]] || dpkg-deb -c "$deb" | awk -v name="$(dpkg-deb -f "$deb" Package)" '!/^d/ { sub(/^\./, "", $6); print name, $6 }' |
            sed -E 's|/usr/lib/[a-z0-9_]+-linux-gnu/|/LIB/|; s|/usr/lib/python3/dist-packages|/PYTHON|'
    done
}
# common: without what each kind has for itself
common() { sed 's|\(/man/.*\)\.gz$|\1|' | grep -vE '/share/(doc|licenses|lintian)|/\.build-id|dist-info|__pycache__|system-preset' | sort; }
if compgen -G "$debs/*.deb" >/dev/null; then
    diff <(deb_files | common) <(rpm_files | common) >"$work/log" || not_ok "both kinds of packages have the same files"
    ok "both kinds of packages have the same files"
else
    ok "both kinds of packages have the same files # SKIP there are no Debian packages; make deb builds them"
fi
echo "1..$number"
