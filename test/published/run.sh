#!/bin/bash
# What others published on work that can be repeated, and this extension on the same: published.sql on a
# throw-away cluster. Called by `make published DATA=folder`, a folder with beijing_pm25.csv.gz and
# ccpp.csv.gz. Prints, last, every figure beside what is asked for: ok or SHORT.
#
#   SALES_ROWS   rows of the made table of sales (3 million if not set)
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../scripts/private_cluster.sh"

folder=${1:-}
for file in beijing_pm25.csv.gz ccpp.csv.gz; do
  [ -r "$folder/$file" ] || {
    echo "published: no $file in '$folder': pass DATA=folder" >&2
    exit 1
  }
done
cluster_install
cluster_start
sql() { cluster_as_user psql -X -q -v ON_ERROR_STOP=1 "$@"; }

# psql reads from standard input: the unprivileged user need not see the files.
load() {  # table file option
  sql -c "CREATE TABLE $1" </dev/null
  gzip -dc "$folder/$2" | sql -c "COPY ${1%% *} FROM STDIN WITH (FORMAT csv, HEADER, NULL 'NA')"
}
load 'pm25 (no int, year int, month int, day int, hour int, "pm2.5" float8, "DEWP" float8, "TEMP" float8,
  "PRES" float8, cbwd text, iws float8, is_ float8, ir float8)' beijing_pm25.csv.gz
load 'ccpp ("AT" float8, "V" float8, "AP" float8, "RH" float8, "PE" float8)' ccpp.csv.gz
cat "$here/../bench/timing.sql" "$here/published.sql" "$here/../bench/agg/summary.sql" |
  cluster_job cluster_as_user psql -X -q -v ON_ERROR_STOP=1 -v rows="${SALES_ROWS:-3000000}"
