#!/bin/bash
# Slurm's prolog, epilog and health check under a private Slurm. BIN is where the programs are.
exec python3 "$(dirname "$0")/hooks.py" "$@"
