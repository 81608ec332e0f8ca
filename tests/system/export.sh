#!/bin/bash
# Output of berth export, read by its target tools: hwloc, Slurm, Graphviz, xmllint. BIN is the
# folder of the programs.
exec python3 "$(dirname "$0")/export.py" "$@"
