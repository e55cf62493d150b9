-- Utilization of the fleet by day: busy time of all cores, as a share of the time that agents watched them.
WITH busy AS (
    SELECT cluster, date, host, sum(busy_ns) AS busy_ns FROM core_hour GROUP BY cluster, date, host
), cores AS (
    SELECT cluster, host, max(core_count) AS core_count FROM machine GROUP BY cluster, host
), capacity AS (
    SELECT h.cluster, h.date, h.host, sum(h.period_ns) * max(c.core_count) AS core_ns
      FROM machine_hour h JOIN cores c ON c.cluster = h.cluster AND c.host = h.host
     GROUP BY h.cluster, h.date, h.host
)
SELECT c.date, count(*) AS hosts, round(sum(c.core_ns) / 3.6e12, 0) AS core_hours,
       round(100.0 * sum(coalesce(b.busy_ns, 0)) / sum(c.core_ns), 1) AS busy_percent
  FROM capacity c LEFT JOIN busy b ON b.cluster = c.cluster AND b.date = c.date AND b.host = c.host
 GROUP BY c.date ORDER BY c.date;
