#!/bin/bash
# gpu/driver/images.sh FOLDER: compiles gpu_kernels.cu by NVCC and HIPCC, each "" or a path, into FOLDER/cuda.image and FOLDER/hip.image, which are empty where there
# is no compiler or it compiles nothing; FOLDER/included.txt says in one line which devices they are for. A compiler that works but not on our kernels is an
# error.
set -eu
out=$1
source=$(dirname "$0")/gpu_kernels.cu
mkdir -p "$out"
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
printf 'extern "C" __attribute__((global)) void nothing() {}\n' >"$work/nothing.cu"

# The devices to compile for, as far as this compiler knows them; every other gets its kernels when the probe runs.
cuda_devices() {
    local known device
    known=" $("$NVCC" --list-gpu-code 2>/dev/null | tr '\n' ' ') "
    for device in sm_80 sm_90 sm_100; do
        [[ $known != *" $device "* ]] || echo "$device"
    done
}
hip() { HIP_PLATFORM=amd "$HIPCC" --genco -O3 -x hip "$@"; }
hip_devices() {
    local device
    for device in gfx908 gfx90a gfx940 gfx942 gfx950; do
        ! hip "--offload-arch=$device" -o "$work/nothing.hip" "$work/nothing.cu" >"$work/hip.log" 2>&1 || echo "$device"
    done
}

cuda() {
    : >"$work/cuda.image"
    [ -n "$NVCC" ] || { echo "none (there was no nvcc)" && return; }
    local devices device flags=()
    mapfile -t devices < <(cuda_devices)
    # A compiler without its host compiler lists devices and compiles nothing.
    if [ ${#devices[@]} = 0 ] || ! "$NVCC" -fatbin -arch="${devices[0]}" -o "$work/nothing.cuda" "$work/nothing.cu" >"$work/cuda.log" 2>&1; then
        echo "none ($NVCC does not work here)" && return
    fi
    for device in "${devices[@]}"; do flags+=(-gencode "arch=compute_${device#sm_},code=$device"); done
    # Intermediate code of the oldest, which the driver compiles for any later device.
    device=compute_${devices[0]#sm_}
    "$NVCC" -fatbin -O3 -t 0 "${flags[@]}" -gencode "arch=$device,code=$device" -o "$work/cuda.image" "$source" >&2
    echo "${devices[*]} and later"
}
amd() {
    : >"$work/hip.image"
    [ -n "$HIPCC" ] || { echo "none (there was no hipcc)" && return; }
    local devices device flags=()
    mapfile -t devices < <(hip_devices)
    [ ${#devices[@]} -gt 0 ] || { echo "none ($HIPCC does not work here)" && return; }
    for device in "${devices[@]}"; do flags+=("--offload-arch=$device"); done
    hip "${flags[@]}" -o "$work/hip.image" "$source" >&2
    echo "${devices[*]}"
}

cuda >"$work/cuda.txt"
amd >"$work/hip.txt"
printf "kernels built in for CUDA: %s; for HIP: %s" "$(cat "$work/cuda.txt")" "$(cat "$work/hip.txt")" >"$work/included.txt"
mv "$work/cuda.image" "$work/hip.image" "$out"
mv "$work/included.txt" "$out"
