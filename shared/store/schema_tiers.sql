-- One coarser tier: @ is its name. A row is what the rows of the tier below add up to in the
-- step that ends at time_ns: counts and busy times are sums, *_max the largest, *_last the newest,
-- histograms merged; the percentiles are those of the merged histogram. samples and period_ns say how
-- many seconds were seen, and how long they were.

CREATE TABLE machine_@ (
    time_ns INTEGER PRIMARY KEY,
    samples INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    vcpu_period_ns INTEGER,
    vcpu_user_ns INTEGER,
    vcpu_system_ns INTEGER,
    vcpu_ratio_max REAL,
    memory_used_bytes_max INTEGER,
    memory_used_bytes_last INTEGER,
    memory_total_bytes INTEGER,
    swap_used_bytes_max INTEGER,
    events_read INTEGER NOT NULL,
    events_lost INTEGER NOT NULL,
    events_unlisted INTEGER NOT NULL,
    context_switches INTEGER
) STRICT;

CREATE TABLE device_@ (
    time_ns INTEGER NOT NULL,
    device INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    memory_used_bytes_max INTEGER,
    memory_used_bytes_last INTEGER,
    mem_ecc_corrected INTEGER,
    mem_ecc_uncorrected INTEGER,
    sram_ecc_uncorrected INTEGER,
    sram_ecc_corrected INTEGER,
    mem_ecc_repairable_uncorrected INTEGER,
    power_period_ns INTEGER,
    power_ns INTEGER,
    PRIMARY KEY (time_ns, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE process_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    samples INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    vcpu_period_ns INTEGER,
    vcpu_user_ns INTEGER,
    vcpu_system_ns INTEGER,
    vcpu_ratio_max REAL,
    rss_bytes_max INTEGER,
    rss_bytes_last INTEGER,
    host_memory_bytes_max INTEGER,
    host_memory_bytes_last INTEGER,
    device_memory_bytes_max INTEGER,
    device_memory_bytes_last INTEGER,
    in_flight_max INTEGER,
    events_lost INTEGER NOT NULL,
    PRIMARY KEY (time_ns, process_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE core_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    busy_period_ns INTEGER,
    busy_ratio_max REAL,{core|
    % INTEGER,}
    busy_of_calls_ns INTEGER,
    in_flight_max INTEGER,
    busy_total_ns INTEGER,
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE execution_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,{execution|
    % INTEGER NOT NULL,}
    latency_p50_ns INTEGER,
    latency_p99_ns INTEGER,
    latency_max_ns INTEGER,
    device_latency_p50_ns INTEGER,
    device_latency_p99_ns INTEGER,
    latency_histogram BLOB,
    device_latency_histogram BLOB,
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    model_id INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    executions INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    latency_p50_ns INTEGER,
    latency_p99_ns INTEGER,
    latency_histogram BLOB,
    device_latency_histogram BLOB,
    PRIMARY KEY (time_ns, process_id, model_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE rank_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    communicator TEXT NOT NULL,
    rank INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    operations INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    moved_bytes INTEGER NOT NULL,
    in_operations_ns INTEGER NOT NULL,
    wait_ns INTEGER NOT NULL,
    core_busy_ns INTEGER NOT NULL,
    PRIMARY KEY (time_ns, process_id, communicator, rank)
) STRICT, WITHOUT ROWID;

CREATE VIEW core_by_@ AS
SELECT datetime(c.time_ns / 1000000000, 'unixepoch') AS time,
       c.core,
       p.tag,
       round(m.period_ns / 1e9, 1) AS seconds,
       round(min(100.0, 100.0 * c.busy_ns / m.period_ns), 1) AS busy_percent,
       round(100.0 * c.busy_ratio_max, 1) AS busiest_second_percent,
       round(min(100.0, 100.0 * c.pe_busy_ns / m.period_ns), 1) AS pe_percent,
       round(min(100.0, 100.0 * c.dma_busy_ns / m.period_ns), 1) AS dma_percent,
       round(c.effective_flops * 1.0 / m.period_ns, 3) AS effective_gflops_per_s
  FROM core_@ c JOIN process p USING (process_id) JOIN machine_@ m USING (time_ns)
 ORDER BY c.time_ns, c.core;

CREATE VIEW model_by_@ AS
SELECT datetime(s.time_ns / 1000000000, 'unixepoch') AS time,
       p.tag,
       m.name,
       s.model_id,
       s.executions,
       s.errors,
       round(s.latency_p50_ns / 1e6, 3) AS p50_ms,
       round(s.latency_p99_ns / 1e6, 3) AS p99_ms
  FROM model_@ s JOIN process p USING (process_id) JOIN model m USING (process_id, model_id)
 ORDER BY s.time_ns, p.tag, s.model_id;
