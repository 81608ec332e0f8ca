#!/bin/bash
# The Python package: a wheel in a clean environment, types, calls, an MPI program. BIN is the
# folder of the programs.
exec python3 "$(dirname "$0")/python_package.py" "$@"
