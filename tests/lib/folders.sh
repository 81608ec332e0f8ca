#!/bin/bash
# Draws the folders of each program by level, the highest first, from folders.txt. The level of a
# folder is one above the levels of the folders it uses.
# With "uses": lines "FOLDER USED ...", for tests/structure.sh.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${1-}" = uses ]; then
    sed -E '/^#/d; s/[|][^|]*$//; s/[|]//; s/ +/ /g; s/ $//' folders.txt
    exit
fi
awk -F ' *[|] *' '
    function draw(    level, i) {
        if (count == 0)
            return
        print program "/"
        for (level = top; level > 0; level--)
            for (i = 1; i <= count; i++)
                if (levels[i] == level) {
                    printf "%3s  %-11s %-34s %s\n", level == shown ? "" : level, names[i],
                        purposes[i], uses[i]
                    shown = level
                }
        print ""
        count = top = shown = 0
    }
    /^#/ { next }
    {
        its = $1
        sub("/.*", "", its)
        if (its != program)
            draw()
        program = its
        name = $1 == program ? "(main)" : substr($1, length(program) + 2)
        level = $2 == "*" ? top : 0
        for (n = split($2, used, " "); $2 != "*" && n > 0; n--) {
            if (!((program, used[n]) in level_of)) {
                print "folders.txt: " $1 " stands before " used[n] ", which it uses" >"/dev/stderr"
                exit failed = 1
            }
            if (level_of[program, used[n]] > level)
                level = level_of[program, used[n]]
        }
        level_of[program, name] = ++level
        levels[++count] = level
        names[count] = name
        purposes[count] = $3
        uses[count] = $2 == "" ? "nothing" : $2 == "*" ? "all below" : $2
        if (level > top)
            top = level
    }
    END { if (!failed) draw() }' folders.txt | sed '$d'
