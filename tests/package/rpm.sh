#!/bin/bash
# shellcheck disable=SC2015 # not_ok ends the script
# rpm.sh [RPMS [DEBS]]: the RPM packages by rpm's own database, in a clean Debian: installed, run, upgraded, erased, and their files
# beside the Debian packages'. No Rocky: what those packages require by Rocky's names is printed, and --nodeps passes over it. Needs
# root, and make rpm deb before it.
set -eu
cd "$(dirname "$0")/../.."
rpms=${1:-build/rpm} debs=${2:-build/deb}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root can install packages" && exit 77; }
for tool in rpm rpmbuild mmdebstrap; do
    command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is not here; make check-rpm installs it" && exit 77; }
done
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
within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@" >"$work/log" 2>&1 </dev/null; }
installer() { rpm --root "$root" --dbpath /var/lib/rpm "$@" >"$work/log" 2>&1; }
# files: all there are, but rpm's database and links of build identifiers, and what makers of users keep for themselves
files() { (cd "$root" && find . -xdev \( -path ./var/lib/rpm -o -path ./usr/lib/.build-id -o -path ./var/log -o -path ./var/cache \) -prune -o -print) | grep -vE '^\./etc/((passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)-?|ld.so.cache)$' | sort; }
wanted() { [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] && [ -L "$root/etc/systemd/system/sockets.target.wants/berthd.socket" ]; }

tests/package/root.sh "$root"
cp -r tests/nodes/mi250x "$root/srv"
mapfile -t first < <(find "$rpms/RPMS" -name '*.rpm' ! -name '*-debug*' | sort)
site=$(rpm -qpl "${first[@]}" 2>/dev/null | grep -m 1 -o '.*/site-packages')
# Folders that Rocky's own packages have.
mkdir -p "$root/usr/share/licenses" "$root/usr/lib64/pkgconfig" "$root$site"
files >"$work/before"
slurm=$(basename "$(find "$rpms/RPMS" -name 'berth-slurm-*')" .rpm)
built=$(echo '#include <slurm/slurm_version.h>' | cpp -dM - 2>/dev/null | sed -n 's/^#define SLURM_VERSION_NUMBER //p')
[[ $slurm == "berth-slurm-$version-1$([ -z "$built" ] || printf .slurm%d.%02d $((built >> 16)) $((built >> 8 & 255)))"* ]] || not_ok "$slurm does not name Slurm's version"
ok "$slurm names the Slurm of its plugin"

installer --initdb && installer -i --nodeps "${first[@]}" || not_ok "the packages can be installed"
! grep -vE '^(Creat(ing|ed)|rpm:) ' "$work/log" || not_ok "installing tells of the user and the units alone, and Debian's rpm of itself"
installer -qa && [ "$(wc -l <"$work/log")" = 6 ] || not_ok "six packages are installed"
installer -V -a --nodeps || not_ok "what is installed is what was packed"
ok "the packages are installed, and rpm -V finds no difference"
within id berth && grep -q render "$work/log" && grep -q video "$work/log" || not_ok "the user berth is made, in the groups of GPUs' device nodes"
wanted || not_ok "the preset enables service and socket"
for timer in berth-export.timer berth-events.timer; do ! within systemctl is-enabled $timer || not_ok "$timer is the administrator's"; done
ok "the user is there, service and socket are enabled, the timers are not"

within berth --version && grep -qx "berth $version" "$work/log" || not_ok "berth starts"
within berthd --check-config || not_ok "the configuration that comes along is right"
for probe in cpu gpu events; do within "/usr/libexec/berth/berth-probe-$probe" --version || not_ok "berth-probe-$probe starts"; done
within berth --node /srv/mi250x bind -n 8 || not_ok "berth starts berthd, and that answers"
grep -q gpu0 "$work/log" || not_ok "an answer has GPUs"
within env "PYTHONPATH=$site" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=/usr/lib64 python3 -c 'import berth; print(berth.__version__, berth.take().reason)' && grep -qx "$version no daemon at /run/berth/berth.sock" "$work/log" || not_ok "Python has the package"
ldd "$root/usr/lib64/libberth.so.1" >"$work/log" && ! grep 'not found' "$work/log" || not_ok "the library finds its own"
ok "command, daemon, probes, library and Python package run from there"
rpm -qp --requires "${first[@]}" 2>/dev/null | grep -vE '^(/|rpmlib|berth|libberth|libc\.so|libm\.so|libdl|libpthread|rtld|ld-linux)' | sort -u | sed 's/^/# required by a name that Rocky has: /'

echo "admin_group = wheel" >>"$root/etc/berth/berth.conf"
mkdir -p "$root/var/lib/berth" && echo kept >"$root/var/lib/berth/berth.db"
within systemctl disable berthd.service || not_ok "the service can be disabled"
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
grep -q '^admin_group = wheel' "$root/etc/berth/berth.conf" && [ -e "$root/etc/berth/berth.conf.rpmnew" ] || not_ok "an upgrade keeps a changed configuration, the new one beside it"
! [ -L "$root/etc/systemd/system/multi-user.target.wants/berthd.service" ] || not_ok "a service that was disabled stays disabled over an upgrade"
ok "an upgrade keeps a changed configuration, and a service disabled"

installer -e --nodeps berth-slurm libberth-devel libberth1 python3-berth berthd berth || not_ok "the packages can be erased"
[ "$(cat "$root/var/lib/berth/berth.db")" = kept ] && [ -e "$root/etc/berth/berth.conf.rpmsave" ] || not_ok "what was measured and a changed configuration stay"
rm -r "$root/var/lib/berth" "$root/etc/berth"
files >"$work/after"
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
