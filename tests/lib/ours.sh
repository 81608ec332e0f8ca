#!/bin/bash
# Prints the files of the project, one a line, in a clone and in an unpacked tarball.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard
else
    find . -path ./build -prune -o -type f -print | cut -c3-
fi | while IFS= read -r file; do [ ! -e "$file" ] || echo "$file"; done
