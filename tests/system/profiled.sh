#!/bin/bash
# What claims keep the probes from: gpus that are profiled, on virtual nodes and by the real GPU probe over the stand-in driver. BIN is where the programs are.
exec python3 "$(dirname "$0")/profiled.py" "$@"
