#!/bin/bash
# Invariants of Bind's choices, by random requests to whole daemons over test nodes. BIN is the
# folder of the programs.
exec python3 "$(dirname "$0")/bind_invariants.py" "$@"
