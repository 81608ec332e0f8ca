#!/bin/bash
# Published figures in the README of each reconstructed test node, against the answers of a daemon
# over that folder. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/published_figures.py" "$@"
