#!/bin/bash
# Conditions of a run of the gpu probe, on virtual nodes with invented /sys and /proc and a library
# in place of NVML. BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins "$BUILD/standin/nvml/libnvidia-ml.so.1" BUILD="$BUILD" >/dev/null
STANDIN=$(readlink -m "$BUILD/standin") PYTHONPATH=tests/lib exec python3 tests/system/gpu_conditions.py "$@"
