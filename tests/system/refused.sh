#!/bin/bash
# What Bind, Allocate and Route refuse, on every test node, asked by the command and on the socket: a named error that says what there is. BIN is where the programs are.
exec python3 "$(dirname "$0")/refused.py" "$@"
