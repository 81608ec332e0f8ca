#!/bin/bash
# make coverage: which lines of the daemon the fuzzers' corpora and COVERAGE_SECONDS of messages reach, by file, and the functions that neither reaches.
set -eu
cd "$(dirname "$0")/../.."
build=build/coverage
profiles=$build/profiles
rm -rf "$profiles" && mkdir -p "$profiles"
make -j"$(nproc)" fuzzers all BUILD=$build CC=clang CFLAGS="-O1 -g1 -fprofile-instr-generate -fcoverage-mapping" LDFLAGS=-fprofile-instr-generate >"$build/make.log"
fuzzers=("$build"/fuzzers/fuzz_*)
for fuzzer in "${fuzzers[@]}"; do
    name=${fuzzer##*/fuzz_}
    LLVM_PROFILE_FILE=$profiles/corpora-$name.raw "$fuzzer" -runs=0 "tests/fuzz/corpus/$name" 2>/dev/null
done
LLVM_PROFILE_FILE=$PWD/$profiles/messages-%p.raw BIN=$build/bin python3 tests/fuzz/messages.py --seed 1 --seconds "${COVERAGE_SECONDS:-60}"
for who in corpora messages; do llvm-profdata merge -sparse -o "$profiles/$who" "$profiles/$who"-*.raw; done
llvm-profdata merge -sparse -o "$profiles/both" "$profiles"/{corpora,messages}
objects=("$build/bin/berthd")
for fuzzer in "${fuzzers[@]}"; do objects+=(-object "$fuzzer"); done
for who in corpora messages both; do
    llvm-cov export "${objects[@]}" -instr-profile="$profiles/$who" daemon >"$profiles/$who.json" 2>"$profiles/$who.log"
done
exec python3 tests/fuzz/coverage.py "$profiles"/{corpora,messages,both}.json
