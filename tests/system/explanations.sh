#!/bin/bash
# Statements of answers about decisive figures and proofs, in whole daemons over test nodes. BIN is
# the folder of the programs.
exec python3 "$(dirname "$0")/explanations.py" "$@"
