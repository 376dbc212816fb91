-- What the planner expects of the boxes of the joint part of `make accuracy`
-- (test/accuracy/joint_comparators.h). Before this go the tables, their statistics objects and
--   asked_box(set_id, box_id, relation, condition)    condition: the box in SQL
\set ON_ERROR_STOP on

CREATE FUNCTION planned_rows(b asked_box) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %s WHERE %s', b.relation, b.condition)
    INTO plan;
  RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;

COPY (SELECT b.set_id, b.box_id, planned_rows(b) FROM asked_box AS b ORDER BY 1, 2)
  TO STDOUT (FORMAT csv);
