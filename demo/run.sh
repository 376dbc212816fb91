#!/bin/bash
# The demo: exact answers against approximate ones and other means, on a private installation and a throw-away
# cluster (scripts/private_cluster.sh). Called by `make demo [CSV=file.csv[.gz] [COLUMN=name]]`. It prints what it
# found, what matters first, and writes it as a page, build/demo.html.
#
#   CSV, COLUMN   a file of yours and the column to look at; without them a table of orders is generated
#   DEMO_ROWS     rows of that table (5 million if not set)
set -u
demo=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$demo/../scripts/private_cluster.sh"
. "$demo/csv.sh"

csv=${CSV:-}
column=${COLUMN:-}
rows=${DEMO_ROWS:-5000000}
began=$SECONDS
[ -n "$csv" ] || [ -z "$column" ] || die "COLUMN needs CSV=file.csv"
[ -z "$csv" ] || [ -r "$csv" ] || die "cannot read the file $csv"
[[ $rows =~ ^[1-9][0-9]*$ ]] || die "DEMO_ROWS is a number of rows, not \"$rows\""

# A compiler behind ccache keeps what it compiled, but nothing precompiled.
case $(readlink -f "$(command -v "${CXX:-g++}")") in *ccache*) ;; *) export PCH=yes ;; esac
echo "Building, and starting a private PostgreSQL (the first time takes a minute or two) ..."
# Tables in memory; everything else is the server's default, for a fair comparison.
KDE_AQP_CONF="shared_buffers = '512MB'
client_min_messages = warning
timezone = 'UTC'"
cluster_install 2> >(awk '/^compiling/ { if (++n % 10 == 0) print "  compiled " n " files"; fflush(); next } { print }' >&2)
cluster_start
scratch=$CLUSTER_TOP/scratch
mkdir -m 700 "$scratch"
sql_or_die -c "CREATE EXTENSION kde_aqp"
printf '  %s, ready after %s\n' "$(sql -c "SELECT split_part(version(), ' (', 1)")" "$(elapsed "$began")"

# --- the table ----------------------------------------------------------------------------------
sql_or_die <"$demo/ask.sql"
if [ -n "$csv" ]; then
  read_csv_file "$csv" "$column"
else
  sql_or_die <"$demo/orders.sql"
  watched "generating $rows orders" 0 sql_or_die -c "CALL demo.add_orders($rows)" || exit 1
fi
watched "VACUUM ANALYZE" 0 sql_or_die -c "VACUUM ANALYZE" || exit 1

# --- fit, ask, compare --------------------------------------------------------------------------
sql_or_die <"$demo/company.sql"
sql_or_die -v csv="$([ -n "$csv" ] && echo true || echo false)" <"$demo/what.sql"
watched "fitting" 0 sql_or_die -c "CALL demo.fit()" || exit 1
if [ -z "$csv" ]; then
  # A fit made long on purpose, and rolled back, as another session sees it.
  watched "a long fit, watched by kde_progress and rolled back" 0 sql_or_die -c "SET maintenance_work_mem = '256MB'" -c "BEGIN" \
    -c "SELECT FROM kde_fit('orders', 'amount', 'sheather_jones', sample_rows => 1000000, exact => true)" -c "ROLLBACK" || exit 1
fi
watched "asking, exactly and by densities" 0 sql_or_die -c "CALL demo.ask_all()" || exit 1
watched "asking by other means" 0 sql_or_die -c "CALL demo.meet()" || exit 1

# --- tell ---------------------------------------------------------------------------------------
report() {  # html
  sql -P null='' -v html="$1" -v report=build/demo.html -v processors="$(nproc)" \
    -v command="make demo${csv:+ CSV=$(basename "$csv")}${column:+ COLUMN=$column}" -A -P tuples_only=off <"$demo/report.sql"
}
# Lines within 100 columns, what goes on indented.
wrapped() {
  awk '{ while (length($0) > 100) {
           for (cut = 100; cut > 50 && substr($0, cut, 1) != " "; cut--);
           print substr($0, 1, cut)
           match($0, /^ */)
           $0 = substr($0, 1, RLENGTH) "  " substr($0, cut + 1)
         }
         print }'
}
page=$demo/../build/demo.html
{ cat "$demo/page.html" && report true && echo "</body></html>"; } >"$page" || die "$(cat "$scratch/errors")"
printf '\n%s: done after %s\n\n' "make demo" "$(elapsed "$began")"
report false >"$scratch/report" || die "$(cat "$scratch/errors")"
wrapped <"$scratch/report"
