#!/bin/bash
# progress.sh COMMAND...: runs a build with one line of progress; its whole output where it fails.
set -u
log=$(mktemp "${TMPDIR:-/tmp}/berth-build.XXXXXX")
trap 'rm -f "$log"' EXIT
begin=$SECONDS
"$@" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    count=$((${count-0} + 1))
    [ ! -t 1 ] || printf '\rbuilding: %d files' "$count"
done
status=${PIPESTATUS[0]}
[ ! -t 1 ] || printf '\r\e[K'
if [ "$status" != 0 ]; then cat "$log" && exit "$status"; fi
printf 'built %d files in %d s\n' "$(wc -l <"$log")" $((SECONDS - begin))
