#!/bin/bash
# What the berth command answers to mistakes. BIN is where the programs are.
exec python3 "$(dirname "$0")/errors.py" "$@"
