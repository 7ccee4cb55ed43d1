-- The highest memory use of each rank, and which modules held it at that moment.
-- One row for each run, rank, device, layer, kind of memory and module.
-- A layer's blocks lie in blocks of lower layers: do not add layers.
WITH changes AS (
  SELECT run, rank, device, layer, kind, born AS at_ns, bytes AS change
  FROM blocks WHERE NOT imported
  UNION ALL
  SELECT run, rank, device, layer, kind, died AS at_ns, -bytes AS change
  FROM blocks WHERE NOT imported AND died IS NOT NULL
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
         ROW_NUMBER() OVER (PARTITION BY run, rank, device, layer, kind ORDER BY bytes DESC, at_ns) AS place
  FROM held
),
peaks AS (
  SELECT run, rank, device, layer, kind, at_ns AS peak_ns, bytes AS peak_bytes
  FROM ordered WHERE place = 1
)
SELECT p.run, p.rank, p.device, p.layer, p.kind,
       CAST(p.peak_bytes AS BIGINT) AS peak_bytes, p.peak_ns,
       COALESCE(b.module, '(no module)') AS module,
       CAST(SUM(b.bytes) AS BIGINT) AS module_bytes,
       COUNT(*) AS module_blocks
FROM peaks AS p
JOIN blocks AS b
  ON b.run = p.run AND b.rank = p.rank AND b.layer = p.layer AND b.kind = p.kind
 AND COALESCE(b.device, 0) = COALESCE(p.device, 0)
 AND NOT b.imported AND b.born <= p.peak_ns AND (b.died IS NULL OR b.died > p.peak_ns)
GROUP BY p.run, p.rank, p.device, p.layer, p.kind, p.peak_bytes, p.peak_ns, COALESCE(b.module, '(no module)')
ORDER BY p.run, p.rank, p.device, p.layer, p.kind, module_bytes DESC, module
