-- The other content and its densities, in one transaction.
CALL load.alternate();
