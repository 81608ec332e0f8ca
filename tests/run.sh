#!/bin/bash
# run.sh check|all|PART|unit FOLDER|changed: runs a group of tests. The last line is the count.
#
# check    most tests, within eight minutes on two cores: make check
# all      tests that take longer: make check-all; its parts are faults, slurm, sanitized, threads
# unit     the unit tests of a folder and of those below it: make check UNIT=plan/route
# changed  the unit tests of changed folders, for half a minute: make check CHANGED=1
#
# BUILD is the folder of the build, with logs in $BUILD/check or $BUILD/check-all.
# tests/lib/runner.sh runs and counts.
set -u
cd "$(dirname "$0")/.." || exit 70
[ $# -gt 0 ] || set -- check
export BUILD=${BUILD:-build} CMOCKA_MESSAGE_OUTPUT=TAP
unset COLUMNS # what the command prints into a pipe is 100 columns wide
export BIN=$BUILD/bin ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
LOGS=$BUILD/check
case $1 in all | faults | slurm | sanitized | threads) LOGS=$BUILD/check-all ;; esac
rm -rf "$LOGS" && mkdir -p "$LOGS"
. tests/lib/runner.sh

SANITIZED=$BUILD/san-address-undefined

# units BUILD: the programs of the unit tests in that build; older ones may lie beside them
units() { find tests/unit -name 'test_*.c' | sort | sed "s|^tests|$1|; s|\.c\$||"; }

# system LABEL COMMAND...: the system tests; those that take long begin first
system() {
    local label=$1 first
    first=$(printf 'tests/system/%s.sh ' \
        standin gpu_virtual python_package gpu_latencies health hostile_users claims_stored gpu_memory_kinds \
        standin_figures idle_clients gpu store year alloc route export documents)
    shift
    together "$label" "$first $(grep -lw BIN tests/system/*.sh)" "$@"
}

check() {
    title unit
    build programs all units examples standins documents \
        "$BUILD"/bench/{year,advice_run,gpu_curves,copy} && together unit "$(units "$BUILD")" env

    title "structure, wire, system, install"
    start structure.sh tests/structure.sh
    together wire "tests/wire/*.sh" env
    system system env
    together system "tests/system/*.sh" env # those that need no programs
    tell structure.sh
    run install tests/install.sh
    run dist tests/dist.sh

    title "unit and wire, with AddressSanitizer and UndefinedBehaviorSanitizer"
    # This build of the daemon also checks its own replies against the interface files.
    build sanitizers all units SAN=address,undefined BUILD="$SANITIZED" &&
        together asan "$(units "$SANITIZED" | grep -v /store/test_cut)" env &&
        together "asan wire" "tests/wire/*.sh" env BIN="$SANITIZED/bin"

    title "fuzz, a minute"
    if ! command -v clang >/dev/null; then
        skip fuzz "clang is not here"
    else
        build fuzzers fuzzers BUILD="$BUILD/fuzz" CC=clang SAN=address,undefined \
            CFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link" && together fuzz "$BUILD/fuzz/fuzzers/fuzz_*" tests/lib/fuzz.sh
    fi
}

faults() {
    local program names=()
    export TEST_SECONDS=${TEST_SECONDS:-1500}
    title "survival: daemons with failing memory, files, clock and probes, and killed ones"
    build faults all units faults survivors standins documents "$BUILD/bench/year" || return
    for program in "$BUILD"/fault/test_*; do # they compute for long: survival goes on beside them
        names+=("fault ${program##*/}")
        start "${names[-1]}" env BERTH_LONG=1 "$program"
    done
    together survival "tests/survival/*.py" python3

    title "fault: every allocation and every access to the disk fails in turn"
    for program in "${names[@]}"; do tell "$program"; done
}

slurm() {
    local file
    title "jobs under a private Slurm of one node"
    # The others need an emulated machine: make check-sites.
    build programs all "$BUILD/slurm/app" || return
    for file in exec hooks plugin; do run "slurm $file.sh" "tests/slurm/$file.sh"; done
}

sanitized() {
    title "system, with AddressSanitizer and UndefinedBehaviorSanitizer"
    local program cuts
    mapfile -t cuts < <(units "$SANITIZED" | grep /store/test_cut)
    if build sanitizers all examples standins documents "${cuts[@]}" SAN=address,undefined \
        BUILD="$SANITIZED"; then
        for program in "${cuts[@]}"; do start "asan store/${program##*/}" "$program"; done
        system "asan system" env BIN="$SANITIZED/bin"
        for program in "${cuts[@]}"; do tell "asan store/${program##*/}"; done
    fi
}

threads() {
    title "unit, and a daemon with all its threads at work, with ThreadSanitizer"
    # ThreadSanitizer needs addresses that are not randomised; some containers forbid to ask for it.
    local fixed=(setarch -R) program threaded=() AT_ONCE
    AT_ONCE=$(nproc) # these compute rather than wait
    "${fixed[@]}" true 2>/dev/null || fixed=(env)
    build units units || return
    # Only a program that can start a thread has races; loaded libraries may start some.
    for program in $(units "$BUILD"); do
        nm -u "$program" | grep -qE ' (pthread_create|uv_queue_work|dlopen)(@|$)' &&
            threaded+=("$BUILD/san-thread/unit/${program#"$BUILD"/unit/}")
    done
    export TSAN_OPTIONS="suppressions=$PWD/tests/lib/tsan.supp"
    build threads all "${threaded[@]}" SAN=thread BUILD="$BUILD/san-thread" &&
        together tsan "${threaded[*]}" "${fixed[@]}" &&
        fixed+=(env BIN="$BUILD/san-thread/bin") &&
        together tsan tests/survival/pool.py "${fixed[@]}" python3 &&
        together tsan "tests/system/mixed_load.sh tests/system/plan_threads.sh" "${fixed[@]}"
}

all() {
    faults
    slurm
    sanitized
    threads
}

# units_of FILE...: builds and runs these unit tests, named by their sources
units_of() {
    local programs=("${@%.c}")
    programs=("${programs[@]/#tests/$BUILD}")
    build "units" "${programs[@]}" && together unit "${programs[*]}" env
}

unit() {
    local sources
    mapfile -t sources < <(find "tests/unit/$1" -name 'test_*.c' 2>/dev/null | sort)
    if [ ${#sources[@]} -eq 0 ]; then
        echo "tests/unit/$1 has no unit tests; the folders are:" \
            "$(find tests/unit -mindepth 1 -type d -printf '%P ')" >&2
        exit 64
    fi
    title "unit $1"
    units_of "${sources[@]}"
}

# Begins with the nearest folders, and names those for which half a minute is too short. The tests
# of the store that take longest are for changes of the store.
changed() {
    local folder sources late=() without="test_cut*.c"
    tests/lib/changed.sh files >/dev/null || exit
    export BERTH_QUICK=1 # and cut at fewer places than in make check
    title "structure, formats"
    build programs all || return
    start structure.sh tests/structure.sh
    run formats tests/lib/formats.sh
    ! tests/lib/changed.sh touched | grep -qx store || without=none
    for folder in $(tests/lib/changed.sh folders); do
        [ -d "tests/unit/$folder" ] || continue
        [ $SECONDS -lt 20 ] || { late+=("$folder") && continue; }
        mapfile -t sources < <(find "tests/unit/$folder" -maxdepth 1 -name 'test_*.c' \
            ! -name "$without" | sort)
        [ ${#sources[@]} -eq 0 ] || { title "unit $folder" && units_of "${sources[@]}"; }
        [ "$folder/$without" != "store/test_cut*.c" ] ||
            skip "unit store/test_cut*" "the store is not changed"
    done
    title structure
    tell structure.sh
    [ ${#late[@]} -eq 0 ] || skip unit "no time for these folders: ${late[*]}"
}

"$@"
summary
