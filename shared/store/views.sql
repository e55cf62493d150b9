-- Views for users of sqlite3; those of the coarser tiers are in schema_tiers.sql.
--
-- Counts come from processes of other users, and sum() of SQLite aborts a query if the sum exceeds 64 bits. Sums for
-- display therefore add the upper and lower halves separately: exact if the result fits, otherwise a real number. Sums
-- in a ratio are sums of real numbers.

CREATE VIEW process_overview AS
SELECT p.pid,
       p.tag,
       p.command,
       p.hooks,
       datetime(p.first_seen_ns / 1000000000, 'unixepoch') AS first_seen,
       datetime(p.ended_ns / 1000000000, 'unixepoch') AS ended,
       p.exit_code,
       p.exit_signal,
       (SELECT count(DISTINCT t.core) FROM core_total t WHERE t.process_id = p.process_id) AS cores,
       (SELECT sum(t.completed >> 32) * 4294967296 + sum(t.completed & 4294967295)
          FROM core_total t WHERE t.process_id = p.process_id) AS completed,
       (SELECT 0{error| + sum(t.% >> 32) * 4294967296 + sum(t.% & 4294967295)}
          FROM core_total t WHERE t.process_id = p.process_id) AS errors,
       (SELECT round(max(m.bytes) / 1048576.0, 1)
          FROM (SELECT process_id, device_memory_bytes AS bytes FROM process_sample
                UNION ALL SELECT process_id, device_memory_bytes_max FROM process_minute
                UNION ALL SELECT process_id, device_memory_bytes_max FROM process_hour) m
         WHERE m.process_id = p.process_id) AS device_mib_max
  FROM process p;

-- Shares and rates refer to all the time that an agent watched, as in neuron-monitor query cores: those of the
-- processes of a core add up to that of the core. Each part of the time is read from the coarsest tier that has it.
CREATE VIEW core_overview AS
WITH merged AS (
    SELECT coalesce((SELECT done_ns FROM tier WHERE tier = 'minute'), 0) AS minute_ns,
           coalesce((SELECT done_ns FROM tier WHERE tier = 'hour'), 0) AS hour_ns),
watched AS (
    SELECT sum(period_ns * 1.0) AS ns FROM (
        SELECT period_ns FROM machine_sample, merged WHERE time_ns > minute_ns
        UNION ALL SELECT period_ns FROM machine_minute, merged WHERE time_ns > hour_ns
        UNION ALL SELECT period_ns FROM machine_hour)),
sums AS (
    SELECT process_id, core, sum(samples >> 32) * 4294967296 + sum(samples & 4294967295) AS samples,
           sum(busy_ns * 1.0) AS busy_ns, sum(pe_busy_ns * 1.0) AS pe_busy_ns,
           sum(dma_busy_ns * 1.0) AS dma_busy_ns, sum(effective_flops * 1.0) AS effective_flops
      FROM (SELECT process_id, core, 1 AS samples, busy_ns, pe_busy_ns, dma_busy_ns, effective_flops
              FROM core_sample, merged WHERE time_ns > minute_ns
            UNION ALL
            SELECT process_id, core, samples, busy_ns, pe_busy_ns, dma_busy_ns, effective_flops
              FROM core_minute, merged WHERE time_ns > hour_ns
            UNION ALL
            SELECT process_id, core, samples, busy_ns, pe_busy_ns, dma_busy_ns, effective_flops FROM core_hour)
     GROUP BY process_id, core)
SELECT s.core,
       p.tag,
       s.samples,
       round(min(100.0, 100.0 * s.busy_ns / w.ns), 1) AS busy_percent,
       round(min(100.0, 100.0 * s.pe_busy_ns / w.ns), 1) AS pe_busy_percent,
       round(min(100.0, 100.0 * s.dma_busy_ns / w.ns), 1) AS dma_busy_percent,
       round(s.effective_flops / w.ns, 3) AS effective_gflops_per_s,
       (SELECT sum(t.completed >> 32) * 4294967296 + sum(t.completed & 4294967295) FROM core_total t
         WHERE t.process_id = s.process_id AND t.core = s.core) AS completed,
       (SELECT round(max(e.total_latency_p99_ns) / 1e6, 3) FROM execution_sample e
         WHERE e.process_id = s.process_id AND e.core = s.core) AS worst_p99_ms
  FROM sums s JOIN process p USING (process_id), watched w
 ORDER BY s.core, p.first_seen_ns;

CREATE VIEW process_memory_by_hour AS
SELECT datetime(s.time_ns / 1000000000, 'unixepoch') AS time,
       p.pid,
       p.tag,
       round(s.host_memory_bytes_max / 1048576.0, 1) AS host_mib_max,
       round(s.device_memory_bytes_max / 1048576.0, 1) AS device_mib_max,
       round(s.rss_bytes_max / 1048576.0, 1) AS rss_mib_max
  FROM process_hour s JOIN process p USING (process_id)
 ORDER BY s.time_ns, p.pid;

CREATE VIEW memory_now AS
SELECT p.pid, p.tag, m.core, k.location, k.name AS category, m.model_id, m.current_bytes, m.peak_bytes
  FROM memory_last m JOIN process p USING (process_id) JOIN memory_category k USING (category)
 ORDER BY p.pid, m.core, m.category, m.model_id;

CREATE VIEW execution_rate AS
SELECT datetime(e.time_ns / 1000000000, 'unixepoch') AS time,
       p.tag,
       sum(e.completed >> 32) * 4294967296 + sum(e.completed & 4294967295) AS completed,
       0{failed| + sum(e.% >> 32) * 4294967296 + sum(e.% & 4294967295)} AS failed,
       round(sum(e.completed * 1.0) * 1e9 / max(e.period_ns), 1) AS per_second,
       round(max(e.total_latency_p50_ns) / 1e6, 3) AS p50_ms,
       round(max(e.total_latency_p99_ns) / 1e6, 3) AS p99_ms
  FROM execution_sample e JOIN process p USING (process_id)
 GROUP BY e.time_ns, e.process_id
 ORDER BY e.time_ns;

CREATE VIEW memory_events AS
SELECT datetime(m.time_ns / 1000000000, 'unixepoch') AS time, p.tag, m.kind, k.location,
       k.name AS category, m.core, m.model_id, printf('0x%x', m.address) AS address, m.bytes, m.name
  FROM memory_log m JOIN process p USING (process_id) JOIN memory_category k USING (category)
 ORDER BY m.time_ns;

CREATE VIEW errors AS
SELECT datetime(e.time_ns / 1000000000, 'unixepoch') AS time, p.pid, p.tag, e.error_class,
       e.nrt_status, e.core, e.model_id, e.execution_id
  FROM error_log e JOIN process p USING (process_id)
 ORDER BY e.time_ns;
