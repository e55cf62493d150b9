-- Processes that held cores for whole hours without running anything on them.
WITH programs AS (
    SELECT process, max(command) AS command, max(uid) AS uid FROM process GROUP BY process
)
SELECT c.host, c.tag, p.command, p.uid, count(DISTINCT c.core) AS cores,
       round(sum(CASE WHEN c.busy_ns = 0 THEN c.period_ns ELSE 0 END) / 3.6e12, 1) AS idle_core_hours,
       round(sum(c.period_ns) / 3.6e12, 1) AS core_hours
  FROM core_hour c LEFT JOIN programs p ON p.process = c.process
 GROUP BY c.host, c.tag, p.command, p.uid
HAVING sum(CASE WHEN c.busy_ns = 0 THEN c.period_ns ELSE 0 END) > 0
 ORDER BY idle_core_hours DESC, c.host, c.tag;
