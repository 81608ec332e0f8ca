#!/bin/bash
# Times of streaming kernels: Fabric.PredictKernel and berth kernel. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/kernel.py" "$@"
