#!/bin/bash
# berth health --load: whole daemons put virtual gpus, scripts and this machine's memory under load.
# BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin} BUILD=${BUILD:-build}
make --no-print-directory standins BUILD="$BUILD" >/dev/null
exec python3 tests/system/health_load.py "$@"
