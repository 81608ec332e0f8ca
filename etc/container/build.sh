#!/bin/sh
# build.sh FOLDER: builds the unpacked tarball in FOLDER, installs it below /usr, and removes FOLDER and the packages of the build.
# Runs as root in an image of Debian 12.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -q -q update
apt-get -q -q install -y --no-install-recommends libhwloc15 libjansson4 libncursesw6 libnuma1 libsqlite3-0 libuv1 >/dev/null
kept=$(apt-mark showmanual)
apt-get -q -q install -y --no-install-recommends gcc libc6-dev make pkg-config libhwloc-dev libjansson-dev libncurses-dev libnuma-dev libsqlite3-dev libuv1-dev >/dev/null
cd "$1"
make -j"$(nproc)" install PREFIX=/usr MPICC= SPANK_H= >/dev/null
strip /usr/bin/berth /usr/bin/berth-top /usr/bin/berthd /usr/libexec/berth/berth-probe-* /usr/lib/libberth.so.1
cd /
rm -rf "$1"
apt-mark auto '.*' >/dev/null
# shellcheck disable=SC2086 # the names are words
apt-mark manual $kept >/dev/null
apt-get -q -q purge -y --auto-remove >/dev/null
rm -rf /var/lib/apt/lists/*
ldconfig
