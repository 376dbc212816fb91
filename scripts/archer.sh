#!/bin/bash
# Runs a program that clang has built with -fopenmp -fsanitize=thread, with Archer (LLVM's) loaded, which
# tells the sanitizer what OpenMP's threads wait for: without it every barrier is a race.
#
#   scripts/archer.sh PROGRAM [OPTION...]
#
# Fails also where Archer was not loaded, as then nothing was looked at as it should have been.
set -u

library=
for candidate in /usr/lib/llvm-14/lib/libarcher.so /usr/lib/llvm-*/lib/libarcher.so; do
  [ ! -f "$candidate" ] || library=$candidate
done
if [ -z "$library" ]; then
  echo "libarcher.so was not found (scripts/deps.sh ci)" >&2
  exit 1
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# OpenMP's own library is not built for the sanitizer. Threads that wait by spinning would take the
# processors from those that work.
OMP_WAIT_POLICY=passive OMP_TOOL_LIBRARIES=$library ARCHER_OPTIONS=verbose=1 \
  TSAN_OPTIONS="ignore_noninstrumented_modules=1 ${TSAN_OPTIONS:-}" "$@" </dev/null 2>&1 | tee "$log"
rc=${PIPESTATUS[0]}
if ! grep -q '^Archer detected OpenMP application with TSan' "$log"; then
  echo "Archer was not loaded" >&2
  exit 1
fi
exit "$rc"
