-- Models with a 99th percentile that rose by more than a tenth after the driver changed. The percentiles of the hours
-- are averaged by their executions, which is good enough to find a change; docs/formats/store.md merges histograms
-- exactly.
WITH drivers AS (
    SELECT cluster, host, date, max(driver_version) AS driver FROM machine GROUP BY cluster, host, date
), by_driver AS (
    SELECT m.model, d.driver, min(m.date) AS since, sum(m.executions) AS executions,
           sum(1e0 * m.total_latency_p99_ns * m.executions) / sum(m.executions) AS p99_ns
      FROM model_hour m JOIN drivers d ON d.cluster = m.cluster AND d.host = m.host AND d.date = m.date
     WHERE m.executions > 0 AND m.total_latency_p99_ns IS NOT NULL
     GROUP BY m.model, d.driver
), compared AS (
    SELECT model, driver, since, executions, p99_ns,
           lag(driver) OVER (PARTITION BY model ORDER BY since) AS driver_before,
           lag(p99_ns) OVER (PARTITION BY model ORDER BY since) AS p99_before
      FROM by_driver
)
SELECT model, driver_before, driver, since, round(p99_before / 1e6, 2) AS p99_before_ms,
       round(p99_ns / 1e6, 2) AS p99_ms, round(1e2 * (p99_ns / p99_before - 1), 0) AS rise_percent
  FROM compared WHERE p99_ns > 1.1 * p99_before ORDER BY rise_percent DESC, model;
