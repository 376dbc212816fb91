-- Fits by who knows nothing of the others: whenever they run, they must fit what is committed by then.
SELECT load.fit_alternating();
SELECT kde_fit('alternating', 'v', seed => 7);
SELECT * FROM kde_refresh('alternating', force => true);
