#!/bin/bash
# Every test, without stopping at the first that fails; the last line is the count. BUILD is the folder of the build.
#
# A test is a program: exit status 0 passed, 77 left out (its last line says why), anything else failed. One that prints TAP
# lines ("ok 1 - name", "not ok 2 - name", "ok 3 # SKIP name"), as every unit test does, counts as many tests as it has
# lines. Logs stay in $BUILD/check.
set -u
cd "$(dirname "$0")/.." || exit 70
export BUILD=${BUILD:-build} CMOCKA_MESSAGE_OUTPUT=TAP
export BIN=$BUILD/bin
LOGS=$BUILD/check
rm -rf "$LOGS" && mkdir -p "$LOGS"
passed=0 failed=0 skipped=0
left_out=() broken=()

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

# run NAME COMMAND...: one test program
run() {
    local name=$1 log=$LOGS/${1//[\/ :]/_}.log begin=$SECONDS status=0 good bad none
    shift
    timeout -k 10 "${TEST_SECONDS:-300}" "$@" >"$log" 2>&1 </dev/null || status=$?
    read -r good bad none < <(count "$log" "$status")
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + none))
    if [ "$bad" != 0 ]; then
        echo "FAILED   $name ($((SECONDS - begin)) s, exit status $status)"
        { grep -A 12 '^not ok' "$log" || cat "$log"; } | tail -n 60 | sed 's/^/         | /'
        broken+=("$name")
    elif [ "$good" = 0 ]; then
        echo "left out $name: $(tail -n 1 "$log")"
    else
        echo "passed   $name$([ "$good" -gt 1 ] && echo " ($good)")"
    fi
    [ "$none" = 0 ] || left_out+=("$name: $({ grep '# SKIP' "$log" || tail -n 1 "$log"; } | sed 's/.*# SKIP //' | paste -sd ' ')")
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

# each GLOB COMMAND...: one test per file that matches, run by COMMAND
each() {
    local label=$1 glob=$2 file
    shift 2
    for file in $glob; do
        [ ! -e "$file" ] || run "$label $(basename "$file")" "$@" "$file"
    done
}

# skip NAME REASON
skip() {
    echo "left out $1: $2"
    skipped=$((skipped + 1)) left_out+=("$1: $2")
}

title() { printf '\n== %s\n' "$*"; }

title unit
build programs all units examples standins BUILD="$BUILD" && each unit "$BUILD/unit/test_*" env

title "fault, every allocation and every access to the disk fails in turn"
build faults faults BUILD="$BUILD" && each fault "$BUILD/fault/test_*" env

title "survival: whole daemons whose memory, files and clock fail, that are killed, whose probes will not end"
build survivors survivors BUILD="$BUILD" && each survival "tests/survival/*.py" python3

title structure
run structure tests/structure.sh

title "wire, system, install"
each wire "tests/wire/*.sh" env
each system "tests/system/*.sh" env
run install tests/install.sh

title "an emulated machine with four NUMA nodes"
run numa env LOG="$LOGS/numa-console.log" tests/numa/run.sh

title "everything again, with AddressSanitizer and UndefinedBehaviorSanitizer"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
if build sanitizers all units examples standins SAN=address,undefined BUILD="$BUILD/san-address-undefined"; then
    each asan "$BUILD/san-address-undefined/unit/test_*" env
    # This build of the daemon also checks its own replies against the interface files.
    each "asan wire" "tests/wire/*.sh" env BIN="$BUILD/san-address-undefined/bin"
    each "asan system" "tests/system/*.sh" env BIN="$BUILD/san-address-undefined/bin"
fi

title "unit, and a daemon whose every thread works, with ThreadSanitizer"
# ThreadSanitizer needs a memory layout that is not randomised too far; where a container forbids that, it is tried as it is.
fixed=(setarch -R) && "${fixed[@]}" true 2>/dev/null || fixed=(env)
if ! grep -lE 'pthread_create|uv_queue_work' tests/unit/*.c daemon/*.c >/dev/null; then
    skip tsan "nothing here starts a thread"
else
    build threads all units SAN=thread BUILD="$BUILD/san-thread" && each tsan "$BUILD/san-thread/unit/test_*" "${fixed[@]}" &&
        run "tsan pool" env BIN="$BUILD/san-thread/bin" TSAN_OPTIONS="suppressions=$PWD/tests/survival/tsan.supp" "${fixed[@]}" python3 tests/survival/pool.py &&
        run "tsan load.sh" "${fixed[@]}" env BIN="$BUILD/san-thread/bin" tests/system/load.sh
fi

title "fuzz, a few seconds each"
if ! compgen -G 'tests/fuzz/fuzz_*.c' >/dev/null; then
    skip fuzz "there are no fuzz targets"
elif ! command -v clang >/dev/null; then
    skip fuzz "clang is not here"
else
    build fuzzers fuzzers BUILD="$BUILD/fuzz" CC=clang SAN=address,undefined CFLAGS="-O1 -g -fsanitize=fuzzer-no-link" &&
        for fuzzer in "$BUILD"/fuzz/fuzzers/fuzz_*; do
            run "fuzz $(basename "$fuzzer")" tests/lib/fuzz.sh "$fuzzer" "${FUZZ_CHECK_SECONDS:-5}"
        done
fi

title summary
for name in ${broken[@]+"${broken[@]}"}; do echo "failed: $name"; done
for name in ${left_out[@]+"${left_out[@]}"}; do echo "left out: $name"; done
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s, logs in $LOGS"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
