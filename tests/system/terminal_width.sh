#!/bin/bash
# Tables of the command on a terminal of 80 columns. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/terminal_width.py" "$@"
