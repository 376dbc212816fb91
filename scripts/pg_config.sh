#!/bin/bash
# Prints the pg_config to build with: the first of
#   1. pg_config on the PATH, if the PGXS makefile it names is there;
#   2. the newest /usr/lib/postgresql/NN/bin/pg_config (Debian's layout) of which the same holds;
# and "pg_config" if there is none, so that the error message names the usual program.
set -u

has_pgxs() {
  local makefile
  makefile=$("$1" --pgxs 2>/dev/null) && [ -f "$makefile" ]
}

if has_pgxs pg_config; then
  echo pg_config
  exit
fi
for candidate in $(ls -dv /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | tac); do
  if has_pgxs "$candidate"; then
    echo "$candidate"
    exit
  fi
done
echo pg_config
