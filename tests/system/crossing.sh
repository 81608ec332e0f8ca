#!/bin/bash
# Placement where gpus reach each other through their packages, against the best of all placements. BIN is where the programs are.
exec python3 "$(dirname "$0")/crossing.py" "$@"
