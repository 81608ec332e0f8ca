#!/bin/bash
# Manual pages and shells' completion against the programs' own tables. BIN is where the programs are.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin}
make --no-print-directory documents BUILD="${BIN%/bin}" >/dev/null
exec python3 tests/system/documents.py "$@"
