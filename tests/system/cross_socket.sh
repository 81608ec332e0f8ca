#!/bin/bash
# Placement where gpus reach each other through their packages, against the best of all placements.
# BIN is the folder of the programs.
exec python3 "$(dirname "$0")/cross_socket.py" "$@"
