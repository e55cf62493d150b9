-- Schema 3: what ran while nobody watched is apart from what was watched. Run after schema_2.sql.

-- What a core of a process did after since_ns and before the sample of time_ns, while no agent was there: the
-- agent that started next found it in the counters. Part of all sums of counts, of no rate and no share.
CREATE TABLE unwatched (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    since_ns INTEGER,
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
    latency_histogram BLOB,
    device_latency_histogram BLOB,
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;
