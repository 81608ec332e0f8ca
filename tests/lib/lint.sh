#!/bin/bash
# lint.sh COMPILER-FLAGS...: runs every linter over all files of the project; fails on any finding.
set -u
BUILD=${BUILD:-build}
bad=0
mapfile -t sources < <(find daemon client probes tests -name '*.c' | sort)
mapfile -t scripts < <({
    grep -rlE '^#!.*\b(ba)?sh\b' .ci probes tests etc 2>/dev/null
    ls etc/completion/*.sh etc/completion/*.bash
} | sort)

say() { printf '%-12s %s\n' "$1" "$2"; }

# verdict NAME STATUS WHAT
verdict() {
    if [ "$2" = 0 ]; then say "$1" "$3: clean"; else say "$1" "$3: findings above" && bad=1; fi
}

printf '%s\0' "${sources[@]}" |
    xargs -0 -P "$(nproc)" -I{} clang-tidy --quiet --warnings-as-errors='*' {} -- "$@" \
        2> >(grep -v 'warnings\? generated\|Suppressed\|Use -header-filter' >&2)
verdict clang-tidy $? "${#sources[@]} files"

# cppcheck loses variables in the foreach macros of jansson; compilers and clang-tidy check the
# same.
cppcheck --quiet --error-exitcode=1 --std=c11 -j "$(nproc)" --inline-suppr \
    --enable=warning,portability,performance --suppress=missingIncludeSystem \
    --suppress=uninitvar --suppress=legacyUninitvar -Ischema -Idaemon -Iclient -Iprobes \
    -D_GNU_SOURCE daemon client probes
verdict cppcheck $? "daemon client probes"

# Other versions of clang-format break lines elsewhere; deps.sh installs this one.
mapfile -t formatted < <(find daemon client probes tests docs \
    -name '*.[ch]' -o -name '*.cu' -o -name '*.[ch]pp' -o -name '*.cc' | sort)
clang-format-14 --dry-run --Werror "${formatted[@]}"
verdict clang-format $? "${#formatted[@]} files"

# SC2317 reports functions that are called by name as unreachable.
shellcheck -x --exclude=SC2317 "${scripts[@]}"
verdict shellcheck $? "${#scripts[@]} scripts"

# systemd-analyze reports most findings with exit status 0, so any output counts.
if ! command -v systemd-analyze >/dev/null; then
    say systemd "left out: systemd-analyze is not here"
else
    units=$BUILD/lint && mkdir -p "$units"
    sed "s|@BINDIR@|$PWD/$BUILD/bin|" systemd/berthd.service.in >"$units/berthd.service"
    cp systemd/berthd.socket "$units"
    found=$(systemd-analyze verify "$units/berthd.service" "$units/berthd.socket" 2>&1
        systemd-analyze security --offline=yes --threshold=20 "$units/berthd.service" >/dev/null ||
            echo "its exposure level is over 2.0")
    [ -z "$found" ] || echo "$found"
    verdict systemd "$([ -z "$found" ]; echo $?)" "berthd.service berthd.socket"
fi
exit $bad
