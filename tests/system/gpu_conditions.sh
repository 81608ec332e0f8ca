#!/bin/bash
# What a run of the gpu probe is made under, on virtual nodes with made-up /sys and /proc and a library in NVML's place. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins "$BUILD/standin/nvml/libnvidia-ml.so.1" BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") PYTHONPATH=tests/lib exec python3 tests/system/gpu_conditions.py "$@"
