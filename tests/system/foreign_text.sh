#!/bin/bash
# Text that is no UTF-8 from files, programs and arguments. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/foreign_text.py" "$@"
