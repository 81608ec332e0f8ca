#!/bin/bash
# Checks the layout of each C file and the words of each script that the working tree changes; fails on
# any finding. make lint checks all files.
set -u
cd "$(dirname "$0")/../.." || exit 70
for tool in clang-format-14 shellcheck; do
    command -v $tool >/dev/null || { echo "$tool is not here; make lint installs it" && exit 77; }
done
bad=0
while IFS= read -r file; do
    case $file in
    *.c | *.h | *.cu | *.cpp | *.hpp | *.cc) clang-format-14 --dry-run --Werror "$file" || bad=1 ;;
    *.sh) shellcheck -x --exclude=SC2317 "$file" || bad=1 ;;
    esac
done < <(tests/lib/changed.sh files)
exit $bad
