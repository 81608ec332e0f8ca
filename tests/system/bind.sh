#!/bin/bash
# Bind's plans in whole daemons over test nodes: the mechanism, the numbers in its sentences, bad
# requests. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/bind.py" "$@"
