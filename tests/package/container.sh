#!/bin/bash
# shellcheck disable=SC2015 # not_ok ends the script
# container.sh: the image of etc/container, built by buildah over a Debian that mmdebstrap makes in place of the registry's, and run
# by buildah as well: a recorded node, the socket of a daemon outside, the probes. Apptainer is not in Debian 12: the steps of its %post run in
# a chroot. Needs root and network, and make dist before it.
set -eu
cd "$(dirname "$0")/../.."
. tests/package/steps.sh
need check-container buildah podman mmdebstrap
BIN=$(realpath "${BIN:-build/bin}")
export CONTAINERS_STORAGE_CONF=$work/storage.conf
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$work/images" "$work/run" >"$work/storage.conf"
daemon=
trap '[ -z "$daemon" ] || kill $daemon; rm -rf "$work"' EXIT
base=docker.io/library/debian:bookworm-slim
mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar" "${MIRROR:-http://deb.debian.org/debian}"

podman import -q "$work/base.tar" $base >"$work/log" 2>&1 || not_ok "podman takes a Debian as the base"
buildah bud --isolation chroot --pull-never -t berth -f etc/container/Containerfile build/dist >"$work/log" 2>&1 || not_ok "buildah builds the image"
ok "buildah builds the image"
container=$(buildah from --pull-never berth)
# run [-v A:B] -- COMMAND...: by buildah's chroot, as a runtime of containers needs more rights than a machine of tests may give
run() { buildah run --isolation chroot "$@" >"$work/log" 2>&1; }
run "$container" -- berth --version && grep -qx "berth $version" "$work/log" || not_ok "the command starts"
run -v "$PWD/tests/nodes/mi250x:/node:ro" "$container" -- berth --node /node bind -n 8 && grep -q gpu0 "$work/log" || not_ok "a recorded node is answered for"
ok "the command starts, and answers for a recorded node"
mkdir "$work/socket"
"$BIN/berthd" --socket "$work/socket/berth.sock" --node tests/nodes/mi250x 2>"$work/daemon.log" &
daemon=$!
"$BIN/berth" --socket "$work/socket/berth.sock" status --wait >/dev/null
run -v "$work/socket:/run/berth" "$container" -- berth route --gpus 0-7 gpu0 gpu1 1M && grep -q "^copy engine: " "$work/log" || not_ok "the socket of the node's daemon is enough to ask it"
! run -v "$work/socket:/run/berth" "$container" -- berth route gpu0 gpu1 1M && grep -q "/dev/dri/renderD128 is not there.*for the whole node add --.*--gpus 0-7" "$work/log" || not_ok "without the gpus' devices it is told why it may use none"
ok "the node's daemon answers through its socket"
run --cap-add CAP_SYS_NICE "$container" -- /usr/libexec/berth/berth-probe-cpu --table && grep -q memory_latency "$work/log" || not_ok "the CPU probe measures inside"
run "$container" -- /usr/libexec/berth/berth-probe-gpu --version || not_ok "the GPU probe starts inside"
ok "the CPU probe measures inside with SYS_NICE, the GPU probe starts"

mkdir "$work/root"
tar -x -C "$work/root" -f "$work/base.tar"
cp "build/dist/berth-$version.tar.gz" "$work/root/berth.tar.gz"
cp /etc/resolv.conf "$work/root/etc" 2>/dev/null || true
sed -n '/^%post/,/^%runscript/p' etc/container/berth.def | sed '1d; $d' >"$work/root/post.sh"
chroot "$work/root" sh -e /post.sh >"$work/log" 2>&1 || not_ok "the steps of the Apptainer file pass"
chroot "$work/root" berth --version >"$work/log" && grep -qx "berth $version" "$work/log" || not_ok "the command starts there"
[ ! -e "$work/root/src" ] && ! chroot "$work/root" sh -c 'command -v cc' || not_ok "neither sources nor compilers stay"
ok "the steps of the Apptainer file, in a chroot, make the same programs"
echo "1..$number"
