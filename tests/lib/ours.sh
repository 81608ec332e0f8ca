#!/bin/bash
# Prints the files of the project, one a line, in a clone and in an unpacked tarball.
if [ -e .git ] && command -v git >/dev/null; then
    git ls-files --cached --others --exclude-standard
else
    # As .gitignore leaves them out.
    find . \( -path ./build -o -path ./.git -o -name __pycache__ \) -prune -o -type f ! -name '*.swp' -print | cut -c3-
fi | while IFS= read -r file; do [ ! -e "$file" ] || echo "$file"; done
