#!/bin/bash
# berth exec and MPICH's ranks under a private Slurm without the plugin. BIN is where the programs are.
exec python3 "$(dirname "$0")/exec.py" "$@"
