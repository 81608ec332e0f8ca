#!/bin/bash
# Results of the runner of all tests for programs that pass, fail, fail once, hang and skip
# themselves. Prints TAP.
# shellcheck disable=SC2016 # what stands in single quotes is for the programs and the runner
set -u
cd "$(dirname "$0")/../.." || exit 70
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
number=0 broken=0

# ok NAME COMMAND...: passes when the command does; what the runner said is told when it does not
ok() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@"; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/#   /' "$work/said"
        broken=1
    fi
}

# program NAME: from standard input
program() {
    { echo '#!/bin/bash'; cat; } >"$work/$1" && chmod +x "$work/$1"
}

program good <<<'echo "ok 1 - a"; echo "ok 2 - b # SKIP no b"; echo "ok 3 - c"'
program known <<<'echo "ok 1 - a"; echo "not ok 2 - b # TODO the mend of b"'
program silent <<<':'
program absent <<<'echo "nothing to do it with"; exit 77'
program bad <<<'echo "ok 1 - a"; echo "not ok 2 - b"; echo "# why b fails"; exit 1'
program crash <<<'echo "as far as this"; kill -SEGV $$'
program hang <<<'sleep 60'
program test_bad <<<'echo "not ok 1 - computed"; touch "$0.$RANDOM$RANDOM"; exit 1'
# Fails at the first time, and says where it was called with what.
program once <<<'echo "$1 $COLOUR"; [ -e "$0.there" ] && { echo "ok 1 - a"; echo "ok 2 - b"; exit 0; }; touch "$0.there"; echo "ok 1 - a"; echo "not ok 2 - b"; echo "# by chance"; exit 1'

# runner COMMANDS: what they come to with the runner; its output is in $work/said
runner() {
    rm -rf "$work/logs" && mkdir "$work/logs"
    LOGS=$work/logs bash -uc '. tests/lib/runner.sh; '"$1"'; summary' runner "$work" >"$work/said" 2>&1
}
says() { grep -qE -- "$1" "$work/said"; }
last() { [ "$(tail -n 1 "$work/said")" = "$1" ]; }
without() { ! says "$1"; }

runner 'for t in good silent absent; do run "system $t" "$1/$t"; done'
ok "what passes is status 0" [ $? = 0 ]
ok "TAP lines count, and so does a program without" last "3 passed, 0 failed, 2 skipped"
ok "what is left out says why" says '^left out: system absent: nothing to do it with$'
ok "nothing is run once more" without 'once more|FAILED'

runner 'run "system known" "$1/known"'
ok "a known failure is no failure" last "1 passed, 0 failed, 1 skipped"
ok "and says what is to be done" says '^left out: system known: the mend of b$'

runner 'run "system good" "$1/good"; run "system once" env COLOUR="red and blue" "$1/once" "two words"'
ok "what passes at the second time has passed" [ $? = 0 ]
ok "and counts as that" last "4 passed, 0 failed, 1 skipped"
ok "it is named" says '^UNSTEADY: system once '
ok "with what failed first, twice" [ "$(grep -c 'by chance' "$work/said")" = 2 ]
ok "whose log is kept" grep -q 'by chance' "$work/logs/system_once.first.log"
ok "it was called as at first" grep -qx 'two words red and blue' "$work/logs/system_once.log"

runner 'run "system bad" "$1/bad"; run "system crash" "$1/crash"'
ok "what fails again has failed" [ $? = 1 ]
ok "and counts as at the second time" last "1 passed, 2 failed, 0 skipped"
ok "its lines are told both times" [ "$(grep -c 'why b fails' "$work/said")" = 2 ]
ok "it is not unsteady" without 'UNSTEADY'
ok "it is named once" [ "$(grep -c '^failed: ' "$work/said")" = 2 ]

TEST_SECONDS=1 runner 'run "system hang" "$1/hang"'
ok "what hangs has failed" last "0 passed, 1 failed, 0 skipped"

runner 'for label in unit fault asan; do run "$label test_bad" "$1/test_bad"; done; run formats "$1/test_bad"; run "fuzz test" "$1/test_bad"'
ok "what only computes is not run again" [ "$(find "$work" -name 'test_bad.*' | wc -l)" = 5 ]
ok "and has failed" last "0 passed, 5 failed, 0 skipped"

program race <<<'echo "not ok 1 - raced"; echo "WARNING: ThreadSanitizer: data race (pid=1)"; touch "$0.$RANDOM$RANDOM"; exit 1'
runner 'run "tsan load.sh" "$1/race"'
ok "what a sanitizer reported is not run again" [ "$(find "$work" -name 'race.*' | wc -l)" = 1 ]
ok "and has failed, too" last "0 passed, 1 failed, 0 skipped"
ok "with the report first" [ "$(grep -n -m1 ThreadSanitizer "$work/said" | cut -d: -f1)" -lt "$(grep -n -m1 'not ok' "$work/said" | cut -d: -f1)" ]

rm -f "$work/once.there"
AGAIN_AT_MOST=2 runner 'run "system once" "$1/once"; for t in a b; do run "wire $t" "$1/bad"; done'
ok "where many fail nothing is run again" last "3 passed, 3 failed, 0 skipped"
ok "and none is unsteady" without 'UNSTEADY|once more'

runner 'together system "$1/good $1/silent" env; together wire "$1/absent $1/bad $1/bad" env; skip packages "another time"'
ok "tests beside each other count, each once" last "4 passed, 1 failed, 3 skipped"
runner 'together system "$1/good $1/nothing-*" env'
ok "a test that is not there has failed" last "2 passed, 1 failed, 1 skipped"
ok "and is named" says '^failed: system nothing-'
echo "1..$number"
exit $broken
