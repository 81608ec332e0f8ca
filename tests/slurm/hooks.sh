#!/bin/bash
# Slurm's prolog, epilog and health check under a private Slurm. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/hooks.py" "$@"
