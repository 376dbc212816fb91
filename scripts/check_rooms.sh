#!/bin/bash
# The boundary of the core is a compile error: a core file that includes PostgreSQL, CUDA or the glue
# must not compile. This script tries, and fails if the compiler lets one pass. The wings of the glue
# are in order: each includes none but itself and those before it.
#
#   scripts/check_rooms.sh COMPILE...   the command that compiles a core file, without its name
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

must_fail() {  # what, source text
  if printf '%s\n' "$2" | "${compile[@]}" -x c++ -fsyntax-only - >/dev/null 2>&1; then
    echo "a core file may include $1: the boundary is open" >&2
    exit 1
  fi
}

compile=("$@")
# The command itself works, so that what fails below fails for its include.
printf '#include "core/fit.h"\n' | "${compile[@]}" -x c++ -fsyntax-only - || exit 1
must_fail "postgres.h" '#include "postgres.h"'
must_fail "PostgreSQL's macros" $'#define PG_VERSION_NUM 150000\n#include "core/fit.h"'
must_fail "CUDA's macros" $'#define CUDA_VERSION 13000\n#include "core/fit.h"'
must_fail "cuda_runtime.h" $'#include "cuda_runtime.h"\n#include "core/fit.h"'
if grep -rnE '#include "(pg|cuda)/' src/core; then
  echo "a core file includes another room" >&2
  exit 1
fi
if grep -rnE '#include ["<](pg/|postgres|cuda\.h|cuda_|cuda/cuda_)' cuda/server; then
  echo "the service's server includes another room: its tests must build without them" >&2
  exit 1
fi
echo "the core includes nothing but itself and its libraries"

wings="base type catalog progress read device fit answer aggregate refresh"
before=
for wing in $wings; do
  before+=${before:+|}$wing
  if grep -rn '#include "pg/' "src/pg/$wing" --include='*.cpp' --include='*.h' |
    grep -vE "#include \"pg/($before)/"; then
    echo "wing $wing of the glue includes one that is above it, of: $wings" >&2
    exit 1
  fi
done
for folder in src/pg/*/; do
  if [[ " $wings " != *" $(basename "$folder") "* ]]; then
    echo "$folder has no place in the order of the wings ($0)" >&2
    exit 1
  fi
done
echo "the wings of the glue include none above them"
