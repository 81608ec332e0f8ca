#!/bin/bash
# What the README of each reconstructed test node says its paper states, against what a daemon over that folder answers. BIN is where the programs are.
exec python3 "$(dirname "$0")/published.py" "$@"
