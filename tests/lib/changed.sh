#!/bin/bash
# changed.sh files: files that differ from origin/main, or from HEAD without origin/main.
# changed.sh touched: folders of tests/unit for these files.
# changed.sh folders: the same, and then those of folders that use them, the nearest first.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e .git ] || { echo "changed.sh: only a clone knows what changed; this is an unpacked tarball" >&2 && exit 64; }
base=$(git merge-base origin/main HEAD 2>/dev/null || echo HEAD)
files() {
    { git diff --name-only "$base" && git ls-files --others --exclude-standard; } | sort -u | while IFS= read -r file; do
        [ ! -e "$file" ] || echo "$file"
    done
}
[ "${1-files}" != files ] || { files && exit; }

# Prints the folder of a source, of a unit test, of sources that include an interface file, of tests
# that include a header.
touched() {
    files | while IFS= read -r file; do
        case $file in
        daemon/*/* | client/*/* | probes/*/*) echo "${file%/*}" ;;
        tests/unit/*/*) echo "/${file%/*}" | sed 's|^/tests/unit/|/|' ;;
        tests/unit/*) grep -rl "\"unit/${file##*/}\"" tests/unit | sed 's|^tests/unit\(/.*\)/.*|\1|' | sort -u ;;
        schema/*.def) grep -rlF "\"${file##*/}\"" daemon client probes | sed 's|/[^/]*$||' | sort -u ;;
        schema/*) echo daemon/varlink ;;
        tests/nodes/* | tests/replay/*) echo daemon/discover ;;
        esac
    done | sort -u
}

[ "$1" != touched ] || { touched | sed -E 's,^(daemon|client|probes)?/,,' | sort -u && exit; }

# A name with a slash in front is a folder of tests/unit; the others are rows of the table of folders.
{ tests/lib/folders.sh uses && echo "--" && touched; } | awk '
    $1 == "--" { is_touched = 1; next }
    !is_touched {
        program = $1
        sub("/.*", "", program)
        for (i = 2; i <= NF; i++)
            uses[$1, $i == "*" ? program "/*" : program "/" $i] = 1
        rows[++count] = $1
        next
    }
    function show(folder) {
        sub("^(daemon|client|probes)?/", "", folder)
        if (!shown[folder]++)
            print folder
        if (sub("/[^/]*$", "", folder) && !shown[folder]++)
            print folder # of tests of several folders
    }
    { show($1); queue[++last] = $1; seen[$1] = 1 }
    END {
        for (first = 1; first <= last; first++) {
            show(queue[first])
            program = queue[first]
            sub("/.*", "", program)
            for (i = 1; i <= count; i++)
                if (!seen[rows[i]] && program != "" && ((rows[i], queue[first]) in uses || ((rows[i], program "/*") in uses))) {
                    seen[rows[i]] = 1
                    queue[++last] = rows[i]
                }
        }
    }'
