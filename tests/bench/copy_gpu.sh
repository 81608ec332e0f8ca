#!/bin/bash
# Times berth_copy beside one copy on this machine's gpus, with a private berthd that measures the
# quick profile first. Compiles nothing and takes less than a minute; build before, elsewhere too:
#
#     make all build/bench/copy
#
# Then, as root or as a user who may open the gpus, in the repository's root:
#
#     tests/bench/copy_gpu.sh [--tries N] [MIB...]
#
# BUILD is the folder of the build, build by default; MEASURED=FOLDER keeps what was measured as a
# recorded node. With one gpu the table shows that nothing gets slower. Exit status 0: bytes are
# right, and nothing is over 2 % slower; 1: not so; another: something is missing, see the last line.
set -eu
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}")
for program in bin/berthd bin/berth bin/berth-probe-gpu bench/copy; do
    [ -x "$build/$program" ] || {
        echo "copy_gpu.sh: $build/$program is not built (make all build/bench/copy)" >&2
        exit 69
    }
done
work=$(mktemp -d)
export BERTH_SOCKET=$work/s CUDA_DEVICE_ORDER=PCI_BUS_ID
printf 'duty_percent = 0\nprobe_dir = %s/bin\n' "$build" >"$work/berth.conf"
"$build/bin/berthd" --no-probe --config "$work/berth.conf" --socket "$BERTH_SOCKET" \
    --state-dir "$work/state" 2>"$work/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; wait $daemon 2>/dev/null || true; rm -rf "$work"' EXIT
"$build/bin/berth" status --wait --timeout 20 >/dev/null || {
    cat "$work/log" >&2
    exit 69
}
begin=$SECONDS
"$build/bin/berth" probe >"$work/probe" 2>&1 || {
    cat "$work/probe" "$work/log" >&2
    exit 69
}
grep "values measured" "$work/probe" || true
echo "measured in $((SECONDS - begin)) s"
[ -z "${MEASURED:-}" ] || "$build/bin/berth" record "$MEASURED" >/dev/null
"$build/bin/berth" route numa0 gpu0 1G | head -n 8 || true
status=0
timeout 50 "$build/bench/copy" "$@" || status=$?
echo "$((SECONDS - begin)) s in all"
exit $status
