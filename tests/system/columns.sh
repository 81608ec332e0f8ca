#!/bin/bash
# What a person sees first, on a terminal of 80 columns. BIN is where the programs are.
exec python3 "$(dirname "$0")/columns.py" "$@"
