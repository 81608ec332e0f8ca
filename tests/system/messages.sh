#!/bin/bash
# Messages made from the interface files, each with one parameter at or past its limits and at
# random, to whole daemons: 10 s, or as long as a minute where they have sanitizers. SEED repeats a
# run. BIN is the folder of the programs.
seconds=10
! grep -q __asan_init "${BIN:-build/bin}/berthd" || seconds=45
exec python3 "$(dirname "$0")/../fuzz/messages.py" --seconds "$seconds" "$@"
