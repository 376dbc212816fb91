# Sourced by run.sh: sessions fit, refresh, ask by functions, by views and by plain SQL, drop and alter tables, while
# another drops the extension and makes it again, in a database of its own.
extension_seconds=$((seconds / 4))

# What the others may meet, by SQLSTATE. Nothing else: no deadlock, no error of the server's own.
#   42883 3F000 42P01 42704  the function, schema, view, type or density is not there at this moment; or a function was
#                            dropped while it ran
#   42703                    the column of its type has gone with it
#   55000                    the extension is not installed, as the function that says so finds
#   55P03                    the extension is being dropped by who waits for a lock of this transaction (a view's, which
#                            the server takes before any function of ours runs): one of both must end
#   25P02                    what follows in the same transaction
#   40001                    a refresh that keeps parts of a density finds none in the catalog that came meanwhile
#   XX000                    of the server's own: it locks no function and no type between finding and planning it
dropped_errors='^(42883|3F000|42P01|42703|42704|55000|55P03|25P02)\|[^|]*\|dropped_(fit|refresh|ask|views|tables|upkeep)\|'
dropped_errors+='|^40001\|[^|]*\|dropped_refresh\|.* could not serialize access due to concurrent update'
dropped_errors+='|^XX000\|[^|]*\|dropped_[a-z]+\|.*cache lookup failed for (function|type) [0-9]+.*LOCATION:  [A-Za-z_]+, [a-z_]+\.c:'

# A session that runs a script until the time is over, whatever errors it meets: these are judged by the log.
beside_drops() {  # script
  while [ $SECONDS -lt "$extension_seconds" ]; do
    PGDATABASE=dropped PGAPPNAME=dropped_$1 cluster_as_user psql -X -q -f "$(of "dropped_$1")" >>"$out/dropped_$1.log" 2>&1
  done
}

run_extension() {
  local script pids=()
  echo "Sessions fit, ask and drop tables for $extension_seconds s while the extension comes and goes ..."
  cluster_as_user createdb dropped
  sql -d dropped <"$load/scripts/dropped_setup.sql" >/dev/null || die "dropped_setup.sql failed"
  SECONDS=0
  for script in extension fit refresh ask ask views plain tables upkeep; do
    beside_drops $script &
    pids+=($!)
  done
  wait "${pids[@]}"
  verdict "extensions that never went" "$(grep -c '^dropped$' "$out/dropped_extension.log" | awk '{ print $1 == 0 }')" 0
  verdict "fits beside it that never came" "$(grep -c '^ (facts' "$out/dropped_fit.log" | awk '{ print $1 == 0 }')" 0
}
