-- A file as the first schema had it; test_store_schema.c fills it with rows and opens it.
-- Times are nanoseconds since 1970 UTC, durations nanoseconds, sizes bytes. A sample belongs to the
-- period that ends at its time_ns; NULL is "not known", never zero. Cores are global physical ones.

CREATE TABLE process (
    process_id INTEGER PRIMARY KEY,
    boot_id TEXT NOT NULL,
    header_pid INTEGER NOT NULL,
    start_time INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    tag TEXT NOT NULL,
    command TEXT NOT NULL,
    user TEXT NOT NULL,
    container TEXT NOT NULL,
    runtime_version TEXT NOT NULL,
    framework_version TEXT NOT NULL,
    instance_type TEXT NOT NULL,
    lnc INTEGER NOT NULL,
    first_seen_ns INTEGER NOT NULL,
    last_seen_ns INTEGER NOT NULL,
    ended_ns INTEGER,
    UNIQUE (boot_id, header_pid, start_time)
) STRICT;

CREATE TABLE model (
    process_id INTEGER NOT NULL REFERENCES process,
    model_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    neff_path TEXT NOT NULL,
    uuid TEXT NOT NULL,
    first_core INTEGER NOT NULL,
    core_count INTEGER NOT NULL,
    first_seen_ns INTEGER NOT NULL,
    last_seen_ns INTEGER NOT NULL,
    executions_total INTEGER NOT NULL,
    errors_total INTEGER NOT NULL,
    PRIMARY KEY (process_id, model_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE machine_sample (
    time_ns INTEGER PRIMARY KEY,
    period_ns INTEGER NOT NULL,
    vcpu_user_ratio REAL,
    vcpu_system_ratio REAL,
    memory_used_bytes INTEGER,
    memory_total_bytes INTEGER,
    swap_used_bytes INTEGER,
    events_read INTEGER NOT NULL,
    events_lost INTEGER NOT NULL,
    events_unlisted INTEGER NOT NULL
) STRICT;

CREATE TABLE device_sample (
    time_ns INTEGER NOT NULL,
    device INTEGER NOT NULL,
    memory_used_bytes INTEGER,
    mem_ecc_corrected INTEGER,
    mem_ecc_uncorrected INTEGER,
    sram_ecc_uncorrected INTEGER,
    sram_ecc_corrected INTEGER,
    mem_ecc_repairable_uncorrected INTEGER,
    PRIMARY KEY (time_ns, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE process_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    period_ns INTEGER NOT NULL,
    vcpu_user_ratio REAL,
    vcpu_system_ratio REAL,
    rss_bytes INTEGER,
    host_memory_bytes INTEGER NOT NULL,
    device_memory_bytes INTEGER NOT NULL,
    in_flight INTEGER NOT NULL,
    events_lost INTEGER NOT NULL,
    PRIMARY KEY (time_ns, process_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE core_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    busy_ns INTEGER,
    pe_busy_ns INTEGER,
    act_busy_ns INTEGER,
    pool_busy_ns INTEGER,
    dve_busy_ns INTEGER,
    sp_busy_ns INTEGER,
    dma_busy_ns INTEGER,
    flops INTEGER,
    effective_flops INTEGER,
    hbm_read_bytes INTEGER,
    hbm_written_bytes INTEGER,
    dma_bytes INTEGER,
    busy_total_ns INTEGER,
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

-- One row where anything happened in the period; the histograms are those of the period.
CREATE TABLE execution_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    completed_with_err INTEGER NOT NULL,
    completed_with_num_err INTEGER NOT NULL,
    timed_out INTEGER NOT NULL,
    incorrect_input INTEGER NOT NULL,
    failed_to_queue INTEGER NOT NULL,
    generic INTEGER NOT NULL,
    numerical INTEGER NOT NULL,
    transient INTEGER NOT NULL,
    model INTEGER NOT NULL,
    runtime INTEGER NOT NULL,
    hardware INTEGER NOT NULL,
    executions_total INTEGER NOT NULL,
    latency_p50_ns INTEGER,
    latency_p99_ns INTEGER,
    latency_max_ns INTEGER,
    device_latency_p50_ns INTEGER,
    device_latency_p99_ns INTEGER,
    latency_histogram BLOB,
    device_latency_histogram BLOB,
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    model_id INTEGER NOT NULL,
    period_ns INTEGER NOT NULL,
    executions INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    latency_p50_ns INTEGER,
    latency_p99_ns INTEGER,
    latency_histogram BLOB,
    device_latency_histogram BLOB,
    PRIMARY KEY (time_ns, process_id, model_id)
) STRICT, WITHOUT ROWID;

-- One row per change; model_id 0 belongs to the core or to the process, core -1 to the process.
CREATE TABLE memory_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    category INTEGER NOT NULL REFERENCES memory_category,
    model_id INTEGER NOT NULL,
    current_bytes INTEGER NOT NULL,
    peak_bytes INTEGER NOT NULL,
    PRIMARY KEY (time_ns, process_id, core, category, model_id)
) STRICT, WITHOUT ROWID;

-- The last row of memory_sample for each key; survives retention.
CREATE TABLE memory_last (
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    category INTEGER NOT NULL REFERENCES memory_category,
    model_id INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    current_bytes INTEGER NOT NULL,
    peak_bytes INTEGER NOT NULL,
    PRIMARY KEY (process_id, core, category, model_id)
) STRICT, WITHOUT ROWID;

-- What is known of a core of a process since it began: where an agent that starts again goes on.
CREATE TABLE core_total (
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    busy_ns INTEGER NOT NULL,
    pe_busy_ns INTEGER NOT NULL,
    act_busy_ns INTEGER NOT NULL,
    pool_busy_ns INTEGER NOT NULL,
    dve_busy_ns INTEGER NOT NULL,
    sp_busy_ns INTEGER NOT NULL,
    dma_busy_ns INTEGER NOT NULL,
    flops INTEGER NOT NULL,
    effective_flops INTEGER NOT NULL,
    hbm_read_bytes INTEGER NOT NULL,
    hbm_written_bytes INTEGER NOT NULL,
    dma_bytes INTEGER NOT NULL,
    host_to_device_bytes INTEGER NOT NULL,
    device_to_host_bytes INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    completed_with_err INTEGER NOT NULL,
    completed_with_num_err INTEGER NOT NULL,
    timed_out INTEGER NOT NULL,
    incorrect_input INTEGER NOT NULL,
    failed_to_queue INTEGER NOT NULL,
    generic INTEGER NOT NULL,
    numerical INTEGER NOT NULL,
    transient INTEGER NOT NULL,
    model INTEGER NOT NULL,
    runtime INTEGER NOT NULL,
    hardware INTEGER NOT NULL,
    latency_histogram BLOB NOT NULL,
    device_latency_histogram BLOB NOT NULL,
    PRIMARY KEY (process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_log (
    event_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    operation TEXT NOT NULL,
    category INTEGER NOT NULL REFERENCES memory_category,
    core INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    address INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    tensor TEXT NOT NULL
) STRICT;
CREATE INDEX memory_log_by_time ON memory_log (time_ns);

CREATE TABLE error_log (
    event_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    error_class TEXT NOT NULL,
    nrt_status INTEGER NOT NULL,
    core INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    execution INTEGER NOT NULL
) STRICT;
CREATE INDEX error_log_by_time ON error_log (time_ns);

CREATE TABLE model_log (
    event_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    operation TEXT NOT NULL,
    model_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    core INTEGER NOT NULL,
    nrt_status INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX model_log_by_time ON model_log (time_ns);

CREATE TABLE memory_category (
    category INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    location TEXT NOT NULL
) STRICT;

-- For people -------------------------------------------------------------------------------------

CREATE VIEW process_overview AS
SELECT p.pid,
       p.tag,
       p.command,
       datetime(p.first_seen_ns / 1000000000, 'unixepoch') AS first_seen,
       datetime(p.ended_ns / 1000000000, 'unixepoch') AS ended,
       (SELECT count(*) FROM core_total t WHERE t.process_id = p.process_id) AS cores,
       (SELECT sum(t.completed) FROM core_total t WHERE t.process_id = p.process_id) AS completed,
       (SELECT sum(t.generic + t.numerical + t.transient + t.model + t.runtime + t.hardware)
          FROM core_total t WHERE t.process_id = p.process_id) AS errors,
       (SELECT round(max(m.device_memory_bytes) / 1048576.0, 1) FROM process_sample m
         WHERE m.process_id = p.process_id) AS device_mib_max
  FROM process p;

CREATE VIEW core_overview AS
SELECT c.core,
       p.tag,
       count(*) AS samples,
       round(100.0 * sum(c.busy_ns) / sum(c.period_ns), 1) AS busy_percent,
       round(100.0 * sum(c.pe_busy_ns) / sum(c.period_ns), 1) AS pe_percent,
       round(100.0 * sum(c.dma_busy_ns) / sum(c.period_ns), 1) AS dma_percent,
       round(sum(c.effective_flops) * 1.0 / sum(c.period_ns), 3) AS effective_gflops_per_s,
       (SELECT sum(e.completed) FROM execution_sample e
         WHERE e.process_id = c.process_id AND e.core = c.core) AS completed,
       (SELECT round(max(e.latency_p99_ns) / 1e6, 3) FROM execution_sample e
         WHERE e.process_id = c.process_id AND e.core = c.core) AS worst_p99_ms
  FROM core_sample c JOIN process p USING (process_id)
 GROUP BY c.process_id, c.core
 ORDER BY c.core;

CREATE VIEW memory_now AS
SELECT p.pid, p.tag, m.core, k.location, k.name AS category, m.model_id, m.current_bytes, m.peak_bytes
  FROM memory_last m JOIN process p USING (process_id) JOIN memory_category k USING (category)
 ORDER BY p.pid, m.core, m.category, m.model_id;

CREATE VIEW execution_rate AS
SELECT datetime(e.time_ns / 1000000000, 'unixepoch') AS time,
       p.tag,
       sum(e.completed) AS completed,
       sum(e.completed_with_err + e.completed_with_num_err + e.timed_out + e.incorrect_input +
           e.failed_to_queue) AS failed,
       round(sum(e.completed) * 1e9 / max(e.period_ns), 1) AS per_second,
       round(max(e.latency_p50_ns) / 1e6, 3) AS p50_ms,
       round(max(e.latency_p99_ns) / 1e6, 3) AS p99_ms
  FROM execution_sample e JOIN process p USING (process_id)
 GROUP BY e.time_ns, e.process_id
 ORDER BY e.time_ns;

CREATE VIEW memory_events AS
SELECT datetime(m.time_ns / 1000000000, 'unixepoch') AS time, p.tag, m.operation, k.location,
       k.name AS category, m.core, m.model_id, printf('0x%x', m.address) AS address, m.bytes, m.tensor
  FROM memory_log m JOIN process p USING (process_id) JOIN memory_category k USING (category)
 ORDER BY m.time_ns;

CREATE VIEW errors AS
SELECT datetime(e.time_ns / 1000000000, 'unixepoch') AS time, p.pid, p.tag, e.error_class,
       e.nrt_status, e.core, e.model_id, e.execution
  FROM error_log e JOIN process p USING (process_id)
 ORDER BY e.time_ns;
