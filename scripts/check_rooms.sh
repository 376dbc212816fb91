#!/bin/bash
# The boundary of the core is a compile error: a core file that includes PostgreSQL, CUDA or the glue
# must not compile. This script tries, and fails if the compiler lets one pass. The folders of the core
# and the wings of the glue are in order: each includes none but itself and those before it.
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
printf '#include "core/fit/fit.h"\n' | "${compile[@]}" -x c++ -fsyntax-only - || exit 1
must_fail "postgres.h" '#include "postgres.h"'
must_fail "PostgreSQL's macros" $'#define PG_VERSION_NUM 150000\n#include "core/fit/fit.h"'
must_fail "CUDA's macros" $'#define CUDA_VERSION 13000\n#include "core/fit/fit.h"'
must_fail "cuda_runtime.h" $'#include "cuda_runtime.h"\n#include "core/fit/fit.h"'
if grep -rnE '#include "(pg|cuda)/' src/core; then
  echo "a core file includes another room" >&2
  exit 1
fi
if grep -rnE '#include ["<](pg/|postgres|cuda\.h|cuda_|cuda/cuda_)' cuda/server; then
  echo "the service's server includes another room: its tests must build without them" >&2
  exit 1
fi
echo "the core includes nothing but itself and its libraries"

# The glue has one door to the core, kde.h, and beside it what the device service speaks; the service's
# server has that alone.
if grep -rn '#include "core/' src/pg | grep -vE '"core/(kde|status)\.h"|"core/device/' ||
  grep -rn '#include "core/' cuda/server | grep -vE '"core/(status|control|room)\.h"|"core/device/|"core/sums/(sums_device|device)'; then
  echo "a header of the core that is not for this room: see src/core/kde.h" >&2
  exit 1
fi
heavy=$(printf '#include "core/kde.h"\n' | "${compile[@]}" -x c++ -M - | grep -oE '/(eigen3|hwy|boost|kissfft)/|/nlopt' | head -1)
if [ -n "$heavy" ] || grep -rn '#include "core/kde\.h"' src/core; then
  echo "core/kde.h is for the glue alone, and reaches no library: $heavy" >&2
  exit 1
fi
echo "the glue knows of the core what core/kde.h has"

# order ROOT FOLDERS: each folder of ROOT includes of its kind none but itself and those before.
order() {
  local root=$1 before= folder
  for folder in $2; do
    before+=${before:+|}$folder
    if grep -rn "#include \"${root#src/}/[^\"]*/" "$root/$folder" --include='*.cpp' --include='*.h' |
      grep -vE "#include \"${root#src/}/($before)/"; then
      echo "$root/$folder includes a folder that comes after it in: $2" >&2
      exit 1
    fi
  done
  for folder in "$root"/*/; do
    if [[ " $2 " != *" $(basename "$folder") "* ]]; then
      echo "$folder has no place in the order of the folders ($0)" >&2
      exit 1
    fi
  done
  echo "the folders of $root include none that come after them"
}

order src/core "density summary grid sampling kernel integrate answer picture sums device select estimate fit joint ask"
order src/pg "base values type proof catalog progress aggregate read device fit answer plot plain_sql advise refresh check"

# A header that begins with "Internal to FOLDER" is included by files of that folder alone, and by tests.
while IFS=: read -r header line; do
  folder=$(sed -n 's|^// Internal to \(src/[a-z_/]*[a-z_]\).*|\1|p' <<<"$line")
  if [ ! -d "$folder" ] || grep -rn "#include \"${header#src/}\"" src cuda | grep -v "^$folder/"; then
    echo "$header is internal to ${folder:-no folder}" >&2
    exit 1
  fi
done < <(grep -m 1 -r --include='*.h' '^// Internal to ' src)
echo "internal headers stay in their folders"

# No circle between files, a file being a header and its source.
edges=$(grep -rnoE '^#include "[^"]+\.h"' src/core src/pg cuda --include='*.cpp' --include='*.h' --include='*.cu' --include='*.cuh' |
  sed -E 's|^([^:]+)\.[a-z]+:[0-9]+:#include "([^"]+)\.h"|\1 \2|; s# (core|pg)/# src/\1/#' | awk '$1 != $2' | sort -u)
circles=$(tsort <<<"$edges" 2>&1 >/dev/null)
if [ -n "$circles" ]; then
  printf '%s\n' "files that include each other in a circle:" "$circles" >&2
  exit 1
fi
echo "no files include each other in a circle"
