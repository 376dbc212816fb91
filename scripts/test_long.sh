#!/bin/bash
# What takes longer than `make test` and .ci/run may: lint of all, all unit tests sanitized, every fault in
# every command, cancels at more moments, the fuzzers for minutes, SQLsmith's queries by the ten thousand,
# PostgreSQL's own tests, regression tests under valgrind, a minute of load, all graphics cards. Called by
# `make test-long`, before a release or the end of a large change.
#
# When it last passed, and of what, is kept in build/test_long.passed and printed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
exec </dev/null
. scripts/checks.sh

last=build/test_long.passed
echo "make test-long last passed: $(cat $last 2>/dev/null || echo 'not in this folder')"
what=$(git describe --always --dirty 2>/dev/null || echo "an unknown commit")

scripts/deps.sh ci && scripts/deps.sh valgrind || { echo "what the checks need could not be installed"; failed=1; }
check lint make -s -j"$jobs" -k lint
check sanitize make -s -j"$jobs" sanitize SANITIZED=all
check fuzz make -s -k -j"$jobs" fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-300}"
check sqlsmith make -s -j"$jobs" sqlsmith QUERIES=20000 SEED="$(date +%j)"
check core-regress make -s core-regress
check load make -s load LOAD_SECTIONS='storm extension leak'
check_counted tap env KDE_AQP_LONG=1 make -s tap TESTS='003_cancel 015_faults'
check valgrind make -s valgrind TESTS='errors fit filter kde_type joint joint_fit aggregate'
[ -z "$(make -s --eval='where-nvcc: ; @echo $(NVCC)' where-nvcc)" ] || check cuda make -s -j"$jobs" cuda

finish || exit 1
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $what" >$last
echo "make test-long passed: $(cat $last)"
