#!/bin/bash
# Latencies over sizes, flags, streaming operations, numbers of blocks and matrix products on
# virtual nodes. BIN is the folder of the programs, STANDIN the stand-ins.
exec python3 "$(dirname "$0")/gpu_latencies.py" "$@"
