#!/bin/bash
# What Bind says of its plans: the mechanism, the numbers in its sentences, bad requests; asked of whole daemons over test nodes. BIN is where the programs are.
exec python3 "$(dirname "$0")/bind.py" "$@"
