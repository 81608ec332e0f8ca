#!/bin/bash
# Slurm's plugin under a private Slurm: each task's cpus, memory policy and variables beside the
# plan's. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/plugin.py" "$@"
