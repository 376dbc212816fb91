#!/bin/bash
# Installs what is missing on a Debian or Ubuntu machine, and nothing when nothing is missing.
#
#   scripts/deps.sh build    to build the extension
#   scripts/deps.sh demo     and to run the demo
#   scripts/deps.sh test     and to run the tests
#   scripts/deps.sh docs     and to run the examples of the documentation
#   scripts/deps.sh bench    to build, and to run the benchmarks
#   scripts/deps.sh accuracy to build, and for `make accuracy` to compare with t-digest
#   scripts/deps.sh fuzz     to build, and to run the fuzzers
#   scripts/deps.sh sqlsmith to build, and to run SQLsmith
#   scripts/deps.sh valgrind and to run the tests under valgrind
#   scripts/deps.sh versions and to make root folders of other suites (make versions)
#   scripts/deps.sh ci       and the formatter, linter, fuzzers and SQLsmith of .ci/run
#
# What is needed is looked for by what it provides (a program, a header), not by package name; so
# on another system, with everything there, this does nothing. Packages are installed as root or
# through sudo, without recommended ones and without questions. When all is there the network is
# not touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

purpose=${1:-build}
case $purpose in
  build | demo | test | docs | bench | accuracy | fuzz | sqlsmith | valgrind | versions | ci) ;;
  *)
    echo "usage: scripts/deps.sh build|demo|test|docs|bench|accuracy|fuzz|sqlsmith|valgrind|versions|ci" >&2
    exit 2
    ;;
esac

packages=()
reasons=()
need() {  # package reason
  [[ " ${packages[*]} " != *" $1 "* ]] || return 0
  packages+=("$1")
  reasons+=("$2")
}

has() { command -v "$1" >/dev/null 2>&1; }
has_header() { echo "#include <$1>" | "${CXX:-g++}" -std=c++20 -E -x c++ - >/dev/null 2>&1; }

# --- what every purpose needs -----------------------------------------------------------------
has "${CXX:-g++}" || need g++ "compiles the extension (C++20)"
has make || need make "runs the build"
has_header hwy/highway.h || need libhwy-dev "vector instructions chosen at run time (Google Highway)"
has_header kissfft/kissfft.hh || need libkissfft-dev "Fourier transforms for the bandwidth (kissfft, headers only)"
has_header eigen3/Eigen/Core || need libeigen3-dev "small matrices (Eigen, headers only)"
has_header nlopt.h || need libnlopt-dev "optimisers for bandwidth matrices (NLopt)"
has_header boost/math/tools/minima.hpp || need libboost-dev "minimises criteria that have no derivative (Boost.Math, headers only)"

pg_config=${PG_CONFIG:-$(scripts/pg_config.sh)}
pgxs=$("$pg_config" --pgxs 2>/dev/null || true)
bindir=$("$pg_config" --bindir 2>/dev/null || true)
headers=$("$pg_config" --includedir-server 2>/dev/null || true)
needs_server=
needs_server_dev=
needs_tdigest=
needs_cron=
needs_clang=
# Both: the makefiles may be there without the headers.
[ -f "$pgxs" ] && [ -f "$headers/postgres.h" ] || needs_server_dev=yes
if [ "$purpose" != build ]; then
  # Without PGXS the bindir may be that of a client library's pg_config: look for any server.
  if [ -n "$needs_server_dev" ]; then
    ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || needs_server=yes
  else
    [ -x "$bindir/postgres" ] && [ -x "$bindir/initdb" ] || needs_server=yes
  fi
fi

# --- what a purpose adds ----------------------------------------------------------------------
if [ "$purpose" != build ]; then
  has gzip || need gzip "reads compressed data"
fi
if [ "$purpose" = test ] || [ "$purpose" = ci ]; then
  has_header gtest/gtest.h || need libgtest-dev "unit tests of the core (GoogleTest)"
  has prove && perl -MTest::More -e 1 2>/dev/null || need perl "runs the TAP tests"
  perl -MIPC::Run -e 1 2>/dev/null || need libipc-run-perl "the TAP tests drive servers with it"
  # The system's: another Python that comes first may not see what packages install.
  for module in psycopg psycopg2 numpy pandas; do
    /usr/bin/python3 -c "import $module" 2>/dev/null || need "python3-$module" "the test of drivers calls functions with it"
  done
fi
if [ "$purpose" = docs ] || [ "$purpose" = ci ]; then
  for module in psycopg psycopg2 pandas matplotlib sqlalchemy; do
    /usr/bin/python3 -c "import $module" 2>/dev/null || need "python3-$module" "runs the examples of docs/python-r.md"
  done
  has Rscript || need r-base-core "runs the examples of docs/python-r.md"
  has Rscript && Rscript -e 'library(RPostgreSQL)' >/dev/null 2>&1 ||
    need r-cran-rpostgresql "runs the examples of docs/python-r.md"
fi
# Wanted, not needed: the test of refreshes by pg_cron says so where there is none. Debian's server
# alone has a package for it.
can_install() { has apt-get && { [ "$(id -u)" -eq 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }; }
if [ "$purpose" = test ] || [ "$purpose" = ci ]; then
  sharedir=$("$pg_config" --sharedir 2>/dev/null || true)
  if [ ! -f "$sharedir/extension/pg_cron.control" ] && can_install &&
    [[ -n $needs_server$needs_server_dev || $sharedir == /usr/share/postgresql/* ]]; then
    needs_cron=yes
  fi
fi
if [ "$purpose" = bench ]; then
  has_header benchmark/benchmark.h || need libbenchmark-dev "times the core (Google Benchmark)"
fi
# Debian's server alone has a package for it; for another it is to be built from its source.
if [ "$purpose" = accuracy ]; then
  sharedir=$("$pg_config" --sharedir 2>/dev/null || true)
  if [ ! -f "$sharedir/extension/tdigest.control" ] &&
    [[ -n $needs_server$needs_server_dev || $sharedir == /usr/share/postgresql/* ]]; then
    needs_tdigest=yes
  fi
fi
if [ "$purpose" = ci ]; then
  has clang-format-14 || has clang-format || need clang-format "checks the layout of the sources"
  has clang-tidy-14 || has clang-tidy || need clang-tidy "looks for defects in the core"
fi
if [ "$purpose" = ci ] || [ "$purpose" = fuzz ]; then
  has clang++-14 || has clang++ || need clang "builds the fuzzers"
  compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*' >/dev/null || needs_clang+=" rt"
  compgen -G '/usr/lib/llvm-*/lib/libarcher.so' >/dev/null || needs_clang+=" omp"
fi
if [ "$purpose" = versions ]; then
  has mmdebstrap || need mmdebstrap "makes root folders of other suites"
  [ -f /usr/share/keyrings/debian-archive-keyring.gpg ] || need debian-archive-keyring "vouches for what is in them"
fi
if [ "$purpose" = ci ] || [ "$purpose" = sqlsmith ]; then
  has sqlsmith || need sqlsmith "draws random queries"
fi
if [ "$purpose" = valgrind ]; then
  has valgrind || need valgrind "watches what a server does with its memory"
fi

if [ ${#packages[@]} -eq 0 ] && [ -z "$needs_server$needs_server_dev$needs_tdigest$needs_cron$needs_clang" ]; then
  exit 0
fi

# --- install ----------------------------------------------------------------------------------
if ! has apt-get; then
  echo "Missing, and no apt-get to install it (the names are Debian's):" >&2
  for i in "${!packages[@]}"; do echo "  ${packages[$i]}: ${reasons[$i]}" >&2; done
  [ -z "$needs_server_dev" ] || echo "  postgresql-server-dev-NN: PGXS and server headers" >&2
  [ -z "$needs_server" ] || echo "  postgresql-NN: the server" >&2
  [ -z "$needs_tdigest" ] || echo "  postgresql-NN-tdigest: t-digest, to compare with" >&2
  [ -z "$needs_clang" ] || echo "  of clang:$needs_clang (libclang-rt-NN-dev, libomp-NN-dev)" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
  # It asks for a password at the terminal, whatever the input is; where there is none it must not wait.
  { : </dev/tty; } 2>/dev/null || as_root=(sudo -n)
  if ! has sudo || ! "${as_root[@]}" true; then
    echo "Some packages are missing, and installing them needs root or sudo; as root, run" >&2
    echo "  $PWD/scripts/deps.sh $purpose" >&2
    exit 1
  fi
fi

echo "Some packages are missing; asking apt for its current lists."
"${as_root[@]}" apt-get update -qq -o APT::Update::Error-Mode=any || echo "apt-get update failed; trying with the lists there are." >&2

# The version of PostgreSQL: that of the pg_config named, else of the newest server installed, else
# the distribution's default.
server_version() {
  local newest
  # With PGXS there the server is that of pg_config, wherever its path leads.
  if [ -z "$needs_server_dev" ]; then
    "$pg_config" --version | sed 's|^PostgreSQL \([0-9]*\).*|\1|'
    return
  fi
  if [ -n "${PG_CONFIG:-}" ] && [[ $PG_CONFIG =~ /postgresql/([0-9]+)/ ]]; then
    echo "${BASH_REMATCH[1]}"
    return
  fi
  newest=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | cut -d/ -f5 | sort -n | tail -n 1)
  if [ -n "$newest" ]; then
    echo "$newest"
    return
  fi
  apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1 || true
}
if [ -n "$needs_server$needs_server_dev$needs_tdigest$needs_cron" ]; then
  version=$(server_version)
  if [ -z "$version" ]; then
    echo "apt knows no PostgreSQL server package. Is the network there?" >&2
    exit 1
  fi
  [ -z "$needs_server_dev" ] || need "postgresql-server-dev-$version" "PGXS and the server's headers"
  [ -z "$needs_server" ] || need "postgresql-$version" "the server the extension runs in"
  [ -z "$needs_tdigest" ] || need "postgresql-$version-tdigest" "t-digest, to compare with"
  if [ -n "$needs_cron" ] && apt-cache show "postgresql-$version-cron" >/dev/null 2>&1; then
    need "postgresql-$version-cron" "pg_cron, to test refreshes with"
  fi
fi
# clang's libraries go by its version: that of the clang here, else of the distribution's.
if [ -n "$needs_clang" ]; then
  clang=$({ clang++-14 -dumpversion || clang++ -dumpversion; } 2>/dev/null | cut -d. -f1 || true)
  [ -n "$clang" ] || clang=$(apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1 || true)
  if [ -z "$clang" ]; then
    echo "apt knows no clang. Is the network there?" >&2
    exit 1
  fi
  if [[ $needs_clang == *rt* ]]; then
    need "libclang-rt-$clang-dev" "libFuzzer and the sanitizers' run-time libraries"
  fi
  if [[ $needs_clang == *omp* ]]; then
    need "libomp-$clang-dev" "OpenMP for clang, and Archer, which tells the thread sanitizer of it"
  fi
fi
[ ${#packages[@]} -gt 0 ] || exit 0

echo "Installing (this takes a minute or so):"
for i in "${!packages[@]}"; do echo "  ${packages[$i]}: ${reasons[$i]}"; done

# Debian's postgresql-NN creates and starts a cluster named main when first installed. Nobody asked
# for one: a drop-in of postgresql-common's forbids it while the packages are installed. Clusters
# that exist are not touched either way.
dropin_dir=/etc/postgresql-common/createcluster.d
dropin=$dropin_dir/kde_aqp-no-main-cluster.conf
made_dirs=()
apt_log=$(mktemp)
clean_up() {
  rm -f "$apt_log"
  [ -n "$needs_server" ] || return 0
  "${as_root[@]}" rm -f "$dropin"
  local dir
  for dir in "${made_dirs[@]}"; do "${as_root[@]}" rmdir "$dir" 2>/dev/null || true; done
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ -n "$needs_server" ]; then
  [ -d "$dropin_dir" ] || made_dirs=("$dropin_dir")
  [ -d /etc/postgresql-common ] || made_dirs+=(/etc/postgresql-common)
  "${as_root[@]}" mkdir -p "$dropin_dir"
  echo "create_main_cluster = false" | "${as_root[@]}" tee "$dropin" >/dev/null
fi

if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
  apt-get install -y -q -o Dpkg::Use-Pty=0 --no-install-recommends "${packages[@]}" \
  </dev/null >"$apt_log" 2>&1; then
  grep '^E:' "$apt_log" | head -n 5 >&2
  mkdir -p build && cp "$apt_log" build/apt.log && echo "All that apt said is in build/apt.log." >&2
  echo "The packages could not be installed." >&2
  exit 1
fi
echo "Installed."
