#!/bin/bash
# Curves and sets from a probe to whoever asks. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/curves_contention.py" "$@"
