#!/bin/bash
# root.sh VERSION: a root with that Slurm and the programs of its tests, unpacked once into build/slurm/VERSION/root from the suite of Debian or Ubuntu that has
# it. A root that stands there already is taken as it is. Status 77, with the reason, when there is none. Needs root.
set -eu
cd "$(dirname "$0")/../.."
version=$1 folder=build/slurm/$1
[ ! -e "$folder/root" ] || exit 0
more=()
case $version in
23.11) suite=noble ;;
24.11) suite=trixie ;;
25.11) suite=resolute ;;
26.05) suite=sid ;; # the newest; sid goes on, and the check below says so
*) echo "no suite has it: put a root with its programs and headers into $folder/root" && exit 77 ;;
esac
mkdir -p "$folder"
work=$(mktemp -d "$PWD/$folder/new-XXXXXX")
trap 'rm -rf "$work"' EXIT
# A mirror may be some weeks behind.
# unpack FOLDER SUITE PACKAGES MMDEBSTRAP'S WORDS...: packages that are unpacked and not installed: no scripts of theirs run
unpack() {
    mmdebstrap --quiet --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt='path-exclude=/usr/share/doc/*' --include="$3" "${@:4}" "$2" "$1" >"$work/log" 2>&1 ||
        { grep -m 1 ^E: "$work/log" || true && echo "$2 could not be unpacked" && exit 77; }
}
case $suite in
noble | resolute)
    unpack "$work/keys" trixie ubuntu-keyring
    more=(--components="main,universe" --keyring="$work/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg")
    ;;
esac
programs=bash,coreutils,dash,grep,sed,util-linux,bsdutils,mount,hostname,procps,python3
libraries=libhwloc15,libnuma1,libuv1,libsqlite3-0,libjansson4,libncursesw6
unpack "$work/root" "$suite" "$programs,$libraries,munge,slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins,libslurm-dev" "${more[@]}"
for program in "$work/root"/usr/sbin/slurm*-wlm; do ln -s "${program##*/}" "${program%-wlm}"; done
mkdir -p "$work"/root/{etc,proc,dev}
printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534:nobody:/:/bin/sh >"$work/root/etc/passwd"
printf '%s\n' root:x:0: tty:x:5: nogroup:x:65534: >"$work/root/etc/group"
: >"$work/root/etc/hosts"
found=$(chroot "$work/root" /usr/sbin/slurmd -V)
[[ $found == *" $version".* ]] || { echo "$suite has $found by now" && exit 77; }
mv "$work/root" "$folder/root"
