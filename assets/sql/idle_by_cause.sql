-- Why devices had nothing to do: the time of all ranks, by what kept the host from giving them work.
SELECT run, cause,
       COUNT(DISTINCT rank) AS ranks,
       CAST(SUM(times) AS BIGINT) AS times,
       CAST(SUM(total_ns) AS BIGINT) AS total_ns,
       CAST(MAX(longest_ns) AS BIGINT) AS longest_ns
FROM idle
GROUP BY run, cause
ORDER BY total_ns DESC, run, cause
