-- Batch jobs by the core hours that they held and did not use.
WITH held AS (
    SELECT host, job_id, name, core, began, max(ended) AS ended
      FROM job GROUP BY host, job_id, name, core, began
), busy AS (
    SELECT host, core, time, sum(busy_ns) AS busy_ns FROM core_hour GROUP BY host, core, time
)
SELECT j.job_id, j.name, round(sum(h.period_ns) / 3.6e12, 1) AS core_hours,
       round(sum(h.period_ns - coalesce(b.busy_ns, 0)) / 3.6e12, 1) AS unused_core_hours,
       round(100.0 * sum(coalesce(b.busy_ns, 0)) / sum(h.period_ns), 1) AS busy_percent
  FROM held j
  JOIN machine_hour h ON h.host = j.host AND h.time > j.began AND (j.ended IS NULL OR h.time <= j.ended)
  LEFT JOIN busy b ON b.host = j.host AND b.core = j.core AND b.time = h.time
 GROUP BY j.job_id, j.name ORDER BY unused_core_hours DESC, j.job_id;
