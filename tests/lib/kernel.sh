#!/bin/bash
# Prints the path of Debian's kernel for an emulated machine, downloaded once into build/kernel, and
# beside it the modules by which that mounts a folder of its host (9p).
# Status 77, with the reason, when the download is impossible.
set -eu
cd "$(dirname "$0")/../.."
cache=${KERNEL_CACHE:-build/kernel}
kernel=$(compgen -G "$cache/boot/vmlinuz-*" | tail -n 1) || true
if [ -z "$kernel" ] || [ ! -e "$cache/lib/modules" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$cache"
    name=$(apt-cache depends linux-image-amd64 2>/dev/null |
        awk '/Depends: linux-image/ { print $2; exit }')
    [ -n "$name" ] || { echo "apt knows no linux-image-amd64" && exit 77; }
    (cd "$work" && apt-get -q -q download "$name" >&2) ||
        { echo "$name could not be downloaded" && exit 77; }
    dpkg-deb --fsys-tarfile "$work"/linux-image-*.deb |
        tar -x -C "$cache" --wildcards './boot/vmlinuz-*' './lib/modules/*/kernel/drivers/virtio/*' \
            './lib/modules/*/kernel/fs/netfs/*' './lib/modules/*/kernel/fs/fscache/*' \
            './lib/modules/*/kernel/fs/9p/*' './lib/modules/*/kernel/net/9p/*'
    kernel=$(compgen -G "$cache/boot/vmlinuz-*" | tail -n 1)
fi
echo "$kernel"
