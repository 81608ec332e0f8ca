#!/bin/bash
# Plans that take long are made beside everything else. BIN is where the programs are; built with SAN=thread they report races.
here=$(cd "$(dirname "$0")" && pwd)
export TSAN_OPTIONS="suppressions=$here/../lib/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
exec python3 "$here/plans.py" "$@"
