CREATE TABLE bench.figure (section text, what text, kind text, ms double precision);
