#!/bin/bash
# Curves and sets from a probe to whoever asks. BIN is where the programs are.
exec python3 "$(dirname "$0")/transfers.py" "$@"
