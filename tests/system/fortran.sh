#!/bin/bash
# The Fortran module that is made from berth.h: layout, constants and arguments beside the header's.
# BIN is the folder of the programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin}
make --no-print-directory "${BIN%/bin}/berth.f90" BUILD="${BIN%/bin}" >/dev/null
exec python3 tests/system/fortran.py "$@"
