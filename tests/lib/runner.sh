#!/bin/bash
# Runs test programs, counts and sums their results; for tests/run.sh, which names them. Sourced,
# with LOGS the folder for logs.
#
# A test is a program: exit status 0 passed, 77 left out (its last line is the reason), others
# failed. A program that prints TAP lines ("ok 1 - name", "not ok 2 - name", "ok 3 # SKIP name"),
# like every unit test, counts as one test a line. "not ok 4 - name # TODO reason" is a known failure:
# it counts as left out, with the reason.
#
# Other load can disturb a program that works with whole daemons. One that fails is run once more at
# the end, alone. If it passes then, it counts as passed and is listed as unsteady, which is a bug
# to mend. Programs that only compute are not run again, nor after a sanitizer's report: no
# disturbance explains these. None is run again when more than AGAIN_AT_MOST failed.
passed=0 failed=0 skipped=0
left_out=() broken=() unsteady=()
AT_ONCE=$((2 * $(nproc))) # many tests wait rather than compute
declare -A begun ended took # by the name of a test: when it began, its exit status, its seconds
declare -A command # by the name of a test: what runs it
again=()   # names of failed tests that are run once more
AGAIN_AT_MOST=${AGAIN_AT_MOST:-4}
at_work=() # the names of those at work, by process
trap 'kill "${!at_work[@]}" 2>/dev/null; exit 130' INT TERM

log_of() { echo "$LOGS/${1//[\/ :]/_}.log"; }

# count LOG STATUS: prints the numbers of passed, failed and skipped tests
count() {
    awk -v status="$2" '
        /^(not )?ok .*# SKIP/ || /^not ok .*# TODO/ { skipped++; next }
        /^ok / { passed++ }
        /^not ok / { failed++ }
        END {
            if (passed + failed + skipped == 0 || status == 77) {
                passed += status == 0
                skipped += status == 77
            }
            failed += status != 0 && status != 77 && !failed
            print passed + 0, failed + 0, skipped + 0
        }' "$1"
}

# start NAME COMMAND...: begins a test program, at most $AT_ONCE at a time
start() {
    local name=$1
    shift
    while [ "${#at_work[@]}" -ge "$AT_ONCE" ]; do finish; done
    timeout -k 10 "${TEST_SECONDS:-450}" "$@" >"$(log_of "$name")" 2>&1 </dev/null &
    at_work[$!]=$name
    command[$name]=$(printf '%q ' "$@")
    begun[$name]=$SECONDS
}

# finish: waits until one of the running tests has ended, and keeps its data for tell
finish() {
    local process='' result=0 name
    wait -n -p process "${!at_work[@]}" 2>/dev/null || result=$?
    if [ -z "${process-}" ]; then # one was so quick that bash has its status, but no longer for -n
        for process in "${!at_work[@]}"; do kill -0 "$process" 2>/dev/null || break; done
        result=0
        wait "$process" || result=$?
    fi
    name=${at_work[$process]}
    unset "at_work[$process]"
    ended[$name]=$result
    took[$name]=$((SECONDS - begun[$name]))
}

# is_whole NAME: true when that test works with whole daemons, not only with one module
is_whole() {
    case $1 in *" test_"* | *"/test_"* | "fuzz "* | formats | *structure.sh) return 1 ;; esac
}

# The first line of a sanitizer's report, or of valgrind's; a pattern of grep -E.
REPORT='(ERROR|WARNING): (Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer'
REPORT+='|: runtime error: |Invalid (read|write) of size'
is_reported() { grep -qE "$REPORT" "$1"; }

# failing LOG: prints the failures in a log, after a sanitizer's report, which is the cause
failing() {
    {
        grep -m1 -A 40 -E "$REPORT" "$1" || true
        grep -v '^not ok .*# TODO' "$1" | grep -A 12 '^not ok' | tail -n 60 || true
    } >"$1.cause"
    [ -s "$1.cause" ] || tail -n 60 "$1" >"$1.cause"
    sed 's/^/         | /' "$1.cause"
}

# add GOOD BAD NONE NAME LOG: adds the result of a test to the sums
add() {
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    [ "$2" = 0 ] || broken+=("$4")
    [ "$3" = 0 ] || left_out+=("$4: $({ grep -E '# (SKIP|TODO)' "$5" || tail -n 1 "$5"; } |
        sed -E 's/.*# (SKIP|TODO) //' | paste -sd ' ')")
}

# tell NAME: waits until that test has ended, and prints its result
tell() {
    local name=$1 log good bad none
    log=$(log_of "$name")
    while [ -z "${ended[$name]-}" ]; do finish; done
    read -r good bad none < <(count "$log" "${ended[$name]}")
    if [ "$bad" != 0 ]; then
        echo "FAILED   $name (${took[$name]} s, exit status ${ended[$name]})"
        failing "$log"
        if is_whole "$name" && ! is_reported "$log"; then
            again+=("$name")
            return
        fi
    elif [ "$good" = 0 ]; then
        echo "left out $name: $(tail -n 1 "$log")"
    else
        echo "passed   $name$([ "$good" -gt 1 ] && echo " ($good)")"
    fi
    add "$good" "$bad" "$none" "$name" "$log"
}

# once_more: runs the failed tests again, each alone; the first log is kept beside the second
once_more() {
    local name log first good bad none is_many=$((${#again[@]} > AGAIN_AT_MOST))
    [ "${#again[@]}" = 0 ] || [ "$is_many" = 1 ] || title "what failed, once more and alone"
    for name in ${again[@]+"${again[@]}"}; do
        log=$(log_of "$name")
        if [ "$is_many" = 0 ]; then
            first=${log%.log}.first.log
            mv "$log" "$first"
            unset "ended[$name]"
            eval "start \"\$name\" ${command[$name]}"
            while [ -z "${ended[$name]-}" ]; do finish; done
            read -r good bad none < <(count "$log" "${ended[$name]}")
            if [ "$bad" = 0 ]; then
                echo "UNSTEADY $name: passed at the second time; the first is in $first:"
                failing "$first"
                unsteady+=("$name")
            else
                echo "FAILED   $name again (${took[$name]} s, exit status ${ended[$name]});" \
                    "the first is in $first"
                failing "$log"
            fi
        else
            read -r good bad none < <(count "$log" "${ended[$name]}")
        fi
        add "$good" "$bad" "$none" "$name" "$log"
    done
}

# run NAME COMMAND...: runs one test program alone
run() {
    start "$@"
    tell "$1"
}

# build NAME MAKE-ARGUMENTS...: a build that counts as a test when it fails
build() {
    local name=$1 log="$LOGS/build-${1// /-}.log"
    shift
    make --no-print-directory -j"$(nproc)" "$@" >"$log" 2>&1 </dev/null && return 0
    echo "FAILED   build: $name"
    tail -n 30 "$log" | sed 's/^/         | /'
    failed=$((failed + 1)) broken+=("build: $name")
    return 1
}

# named FILE: the name of a test; a unit test keeps the folder that it tests
named() { case $1 in */unit/*) echo "${1##*/unit/}" ;; *) basename "$1" ;; esac; }

# together LABEL GLOB COMMAND...: one test per file that matches, run by COMMAND beside each other;
# results in order. A file that stands twice is one test; one that is not there has failed.
together() {
    local label=$1 glob=$2 file name names=()
    shift 2
    for file in $glob; do
        name="$label $(named "$file")"
        if [ ! -e "$file" ]; then
            echo "FAILED   $name: there is no $file"
            failed=$((failed + 1)) broken+=("$name")
        elif [ -z "${begun[$name]-}" ]; then
            names+=("$name")
            start "$name" "$@" "$file"
        fi
    done
    for name in ${names[@]+"${names[@]}"}; do tell "$name"; done
}

# skip NAME REASON
skip() {
    echo "left out $1: $2"
    skipped=$((skipped + 1)) left_out+=("$1: $2")
}

title() { printf '\n== %s\n' "$*"; }

# summary: prints failures, left out and slow tests; the last line is the count. Status 0: no
# failure.
summary() {
    local name
    once_more
    title summary
    for name in ${broken[@]+"${broken[@]}"}; do echo "failed: $name"; done
    for name in ${unsteady[@]+"${unsteady[@]}"}; do
        echo "UNSTEADY: $name failed and passed at the second time, which is a bug to mend"
    done
    for name in ${left_out[@]+"${left_out[@]}"}; do echo "left out: $name"; done
    echo "The slowest:"
    for name in "${!took[@]}"; do echo "${took[$name]} s: $name"; done | sort -rn | head -n 20
    echo "$((SECONDS / 60)) min $((SECONDS % 60)) s, logs in $LOGS"
    echo "$passed passed, $failed failed, $skipped skipped" | tee "$LOGS/count"
    [ "$failed" = 0 ]
}
