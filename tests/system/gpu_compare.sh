#!/bin/bash
# tests/bench/gpu_compare.py against programs that print what the tools print, with numbers of the test's choice.
exec python3 "$(dirname "$0")/gpu_compare.py" "$@"
