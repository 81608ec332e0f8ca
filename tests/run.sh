#!/bin/bash
# Every test, without stopping at the first that fails; the last line is the count. BUILD is the folder of the build.
#
# A test is a program: exit status 0 passed, 77 left out (its last line says why), anything else failed. One that prints TAP
# lines ("ok 1 - name", "not ok 2 - name", "ok 3 # SKIP name"), as every unit test does, counts as many tests as it has
# lines. Logs stay in $BUILD/check.
#
# What measures time or waits for it runs alone, so that nothing but the machine disturbs it. Programs that compute, and
# scripts that say "May run beside others.", run as many at a time as there are processors.
set -u
cd "$(dirname "$0")/.." || exit 70
export BUILD=${BUILD:-build} CMOCKA_MESSAGE_OUTPUT=TAP
export BIN=$BUILD/bin
LOGS=$BUILD/check
rm -rf "$LOGS" && mkdir -p "$LOGS"
passed=0 failed=0 skipped=0
left_out=() broken=()
PROCESSORS=$(nproc)
declare -A begun ended took # by the name of a test: when it began, its exit status, its seconds
at_work=() # the names of those at work, by process
trap 'kill "${!at_work[@]}" 2>/dev/null; exit 130' INT TERM

log_of() { echo "$LOGS/${1//[\/ :]/_}.log"; }

# count LOG STATUS: how many passed, failed and were skipped in a finished test
count() {
    awk -v status="$2" '
        /^(not )?ok .*# SKIP/ { skipped++; next }
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

# start NAME COMMAND...: begins a test program, at most $PROCESSORS at a time
start() {
    local name=$1
    shift
    while [ "${#at_work[@]}" -ge "$PROCESSORS" ]; do finish; done
    timeout -k 10 "${TEST_SECONDS:-300}" "$@" >"$(log_of "$name")" 2>&1 </dev/null &
    at_work[$!]=$name
    begun[$name]=$SECONDS
}

# finish: waits until one of those begun has ended, and keeps what tell needs
finish() {
    local process=0 result=0 name
    wait -n -p process "${!at_work[@]}" || result=$?
    name=${at_work[$process]}
    unset "at_work[$process]"
    ended[$name]=$result
    took[$name]=$((SECONDS - begun[$name]))
}

# tell NAME: waits until that test has ended, and says how it went
tell() {
    local name=$1 log good bad none
    log=$(log_of "$name")
    while [ -z "${ended[$name]-}" ]; do finish; done
    read -r good bad none < <(count "$log" "${ended[$name]}")
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + none))
    if [ "$bad" != 0 ]; then
        echo "FAILED   $name (${took[$name]} s, exit status ${ended[$name]})"
        { grep -A 12 '^not ok' "$log" || cat "$log"; } | tail -n 60 | sed 's/^/         | /'
        broken+=("$name")
    elif [ "$good" = 0 ]; then
        echo "left out $name: $(tail -n 1 "$log")"
    else
        echo "passed   $name$([ "$good" -gt 1 ] && echo " ($good)")"
    fi
    [ "$none" = 0 ] || left_out+=("$name: $({ grep '# SKIP' "$log" || tail -n 1 "$log"; } | sed 's/.*# SKIP //' | paste -sd ' ')")
}

# run NAME COMMAND...: one test program, alone
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

# each LABEL GLOB COMMAND...: one test per file that matches, run by COMMAND, one after the other
each() {
    local label=$1 glob=$2 file
    shift 2
    for file in $glob; do
        [ ! -e "$file" ] || run "$label $(basename "$file")" "$@" "$file"
    done
}

# together LABEL GLOB COMMAND...: the same, beside each other; told in order
together() {
    local label=$1 glob=$2 file name names=()
    shift 2
    for file in $glob; do
        [ -e "$file" ] || continue
        names+=("$label $(basename "$file")")
        start "${names[-1]}" "$@" "$file"
    done
    for name in ${names[@]+"${names[@]}"}; do tell "$name"; done
}

# mixed LABEL GLOB COMMAND...: those that may run beside others do so, then the others one after the other
mixed() {
    local label=$1 glob=$2 beside
    shift 2
    # shellcheck disable=SC2086 # the pattern is meant as a pattern
    beside=$(grep -l '^# May run beside others\.$' $glob)
    together "$label" "$beside" "$@"
    each "$label" "$(for file in $glob; do grep -qx "$file" <<<"$beside" || echo "$file"; done)" "$@"
}

# skip NAME REASON
skip() {
    echo "left out $1: $2"
    skipped=$((skipped + 1)) left_out+=("$1: $2")
}

title() { printf '\n== %s\n' "$*"; }

title unit
build programs all units examples standins "$BUILD"/slurm/app "$BUILD"/bench/{advice_run,gpu_curves} BUILD="$BUILD" && together unit "$BUILD/unit/test_*" env

title "fault, every allocation and every access to the disk fails in turn"
build faults faults BUILD="$BUILD" && together fault "$BUILD/fault/test_*" env

title "survival: whole daemons whose memory, files and clock fail, that are killed, whose probes will not end"
build survivors survivors BUILD="$BUILD" && mixed survival "tests/survival/*.py" python3

title structure
run structure tests/structure.sh

title "wire, system, install"
each wire "tests/wire/*.sh" env
mixed system "tests/system/*.sh" env
run install tests/install.sh

title "an emulated machine with four NUMA nodes"
run numa env LOG="$LOGS/numa-console.log" tests/numa/run.sh

title "jobs under a private Slurm of one node"
each slurm "tests/slurm/*.sh" env

title packages
skip package "make check-package builds them, installs them in a clean Debian and boots it: minutes, as root"

title "everything again, with AddressSanitizer and UndefinedBehaviorSanitizer"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
if build sanitizers all units examples standins SAN=address,undefined BUILD="$BUILD/san-address-undefined"; then
    together asan "$BUILD/san-address-undefined/unit/test_*" env
    # This build of the daemon also checks its own replies against the interface files.
    each "asan wire" "tests/wire/*.sh" env BIN="$BUILD/san-address-undefined/bin"
    mixed "asan system" "$(grep -lw BIN tests/system/*.sh)" env BIN="$BUILD/san-address-undefined/bin"
fi

title "unit, and a daemon whose every thread works, with ThreadSanitizer"
# ThreadSanitizer needs a memory layout that is not randomised too far; where a container forbids that, it is tried as it is.
fixed=(setarch -R) && "${fixed[@]}" true 2>/dev/null || fixed=(env)
if ! grep -lE 'pthread_create|uv_queue_work' tests/unit/*.c daemon/*.c >/dev/null; then
    skip tsan "nothing here starts a thread"
else
    build threads all units SAN=thread BUILD="$BUILD/san-thread" && together tsan "$BUILD/san-thread/unit/test_*" "${fixed[@]}" &&
        run "tsan pool" env BIN="$BUILD/san-thread/bin" TSAN_OPTIONS="suppressions=$PWD/tests/survival/tsan.supp" "${fixed[@]}" python3 tests/survival/pool.py &&
        each "tsan" "tests/system/load.sh tests/system/plans.sh" "${fixed[@]}" env BIN="$BUILD/san-thread/bin"
fi

title "fuzz, a few seconds each"
if ! compgen -G 'tests/fuzz/fuzz_*.c' >/dev/null; then
    skip fuzz "there are no fuzz targets"
elif ! command -v clang >/dev/null; then
    skip fuzz "clang is not here"
else
    build fuzzers fuzzers BUILD="$BUILD/fuzz" CC=clang SAN=address,undefined CFLAGS="-O1 -g -fsanitize=fuzzer-no-link" &&
        together fuzz "$BUILD/fuzz/fuzzers/fuzz_*" tests/lib/fuzz.sh
fi

title summary
for name in ${broken[@]+"${broken[@]}"}; do echo "failed: $name"; done
for name in ${left_out[@]+"${left_out[@]}"}; do echo "left out: $name"; done
for name in "${!took[@]}"; do [ "${took[$name]}" -le 10 ] || echo "${took[$name]} s: $name"; done | sort -rn
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s, logs in $LOGS"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
