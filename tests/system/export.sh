#!/bin/bash
# What berth export writes, read by the tools that it is for: hwloc, Slurm, Graphviz, xmllint. BIN is where the programs are.
exec python3 "$(dirname "$0")/export.py" "$@"
