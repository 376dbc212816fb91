"""Calls every function as drivers send its arguments: one line of output a call and way, "ok ..." or "not ok ...".

Arguments go as Python's own types, as strings, and with the types that JDBC declares, by the protocol's
parameters (psycopg 3) and as literals (psycopg 2). However they are sent, the answer is the same. So are values
of pandas, or they are refused: by the driver, which does not know the type, or by the server.
"""

import datetime
import decimal
import sys

import numpy
import pandas
import psycopg
import psycopg2

DICE = "dice.side"  # six sides, 100 throws of each
PAIR = "throws (side, other)"
DAY = datetime.date(2026, 1, 2)
POINTS = [[1.0, 2.0], [3.0, 1.0], [5.0, 9.0], [2.0, 2.0], [4.0, 7.0]]

NAN = float("nan")
DAYS = pandas.Series(pandas.to_datetime(["2026-01-02", "2026-01-04"]))
ZONED = DAYS.dt.tz_localize("UTC")
FLOATS = pandas.Series([1.5, 4.5, None])  # None becomes NaN
INTEGERS = pandas.Series([2, 4])

# (call, arguments, answer); an answer of None is that of the first way.
CALLS = [
    ("approx_count(%s, %s, %s)", [DICE, 2, 4], 300),
    ("approx_count(%s, %s)", [DICE, 5], 200),
    ("approx_count(%s, %s, %s)", [DICE, 1.5, 4.5], 300),
    ("approx_count(%s, %s, %s)", [DICE, decimal.Decimal("1.5"), decimal.Decimal("4.5")], 300),
    ("approx_count(%s, %s, %s)", [DICE, numpy.float64(1.5), numpy.float64(4.5)], 300),
    ("approx_count(%s, %s, %s)", ["dates.day", DAY, DAY + datetime.timedelta(days=2)], 300),
    ("approx_count(%s, %s, %s)", ["dates.day", datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 4)], 300),
    ("approx_count(%s, %s, %s)", [PAIR, [2, 1], [4, 2]], 150),
    ("approx_count(%s, %s, %s)", [PAIR, [1.5, 1.0], [4.5, 2.0]], 150),
    ("approx_count(%s, %s, %s)", [PAIR, numpy.array([1.5, 1]).tolist(), [4.5, 2.0]], 150),
    ("approx_count(%s, %s, %s)", [PAIR, ["2", "1"], ["4", "2"]], 150),
    ("approx_count(%s, %s, %s, measure => %s, filter => %s)", ["throws.other", 1, 2, "side", None], 300),
    ("approx_sum(%s, %s, %s, measure => %s)", ["throws.other", 1, 2, "side"], 1050),
    ("approx_avg(%s, %s, %s, measure => %s)", [PAIR, [1, 1], [6, 2], "side"], 3.5),
    ("approx_variance(%s, %s, %s)", [DICE, 2, 3], None),
    ("approx_stddev(%s, %s, %s)", [DICE, 2, 3], None),
    ("approx_count(%s, %s, %s, max_relative_error => %s, otherwise => %s)", [DICE, 2, 4, 0.01, "exact"], 300),
    ("approx_avg_as(%s, NULL::date, %s, %s)", ["dates.day", DAY, DAY], "2026-01-02"),
    ("approx_quantile(%s, %s)", [DICE, 0.5], 3),
    ("approx_quantile(%s, %s::float8[])", [DICE, [0.5, 0.9]], None),
    ("approx_quantile_as(%s, %s, NULL::date)", ["dates.day", 0.5], "2026-01-03"),
    ("(approx_quantile_ci(%s, %s, confidence => %s)).estimate", [DICE, 0.5, 0.9], 3),
    ("(SELECT sum(count) FROM approx_histogram(%s, %s, lower => %s, upper => %s))", [DICE, 3, 1, 6], 600),
    ("(SELECT sum(count) FROM approx_histogram_at(%s, %s))", [DICE, [1, 3, 6]], 600),
    ("(SELECT sum(count) FROM approx_top(%s, %s, confidence => %s))", [DICE, 3, 0.9], 300),
    ("kde_pdf(%s, %s)", [DICE, 2], None),
    ("kde_cdf(%s, %s)", [DICE, 3], 0.5),
    ("(SELECT count(*) FROM kde_conditional(%s, %s, measure => %s, changed_rows => %s))", ["throws.other", [1, 2], "side", 5], 2),
    ("(SELECT estimate FROM kde_explain(%s, %s, %s) WHERE chosen)", [DICE, 2, 4], 300),
    ("approx_count(kde_density(%s), %s, %s)", [DICE, 2, 4], 300),
    ("(kde_info(%s)).rows", [DICE], 600),
    ("(SELECT count(*) FROM kde_points(%s, %s))", [DICE, 10], 10),
    ("(SELECT count(*) FROM kde_plot(%s, width => %s, lower => %s, kind => %s))", [DICE, 40, 2, "density"], None),
    ("(SELECT count(*) FROM kde_plot(ARRAY[kde_density(%s)], %s::text[]))", [DICE, ["dice"]], None),
    ("kde_svg(%s, title => %s)", [DICE, "Dice"], None),
    ("kde_svg(ARRAY[kde_density(%s)], %s::text[])", [DICE, ["dice"]], None),
    ("(SELECT rows FROM kde_fit(%s, %s, seed => %s))", ["dates", "day", 1], 600),
    ("(SELECT rows FROM kde_fit(%s, %s::text[], sample_rows => %s))", ["throws", ["side", "other"], 600], 600),
    ("(SELECT rows FROM kde_fit(%s, %s, measures => %s::text[], group_by => %s))", ["throws", "other", ["side"], "side, other > 1"], 600),
    ("(SELECT sum(sum) FROM approx_groups(%s, %s, %s, measure => %s))", ["throws.other by (side, other > 1)", 1, 2, "side"], 1050),
    ("(SELECT sum FROM approx_where(%s, %s, measure => %s))", ["throws", "other BETWEEN 1 AND 2", "side"], 1050),
    ("(SELECT count(*) FROM kde_explain_query(%s) WHERE answers)", ["SELECT count(*) FROM dice WHERE side = 2"], 1),
    ("(SELECT sum(answers) FROM kde_advise(%s::text[], %s::double precision[], %s))", [["SELECT count(*) FROM dice WHERE side = 2", "SELECT 1"], [2, 1], 0.1], 2),
    ("approx_lower(%s::bigint)", [5], 5),
    ("approx_upper(%s::bigint)", [5], 5),
    ("approx_count(kde_sample(%s, %s, %s), 2, 4)", ["dice", "side", 1], 300),
    ("(SELECT count(*) FROM kde_fit(%s, seed => %s) WHERE fitted)", ["dice", 1], 1),
    ("(SELECT count(*) FROM kde_refresh(%s))", ["dates"], 1),
    ("(SELECT count(*) FROM kde_drift(%s, sample_rows => %s))", [DICE, 100], 1),
    ("(SELECT bool_and(held) FROM kde_self_check(%s, questions => %s))", [DICE, 3], True),
    ("(SELECT severity IS NOT NULL FROM kde_check())", [], True),
    ("coalesce(kde_set_refresh(%s, max_age => %s)::text, '')", [DICE, datetime.timedelta(days=1)], ""),
    ("coalesce(kde_set_plain_sql(%s, %s)::text, '')", [DICE, True], ""),
    ("kde_approximate(%s)", ["off"], "off"),
    ("kde_store(%s, %s, (SELECT kde_agg(side) FROM dice), filter => %s)", ["dice", "side", "side > 0"], "dice.side"),
    ("(SELECT rows FROM kde_fit(%s, %s, exact => %s))", ["dates", "day", False], 600),
    ("kde_drop(%s, if_exists => %s)", ["dates (day, day + 1)", True], False),
    ("kde_bandwidth(%s, %s)", [[1.0, 2.0, 3.0, 5.0, 9.0], "plugin"], None),
    ("kde_bandwidth_matrix(%s, %s)", [POINTS, "scott"], None),
    ("kde_evaluate(%s, %s)", [POINTS, [[1.0, 2.0]]], None),
    ("(SELECT rows FROM kde_info((SELECT kde_agg(side, %s) FROM dice)))", ["auto"], 600),
    # pandas: a Timestamp, with and without a zone, elements of a Series, and lists made of one.
    ("approx_count(%s, %s, %s)", ["dates.day", pandas.Timestamp(DAY), pandas.Timestamp("2026-01-04 12:30")], 300),
    ("approx_count(%s, %s, %s)", ["dates.day", DAYS[0], DAYS[1]], 300),
    ("approx_count(%s, %s, %s)", ["dates.day", ZONED[0], ZONED[1]], 300),
    ("approx_count(%s, %s, %s)", ["dates.day", DAYS[0], None], 500),
    ("kde_cdf(%s, %s)", ["dates.day", DAYS[1]], 400 / 600),
    ("(SELECT sum(count) FROM approx_histogram(%s, %s, lower => %s))", ["dates.day", 3, DAYS[0]], 500),
    ("approx_count(%s, %s, %s)", [DICE, FLOATS[0], FLOATS[1]], 300),
    ("approx_count(%s, %s, %s)", [DICE, INTEGERS[0].item(), INTEGERS[1].item()], 300),
    ("approx_count(%s, %s, %s)", [PAIR, pandas.Series([2, 1]).tolist(), pandas.Series([4.0, 2.0]).tolist()], 150),
    ("approx_quantile(%s, %s)", [DICE, FLOATS[0] / 3], 3),
    ("coalesce(kde_set_refresh(%s, max_age => %s)::text, '')", [DICE, pandas.Timedelta(days=1)], ""),
    # NaN is a number to SQL, above all others, and no NULL.
    ("approx_count(%s, %s, %s)", [DICE, 2.0, FLOATS[2]], 500),
    ("approx_count(%s, %s, %s)", [DICE, NAN, None], 0),
    ("approx_count(%s, %s, %s)", [DICE, 2.0, None], 500),
]

# What pandas has for a missing value is no bound, and is told so; only None is NULL.
REFUSED = [
    ("approx_count(%s, %s, %s)", ["dates.day", pandas.NaT, DAYS[1]]),
    ("approx_count(%s, %s, %s)", ["dates.day", DAYS[0], pandas.NaT]),
    ("approx_count(%s, %s, %s)", ["dates.day", NAN, None]),
    ("approx_count(%s, %s, %s)", [DICE, pandas.NA, 4]),
    ("approx_quantile(%s, %s)", [DICE, NAN]),
]
# What the drivers know no type for, and do not send; or a later one does, and gets the answer (psycopg 3.2 knows
# numpy's integers).
NOT_SENT = [
    ("approx_count(%s, %s, %s)", [DICE, INTEGERS[0], INTEGERS[1]], 300),
    ("approx_count(%s, %s, %s)", [DICE, INTEGERS, None], None),
    ("approx_count(%s, %s, %s)", ["dates.day", DAYS.values[0], None], 500),
]
AGGREGATES = ["kde_agg", "rollup"]
WITHOUT_ARGUMENTS = ["kde_devices", "kde_refresh_all"]


def as_text(value):
    """As a driver that knows no types sends it."""
    if isinstance(value, list):
        return "{" + ",".join(as_text(x) for x in value) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


# What the JDBC driver declares: setString() is a varchar, or untyped with stringtype=unspecified.
JDBC = {bool: 16, int: 23, float: 701, decimal.Decimal: 1700, str: 1043}


def with_types(connection, call, values):
    """By the protocol, with the types of JDBC; dates and arrays are sent untyped, as it does."""
    types = [JDBC.get(type(v), 0) for v in values]
    return by_protocol(connection, call, values, types)


def without_types(connection, call, values):
    return by_protocol(connection, call, values, [0] * len(values))


def by_protocol(connection, call, values, types):
    for i in range(len(values)):
        call = call.replace("%s", f"${i + 1}", 1)
    encoded = [None if v is None else as_text(v).encode() for v in values]
    result = connection.pgconn.exec_params(f"SELECT ({call})::text".encode(), encoded, types)
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        raise RuntimeError(result.error_message.decode().splitlines()[0])
    return result.get_value(0, 0).decode()


def through_psycopg(connection, call, values):
    return connection.execute(f"SELECT ({call})::text", values).fetchone()[0]


def through_psycopg2(connection, call, values):
    # It writes a float's repr(), which NumPy 2 has changed for its own.
    values = [float(v) if isinstance(v, numpy.floating) else v for v in values]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT ({call})::text", values)
        return cursor.fetchone()[0]


def same(got, expected):
    if got == str(expected) or (isinstance(expected, bool) and got == as_text(expected)):
        return True
    try:
        return abs(float(got) - float(expected)) <= 1e-9 * max(1, abs(float(expected)))
    except ValueError:
        return False


def report_refusal(call, values, name, way, otherwise=None):
    try:
        got = way(call, values)
        verdict = "ok" if otherwise is not None and same(got, otherwise) else "not ok"
    except Exception as error:
        got, verdict = f"{type(error).__name__}: {str(error).splitlines()[0]}", "ok"
    shown = [" ".join(str(v).split()) for v in values]
    print(f"{verdict} {call} of {shown}, {name}, is refused{'' if otherwise is None else ' or right'}: {got}")


# Statements of plain SQL by each of the protocols' ways, which are all the client's own.
ANSWERED = "SELECT coalesce(sum(statements), 0)::text FROM kde_plain_sql WHERE outcome = 'answered by a density'"
PLAIN = "SELECT count(*)::text FROM dice WHERE side BETWEEN %s AND %s"


def report_plain(connection, name, ask):
    before = connection(ANSWERED)
    got = ask()
    by_density = connection(ANSWERED) != before
    verdict = "ok" if got == "300" and by_density else "not ok"
    print(f"{verdict} plain SQL, {name}: {got} {'by the density' if by_density else 'by the exact plan'}")


def ask_plain_sql(three, two):
    def by_three(query, values=(), **how):
        return three.execute(query, values, **how).fetchone()[0]

    def by_two(query, values=()):
        with two.cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetchone()[0]

    for connection in by_three, by_two:
        with_option = "SELECT set_config('kde_aqp.approximate', 'top', false)"
        connection(with_option)
    report_plain(by_two, "psycopg 2", lambda: by_two(PLAIN, (2, 4)))
    report_plain(by_three, "psycopg 3", lambda: by_three(PLAIN, (2, 4)))
    for turn in range(7):
        report_plain(by_three, f"prepared, {turn}", lambda: by_three(PLAIN, (2, 4), prepare=True))
    with three.cursor(name="portal") as cursor, three.transaction():
        report_plain(by_three, "a cursor", lambda: cursor.execute(PLAIN, (2, 4)).fetchone()[0])
    with three.pipeline():
        report_plain(by_three, "in a pipeline", lambda: by_three(PLAIN, (2, 4)))
    for connection in by_three, by_two:
        connection("SELECT set_config('kde_aqp.approximate', 'off', false)")


def main(where):
    three = psycopg.connect(where, autocommit=True)
    two = psycopg2.connect(where)
    two.autocommit = True
    ways = [
        ("psycopg 3, own types", lambda c, v: through_psycopg(three, c, v)),
        ("psycopg 3, strings", lambda c, v: through_psycopg(three, c, [as_text(x) for x in v])),
        ("psycopg 2, own types", lambda c, v: through_psycopg2(two, c, v)),
        ("psycopg 2, strings", lambda c, v: through_psycopg2(two, c, [as_text(x) for x in v])),
        ("JDBC's types", lambda c, v: with_types(three, c, v)),
        ("no types", lambda c, v: without_types(three, c, v)),
    ]
    for call, values, expected in CALLS:
        for name, way in ways:
            try:
                got = way(call, values)
            except Exception as error:  # each is a failure of its own
                got = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            if expected is None:
                expected = got
            verdict = "ok" if same(got, expected) else "not ok"
            # A line of output is a test.
            print(f"{verdict} {call} of {values}, {name}: {' '.join(str(got).split())}")
    for call, values in REFUSED:
        for name, way in ways:
            report_refusal(call, values, name, way)
    for call, values, answer in NOT_SENT:
        for name, way in ways[0], ways[2]:
            report_refusal(call, values, name, way, answer)
    ask_plain_sql(three, two)
    called = " ".join(call for call, _, _ in CALLS)
    names = three.execute(
        """SELECT DISTINCT proname FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'
           AND d.classid = 'pg_proc'::regclass AND pronamespace = 'public'::regnamespace"""
    ).fetchall()
    for (name,) in sorted(names):
        with_interval = name.endswith("_ci") and f"{name[:-3]}(" in called
        known = f"{name}(" in called or with_interval or name in AGGREGATES + WITHOUT_ARGUMENTS
        print(f"{'ok' if known else 'not ok'} {name} is called")


main(sys.argv[1])
