#!/bin/bash
# berth exec and MPICH's ranks under a private Slurm without the plugin. BIN is the folder of the
# programs.
exec python3 "$(dirname "$0")/exec.py" "$@"
