#!/bin/bash
# Two looks. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/health_two_looks.py" "$@"
