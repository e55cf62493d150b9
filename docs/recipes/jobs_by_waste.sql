-- Batch jobs by the core hours that they held and did not use.
WITH held AS (
    SELECT cluster, host, job_id, name, core, began, max(ended) AS ended
      FROM job GROUP BY cluster, host, job_id, name, core, began
), busy AS (
    SELECT cluster, host, core, time, sum(busy_ns) AS busy_ns FROM core_hour GROUP BY cluster, host, core, time
), hours AS (
    SELECT j.cluster AS cluster, j.job_id AS job_id, j.name AS name, h.period_ns / 3.6e12 AS held_hours,
           coalesce(b.busy_ns, 0) / 3.6e12 AS busy_hours
      FROM held j
      JOIN machine_hour h ON h.cluster = j.cluster AND h.host = j.host AND h.time > j.began
       AND (j.ended IS NULL OR h.time <= j.ended)
      LEFT JOIN busy b ON b.cluster = j.cluster AND b.host = j.host AND b.core = j.core AND b.time = h.time
)
SELECT cluster, job_id, name, round(sum(held_hours), 1) AS core_hours,
       round(sum(held_hours - busy_hours), 1) AS unused_core_hours,
       round(1e2 * sum(busy_hours) / sum(held_hours), 1) AS busy_percent
  FROM hours GROUP BY cluster, job_id, name ORDER BY unused_core_hours DESC, cluster, job_id;
