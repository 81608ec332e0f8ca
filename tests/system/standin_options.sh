#!/bin/bash
# Options, names and start of the gpu probe on virtual nodes: see standin_options.py. BIN is the
# folder of the programs.
set -u
BIN=${BIN:-build/bin}
if [ ! -e "$BIN/../standin/paths" ]; then
    echo "the stand-in drivers are not built: make standins"
    exit 77
fi
BIN=$BIN PYTHONPATH=tests/lib exec python3 tests/system/standin_options.py "$@"
