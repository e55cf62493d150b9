-- Processes that held cores for whole hours without running anything on them.
WITH programs AS (
    SELECT process, max(command) AS command, max(uid) AS uid FROM process GROUP BY process
), held AS (
    SELECT cluster, host, tag, process, core, period_ns / 3.6e12 AS hours,
           CASE WHEN busy_ns = 0 THEN period_ns / 3.6e12 ELSE 0 END AS idle_hours
      FROM core_hour
)
SELECT h.cluster, h.host, h.tag, p.command, p.uid, count(DISTINCT h.core) AS cores,
       round(sum(h.idle_hours), 1) AS idle_core_hours, round(sum(h.hours), 1) AS core_hours
  FROM held h LEFT JOIN programs p ON p.process = h.process
 GROUP BY h.cluster, h.host, h.tag, p.command, p.uid HAVING sum(h.idle_hours) > 0
 ORDER BY idle_core_hours DESC, h.cluster, h.host, h.tag;
