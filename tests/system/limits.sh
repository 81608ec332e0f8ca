#!/bin/bash
# Limits, signals and leftovers of whole daemons. BIN is where the programs are.
exec python3 "$(dirname "$0")/limits.py" "$@"
