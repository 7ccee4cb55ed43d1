-- Why devices had nothing to do: the time of all ranks, by what kept the host from giving them work.
SELECT run, cause,
       COUNT(DISTINCT rank) AS ranks,
       CAST(SUM(i.count) AS BIGINT) AS times,
       CAST(SUM(i.total) AS BIGINT) AS total_ns,
       CAST(MAX(i.longest) AS BIGINT) AS longest_ns
FROM idle_use AS i
GROUP BY run, cause
ORDER BY total_ns DESC, run, cause
