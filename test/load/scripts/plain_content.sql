-- The other content and its densities, in one transaction; names that change places in another.
CALL load.alternate_plain();
CALL load.swap_names();
\sleep 20 ms
