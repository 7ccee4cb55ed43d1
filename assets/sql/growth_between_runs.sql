-- What grew from one run to the next, by their names: the highest memory use, over ranks, and what each module held
-- then. A row for each module of each run but the first; the largest growth first.
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
  SELECT run, rank, device, layer, kind, at_ns,
         SUM(change) OVER (PARTITION BY run, rank, device, layer, kind ORDER BY at_ns
                           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS bytes
  FROM moments
),
ordered AS (
  SELECT run, rank, device, layer, kind, at_ns, bytes,
         ROW_NUMBER() OVER (PARTITION BY run, layer, kind ORDER BY bytes DESC, rank, device, at_ns) AS place
  FROM held
),
peaks AS (
  SELECT run, rank, device, layer, kind, at_ns, bytes
  FROM ordered WHERE place = 1
),
modules AS (
  SELECT p.run, p.layer, p.kind, COALESCE(b.module, '(no module)') AS module, SUM(b.bytes) AS bytes
  FROM peaks AS p
  JOIN blocks AS b
    ON b.run = p.run AND b.rank = p.rank AND b.device = p.device AND b.layer = p.layer AND b.kind = p.kind
   AND NOT b.imported AND b.born <= p.at_ns AND (b.died IS NULL OR b.died > p.at_ns)
  GROUP BY p.run, p.layer, p.kind, COALESCE(b.module, '(no module)')
),
runs AS (
  SELECT run, LAG(run) OVER (ORDER BY run) AS run_before
  FROM (SELECT DISTINCT run FROM peaks) AS every
),
sides AS (
  SELECT r.run, m.layer, m.kind, m.module, m.bytes AS bytes_after, 0 AS bytes_before
  FROM runs AS r JOIN modules AS m ON m.run = r.run
  WHERE r.run_before IS NOT NULL
  UNION ALL
  SELECT r.run, m.layer, m.kind, m.module, 0 AS bytes_after, m.bytes AS bytes_before
  FROM runs AS r JOIN modules AS m ON m.run = r.run_before
)
SELECT s.run, r.run_before, s.layer, s.kind, s.module,
       CAST(SUM(s.bytes_before) AS BIGINT) AS bytes_before,
       CAST(SUM(s.bytes_after) AS BIGINT) AS bytes_after,
       CAST(SUM(s.bytes_after) - SUM(s.bytes_before) AS BIGINT) AS growth
FROM sides AS s
JOIN runs AS r ON r.run = s.run
GROUP BY s.run, r.run_before, s.layer, s.kind, s.module
ORDER BY growth DESC, s.run, s.layer, s.kind, s.module
