#!/bin/bash
# A week of background measuring of a node whose link loses 8 %. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/week_alone.py" "$@"
