#!/bin/bash
# What the GPU drivers say, from the probe to the answers of a daemon. BIN is where the programs are.
exec python3 "$(dirname "$0")/facts.py" "$@"
