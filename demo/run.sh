#!/bin/bash
# The demo: exact answers against approximate ones, on a private installation and a throw-away
# cluster (scripts/private_cluster.sh). Called by `make demo [CSV=file.csv[.gz] COLUMN=name]`.
#
#   CSV, COLUMN   a file with a header line and the column to look at. Without them the columns price
#                 and carat of ../shared/data/diamonds.csv.gz are taken, if that file is there.
#   DEMO_ROWS     rows of the generated table of orders (10 million if not set)
set -u
demo=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$demo/../scripts/private_cluster.sh"

csv=${CSV:-}
columns=()
rows=${DEMO_ROWS:-10000000}
chunks=10

die() {
  echo "demo: $*" >&2
  exit 1
}

# psql reads its script from standard input: the unprivileged user need not see the repository.
sql() { cluster_as_user psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
folded() {
  set -o pipefail
  "$@" 2>&1 | fold -s -w 100
}
sql_file() {  # file psql-options...
  local file=$1
  shift
  cluster_job folded cluster_as_user psql -X -q -v ON_ERROR_STOP=1 -P footer=off "$@" <"$demo/$file"
}
exec_sql() { cluster_job sql "$@" </dev/null; }

now() { date +%s%N; }
elapsed() {  # since
  local ms=$((($(now) - $1) / 1000000))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}
title() { printf '\n%s\n\n' "$*"; }

# --- what to load -------------------------------------------------------------------------------
table=
if [ -n "$csv" ]; then
  [ -r "$csv" ] && [ -f "$csv" ] || die "cannot read the file $csv"
  csv=$(realpath "$csv")
  table=$(basename "$csv" .gz)
  table=${table%.*}
elif [ -n "${COLUMN:-}" ]; then
  die "COLUMN needs CSV=file.csv"
elif [ -f "$demo/../../shared/data/diamonds.csv.gz" ]; then
  csv=$demo/../../shared/data/diamonds.csv.gz
  table=diamonds
  columns=(price carat)
fi
[ "$table" != orders ] || table=orders_csv

read_csv() {
  case $csv in
    *.gz) gzip -dc -- "$csv" ;;
    *) cat -- "$csv" ;;
  esac
}

# The header's fields, one a line. RFC 4180: a quoted field may hold delimiters and doubled quotes.
header_fields() {
  read_csv 2>/dev/null | head -n 1 | tr -d '\r' | sed 's/^\xef\xbb\xbf//' | awk '
    {
      delimiter = index($0, ",") ? "," : index($0, ";") ? ";" : index($0, "\t") ? "\t" : ","
      print delimiter
      quoted = 0
      for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        if (c == "\"" && quoted && substr($0, i + 1, 1) == "\"") { field = field c; i++ }
        else if (c == "\"") quoted = !quoted
        else if (c == delimiter && !quoted) { print field; field = "" }
        else field = field c
      }
      print field
    }'
}

delimiter=,
fields=()
if [ -n "$csv" ]; then
  mapfile -t fields < <(header_fields)
  [ ${#fields[@]} -gt 1 ] || die "$csv has no header line"
  delimiter=${fields[0]}
  fields=("${fields[@]:1}")
  if [ ${#columns[@]} -eq 0 ]; then
    [ -n "${COLUMN:-}" ] || die "say which column to look at: COLUMN=name, one of: ${fields[*]}"
    found=
    for field in "${fields[@]}"; do [ "$field" != "$COLUMN" ] || found=yes; done
    [ -n "$found" ] || die "$csv has no column \"$COLUMN\"; it has: ${fields[*]}"
    columns=("$COLUMN")
  fi
fi

# --- the server ---------------------------------------------------------------------------------
echo "Building, and starting a private PostgreSQL ..."
start=$(now)
cluster_install
# Tables in memory; everything else is the server's default, for a fair comparison.
KDE_AQP_CONF="shared_buffers = '512MB'
client_min_messages = warning
timezone = 'UTC'"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
exec_sql -c "CREATE EXTENSION kde_aqp" || die "the extension could not be created"
printf '  %s, ready in %s\n' "$(sql -c "SELECT split_part(version(), ' (', 1)")" "$(elapsed "$start")"

# --- the CSV ------------------------------------------------------------------------------------
sql_name() { printf '"%s"' "${1//\"/\"\"}"; }
sql_text() { printf "'%s'" "${1//\'/\'\'}"; }

if [ -n "$csv" ]; then
  start=$(now)
  definition=
  declare -A seen=()
  for i in "${!fields[@]}"; do
    name=${fields[$i]}
    # A nameless or repeated column gets a name of its own; it is not looked at.
    if [ -z "$name" ] || [ -n "${seen[$name]:-}" ]; then name="column_$((i + 1))"; fi
    seen[$name]=yes
    definition+="${definition:+, }$(sql_name "$name") text"
  done
  exec_sql -c "CREATE UNLOGGED TABLE $(sql_name "$table") ($definition)" || die "could not create the table"
  load_csv() {
    set -o pipefail
    read_csv | sql -c "COPY $(sql_name "$table") FROM STDIN
      (FORMAT csv, HEADER, NULL 'NA', DELIMITER $(sql_text "$delimiter"))"
  }
  cluster_job load_csv </dev/null || die "could not load $csv"
  for column in "${columns[@]}"; do
    sql_file typed.sql -v table="$table" -v column="$column" || die "column \"$column\" cannot be used"
  done
  printf '  %s: %s rows loaded in %s\n' "$table" \
    "$(sql -c "SELECT trim(to_char(count(*), '999,999,999,999')) FROM $(sql_name "$table")")" "$(elapsed "$start")"
fi

# --- ten million orders -------------------------------------------------------------------------
bar() {  # done of since
  local width=40 full=$((40 * $1 / $2)) i line=
  for ((i = 0; i < width; i++)); do
    if [ "$i" -lt "$full" ]; then line+='#'; else line+='.'; fi
  done
  printf '\r  orders: [%s] %3d %%  %s ' "$line" $((100 * $1 / $2)) "$(elapsed "$3")"
}

start=$(now)
sql_file orders.sql || die "could not create the table of orders"
for ((chunk = 0; chunk < chunks; chunk++)); do
  if [ -t 1 ]; then bar "$chunk" "$chunks" "$start"; fi
  exec_sql -c "CALL demo.add_orders($((rows * chunk / chunks + 1)), $((rows * (chunk + 1) / chunks)), $rows)" ||
    die "could not generate orders"
  if [ ! -t 1 ]; then
    printf '  orders: %3d %% generated, %s\n' $((100 * (chunk + 1) / chunks)) "$(elapsed "$start")"
  fi
done
if [ -t 1 ]; then
  bar "$chunks" "$chunks" "$start"
  echo
fi
start=$(now)
exec_sql -c "VACUUM ANALYZE" || die "VACUUM failed"
printf '  VACUUM ANALYZE, %s\n' "$(elapsed "$start")"

# --- fit, ask, compare --------------------------------------------------------------------------
sql_file compare.sql || exit 1
fit() {  # table column
  local start
  start=$(now)
  exec_sql -c "CALL demo.fit($(sql_text "$1"), $(sql_text "$2"))" || die "could not fit $1.$2"
  printf '  %s.%s, %s\n' "$1" "$2" "$(elapsed "$start")"
}
title "Fitting densities"
for column in amount quantity created_at; do fit orders "$column"; done
if [ -n "$csv" ]; then for column in "${columns[@]}"; do fit "$table" "$column"; done; fi

# A fit made long on purpose, and rolled back, as another session sees it.
title "Watching a long fit from another session (kde_progress)"
sql -c "SET maintenance_work_mem = '256MB'" -c "BEGIN" \
  -c "SELECT kde_fit('orders', 'amount', 'lscv', sample_rows => 1000000, kernel => 'epanechnikov')" \
  -c "ROLLBACK" </dev/null >/dev/null &
long_fit=$!
while kill -0 "$long_fit" 2>/dev/null; do
  sql -F '  ' -c "SELECT relation, phase, done || coalesce(' of ' || total, '') || ' ' || unit,
    percent || ' %', extract(epoch FROM elapsed)::numeric(6, 1) || ' s' FROM kde_progress" </dev/null
  sleep 1
done
wait "$long_fit" || die "the long fit failed"

title "How each density was made"
sql_file densities.sql -P border=0 || exit 1

echo "Asking, exactly and approximately ..."
start=$(now)
exec_sql -c "CALL demo.ask_orders()" || exit 1
if [ -n "$csv" ]; then
  for column in "${columns[@]}"; do
    exec_sql -c "CALL demo.ask_column($(sql_text "$table"), $(sql_text "$column"))" || exit 1
  done
fi
printf '  %s\n' "$(elapsed "$start")"

title "Exact and approximate answers"
sql_file report.sql -P border=0 || exit 1
cat <<'END'
Exact times are the better of two runs (of one where it takes over two seconds), with the table in
memory and the server's own defaults, parallel workers included. Approximate times are the median of
many calls in one session that has the density in its cache.
END

title "Plain SQL: the statement as it is (docs/plain-sql.md)"
sql_file plain.sql || exit 1
