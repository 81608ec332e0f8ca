#!/bin/bash
# Stall reasons of a transfer's kernels, by the real GPU probe over the stand-in driver and a
# stand-in for CUPTI. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/explain.py" "$@"
