-- Where bench-ddl puts its figures: milliseconds of one command or restore each.
CREATE TABLE bench.figure (section text, what text, kind text, ms double precision);
