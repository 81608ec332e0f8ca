#!/bin/bash
# root.sh FOLDER: a clean Debian there, with systemd and what berth depends on, and nothing of berth. It is made once, and kept in build/root.
set -eu
cd "$(dirname "$0")/../.."
folder=$1 cache=${ROOT_CACHE:-build/root/$(cksum <tests/package/root.sh | cut -d " " -f 1).tar} # another list of packages is another root
if [ ! -e "$cache" ]; then
    mkdir -p "$(dirname "$cache")"
    mmdebstrap --quiet --variant=essential --include=systemd,systemd-sysv,init-system-helpers,libhwloc15,libjansson-dev,libnuma-dev,libncursesw6,libsqlite3-0,libuv1,python3 \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/doc/berth*' \
        --dpkgopt='path-include=/usr/share/doc/libberth*' bookworm "${cache%.tar}.new.tar" "${MIRROR:-http://deb.debian.org/debian}"
    mv "${cache%.tar}.new.tar" "$cache"
fi
mkdir -p "$folder"
tar -x -C "$folder" -f "$cache"
