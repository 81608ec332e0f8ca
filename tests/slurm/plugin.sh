#!/bin/bash
# Slurm's plugin under a private Slurm: each task's cpus, memory policy and variables beside the plan's. BIN is where the programs are.
exec python3 "$(dirname "$0")/plugin.py" "$@"
