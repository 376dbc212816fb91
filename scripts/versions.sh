#!/bin/bash
# Builds and tests the extension on other versions of PostgreSQL than the machine's own, and on the
# compilers and makes that come with them: each in a root folder of the Debian suite that has it.
#
#   scripts/versions.sh test         regression, isolation and TAP tests on each of VERSIONS
#   scripts/versions.sh deb          Debian packages for each of VERSIONS, in build/deb, installed in a
#                                    folder that has nothing but the suite's base, and tested there
#
# VERSIONS     of PostgreSQL; "15 17 18" unless set, and 19 to test
# PG_CONFIG_16=/path/to/pg_config   a server of that version here, to test with in place of a suite's: none has 16
# STAGES       of scripts/test.sh; "regress isolation tap" unless set. TESTS chooses tests in them.
# KDE_AQP_SUITES   where the root folders are kept, 1 GB each; ~/.cache/kde_aqp/suites unless set
#
# Needs root, as only root may chroot; the servers run as an unprivileged user, as everywhere. A root
# folder is made once (mmdebstrap, then scripts/deps.sh in it) and used again; to renew it, remove it.
# Last line: "N passed, N failed". Exit status 0 if and only if nothing failed and something ran.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

task=${1:-test}
newest=$([ "$task" != test ] || echo 19)
versions=${VERSIONS:-15 17 18 $newest}
suites=${KDE_AQP_SUITES:-${XDG_CACHE_HOME:-$HOME/.cache}/kde_aqp/suites}
source_dir=/usr/src/kde_aqp  # within a root folder
apt_install=(apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends)

suite_of() {  # version
  case $1 in
    15) echo bookworm ;;
    17) echo trixie ;;
    18) echo sid ;;
    19) echo experimental ;;
    *) return 1 ;;
  esac
}

given() {  # version
  local name=PG_CONFIG_$1
  [ "$task" != test ] || echo "${!name:-}"
}

# Runs a command in a root folder. Its mounts and whatever it leaves running go with it; a make that was killed
# leaves a file behind that another of the same number, which is small there, stumbles over.
in_root() {  # folder command...
  rm -f "$1"/tmp/GMfifo*
  unshare --mount --pid --fork --kill-child -- sh -c '
    mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" || exit 1
    cd "$0" && exec chroot "$0" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      PATH=/usr/lib/ccache:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      CCACHE_DIR=/var/cache/ccache "$@"' "$@" </dev/null
}

# The suite's base and nothing else. A mirror may lag behind: its signature must be good, but not young.
make_clean_root() {  # version folder
  local suite
  suite=$(suite_of "$1")
  rm -rf "$2.new"
  mmdebstrap --quiet --mode=root --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
    "${suite/experimental/sid}" "$2.new" || return 1
  if [ "$suite" = experimental ]; then
    sed 's/\<sid\>/experimental/' "$2.new/etc/apt/sources.list" >"$2.new/etc/apt/sources.list.d/experimental.list"
    printf 'Package: src:postgresql-%s\nPin: release *\nPin-Priority: 990\n' "$1" >"$2.new/etc/apt/preferences.d/postgresql"
  fi
  printf '#!/bin/sh\nexit 101\n' >"$2.new/usr/sbin/policy-rc.d"  # no package starts a service
  chmod 755 "$2.new/usr/sbin/policy-rc.d"
  mv "$2.new" "$2"
}

clean_root() { [ -d "$suites/$1.clean" ] || make_clean_root "$1" "$suites/$1.clean"; }  # version

# With all that building and testing takes, and a compiler cache.
build_root() {  # version
  local root=$suites/$1
  [ ! -d "$root" ] || return 0
  clean_root "$1" || return 1
  rm -rf "$root.new"
  cp -a "$root.clean" "$root.new" && copy_sources "$root.new" &&
    in_root "$root.new" env PG_CONFIG="/usr/lib/postgresql/$1/bin/pg_config" "$source_dir/scripts/deps.sh" test &&
    in_root "$root.new" "${apt_install[@]}" ccache >/dev/null &&
    mv "$root.new" "$root"
}

copy_sources() {  # folder
  rm -rf "${1:?}$source_dir" && mkdir -p "$1$source_dir" &&
    tar -c --exclude-vcs --exclude=./build --exclude='*.o' --exclude='*.d' --exclude='*.so' . |
    tar -x --no-same-owner -C "$1$source_dir"
}

# --- the tasks: each writes to standard output, in its last line "N passed, N failed" --------------
run_test() {  # version
  local root=$suites/$1 enter=() pg_config=/usr/lib/postgresql/$1/bin/pg_config folder=$source_dir
  if [ -n "$(given "$1")" ]; then
    # With this machine's compiler, as if no make were above.
    root=$suites/$1.given enter=(env -u MAKEFLAGS -u MAKELEVEL) pg_config=$(given "$1") folder=$root$source_dir
  else
    build_root "$1" && enter=(in_root "$root") || return 1
  fi
  copy_sources "$root" || return 1
  "${enter[@]}" env WERROR=-Werror TESTS="${TESTS:-}" PG_CONFIG="$pg_config" bash -c "
    cd $folder && g++ --version | head -n 1 && make --version | head -n 1 &&
    make -s -j$(nproc) all && scripts/test.sh ${STAGES:-regress isolation tap}"
}

# An answer of the package as a user gets it: from the archive and the .deb alone.
first_fit="
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT i AS x FROM generate_series(1, 100000) AS i;
  SELECT kde_fit('t', 'x');
  DO 'BEGIN ASSERT abs(approx_count(''t.x'', 1, 50000) - 50000) < 500; END';"

run_deb() {  # version
  local root=$suites/$1 packages=build/deb
  build_root "$1" && copy_sources "$root" || return 1
  in_root "$root" env WERROR=-Werror PG_SUPPORTED_VERSIONS="$1" DEB_BUILD_OPTIONS="parallel=$(nproc)" bash -o pipefail -ec "
    cd $source_dir
    sed 's/PGVERSION/$1/g' debian/control.in >debian/control  # says what makes the real one
    apt-get update -qq
    apt-get build-dep -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends ./ >/dev/null
    pg_buildext updatecontrol
    rm -f ../*.deb
    ${apt_install[*]} blhc >/dev/null
    dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary 2>&1 | tee ../build.log
    blhc --all ../build.log  # every object has the flags that harden it" || return 1
  mkdir -p $packages && rm -f $packages/postgresql-"$1"-* &&
    cp "$root/usr/src/postgresql-$1-kde-aqp_"*.deb $packages/ || return 1

  local scratch status=0
  scratch=$(mktemp -d "$suites/$1.scratch.XXXXXX") && cp -a "$suites/$1.clean/." "$scratch" && copy_sources "$scratch" &&
    cp "$root$source_dir/debian/tests/control" "$scratch$source_dir/debian/tests/" &&
    cp $packages/postgresql-"$1"-kde-aqp_*.deb "$scratch/root/" &&
    in_root "$scratch" env PG_SUPPORTED_VERSIONS="$1" bash -c "
      set -e
      apt-get update -qq
      ${apt_install[*]} /root/*.deb >/dev/null
      if command -v make g++; then exit 1; fi
      pg_virtualenv -v $1 psql -X -v ON_ERROR_STOP=1 <<<\"$first_fit\"
      echo 'ok 1 - the package alone'
      # What debian/tests/control asks for beside the package itself.
      ${apt_install[*]} \$(sed -n 's/^Depends: @,//; T; s/,//g; p' $source_dir/debian/tests/control) >/dev/null
      cd $source_dir && debian/tests/installcheck" 2>&1 | tee build/log/installed || status=1
  rm -rf "${scratch:?}"
  printf '%d passed, %d failed\n' "$(grep -c -E '^(test .*\.\.\. +ok|ok [0-9]+)' build/log/installed)" \
    "$(grep -c -E '^(test .*\.\.\. +FAILED|not ok [0-9]+)' build/log/installed)"
  return $status
}

case $task in
  test | deb) ;;
  *)
    echo "usage: scripts/versions.sh test|deb" >&2
    exit 2
    ;;
esac
if [ "$(id -u)" -ne 0 ]; then
  echo "Root folders of other suites are entered by chroot, which needs root: sudo make versions" >&2
  exit 1
fi
scripts/deps.sh versions || exit 1
mkdir -p "$suites" build/log || exit 1

passed=0
failed=0
summary=
for version in $versions; do
  suite=$(given "$version")
  if [ -z "$suite" ] && ! suite=$(suite_of "$version"); then
    echo "PostgreSQL $version: no suite of Debian's has it; with a server of that version here: PG_CONFIG_$version=/path/to/pg_config" >&2
    failed=$((failed + 1))
    continue
  fi
  printf '\n=== PostgreSQL %s (%s) ===\n' "$version" "$suite"
  log=build/log/$task-$version
  start=$SECONDS status=0
  # One run at a time in a root folder.
  (
    flock 9
    "run_$task" "$version"
  ) 9>"$suites/$version.lock" 2>&1 | tee "$log" || status=1
  count=$(grep -a -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
  count=${count:-0 passed, 0 failed}
  good=${count%% *} bad=${count#*, }
  bad=${bad%% *}
  [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  passed=$((passed + good)) failed=$((failed + bad))
  summary+="PostgreSQL $version ($suite): $good passed, $bad failed ($((SECONDS - start)) s)"$'\n'
done

printf '\n%s%d passed, %d failed\n' "$summary" "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
