#!/bin/bash
# The GPU probe under a daemon: hung cells, gpus in use, wrong bytes, stand-ins. BIN is where the programs are.
exec python3 "$(dirname "$0")/gpu.py" "$@"
