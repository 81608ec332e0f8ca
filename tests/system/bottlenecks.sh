#!/bin/bash
# What a bottleneck is called can be looked up as the schema says, on every test node. BIN is where the programs are.
exec python3 "$(dirname "$0")/bottlenecks.py" "$@"
