#!/bin/bash
# berth under Flux itself, which Debian does not have: berth exec in its tasks, and berth bind's options of flux run.
# FLUX is its command, built by hand. BIN is the folder of the programs.
exec python3 "$(dirname "$0")/flux.py" "$@"
