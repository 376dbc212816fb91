#!/bin/bash
# Reads a CSV file as people have them into a table of its own, by COPY, and gives the column to look at its type.
# What the file is like (delimiter, encoding, header, types) is for csv.sql to find out, from its first 256 kB.
#
#   demo/csv.sh FILE [COLUMN]    on the server of PGHOST and PGPORT, which must be empty
#   . demo/csv.sh; read_csv_file FILE COLUMN
#
# What was made is in demo.csv: table, column, kind.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then set -u; fi
[ -n "${demo:-}" ] || demo=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$demo/shell.sh"

# In hexadecimal they say what a file is, whatever its name.
first_bytes() { head -c 4 -- "$csv" | od -An -v -tx1 | tr -d ' \n'; }

read_csv() {
  local mark
  mark=$(first_bytes)
  case $mark in
    1f8b*) gzip -dc -- "$csv" ;;
    *) cat -- "$csv" ;;
  esac | case $mark in
    efbbbf*) tail -c +4 ;;
    fffe* | feff*) iconv -f UTF-16 -t UTF-8 ;;
    *) cat ;;
  esac
}

# The head of the file, of whole lines, as a row of one bytea.
send_head() {
  local size=262144
  read_csv 2>/dev/null | head -c $size >"$scratch/head"
  if [ "$(wc -c <"$scratch/head")" -eq $size ]; then LC_ALL=C sed -i '$d' "$scratch/head"; fi
  { printf '\\\\x' && od -An -v -tx1 "$scratch/head" | tr -d ' \n' && echo; } | sql -c "COPY demo.head FROM STDIN"
}

copy_rows() {
  set -o pipefail
  read_csv | sql -v VERBOSITY=default -c "$(sql -c "SELECT demo.copy_command() FROM demo.csv")"
}

read_csv_file() {  # file column
  csv=$1
  [ -e "$csv" ] || die "there is no file $csv"
  [ -f "$csv" ] && [ -r "$csv" ] || die "$csv is no file that can be read"
  [ -s "$csv" ] || die "$csv is empty"
  case $(first_bytes) in
    504b0304) die "$csv is a zip archive or a spreadsheet: unpack it, or save it as CSV" ;;
    50415231) die "$csv is a Parquet file: export it as CSV" ;;
    425a68* | fd377a58 | 28b52ffd) die "$csv is compressed, and not by gzip: unpack it" ;;
  esac
  sql_or_die <"$demo/csv.sql"
  send_head || die "$(cat "$scratch/errors")"
  sql_or_die -v file="$(basename "$csv")" -v wanted="$2" <<<"CALL demo.look_at(:'file', :'wanted')"
  sql -c "SELECT unnest(notes) FROM demo.csv" | fold -s -w 98 | sed 's/^/  /'
  if ! watched "reading $(basename "$csv")" "$(stat -Lc %s -- "$csv")" copy_rows; then
    # Beyond its head a file may be what its head did not show.
    if grep -q 'invalid byte sequence.*0x[^0]' "$scratch/errors" && [ "$(sql -c "SELECT encoding FROM demo.csv")" = UTF8 ]; then
      echo "  not UTF-8 after all: once more, as Windows-1252 (Latin 1)"
      sql_or_die -c "UPDATE demo.csv SET encoding = 'WIN1252'"
      watched "reading $(basename "$csv")" "$(stat -Lc %s -- "$csv")" copy_rows
    else
      false
    fi
  fi || {
    case $(first_bytes) in 1f8b*) gzip -t -- "$csv" 2>/dev/null || die "$csv is cut off or damaged (gzip -t has more): get it anew" ;; esac
    die "$csv cannot be read as it is. Mend that line, or leave it out:
$(sed -n 's/^.*ERROR:  //p; s/^CONTEXT:  COPY //p' "$scratch/errors" | cut -c 1-200)"
  }
  sql_or_die -c "CALL demo.give_type()" </dev/null
  sql -c "SELECT unnest(notes) FROM demo.csv" | fold -s -w 98 | sed 's/^/  /'
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  [ $# -ge 1 ] || die "usage: demo/csv.sh FILE [COLUMN]"
  scratch=$(mktemp -d) || exit 1
  trap 'rm -rf "$scratch"' EXIT
  read_csv_file "$1" "${2:-}"
fi
