#!/bin/bash
# Manual pages and shells' completion against the programs' own tables. BIN is the folder of the
# programs.
set -eu
cd "$(dirname "$0")/../.."
export BIN=${BIN:-build/bin}
make --no-print-directory documents BUILD="${BIN%/bin}" >/dev/null
exec python3 tests/system/documents.py "$@"
