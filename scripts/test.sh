#!/bin/bash
# Runs the stages named (unit, regress, isolation, tap, cuda-tap) and counts. All but the first run against a
# private installation and, but for the last two, a throw-away cluster (scripts/private_cluster.sh); of their
# tests TESTS names those to run, without folder and extension (TESTS="refresh 018_worker").
#
# At the end a table of times, of the stages and the slowest TAP files, and once more what failed. Last line:
# "N passed, N failed". A unit test, a regression test, an isolation spec and a TAP assertion count one each. Exit status 0 if and only if nothing failed and something ran.
# A stage that has no files counts as one failure unless it is named in KDE_AQP_MAY_BE_EMPTY.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/private_cluster.sh"
# What VACUUM stamps is no longer proven unchanged: the tests say when it comes.
KDE_AQP_CONF='autovacuum = off'
cd "$CLUSTER_REPO" || exit 1

passed=0
failed=0

# A stage that ended badly must not count as good because no line of it said so.
add() {  # passed failed exit-status
  local bad=$2
  if [ "$3" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + $1))
  failed=$((failed + bad))
}

count() { grep -c -E "$1" "$2" || true; }  # pattern file

banner() { printf '\n--- %s ---\n' "$*"; }

processors=$(nproc 2>/dev/null || echo 2)

# The tests of a stage: the files' names without folder and extension, those of TESTS if it names any.
stage_tests() {  # extension file...
  local extension=$1 file name
  shift
  for file in "$@"; do
    name=$(basename "$file" "$extension")
    [[ -f $file && $name != *--* ]] || continue
    [[ -z ${TESTS:-} || " $TESTS " == *" $name "* ]] && echo "$name"
  done | LC_ALL=C sort
}

empty_stage() {  # stage where
  case " ${KDE_AQP_MAY_BE_EMPTY:-} " in
    *" $1 "*) echo "$1: no tests in $2, as expected" ;;
    *)
      echo "$1: FAILED, there are no tests in $2"
      failed=$((failed + 1))
      ;;
  esac
}

show_tail() {  # lines file title
  [ -s "$2" ] || return 0
  printf '\n*** %s (last %d lines) ***\n' "$3" "$1"
  tail -n "$1" "$2"
}

# Runs a command without input, shows its output as it comes and keeps it in $log. The status is the
# command's.
log=
logged() {
  set -o pipefail
  "$@" 2>&1 </dev/null | tee "$log"
}

# What the stages printed stays in build/log.
log_dir=$CLUSTER_REPO/build/log
mkdir -p "$log_dir" || exit 1

# --- unit ---------------------------------------------------------------------------------------
run_unit() {
  banner "unit tests of the core"
  if [ -z "$(find test/unit -name '*.cpp' 2>/dev/null)" ]; then
    empty_stage unit test/unit
    return
  fi
  if ! cluster_make unit-build; then
    echo "unit: FAILED to build"
    failed=$((failed + 1))
    return
  fi
  local rc=0
  log=$log_dir/unit
  cluster_job logged scripts/shards.sh build/plain/unit_test || rc=$?
  add "$(count '^\[       OK \]' "$log")" "$(count '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log")" $rc
}

# --- the cluster, made when the first stage needs it -----------------------------------------------
need_install() { [ -n "$CLUSTER_BIN" ] || cluster_install; }
need_cluster() {
  need_install
  [ -n "$CLUSTER_STARTED" ] || cluster_start
}
pgxs_dir() { dirname "$(dirname "$("$PG_CONFIG" --pgxs)")"; }

copy_for_user() {  # source directory, name under $CLUSTER_WORK
  cluster_make_dir "$CLUSTER_WORK/$2" && cp -R "$1" "$CLUSTER_WORK/$2/" &&
    { [ "$(id -u)" -ne 0 ] || chown -R "$CLUSTER_USER" "$CLUSTER_WORK/$2"; }
}

# pg_regress prints "test name ... ok 12 ms" up to version 15 and TAP, "ok 1 - name 12 ms", since.
count_regress() {  # exit status
  add "$(count '(\.\.\. +ok|^ok [0-9]+)' "$log")" \
    "$(count '(\.\.\. +FAILED|\.\.\. +failed|^not ok [0-9]+)' "$log")" "$1"
}

# What differs, also behind the lines of $log, for what_failed.
show_diffs() {  # exit status, file...
  local rc=$1 file
  shift
  [ "$rc" -ne 0 ] || return 0
  for file in "$@"; do
    [ -f "$file" ] || continue
    show_tail 300 "$file" "regression.diffs"
    grep -E '^[-+]' "$file" | head -n 60 >>"$log"
  done
  show_tail 40 "$CLUSTER_LOG" "server log"
}

# --- regress ------------------------------------------------------------------------------------
# One after another in a database, in as many databases side by side as there are processors; in each
# test_setup first, which has what they share. Whether a test passes does not depend on those before it.
regress_database() {  # number test...
  local number=$1
  shift
  local out=$CLUSTER_WORK/regress/regress
  cluster_as_user mkdir "$CLUSTER_WORK/regress/$number" &&
    cluster_as_user "$(pgxs_dir)/test/regress/pg_regress" \
      --inputdir="$out" --outputdir="$CLUSTER_WORK/regress/$number" --bindir="$CLUSTER_BIN" --host="$PGHOST" \
      --port="$PGPORT" --user="$PGUSER" --dbname="regression_$number" --load-extension=kde_aqp test_setup "$@"
}
# Those that create roles of one name stay together, in the order of their files.
regress_databases() {  # test...
  local databases=$((processors < $# ? processors : $#)) number=0 test pids=() rc=0 pid
  local -a tests
  for test in "$@"; do
    tests[number]+="$test "
    number=$(((number + 1) % databases))
  done
  for number in "${!tests[@]}"; do
    # shellcheck disable=SC2086  # one word per test
    regress_database "$number" ${tests[number]} 2>&1 | grep --line-buffered -v test_setup &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || rc=1; done
  return $rc
}
run_regress() {
  banner "regression tests"
  local tests rc=0 file
  tests=$(stage_tests .sql test/regress/sql/*.sql | grep -v -x test_setup)
  if [ -z "$tests" ]; then
    empty_stage regress test/regress/sql
    return
  fi
  need_cluster
  copy_for_user test/regress regress || exit 1
  log=$log_dir/regress
  # shellcheck disable=SC2086
  cluster_job logged regress_databases $tests || rc=$?
  count_regress $rc
  rm -rf "$log_dir/results" && mkdir "$log_dir/results"
  for file in "$CLUSTER_WORK"/regress/*/results/*.out; do cp "$file" "$log_dir/results/"; done  # each has test_setup
  show_diffs $rc "$CLUSTER_WORK"/regress/*/regression.diffs
}

# --- isolation ----------------------------------------------------------------------------------
run_isolation() {
  banner "isolation tests"
  local specs rc=0 out
  specs=$(stage_tests .spec test/isolation/specs/*.spec)
  if [ -z "$specs" ]; then
    empty_stage isolation test/isolation/specs
    return
  fi
  need_cluster
  copy_for_user test/isolation isolation || exit 1
  out=$CLUSTER_WORK/isolation/isolation
  log=$log_dir/isolation
  # shellcheck disable=SC2086
  cluster_job logged cluster_as_user "$(pgxs_dir)/test/isolation/pg_isolation_regress" \
    --inputdir="$out" --outputdir="$out" --bindir="$CLUSTER_BIN" --host="$PGHOST" --port="$PGPORT" \
    --user="$PGUSER" --dbname=isolation_regression --load-extension=kde_aqp $specs || rc=$?
  count_regress $rc
  show_diffs $rc "$out"/regression.diffs "$out"/output_iso/regression.diffs
}

# --- tap ----------------------------------------------------------------------------------------
# The tests start servers of their own from the private tree, two side by side for
# each processor, as most wait for something now and then; the slowest first. TESTDIR is read up to version 15,
# TESTDATADIR and TESTLOGDIR since 16.
slowest="003_cancel 018_worker 011_device 015_faults 019_cron 020_cluster 024_dump_formats 030_costs_to_others"
tap_prove() {  # file...
  cd "$CLUSTER_WORK/tap" || return 1
  cluster_as_user env -u PGHOST -u PGPORT -u PGUSER -u PGDATABASE \
    PERL5LIB="$(pgxs_dir)/test/perl:$CLUSTER_WORK/tap/t${PERL5LIB:+:$PERL5LIB}" \
    PG_REGRESS="$(pgxs_dir)/test/regress/pg_regress" INITDB_TEMPLATE="$PWD/template" \
    KDE_AQP_FAKE_CUDAD="$PWD/fake_cudad" KDE_AQP_CUDAD="${KDE_AQP_CUDAD:-$PWD/kde_aqp_cudad}" KDE_AQP_FAULTS="$CLUSTER_TOP/faults${CLUSTER_BIN#"$CLUSTER_TOP/root"}/.." \
    KDE_AQP_DEMO="$PWD/demo" KDE_AQP_ELSEWHERE="$PWD/elsewhere" KDE_AQP_ENTERED="$PWD/entered" \
    TESTDIR="$PWD" TESTDATADIR="$PWD/tmp_check" TESTLOGDIR="$PWD/tmp_check/log" \
    prove --timer --jobs $((2 * processors)) --nocolor "$@"
}
# A second private tree, whose library has fault points.
faults_tree() {
  local library
  library=$CLUSTER_TOP/faults$("$PG_CONFIG" --pkglibdir | sed "s|^$CLUSTER_TOP/root||")/kde_aqp.so
  cluster_make PG_CONFIG="$CLUSTER_PG_CONFIG" faults && cp -al "$CLUSTER_TOP/root" "$CLUSTER_TOP/faults" && rm "$library" &&
    cp build/faults/kde_aqp.so "$library"
}
# Servers begin as copies of one (INITDB_TEMPLATE is read since version 16, and by KdeTest.pm before).
tap_template() {
  cluster_as_user initdb -D "$CLUSTER_WORK/tap/template" -A trust --no-sync >"$log_dir/initdb" 2>&1 && return
  cat "$log_dir/initdb"
  echo "tap: FAILED to make a cluster"
  failed=$((failed + 1))
  return 1
}
# "Files=35, Tests=1234, ..."; a line for each file that failed: "t/x.pl (Wstat: 256 Tests: 9 Failed: 1)".
count_tap() {  # exit status
  local file tests bad
  tests=$(sed -n 's/^Files=.*, Tests=\([0-9]*\),.*/\1/p' "$log")
  bad=$(sed -n 's/^t\/.*(Wstat: .* Tests: [0-9]* Failed: \([0-9]*\))$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
  add $((${tests:-0} - bad)) "$bad" "$1"
  [ "$1" -ne 0 ] || return 0
  for file in "$CLUSTER_WORK"/tap/tmp_check/log/*.log; do
    [ -f "$file" ] && show_tail 40 "$file" "$(basename "$file")"
  done
}
run_tap() {
  banner "TAP tests"
  local files
  files=$(stage_tests .pl test/t/*.pl | awk -v slowest=" $slowest " \
    '{ print index(slowest, " " $0 " ") ? index(slowest, $0) : 1000 + NR, "t/" $0 ".pl" }' | sort -n | cut -d' ' -f2)
  if [ -z "$files" ]; then
    empty_stage tap test/t
    return
  fi
  need_install
  copy_for_user test/t tap || exit 1
  # The device service's program over the processor; the repository may be closed to the user.
  if ! cluster_make fake-cudad || ! cp build/test/fake_cudad "$CLUSTER_WORK/tap/"; then
    echo "tap: FAILED to build the fake device service"
    failed=$((failed + 1))
    return
  fi
  # Libraries that put the rows of tables elsewhere, and whose planner hooks rely on each other.
  if ! make -s PG_CONFIG="$CLUSTER_PG_CONFIG" elsewhere ||
    ! cp build/test/elsewhere.so build/test/entered.so "$CLUSTER_WORK/tap/"; then
    echo "tap: FAILED to build the libraries with planner hooks"
    failed=$((failed + 1))
    return
  fi
  if ! faults_tree; then
    echo "tap: FAILED to make an installation with fault points"
    failed=$((failed + 1))
    return
  fi
  tap_template || return
  # Some test what the documentation says, the dashboard asks or the demo reads.
  cp -R docs grafana demo "$CLUSTER_WORK/tap/" || exit 1
  local rc=0
  log=$log_dir/tap
  # shellcheck disable=SC2086  # one word per file
  cluster_job logged tap_prove $files || rc=$?
  count_tap $rc
}
# With a card, whose program is built and put beside them unless KDE_AQP_CUDAD names one: what becomes of
# fits where it fails.
run_cuda-tap() {
  banner "TAP tests with a card"
  need_install
  copy_for_user test/t tap && cp test/cuda/*.pl "$CLUSTER_WORK/tap/t/" || exit 1
  if [ -z "${KDE_AQP_CUDAD:-}" ] && { ! cluster_make cuda || ! cp build/cuda/kde_aqp_cudad "$CLUSTER_WORK/tap/"; }; then
    echo "cuda-tap: FAILED to build the device service"
    failed=$((failed + 1))
    return
  fi
  tap_template || return
  local rc=0
  log=$log_dir/cuda-tap
  cluster_job logged tap_prove t/failures.pl || rc=$?
  count_tap $rc
}

# Of a stage's output the lines that say what failed, for those who see only the end of a long log.
what_failed() {  # stage
  local lines
  lines=$(
    grep -E -A 6 "^# +Failed test|: Failure$|^t/.*\(Wstat: |ended with status" "$log_dir/$1" | head -n 60
    grep -E "^\[  FAILED  \]|\.\.\. +(FAILED|failed)|^not ok|^[-+]" "$log_dir/$1" | head -n 60
  )
  printf '%s:\n%s\n' "$1" "${lines:-nothing that names itself: see above}"
}

times=
failures=
for stage in "$@"; do
  case $stage in
    unit | regress | isolation | tap | cuda-tap)
      start=$SECONDS
      before=$failed
      "run_$stage"
      [ "$failed" -eq "$before" ] || failures+=$(what_failed "$stage")$'\n'
      times+=$(printf '%6d s  %s' $((SECONDS - start)) "$stage")$'\n'
      ;;
    *)
      echo "usage: scripts/test.sh unit|regress|isolation|tap|cuda-tap ..." >&2
      exit 2
      ;;
  esac
done

printf '\n--- times ---\n%s' "$times"
# Of "[12:00:00] t/001_restart.pl ... ok    1234 ms ( 0.00 usr ...)".
[ ! -s "$log_dir/tap" ] || [[ " $* " != *" tap "* ]] ||
  sed -n 's/^\[.*\] \(t\/[0-9a-z_]*\)\.pl \.* *ok *\([0-9]*\) ms.*/\2 \1/p' "$log_dir/tap" | sort -rn | head -n 12 |
  awk '{ printf "%6d s    %s\n", $1 / 1000, $2 }'
[ -z "$failures" ] || printf '\n--- what failed ---\n%s' "$failures"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
