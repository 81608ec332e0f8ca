#!/bin/bash
# Claims for profiling wait for their gpus: order, several gpus, limits, ends. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/profiling_queue.py" "$@"
