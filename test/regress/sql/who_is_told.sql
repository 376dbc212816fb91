-- Who may not read a table's columns hears one and the same, whether or not there is a density: from every
-- function that takes a table, a density's name or a query. Each call is made of two tables that are alike but
-- for the densities of one; what differs, by role, is listed.
\pset tuples_only
\pset format unaligned
CREATE SCHEMA who_is_told;
SET search_path = who_is_told, public;
SET kde_aqp.stale = ignore;
CREATE TABLE has AS SELECT i AS v, i % 7 AS w, 's' || i % 3 AS s, date '2026-01-01' + i AS d FROM generate_series(1, 100) AS i;
CREATE TABLE not_has AS SELECT * FROM has;
CREATE TABLE pol AS SELECT * FROM has;
CREATE TABLE not_pol AS SELECT * FROM has;
ALTER TABLE pol ENABLE ROW LEVEL SECURITY;
ALTER TABLE not_pol ENABLE ROW LEVEL SECURITY;
CREATE POLICY some ON pol USING (v > 10);
CREATE POLICY some ON not_pol USING (v > 10);
CREATE VIEW has_view AS SELECT * FROM has;
CREATE VIEW not_has_view AS SELECT * FROM not_has;
ANALYZE has, not_has, pol, not_pol;
DO $do$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['has', 'pol'] LOOP
    PERFORM kde_fit(t, 'v', measures => ARRAY['w'], seed => 1), kde_fit(t, 'w', name => t || '_alias', seed => 1),
      kde_fit(t, 's', seed => 1), kde_fit(t, 'd', filter => 'w > 2', seed => 1), kde_fit(t, ARRAY['v', 'w'], seed => 1),
      kde_fit(t, ARRAY['v + w'], seed => 1), kde_fit(t, 'v', group_by => 'w', seed => 1), kde_fit(t, 'd', group_by => 's', seed => 1);
    PERFORM kde_set_plain_sql(t || '.v', true), kde_set_plain_sql(t || '.w', true);
  END LOOP;
END $do$;
CREATE ROLE regress_kde_nobody;
CREATE ROLE regress_kde_partly;   -- one column; and the tables with policies
CREATE ROLE regress_kde_by_view;
GRANT USAGE ON SCHEMA who_is_told TO regress_kde_nobody, regress_kde_partly, regress_kde_by_view;
GRANT SELECT (v) ON has, not_has TO regress_kde_partly;
GRANT SELECT ON pol, not_pol TO regress_kde_partly;
GRANT SELECT ON has_view, not_has_view TO regress_kde_by_view;

CREATE TABLE calls (i serial, call text);
INSERT INTO calls (call) VALUES
  ($$approx_count('%1$s.v')$$),
  ($$approx_count('%1$s.w', 1, 3)$$),
  ($$approx_count('%1$s.s','s1'::text,'s1'::text)$$),
  ($$approx_count('%1$s.d', filter=>'w > 2')$$),
  ($$approx_count('%1$s (v, w)')$$),
  ($$approx_count('%1$s (v + w)')$$),
  ($$approx_sum('%1$s.v', measure=>'w')$$),
  ($$approx_avg('%1$s.v', measure=>'s')$$),
  ($$approx_avg('%1$s.v', measure=>'d')$$),
  ($$approx_count('%1$s_alias')$$),
  ($$approx_groups('%1$s.v')$$),
  ($$approx_groups('%1$s.v by w')$$),
  ($$approx_groups('%1$s.d')$$),
  ($$approx_groups('%1$s.d by s')$$),
  ($$approx_quantile('%1$s.v',0.5)$$),
  ($$approx_quantile('%1$s.w',0.5)$$),
  ($$approx_top('%1$s.s')$$),
  ($$approx_histogram('%1$s.v')$$),
  ($$approx_histogram('%1$s.w')$$),
  ($$approx_histogram_at('%1$s.w',array[1,2])$$),
  ($$kde_pdf('%1$s.w',1)$$),
  ($$kde_cdf('%1$s.w',1)$$),
  ($$kde_points('%1$s.w')$$),
  ($$kde_conditional('%1$s.v',array[1],measure=>'w')$$),
  ($$kde_explain('%1$s.v')$$),
  ($$kde_explain('%1$s.w')$$),
  ($$kde_explain('%1$s.v',measure=>'w')$$),
  ($$kde_info('%1$s.w')$$),
  ($$kde_info('%1$s.v')$$),
  ($$kde_density('%1$s','v'::name)$$),
  ($$kde_density('%1$s','w'::name)$$),
  ($$kde_density('%1$s',array['v'])$$),
  ($$kde_density('%1$s.v')$$),
  ($$kde_density('%1$s.v by w')$$),
  ($$kde_density('%1$s',array['v','w'])$$),
  ($$kde_density('%1$s_alias')$$),
  ($$kde_plot('%1$s.v')$$),
  ($$kde_plot('%1$s.w')$$),
  ($$kde_plot('%1$s.v by w')$$),
  ($$kde_plot('%1$s_alias')$$),
  ($$kde_plot('%1$s.s')$$),
  ($$kde_plot('%1$s')$$),
  ($$kde_svg('%1$s.w')$$),
  ($$kde_svg('%1$s_alias')$$),
  ($$kde_fit('%1$s')$$),
  ($$kde_fit('%1$s','v')$$),
  ($$kde_drop('%1$s.v')$$),
  ($$kde_drop('%1$s.v',if_exists=>true)$$),
  ($$kde_drop('%1$s_alias')$$),
  ($$kde_drop('%1$s_alias',if_exists=>true)$$),
  ($$kde_store('%1$s','v',query=>'select 1')$$),
  ($$kde_refresh('%1$s')$$),
  ($$kde_drift('%1$s.v')$$),
  ($$kde_drift('%1$s_alias')$$),
  ($$kde_set_refresh('%1$s.v',enabled=>true)$$),
  ($$kde_set_refresh('%1$s_alias',enabled=>true)$$),
  ($$kde_set_plain_sql('%1$s.v',true)$$),
  ($$kde_set_plain_sql('%1$s_alias',true)$$),
  ($$kde_self_check('%1$s.v')$$),
  ($$kde_self_check('%1$s_alias')$$),
  ($$kde_sample('%1$s','w',1)$$),
  ($$approx_where('%1$s','v > 3')$$),
  ($$approx_where('%1$s','w > 3')$$),
  ($$approx_where('%1$s','v > 3', measure=>'w')$$),
  ($$approx_where('%1$s','d > ''2026-02-01''')$$),
  ($$approx_where('%1$s','v > 3', otherwise=>'null')$$),
  ($$approx_where('%1$s','w > 3', otherwise=>'null')$$),
  ($$approx_where('%1$s','w > 3', otherwise=>'exact')$$),
  ($$approx_where('%1$s','true')$$),
  ($$approx_where('%1$s','s = ''x''', otherwise=>'null')$$),
  ($$approx_where('%1$s','s = ''x''')$$),
  ($$kde_explain_query('select count(*) from %1$s where w > 3')$$),
  ($$kde_explain_query('select count(*) from %1$s where v > 3')$$),
  ($$kde_explain_query('select sum(w) from %1$s where v > 3')$$),
  ($$kde_explain_query('select count(*) from %1$s where d > ''2026-02-01''')$$),
  ($$kde_explain_query('select w, count(*) from %1$s group by w')$$),
  ($$kde_explain_query('select sum(v), sum(w) from %1$s')$$),
  ($$kde_explain_query('select (select count(*) from %1$s where w > 3)')$$),
  ($$kde_explain_query('with a as (select count(*) from %1$s where w > 3) select * from a')$$),
  ($$kde_explain_query('select count(*) from %1$s_view where w > 3')$$),
  ($$approx_where('%1$s_view', 'w > 3')$$),
  ($$approx_where('%1$s_view', 'v > 3')$$),
  ($$count(*) from kde_advise(array['select sum(w) from %1$s where v > 3'])$$),
  ($$a from kde_advise(array['select sum(w) from %1$s where v > 3']) a$$),
  ($$a from kde_advise(array['select count(*) from %1$s where w > 3']) a$$),
  ($$a from kde_advise(array['select count(*) from %1$s where v > 3']) a$$),
  ($$a from kde_advise(array['select count(*) from %1$s_view where v > 3']) a$$),
  ($$count(*) from kde_densities where name like '%1$s.%%'$$),
  ($$count(*) from kde_densities_full where relation::text='%1$s'$$),
  ($$count(*) from kde_aqp.density where relation='%1$s'$$),
  ($$count(*) from kde_aqp.fitted where relation='%1$s'::regclass$$),
  ($$count(*) from kde_aqp.dumped_densities() where relation='%1$s'::regclass$$),
  ($$count(*) from kde_aqp.upkeep$$),
  ($$kde_aqp.shard_density('%1$s',array['w'],null,null,'auto',true,10,10000,1)$$),
  ($$kde_aqp.shard_counters('%1$s') is null$$),
  ($$count(*) from %1$s where w > 3$$);
GRANT SELECT ON calls TO PUBLIC;
CREATE FUNCTION said(call text, name text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(regexp_replace(line, '\mnot_', '', 'g'), ' / ') FROM try('SELECT ' || format(call, name)) AS line $$;
CREATE FUNCTION differences(name text) RETURNS TABLE (call text, where_there_is_one text, where_there_is_none text) LANGUAGE sql AS $$
  SELECT call, substr(a, 1, 60), substr(b, 1, 60)
  FROM (SELECT i, call, said(call, name) AS a, said(call, 'not_' || name) AS b FROM calls) AS c
  WHERE a IS DISTINCT FROM b ORDER BY i $$;
SET client_min_messages = warning;

SET ROLE regress_kde_nobody;
SELECT * FROM differences('has');
-- What that is.
SELECT said, count(*) FROM (SELECT said(call, 'has') FROM calls) AS c WHERE said ~ '^[0-9A-Z]{5} ' GROUP BY said ORDER BY said COLLATE "C";
SET ROLE regress_kde_by_view;
-- Questions that the view answers are its readers'; the table's densities have no names for them.
SELECT * FROM differences('has');
SET ROLE regress_kde_partly;
SELECT * FROM differences('pol') WHERE call !~ 'view';
-- Questions about the column that may be read; what it has beside it may not.
SELECT * FROM differences('has') WHERE call !~ 'kde_(info|advise)';
RESET ROLE;
DROP SCHEMA who_is_told CASCADE;
DROP ROLE regress_kde_nobody, regress_kde_partly, regress_kde_by_view;
