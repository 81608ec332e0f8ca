#!/bin/bash
# berth export nfd and dra, by the rules of Kubernetes' API and of Node Feature Discovery. BIN is the
# folder of the programs.
exec python3 "$(dirname "$0")/kubernetes.py" "$@"
