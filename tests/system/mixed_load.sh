#!/bin/bash
# A mixed load on one daemon. BIN is the folder of the programs; built with SAN=thread they report
# races.
here=$(cd "$(dirname "$0")" && pwd)
export TSAN_OPTIONS="suppressions=$here/../lib/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
exec python3 "$here/mixed_load.py" "$@"
