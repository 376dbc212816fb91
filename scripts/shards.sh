#!/bin/bash
# Runs a GoogleTest program as several processes side by side, each with its share of the tests
# (GoogleTest's GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX): as many as there are processors, or
# $KDE_AQP_SHARDS.
#
#   scripts/shards.sh PROGRAM [OPTION...]
#
# What they print stays apart and is shown in order, then the last line counts the tests of all.
# Exit status 0 if and only if all shards passed and together they ran every test of the program
# once: a test that ends its process with status 0 would take those behind it along unseen.
set -u

program=$1
shift
shards=${KDE_AQP_SHARDS:-$(nproc 2>/dev/null || echo 2)}
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; exit 130' INT
trap 'kill "${pids[@]}" 2>/dev/null; exit 143' TERM

# A suite's name stands at the margin, its tests are indented.
expected=$("$program" "$@" --gtest_list_tests </dev/null | grep -c '^ ')

echo "running $expected tests in $shards processes, whose output comes at their end"
for ((k = 0; k < shards; k++)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$k "$program" "$@" </dev/null >"$logs/$k" 2>&1 &
  pids+=($!)
done

bad=0
ran=0
for ((k = 0; k < shards; k++)); do
  wait "${pids[$k]}"
  rc=$?
  cat "$logs/$k"
  if [ $rc -ne 0 ]; then
    bad=1
    echo "shard $k of $shards ended with status $rc"
  fi
  tests=$(sed -n 's/^\[==========\] \([0-9]*\) tests\{0,1\} from .* ran\..*/\1/p' "$logs/$k")
  ran=$((ran + ${tests:-0}))
done

if [ "$ran" -ne "$expected" ]; then
  bad=1
  echo "$ran of $expected tests came to their end"
fi
if [ $bad -eq 0 ]; then
  echo "[  PASSED  ] $ran tests, in $shards processes."
else
  echo "[  FAILED  ] $ran tests, in $shards processes."
fi
exit $bad
