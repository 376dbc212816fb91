-- A number in [0, 1) for each i, of several kinds: without random(), which is not the same everywhere.
CREATE OR REPLACE FUNCTION drawn(i bigint, of integer) RETURNS double precision IMMUTABLE LANGUAGE sql AS
  'SELECT (hashint8(i * 16 + of) & 2147483647) / 2147483648.0';
