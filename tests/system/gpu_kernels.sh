#!/bin/bash
# The kernels of the GPU probe do what gpu_kernels.h says: run on the CPU under AddressSanitizer and
# UndefinedBehaviorSanitizer, then under ThreadSanitizer, and where there is nvcc and a device, on
# that, plain and under compute-sanitizer.
set -u
cd "$(dirname "$0")/../.." || exit 70
work=$(mktemp -d) || exit 70
trap 'rm -rf "$work"' EXIT
command -v clang++ >/dev/null || { echo "there is no clang++ here"; exit 77; }

number=0 status=0
# ok NAME COMMAND...: the command's own checks, and that a sanitizer finds nothing, are one test
ok() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@" >"$work/log" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$work/log" | head -n 40
        status=1
    fi
}

on_cpu() {
    clang++ -std=c++17 -O1 -g -Wall -Wextra -Werror "-fsanitize=$1" -fno-sanitize-recover=all -Iprobes -iquote tests/kernels -pthread \
        -o "$work/on_cpu" tests/kernels/on_cpu.cpp && "${@:2}" "$work/on_cpu"
}
ok "on the CPU, with AddressSanitizer and UndefinedBehaviorSanitizer" on_cpu address,undefined
fixed=(setarch -R) && "${fixed[@]}" true 2>/dev/null || fixed=(env)
ok "on the CPU, with ThreadSanitizer" on_cpu thread "${fixed[@]}"

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -e /dev/nvidiactl ] || [ ! -x "$nvcc" ]; then
    echo "ok $((number + 1)) # SKIP on a CUDA device: there is none, or no nvcc"
else
    ok "nvcc" "$nvcc" -std=c++17 -O2 -arch=native -Iprobes -Itests/kernels -o "$work/on_cuda" tests/kernels/on_cuda.cu
    ok "on a CUDA device" "$work/on_cuda"
    for tool in memcheck racecheck synccheck; do
        ! command -v compute-sanitizer >/dev/null || ok "on a CUDA device, compute-sanitizer $tool" compute-sanitizer --tool $tool --error-exitcode 1 "$work/on_cuda"
    done
fi
exit $status
