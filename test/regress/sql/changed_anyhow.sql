-- Statements put together by chance, of one table and of a tree of partitions that change by chance, each beside the
-- exact plan: after every kind of change of some rows, with and without a refresh after it, by densities of times, dates,
-- numbers and words, of groups, of measures (one of which has a single value at first), and with a filter; in some time
-- zones; of columns that ALTER TYPE rewrote. More of them: KDE_AQP_ROUNDS=500.
\set ECHO none
\pset tuples_only on \\ \pset format unaligned
\getenv rounds KDE_AQP_ROUNDS
\if :{?rounds} \else \set rounds 20 \endif
\set seed 0.3
\getenv seed KDE_AQP_SEED
\o /dev/null
SET client_min_messages = warning;
SET TimeZone = 'Europe/Berlin';
CREATE SCHEMA anyhow;
SET search_path = anyhow, public;
SELECT setseed(:seed);
CREATE TABLE t (id bigint, at timestamptz, region text, word text, n int, amount numeric(12,2), f float8, d date, k int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE t_%1$s PARTITION OF t FOR VALUES FROM (%2$s) TO (%3$s)', i, i*1000000, (i+1)*1000000) FROM generate_series(0, 19) i \gexec
CREATE SEQUENCE s;
CREATE FUNCTION row_of(leaf int) RETURNS t LANGUAGE sql VOLATILE AS $$
 SELECT ROW(leaf*1000000 + nextval('s') % 1000000, CASE WHEN random() < 0.01 THEN NULL ELSE timestamptz '2026-01-01' + leaf * interval '3 days' + (random()*5*86400)::numeric(20,6) * interval '1 second' END,
  (ARRAY['a','b','c',NULL,'d','e '])[1+floor(6*random()^2)::int], 'w' || floor(40*random()^2), CASE WHEN random() < 0.05 THEN NULL ELSE floor(1000*random()^3)::int END,
  CASE WHEN random() < 0.03 THEN NULL ELSE round((1000*random()^4)::numeric, 2) END, floor(random()*64)/8, date '2026-01-01' + leaf*3 + floor(5*random())::int, 5)::t $$;
INSERT INTO t SELECT (row_of(l)).* FROM generate_series(0, 14) l, generate_series(1, 3000);
CREATE TABLE u AS SELECT * FROM t;
VACUUM ANALYZE t, u;
CREATE FUNCTION fit_all(which text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM kde_fit(which, 'at', sample_rows => -1, measures => '{amount,n,k}'), kde_fit(which, 'at', sample_rows => -1, measures => '{amount,n,f,k}', group_by => 'region'),
    kde_fit(which, 'd', sample_rows => -1, measures => '{amount,n}', group_by => 'region, word'), kde_fit(which, 'n', sample_rows => -1), kde_fit(which, 'amount', sample_rows => -1),
    kde_fit(which, 'word', sample_rows => -1, measures => '{amount,n,k}'), kde_fit(which, 'f', sample_rows => -1, group_by => 'region'), kde_fit(which, 'd', sample_rows => -1, measures => '{amount}', filter => 'region = ''a''');
  PERFORM kde_set_plain_sql(name, true, filter => filter) FROM kde_densities_full WHERE relation = which::regclass;
END $$;
SELECT fit_all('t'), fit_all('u');
CREATE FUNCTION any_of(VARIADIC x text[]) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT x[1 + floor(random()*cardinality(x))::int]';
CREATE FUNCTION query_of(which text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE kind text := any_of('at','at','d','n','amount','word','f','fa'); a text; b text; g text := ''; sel text; w text;
BEGIN
  sel := any_of('count(*)', 'count(*), min(X), max(X)', 'count(X), count(*)', 'count(*) FILTER (WHERE X IS NOT NULL)');
  IF kind = 'at' THEN
    a := quote_literal((timestamptz '2026-01-01' + floor(1400*random()) * interval '1 hour')::text) || '::timestamptz'; b := quote_literal((timestamptz '2026-01-01' + floor(1400*random()) * interval '1 hour')::text) || '::timestamptz';
    sel := any_of(sel, 'count(*), sum(amount), avg(n)', 'sum(n), min(amount), max(n), count(amount)', 'sum(f), count(f)', 'sum(k), avg(k), min(k), max(k)', 'max(n), min(amount) FILTER (WHERE region = ''a'')');
    g := any_of('', 'region', 'date_trunc(''day'', at)', 'date_trunc(''hour'', at)', 'region, date_trunc(''day'', at)', 'date_trunc(''month'', at)');
    w := any_of(format('at >= %s', a), format('at < %s', b), format('at >= least(%s,%s) AND at < greatest(%1$s,%2$s)', a, b), 'at IS NOT NULL', format('at >= %s AND region = ''a''', a), format('at < %s AND region IN (''b'', ''e '')', b), format('at < %s AND region IS NULL', a));
  ELSIF kind IN ('d', 'fa') THEN
    a := quote_literal((date '2026-01-01' + floor(60*random())::int)::text) || '::date';
    sel := any_of(sel, 'count(*), sum(amount)', CASE WHEN kind = 'd' THEN 'sum(n), max(amount), min(n)' ELSE 'count(*)' END);
    g := any_of('', 'd', CASE WHEN kind = 'd' THEN 'region' ELSE '' END, CASE WHEN kind = 'd' THEN 'word' ELSE 'd' END);
    w := any_of(format('d >= %s', a), format('d < %s', a), 'd IS NOT NULL', format('d = %s', a)) || CASE WHEN kind = 'fa' THEN ' AND region = ''a''' ELSE any_of('', ' AND word LIKE ''w1%''', ' AND region <> ''c''') END; kind := 'd';
  ELSIF kind = 'n' THEN w := any_of(format('n < %s', floor(1000*random())), format('n >= %s', floor(300*random())), format('n = %s', floor(50*random())), 'n IS NOT NULL'); g := any_of('', 'n'); sel := any_of(sel, 'sum(n), avg(n)', 'count(DISTINCT n)');
  ELSIF kind = 'amount' THEN w := any_of(format('amount < %s', floor(1000*random())), format('amount >= %s', floor(300*random())), 'amount IS NOT NULL'); sel := any_of(sel, 'sum(amount), avg(amount)');
  ELSIF kind = 'word' THEN w := any_of('word IS NOT NULL', 'word <> ''w1'' AND word IN (''w1'', ''w2'', ''w5'')', 'length(word) = 2', 'word LIKE ''w1%''', 'word < ''w3''', 'word = ''w7'''); g := any_of('', 'word'); sel := any_of('count(*)', 'count(*), sum(amount)', 'max(n), min(amount)', 'min(n)', 'sum(k), max(k)', 'max(n) FILTER (WHERE word = ''w7'')', 'max(amount) FILTER (WHERE word < ''w2'')', 'count(*) FILTER (WHERE word LIKE ''%3'')');
  ELSE w := any_of('f < 4', 'f >= 1.5', 'f = 2.125', 'f IS NOT NULL'); g := any_of('', 'region'); END IF;
  sel := replace(sel, 'X', kind);
  RETURN format('SELECT %s%s FROM %s WHERE %s%s', CASE WHEN g <> '' THEN g || ', ' END, sel, which, w, CASE WHEN g <> '' THEN ' GROUP BY ' || any_of(g, g || any_of('', ' HAVING count(*) > 3')) END);
END $$;
CREATE FUNCTION got(query text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; BEGIN PERFORM set_config('kde_aqp.approximate', way, true); EXECUTE format('SELECT array_agg(r::text ORDER BY r::text)::text FROM (%s) AS r', query) INTO result; RETURN result; END $$;
CREATE TABLE seen (round int, change text, which text, query text, is_same boolean, by_density boolean, refreshed boolean);
CREATE FUNCTION changed_by(which text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE l int := floor(15*random()); c text := any_of('insert','insert','insert1','update','update_all','delete','delete_blocks','group','move','extreme','gone_extreme','truncate','attach','detach','rollback','unread','leaf_delete','newword','constant','constant','rewrite'); leaf text := CASE WHEN which = 't' THEN 't_' || l ELSE 'u' END; lo bigint := l * 1000000; b int;
BEGIN
  b := floor(random() * greatest(pg_relation_size(leaf) / 8192, 1));
  CASE c
  WHEN 'insert' THEN EXECUTE format('INSERT INTO %s SELECT (row_of(%s)).* FROM generate_series(1, %s)', which, l, floor(400*random()));
  WHEN 'insert1' THEN EXECUTE format('INSERT INTO %s SELECT (row_of(%s)).*', which, l);
  WHEN 'update' THEN EXECUTE format('UPDATE %s SET amount = amount + 1, n = n - 1 WHERE ctid = ''(%s,%s)''', leaf, b, 1+floor(20*random()));
  WHEN 'update_all' THEN EXECUTE format('UPDATE %s SET at = at + interval ''1 hour'' WHERE ctid >= ''(%s,1)'' AND ctid < ''(%s,1)''', leaf, b, b + 2);
  WHEN 'delete' THEN EXECUTE format('DELETE FROM %s WHERE ctid = ''(%s,%s)''', leaf, b, 1+floor(20*random()));
  WHEN 'delete_blocks' THEN EXECUTE format('DELETE FROM %s WHERE ctid >= ''(%s,1)'' AND ctid < ''(%s,1)''', leaf, b, b + 2);
  WHEN 'group' THEN EXECUTE format('UPDATE %s SET region = %L WHERE ctid >= ''(%s,1)'' AND ctid < ''(%s,1)''', leaf, any_of('new', 'x', 'd', 'a'), b, b + 1);
  WHEN 'move' THEN EXECUTE format('UPDATE %s SET id = %s + id %% 1000000 WHERE ctid = ''(%s,3)''', which, ((l + 1) % 15) * 1000000, b);
  WHEN 'extreme' THEN EXECUTE format('UPDATE %s SET amount = %s, n = %s, at = %L WHERE ctid = ''(%s,%s)''', leaf, any_of('-5', '123456.78', '0'), any_of('-1', '99999'), any_of('2025-01-01', '2027-05-05', '2026-02-02 02:02:02.22'), b, 1+floor(20*random()));
  WHEN 'gone_extreme' THEN EXECUTE format('DELETE FROM %1$s WHERE %2$s = (SELECT %3$s(%2$s) FROM %1$s)', which, any_of('amount','n','at','d'), any_of('min','max'));
  WHEN 'truncate' THEN IF which = 't' AND random() < 0.3 THEN EXECUTE format('TRUNCATE %s', leaf); END IF;
  WHEN 'attach' THEN IF which = 't' AND NOT EXISTS (SELECT FROM pg_class WHERE relname = leaf) THEN EXECUTE format('CREATE TABLE %s PARTITION OF t FOR VALUES FROM (%s) TO (%s)', leaf, lo, lo + 1000000); EXECUTE format('INSERT INTO t SELECT (row_of(%s)).* FROM generate_series(1, 2000)', l); END IF;
  WHEN 'detach' THEN IF which = 't' AND random() < 0.3 THEN EXECUTE format('DROP TABLE %s', leaf); END IF;
  WHEN 'rollback' THEN BEGIN EXECUTE format('INSERT INTO %s SELECT (row_of(%s)).* FROM generate_series(1, 50)', which, l); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END;
  WHEN 'unread' THEN EXECUTE format('UPDATE %s SET id = id WHERE ctid >= ''(%s,1)'' AND ctid < ''(%s,1)''', leaf, b, b + 1);
  WHEN 'leaf_delete' THEN IF random() < 0.1 THEN EXECUTE format('DELETE FROM %s WHERE id >= %s AND id < %s AND region = %L', which, lo, lo + 1000000, any_of('a','b','e ')); END IF;
  WHEN 'constant' THEN EXECUTE format('UPDATE %s SET k = %s WHERE ctid = ''(%s,%s)''', leaf, any_of('0', '-7', '9', '6', '5', 'NULL'), b, 1+floor(20*random()));
  WHEN 'rewrite' THEN IF which = 'u' AND random() < 0.3 THEN ALTER TABLE u ALTER n TYPE bigint USING -n, ALTER f TYPE numeric(12,3) USING f + 1; IF random() < 0.5 THEN PERFORM fit_all('u'); END IF; END IF;
  WHEN 'newword' THEN EXECUTE format('UPDATE %s SET word = %L WHERE ctid = ''(%s,%s)''', leaf, any_of('zz', 'w99', 'w1'), b, 1+floor(20*random()));
  END CASE;
  RETURN c;
EXCEPTION WHEN undefined_table OR check_violation THEN
  EXECUTE format('CREATE TABLE IF NOT EXISTS %s PARTITION OF t FOR VALUES FROM (%s) TO (%s)', leaf, lo, lo + 1000000);
  RETURN 'attach empty';
END $$;
CREATE PROCEDURE ask_after_changes(first int, last int) LANGUAGE plpgsql AS $$
DECLARE which text; c text; q text; e text; g text; before numeric; refresh boolean; i int; r int;
BEGIN
  FOR r IN first .. last LOOP
    which := any_of('t', 't', 'u'); c := '';
    FOR i IN 1 .. 1 + floor(3*random()) LOOP BEGIN c := c || ' ' || changed_by(which); EXCEPTION WHEN OTHERS THEN c := c || ' failed:' || SQLERRM; END; END LOOP;
    COMMIT;
    refresh := random() < 0.7;
    IF refresh THEN PERFORM kde_refresh(which::regclass, force => true); COMMIT; END IF;
    PERFORM set_config('TimeZone', any_of('Europe/Berlin', 'UTC', 'America/New_York', 'Asia/Kolkata'), false);
    FOR i IN 1 .. 12 LOOP
      q := query_of(which);
      before := (SELECT coalesce(sum(statements), 0) FROM kde_plain_sql WHERE outcome = 'answered by a density');
      g := got(q, 'all');
      INSERT INTO seen VALUES (r, c, which, q, g IS NOT DISTINCT FROM got(q, 'off'), (SELECT coalesce(sum(statements), 0) FROM kde_plain_sql WHERE outcome = 'answered by a density') > before, refresh);
    END LOOP;
    COMMIT;
  END LOOP;
END $$;
SET kde_aqp.approximate_notice = off;
SET kde_aqp.approximate_error = 0;
SELECT format('CALL ask_after_changes(%s, %s)', 10 * i + 1, 10 * i + 10), 'VACUUM t, u' FROM generate_series(0, :rounds / 10 - 1) AS i \gexec
\o
SELECT format('not as the exact plan has it, after%s%s: %s', change, CASE WHEN refreshed THEN ' and a refresh' END, query) FROM seen WHERE NOT is_same ORDER BY round LIMIT 10;
SELECT format('failed: %s', change) FROM seen WHERE change LIKE '%failed%' GROUP BY change;
SELECT format('all statements ran: %s; most by densities: %s; not as the exact plan has it: %s', 12 * :rounds = count(*), count(*) FILTER (WHERE by_density) > count(*) / 2, count(*) FILTER (WHERE NOT is_same)) FROM seen;
SELECT format('by densities after a refresh: %s, without: %s', bool_or(by_density AND refreshed), bool_or(by_density AND NOT refreshed)) FROM seen;
-- As those that are fitted anew.
\o /dev/null
SELECT kde_refresh(x::regclass, force => true) FROM unnest('{t,u}'::text[]) AS x;
SET kde_aqp.approximate = 'all';
CREATE TABLE asked AS SELECT row_number() OVER () AS i, query_of(w) AS query FROM unnest('{t,u}'::text[]) AS w, generate_series(1, 100);
CREATE TABLE spliced AS SELECT i, got(query, 'all') AS rows FROM asked;
SELECT fit_all('t'), fit_all('u');
\o
SELECT format('other than fitted anew: %s', query) FROM asked JOIN spliced USING (i) WHERE rows IS DISTINCT FROM got(query, 'all');
DROP SCHEMA anyhow CASCADE;
