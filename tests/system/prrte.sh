#!/bin/bash
# Rank files and berth exec under PRRTE itself, which Debian does not have. PRTERUN is its launcher, built by hand. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/prrte.py" "$@"
