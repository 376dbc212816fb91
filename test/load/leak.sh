# Sourced by run.sh: the memory of a backend after a tenth of its work and after all. The first tenth
# fills what is filled once: system caches, plans, the allocator's free lists.
answers=${LOAD_ANSWERS:-10000000}
fits=${LOAD_FITS:-10000}

# A tenth of the answers, in one session's script: 84 % by statements over many rows, 15 % by
# statements inside a function, 1 % by statements of their own, simple and prepared.
answers_tenth() {
  cat <<SQL
\o /dev/null
SELECT format(\$\$SELECT sum(approx_%s('steady.v', g %% 10, 5 + g %% 100)) FROM generate_series(1, %s) AS g\$\$, what, $answers * 28 / 1000)
FROM unnest(ARRAY['count', 'sum', 'avg']) AS what
UNION ALL SELECT format('SELECT load.ask(%s)', $answers * 15 / 1000)
UNION ALL SELECT CASE i % 3 WHEN 0 THEN format('EXECUTE one (%s)', i % 7) WHEN 1 THEN format('EXECUTE two (%s)', i % 7)
  ELSE format(\$\$SELECT approx_count('steady.v', %s, 9)\$\$, i % 7) END FROM generate_series(1, $answers / 1000) AS i
\gexec
\o
SQL
}
answers_script() {
  cat <<'SQL'
PREPARE one AS SELECT approx_count('steady.v', $1, 10);
PREPARE two AS SELECT approx_sum('steady(v)', measure => 'w', lower => ARRAY[$1::float8], upper => ARRAY[10]);
SQL
  for i in 1 2 3 4 5 6 7 8 9 10; do
    answers_tenth
    case $i in 1 | 10) echo 'SELECT load.memory();' ;; esac
  done
}
fits_script() {
  echo "SET kde_aqp.cache_size = '64kB'; SET client_min_messages = error;"
  echo "CALL load.fit_and_drop($((fits / 10))); SELECT load.memory();"
  echo "CALL load.fit_and_drop($((fits - fits / 10))); SELECT load.memory();"
}

# Of n calls, more in contexts: 64 kB (a block or two of system caches) and n / 100 bytes for answers,
# so that one chunk of the allocator, 24 bytes or more, leaked in 2,400 calls shows; 12 n for fits, one
# chunk in two. The process's own memory moves by what malloc keeps: 1 MB, and n / 10 bytes for answers,
# 200 n for fits (a sample of 100 values leaked would be 800 n). What is remembered of stale densities:
# at most a thousand entries, 1 MB.
judge_memory() {  # what calls bound-of-contexts bound-of-process file
  local first last
  IFS='|' read -ra first <<<"$(sed -n 1p "$5")"
  IFS='|' read -ra last <<<"$(sed -n 2p "$5")"
  [ "${#last[@]}" = 3 ] || die "$1: the session ended early"
  printf '%-34s %s -> %s bytes in contexts, %s -> %s of staleness, %s -> %s of the process\n' "$1" \
    "${first[0]}" "${last[0]}" "${first[1]}" "${last[1]}" "${first[2]}" "${last[2]}"
  verdict "$1: bytes more in contexts after $2" $((last[0] - first[0])) "$3"
  verdict "$1: bytes for staleness" $((first[1] > last[1] ? first[1] : last[1])) 1048576
  verdict "$1: bytes more of the process after $2" $((last[2] - first[2])) "$4"
}

run_leak() {
  cluster_as_user psql -X -q -A -t <"$load/leak.sql" >"$out/leak.log" 2>&1 || die "leak.sql failed"
  printf '\nMemory of a backend over %s answers and over %s fits ...\n' "$answers" "$fits"
  answers_script | sql >"$out/leak.answers" || die "the answers failed"
  judge_memory "answers" "$((answers * 9 / 10))" $((answers * 9 / 10 / 100 + 65536)) $((answers * 9 / 10 / 10 + 1048576)) "$out/leak.answers"
  fits_script | sql >"$out/leak.fits" || die "the fits failed"
  judge_memory "fits" "$((fits * 9 / 10))" $((fits * 9 / 10 * 12 + 65536)) $((fits * 9 / 10 * 200 + 1048576)) "$out/leak.fits"
}
