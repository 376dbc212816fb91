#!/bin/bash
# Compiles the core and its unit tests for other machines, and runs them by qemu-user:
#
#   scripts/cross.sh MACHINE... [-- OPTION...]    arm64 (NEON, SVE), s390x (big-endian); options of GoogleTest
#
# Compilers are Debian's, libraries its packages of that architecture, unpacked in a folder and not installed.
#
# CPU_arm64, CPU_s390x     that qemu stands for: "max" unless set
# KDE_AQP_CROSS            where the folders are kept; ~/.cache/kde_aqp/cross unless set
#
# Needs root. Last line: "N passed, N failed", of machines. Exit status 0 if and only if nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
folders=${KDE_AQP_CROSS:-${XDG_CACHE_HOME:-$HOME/.cache}/kde_aqp/cross}
packages=(libhwy-dev libhwy1 libkissfft-dev libkissfft-float131 libnlopt-dev libnlopt0 libgtest-dev)
machines=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  machines+=("$1")
  shift
done
[ $# -eq 0 ] || shift
passed=0
failed=0

triple_of() {  # machine
  case $1 in
    arm64) echo aarch64-linux-gnu ;;
    s390x) echo s390x-linux-gnu ;;
    *) return 1 ;;
  esac
}

prepare() {  # machine folder
  local triple
  triple=$(triple_of "$1") || { echo "cross: no machine is named $1: arm64, s390x" >&2; return 1; }
  [ ! -f "$2/ready" ] || return 0
  rm -rf "$2"
  mkdir -p "$2/packages" || return 1
  dpkg --add-architecture "$1" && apt-get update -qq &&
    apt-get install -y -qq --no-install-recommends "g++-$triple" qemu-user >/dev/null &&
    (cd "$2/packages" && apt-get download -qq "${packages[@]/%/:$1}") || return 1
  local package
  for package in "$2"/packages/*.deb; do dpkg -x "$package" "$2" || return 1; done
  rm -r "$2/packages"
  # Headers that are every machine's.
  ln -s /usr/include/boost /usr/include/eigen3 "$2/usr/include/" && touch "$2/ready"
}

test_on() {  # machine option...
  local machine=$1 folder=$folders/$1 triple program=build/$1/run_unit_test cpu=CPU_$1
  shift
  prepare "$machine" "$folder" || return 1
  triple=$(triple_of "$machine")
  make -s -j"$(nproc)" CROSS_FOLDER="$folders" "build/$machine/unit_test" || return 1
  cat >"$program" <<PROGRAM
#!/bin/sh
exec qemu-${triple%%-*} -cpu ${!cpu:-max} -L /usr/$triple -E LD_LIBRARY_PATH=$folder/usr/lib/$triple build/$machine/unit_test "\$@"
PROGRAM
  chmod +x "$program"
  scripts/shards.sh "$program" --gtest_brief=1 "$@"
}

for machine in "${machines[@]}"; do
  printf '\n=== %s ===\n' "$machine"
  if test_on "$machine" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
