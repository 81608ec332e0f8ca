#!/bin/bash
# berth exec and berth.take() in workers of torchrun: a stand-in, which sets torchrun's variables, or
# the torchrun that the variable TORCHRUN names (make check-frameworks). BIN is the folder of the programs.
exec python3 "$(dirname "$0")/torchrun.py" "$@"
