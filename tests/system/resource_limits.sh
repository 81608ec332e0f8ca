#!/bin/bash
# Limits, signals and leftovers of whole daemons. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/resource_limits.py" "$@"
