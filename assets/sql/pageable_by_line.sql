-- Copies from and to pageable memory, by the line of the program that asked for them: most bytes first.
-- Such copies are slower than those of pinned memory, and block the host.
SELECT run, direction, COALESCE(line, '(no stack)') AS line,
       COUNT(*) AS copies,
       CAST(SUM(bytes) AS BIGINT) AS bytes,
       CAST(SUM(duration) AS BIGINT) AS duration_ns,
       COUNT(DISTINCT rank) AS ranks
FROM transfers
WHERE source_kind = 'host' OR destination_kind = 'host'
GROUP BY run, direction, COALESCE(line, '(no stack)')
ORDER BY bytes DESC, run, direction, line
