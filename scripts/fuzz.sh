#!/bin/bash
# Runs a libFuzzer target that `make fuzz` has built, for that many seconds:
#
#   scripts/fuzz.sh TARGET SECONDS [SEED]
#
# With a seed, and nothing found earlier, every machine tries the same inputs in the same order, at
# most 2,000,000 (25,000 of the slow ones): a check that passed does not fail by luck. The hunt is without.
#
# It begins with the inputs in test/fuzz/corpus/TARGET, which is only read, and with those that earlier
# runs on this machine found worth keeping, in build/fuzz/corpus/TARGET, where it adds its own.
#
# A finding stays behind as build/fuzz/TARGET-crash-... (or -timeout-, -oom-, -leak-) and is printed
# as text too, so that what another machine printed is enough to have it here:
#
#   base64 -d <<<'TEXT' | gunzip >input && build/fuzz/TARGET_fuzzer input
# Three minutes for one input are a finding: searches by the reference engine end at ten thousand steps, which takes
# some seconds, more on a busy machine (what took over 10 s stays as -slow-unit-... and is none).
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
target=$1
seconds=$2
how=()
case $target in
  fit | joint_fit | bandwidth | use) runs=25000 ;;  # slow: as many as machines get through in a minute
  *) runs=2000000 ;;
esac
[ -z "${3:-}" ] || how=(-seed="$3" -runs=$runs)

own=build/fuzz/corpus/$target
seeds=test/fuzz/corpus/$target
mkdir -p "$own"
corpora=("$own")
[ ! -d "$seeds" ] || corpora+=("$seeds")

# Of earlier runs: else one of them would be shown as this one's.
for old in build/fuzz/"$target"-*-*; do
  [ ! -f "$old" ] || mv "$old" "build/fuzz/earlier-${old##*/}"
done

# stderr stays open: a target says there which rule was broken.
"build/fuzz/${target}_fuzzer" -max_total_time="$seconds" -timeout=180 -max_len=20000 \
  ${how[@]+"${how[@]}"} -close_fd_mask=1 -verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" \
  "${corpora[@]}" </dev/null
rc=$?
for found in build/fuzz/"$target"-*-*; do
  [[ -f $found && $found != *-slow-unit-* ]] || continue
  printf '%s, gzip and base64:\n' "$found"
  gzip -9nc "$found" | base64 -w 0
  echo
  # Last, as of a long output only the end is kept.
  "build/fuzz/${target}_fuzzer" -timeout=180 "$found" 2>&1 </dev/null | grep -m 1 -e '^broken rule' -e 'ERROR:'
done
exit $rc
