-- The other content and its densities, in one transaction: fitted anew, and refreshed.
CALL load.alternate(false);
CALL load.alternate(true);
