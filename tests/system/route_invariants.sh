#!/bin/bash
# Invariants of Route, by random requests to whole daemons over all test nodes. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/route_invariants.py" "$@"
