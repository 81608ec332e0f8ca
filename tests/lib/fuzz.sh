#!/bin/bash
# fuzz.sh FUZZER [SECONDS]: runs one libFuzzer program for 9 s, FUZZ_CHECK_SECONDS or SECONDS over
# its corpus in tests/fuzz/corpus/NAME. Findings stay beside the program, never in the corpus. All
# programs take a minute together.
set -eu
fuzzer=$1 seconds=${2:-${FUZZ_CHECK_SECONDS:-9}}
name=$(basename "$fuzzer")
work=$(dirname "$fuzzer")/work-$name
corpus=tests/fuzz/corpus/${name#fuzz_}
mkdir -p "$work"
folders=("$work")
[ ! -d "$corpus" ] || folders+=("$corpus")
exec "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$work-" "${folders[@]}"
