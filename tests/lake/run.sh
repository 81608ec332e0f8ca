#!/bin/bash
# The statements of docs/FLEET.md in DuckDB, over the lines of berth fleet. BIN holds the programs; npm gets DuckDB.
exec python3 "$(dirname "$0")/lake.py" "$@"
