-- Ranks that stand out of their run: by the highest memory use in a layer, or by the median length of their steps,
-- where it differs by more than 5 % from the median of all ranks. The largest difference first.
WITH changes AS (
  SELECT run, rank, device, layer, kind, born AS at_ns, bytes AS change
  FROM blocks WHERE NOT imported AND device IS NOT NULL
  UNION ALL
  SELECT run, rank, device, layer, kind, died AS at_ns, -bytes AS change
  FROM blocks WHERE NOT imported AND device IS NOT NULL AND died IS NOT NULL
),
moments AS (
  SELECT run, rank, device, layer, kind, at_ns, SUM(change) AS change
  FROM changes
  GROUP BY run, rank, device, layer, kind, at_ns
),
held AS (
  SELECT run, rank, layer, kind,
         SUM(change) OVER (PARTITION BY run, rank, device, layer, kind ORDER BY at_ns
                           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS bytes
  FROM moments
),
figures AS (
  SELECT run, rank, CONCAT('peak_bytes ', layer, ' ', kind) AS figure, CAST(MAX(bytes) AS DOUBLE) AS value
  FROM held
  GROUP BY run, rank, layer, kind
  UNION ALL
  SELECT run, rank, 'median_step_ns' AS figure, CAST(MEDIAN(s.end - s.begin) AS DOUBLE) AS value
  FROM step AS s
  GROUP BY run, rank
),
usual AS (
  SELECT run, figure, CAST(MEDIAN(value) AS DOUBLE) AS value
  FROM figures
  GROUP BY run, figure
)
SELECT f.run, f.rank, f.figure, f.value, u.value AS median_of_ranks, f.value / u.value - 1 AS difference
FROM figures AS f
JOIN usual AS u ON u.run = f.run AND u.figure = f.figure
WHERE u.value > 0 AND ABS(f.value / u.value - 1) > 0.05
ORDER BY ABS(f.value / u.value - 1) DESC, f.run, f.rank, f.figure
