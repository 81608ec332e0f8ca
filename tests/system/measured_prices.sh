#!/bin/bash
# Measured parts of prices, in answers and in the command, for every test node. BIN is the folder of
# the programs.
exec python3 "$(dirname "$0")/measured_prices.py" "$@"
