#!/bin/bash
# A private installation of PostgreSQL with the extension in it, and a throw-away cluster.
#
# The extension under test must not overwrite one that is installed in the system, and tests must
# not touch a cluster that is somebody's. So this makes, in a temporary directory:
#
#   root/usr/lib/postgresql/NN/bin ...   the server's tree at its own paths under root: programs are
#                                        copied, because PostgreSQL finds share and lib relative to
#                                        its own executable; all other files are links; the
#                                        extension is installed on top with DESTDIR=root
#   data, socket, home, work             the cluster: Unix socket only, owned by an unprivileged user
#
# All of it is stopped and removed when the script ends, is interrupted or fails.
#
#   scripts/private_cluster.sh COMMAND...     runs COMMAND against such a cluster as the unprivileged
#                                             user, with PATH, PG_CONFIG, PGHOST, PGPORT, PGUSER and
#                                             PGDATABASE set
#   . scripts/private_cluster.sh              defines the functions below
#
# KDE_AQP_CONF holds lines to append to postgresql.conf.

CLUSTER_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CLUSTER_TOP=      # the temporary directory
CLUSTER_USER=     # who runs the server
CLUSTER_BIN=      # the private programs
CLUSTER_PG_CONFIG= # that of the server they were copied from, whose headers are there
CLUSTER_WORK=     # a directory that CLUSTER_USER may write to
CLUSTER_LOG=      # the server's log
CLUSTER_JOB=      # process group of the running cluster_job, if any
CLUSTER_STARTED=

cluster_die() {
  echo "private cluster: $*" >&2
  exit 1
}

# Runs a command as the unprivileged user, with the environment set by cluster_install.
cluster_as_user() {
  if [ "$(id -u)" -eq 0 ]; then
    local as=(setpriv --reuid="$CLUSTER_USER" --regid="$(id -g "$CLUSTER_USER")" --clear-groups --)
    (
      # PostgreSQL's programs complain of a folder that they cannot enter, such as root's home.
      "${as[@]}" sh -c 'cd "$0"' "$PWD" 2>/dev/null || cd "$CLUSTER_TOP" || exit 1
      HOME=$CLUSTER_TOP/home USER=$CLUSTER_USER LOGNAME=$CLUSTER_USER exec "${as[@]}" "$@"
    )
  else
    HOME=$CLUSTER_TOP/home "$@"
  fi
}

# Runs a command or function and waits for it. In the background, in a process group of its own: bash
# runs a trap only between commands, so a foreground command would delay the clean-up to its end.
cluster_job() {
  local rc=0
  set -m
  "$@" <&0 &
  CLUSTER_JOB=$!
  set +m
  wait "$CLUSTER_JOB" || rc=$?
  CLUSTER_JOB=
  return $rc
}

cluster_cleanup() {
  local rc=$?
  trap '' INT TERM HUP
  trap - EXIT
  if [ -n "$CLUSTER_JOB" ]; then
    kill -TERM -- "-$CLUSTER_JOB" 2>/dev/null
    wait "$CLUSTER_JOB" 2>/dev/null
  fi
  if [ -n "$CLUSTER_STARTED" ]; then
    cluster_as_user "$CLUSTER_BIN/pg_ctl" -D "$CLUSTER_TOP/data" -m immediate -w -s stop >/dev/null 2>&1
  fi
  cd / && rm -rf "$CLUSTER_TOP"
  exit $rc
}

cluster_make_dir() {  # owned by the unprivileged user
  if [ "$(id -u)" -eq 0 ]; then
    install -d -m 700 -o "$CLUSTER_USER" -g "$(id -g "$CLUSTER_USER")" "$1"
  else
    install -d -m 700 "$1"
  fi
}

# Builds: on all processors, unless a make above has said on how many, and says what it compiles.
cluster_make() {  # target or variable...
  local how=()
  [[ ${MAKEFLAGS:-} == *jobserver* ]] || how=(-j"$(nproc 2>/dev/null || echo 2)")
  (
    set -o pipefail
    make -C "$CLUSTER_REPO" "${how[@]}" "$@" | sed -u -n 's|.* -c -o build/\([a-z]*\)/\(.*\)\.o .*|compiling (\1) \2|p'
  )
}

# Builds the extension and the private tree. Sets the variables above and the environment.
cluster_install() {
  umask 022
  if [ "$(id -u)" -ne 0 ]; then
    CLUSTER_USER=$(id -un)
  elif [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
    CLUSTER_USER=$SUDO_USER
  else
    CLUSTER_USER=nobody
  fi

  # A socket's path holds about 100 bytes, and the unprivileged user must reach it.
  local base=${TMPDIR:-/tmp}
  CLUSTER_TOP=/nonexistent
  if [ ${#base} -gt 60 ] || ! (cd / && cluster_as_user test -w "$base" -a -x "$base"); then base=/tmp; fi
  CLUSTER_TOP=$(mktemp -d "$base/kde_aqp.XXXXXX") || exit 1
  trap cluster_cleanup EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  chmod 755 "$CLUSTER_TOP"
  export TMPDIR=$base

  local pg_config=${PG_CONFIG:-$("$CLUSTER_REPO/scripts/pg_config.sh")}
  CLUSTER_PG_CONFIG=$(command -v "$pg_config") # before PATH changes
  local bindir sharedir pkglibdir root=$CLUSTER_TOP/root
  bindir=$("$pg_config" --bindir) && sharedir=$("$pg_config" --sharedir) &&
    pkglibdir=$("$pg_config" --pkglibdir) || cluster_die "$pg_config does not work"
  [ -x "$bindir/postgres" ] || cluster_die "there is no server in $bindir (scripts/deps.sh test)"

  mkdir -p "$root$bindir" "$root$sharedir" "$root$pkglibdir" || exit 1
  cp -RL "$bindir/." "$root$bindir/" || cluster_die "could not copy $bindir"
  cp -Rs "$sharedir/." "$root$sharedir/" || cluster_die "could not link $sharedir"
  cp -Rs "$pkglibdir/." "$root$pkglibdir/" || cluster_die "could not link $pkglibdir"
  # An installed version of the extension must neither be used nor written through a link.
  rm -f "$root$pkglibdir"/kde_aqp.so "$root$pkglibdir"/kde_aqp_cudad "$root$sharedir"/extension/kde_aqp[.-]*
  cluster_make PG_CONFIG="$pg_config" all >&2 &&
    make -s -C "$CLUSTER_REPO" PG_CONFIG="$pg_config" DESTDIR="$root" install >/dev/null ||
    cluster_die "the extension could not be built and installed"

  CLUSTER_BIN=$root$bindir
  CLUSTER_WORK=$CLUSTER_TOP/work
  CLUSTER_LOG=$CLUSTER_TOP/log/server.log
  local dir
  for dir in data home work log socket; do cluster_make_dir "$CLUSTER_TOP/$dir" || exit 1; done

  # The caller's server and habits must not leak in.
  local name
  for name in ${!PG@}; do
    case $name in
      PG_TEST_*) ;;
      *) unset "$name" ;;
    esac
  done
  export PATH=$CLUSTER_BIN:$PATH PG_CONFIG=$CLUSTER_BIN/pg_config

  # The whole point: the programs must look in the private tree.
  [ "$("$PG_CONFIG" --pkglibdir)" -ef "$root$pkglibdir" ] &&
    [ "$("$PG_CONFIG" --sharedir)" -ef "$root$sharedir" ] ||
    cluster_die "this PostgreSQL does not find its files when moved; nothing was started"
}

# Creates and starts the cluster. Needs cluster_install.
cluster_start() {
  local data=$CLUSTER_TOP/data
  # The socket is private, so the number only has to be one; clients outside use others by default.
  export PGHOST=$CLUSTER_TOP/socket PGPORT=54329 PGUSER=postgres PGDATABASE=postgres
  if ! cluster_as_user initdb -D "$data" -U postgres -A trust --locale=C --encoding=UTF8 --no-sync \
    >"$CLUSTER_TOP/initdb.log" 2>&1; then
    cat "$CLUSTER_TOP/initdb.log" >&2
    cluster_die "initdb failed"
  fi
  {
    echo "listen_addresses = ''"
    echo "unix_socket_directories = '$PGHOST'"
    echo "port = $PGPORT"
    echo "fsync = off"
    echo "${KDE_AQP_CONF:-}"
  } | cluster_as_user tee -a "$data/postgresql.conf" >/dev/null
  CLUSTER_STARTED=yes
  if ! cluster_as_user pg_ctl -D "$data" -l "$CLUSTER_LOG" -w -s -t 60 start </dev/null; then
    tail -n 20 "$CLUSTER_LOG" >&2
    cluster_die "the server did not start"
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -u
  if [ $# -eq 0 ]; then
    echo "usage: scripts/private_cluster.sh COMMAND..." >&2
    exit 2
  fi
  cluster_install
  cluster_start
  # The repository may be closed to the unprivileged user.
  cluster_as_user test -r . -a -x . || cd "$CLUSTER_WORK" || exit 1
  if [ -t 0 ]; then
    cluster_as_user "$@"  # in the foreground, so that it may read the terminal
  else
    cluster_job cluster_as_user "$@"
  fi
  exit $?
fi
