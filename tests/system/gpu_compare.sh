#!/bin/bash
# tests/bench/gpu_compare.py against scripts in place of the tools, with chosen numbers.
exec python3 "$(dirname "$0")/gpu_compare.py" "$@"
