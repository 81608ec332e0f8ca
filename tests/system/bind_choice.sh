#!/bin/bash
# What Bind's choices have in common, with requests drawn at random; asked of whole daemons over test nodes. BIN is where the programs are.
exec python3 "$(dirname "$0")/bind_choice.py" "$@"
