-- Utilization of the fleet by day: busy time of all cores, as a share of the time that agents watched them.
WITH core_times AS (
    SELECT cluster, date, host, busy_ns / 3.6e12 AS hours FROM core_hour
), machine_times AS (
    SELECT cluster, date, host, period_ns / 3.6e12 AS hours FROM machine_hour
), busy AS (
    SELECT cluster, date, host, sum(hours) AS hours FROM core_times GROUP BY cluster, date, host
), cores AS (
    SELECT cluster, host, max(core_count) AS core_count FROM machine GROUP BY cluster, host
), capacity AS (
    SELECT m.cluster AS cluster, m.date AS date, m.host AS host, sum(m.hours) * max(c.core_count) AS hours
      FROM machine_times m JOIN cores c ON c.cluster = m.cluster AND c.host = m.host
     GROUP BY m.cluster, m.date, m.host
)
SELECT c.date, count(*) AS hosts, round(sum(c.hours), 0) AS core_hours,
       round(1e2 * sum(coalesce(b.hours, 0)) / sum(c.hours), 1) AS busy_percent
  FROM capacity c LEFT JOIN busy b ON b.cluster = c.cluster AND b.date = c.date AND b.host = c.host
 GROUP BY c.date ORDER BY c.date;
