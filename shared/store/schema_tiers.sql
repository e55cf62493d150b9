-- One coarser tier: @ is its name. A row merges the rows of the tier below in the step that ends at time_ns: counts and
-- busy times are sums, *_max the largest, *_last the newest; histograms are merged, and percentiles are those of the
-- merged histogram. samples and period_ns are the number of merged samples and their total length.

CREATE TABLE machine_@ (
    time_ns INTEGER PRIMARY KEY{machine_step|,
    % $}
) STRICT;

CREATE TABLE execution_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,{execution_step|
    % $,}
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    model_id INTEGER NOT NULL,{model_step|
    % $,}
    PRIMARY KEY (time_ns, process_id, model_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE rank_@ (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    communicator TEXT NOT NULL,
    rank INTEGER NOT NULL,{rank_step|
    % $,}
    PRIMARY KEY (time_ns, process_id, communicator, rank)
) STRICT, WITHOUT ROWID;

CREATE VIEW core_by_@ AS
SELECT datetime(c.time_ns / 1000000000, 'unixepoch') AS time,
       c.core,
       p.tag,
       round(m.period_ns / 1e9, 1) AS seconds,
       round(min(100.0, 100.0 * c.busy_ns / m.period_ns), 1) AS busy_percent,
       round(100.0 * c.busy_ratio_max, 1) AS busiest_second_percent,
       round(min(100.0, 100.0 * c.pe_busy_ns / m.period_ns), 1) AS pe_busy_percent,
       round(min(100.0, 100.0 * c.dma_busy_ns / m.period_ns), 1) AS dma_busy_percent,
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
       round(s.total_latency_p50_ns / 1e6, 3) AS p50_ms,
       round(s.total_latency_p99_ns / 1e6, 3) AS p99_ms
  FROM model_@ s JOIN process p USING (process_id) JOIN model m USING (process_id, model_id)
 ORDER BY s.time_ns, p.tag, s.model_id;
