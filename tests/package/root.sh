#!/bin/bash
# root.sh FOLDER: a clean Debian there, with systemd and what berth depends on, and nothing of berth. It is made once, and kept in build/root. VARIANT and MORE
# are another variant of mmdebstrap's, and more packages.
set -eu
cd "$(dirname "$0")/../.."
folder=$1 variant=${VARIANT:-essential} more=${MORE:+,$MORE}
cache=${ROOT_CACHE:-build/root/$(echo "$variant $more" | cksum - tests/package/root.sh | cksum | cut -d " " -f 1).tar} # another list of packages is another root
if [ ! -e "$cache" ]; then
    mkdir -p "$(dirname "$cache")"
    mmdebstrap --quiet --variant="$variant" --include=systemd,systemd-sysv,init-system-helpers,libhwloc15,libjansson-dev,libnuma-dev,libncursesw6,libsqlite3-0,libuv1,python3"$more" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/doc/berth*' \
        --dpkgopt='path-include=/usr/share/doc/libberth*' bookworm "${cache%.tar}.new.tar" "${MIRROR:-http://deb.debian.org/debian}"
    mv "${cache%.tar}.new.tar" "$cache"
fi
mkdir -p "$folder"
tar -x -C "$folder" -f "$cache"
