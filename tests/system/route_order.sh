#!/bin/bash
# What holds for every answer of Route, asked at random of whole daemons over all test nodes. BIN is where the programs are.
exec python3 "$(dirname "$0")/route_order.py" "$@"
