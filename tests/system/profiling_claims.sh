#!/bin/bash
# Claims keep probes off gpus that are profiled, on virtual nodes and with the real GPU probe over
# the stand-in driver. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/profiling_claims.py" "$@"
