-- The database of neuron-monitor: see docs/formats/store.md. schema_packed.sql, run once for each packed table,
-- schema_tiers.sql, run once for each coarser tier, views_packed.sql and views.sql follow. Braces hold the columns of
-- columns.def and of a core's counters: columns.h.
-- Times are nanoseconds since 1970 UTC, durations nanoseconds, sizes bytes. A sample belongs to the
-- period that ends at its time_ns; NULL is "not known", never zero. Cores are global physical ones.

CREATE TABLE process (
    process_id INTEGER PRIMARY KEY,
    boot_id TEXT NOT NULL,
    header_pid INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    start_time INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    tag TEXT NOT NULL,
{process_text|    % $,
}    lnc INTEGER NOT NULL,
    software INTEGER,
    hooks TEXT,
    cores_guessed INTEGER,
    executions_counted TEXT,
    first_seen_ns INTEGER NOT NULL,
    last_seen_ns INTEGER NOT NULL,
    ended_ns INTEGER,
    killed INTEGER,
    exit_code INTEGER,
    exit_signal INTEGER,
    UNIQUE (boot_id, header_pid, uid, start_time)
) STRICT;

CREATE TABLE model (
    process_id INTEGER NOT NULL REFERENCES process,
    model_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    neff_path TEXT NOT NULL,
    uuid TEXT NOT NULL,
    core INTEGER NOT NULL,
    core_count INTEGER NOT NULL,
    first_seen_ns INTEGER NOT NULL,
    last_seen_ns INTEGER NOT NULL,
    executions_total INTEGER,
    errors_total INTEGER,
    estimated INTEGER NOT NULL,
    memory_estimated INTEGER NOT NULL,
    load_timestamp_ns INTEGER,
    load_ns INTEGER,
    unloaded_ns INTEGER,
    PRIMARY KEY (process_id, model_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE machine_sample (
    time_ns INTEGER PRIMARY KEY{machine_sample|,
    % $}
) STRICT;

CREATE TABLE ecc_total (
    device INTEGER NOT NULL,
    event TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    time_ns INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (device, event)
) STRICT, WITHOUT ROWID;

-- One row per period with activity; the histograms are those of the period.
CREATE TABLE execution_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,{execution_sample|
    % $,}
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    model_id INTEGER NOT NULL,{model_sample|
    % $,}
    PRIMARY KEY (time_ns, process_id, model_id)
) STRICT, WITHOUT ROWID;

-- A process in a communicator (16 hexadecimal digits); model_id 0: the host calls its operations. members: world
-- ranks in order, '' all.
CREATE TABLE rank (
    process_id INTEGER NOT NULL REFERENCES process,
    communicator TEXT NOT NULL,
    rank INTEGER NOT NULL,
    rank_count INTEGER NOT NULL,
    world_rank INTEGER NOT NULL,
    world_count INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    core INTEGER,
    rendezvous TEXT NOT NULL,
    members TEXT NOT NULL,
    first_seen_ns INTEGER NOT NULL,
    last_seen_ns INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    PRIMARY KEY (process_id, communicator, rank)
) STRICT, WITHOUT ROWID;

-- One row per period in which an operation ended. in_operations_ns is the time in operations, wait_ns the part of it
-- until the last rank arrived, core_busy_ns the busy time of all cores of the process.
CREATE TABLE rank_sample (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    communicator TEXT NOT NULL,
    rank INTEGER NOT NULL,{rank_sample|
    % $,}
    PRIMARY KEY (time_ns, process_id, communicator, rank)
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

-- The last row of a key before a moment.
CREATE INDEX memory_sample_by_key
    ON memory_sample (process_id, core, category, model_id, time_ns);

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

-- Counters of a core of a process since its segment began (CLOCK_MONOTONIC), from which a restarted agent continues. A
-- process that closed the runtime and opened it again has a row for each time; began_ns 0: the sum of old ones. The
-- total of the process is the sum of its rows.
CREATE TABLE core_total (
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    began_ns INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,{count|
    % INTEGER,}
    total_latency_histogram BLOB NOT NULL,
    device_latency_histogram BLOB NOT NULL,
    PRIMARY KEY (process_id, core, began_ns)
) STRICT, WITHOUT ROWID;

-- Work of a core of a process after since_ns and before the sample of time_ns, while no agent was running: the next
-- agent found it in the counters. Included in all sums of counts, but not in rates and shares.
CREATE TABLE unwatched (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    core INTEGER NOT NULL,
    since_ns INTEGER,{count|
    % INTEGER,}
    total_latency_histogram BLOB,
    device_latency_histogram BLOB,
    PRIMARY KEY (time_ns, process_id, core)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_log (
    event_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    kind TEXT NOT NULL,
    category INTEGER NOT NULL REFERENCES memory_category,
    core INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    address INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    name TEXT NOT NULL
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
    execution_id INTEGER NOT NULL
) STRICT;
CREATE INDEX error_log_by_time ON error_log (time_ns);

CREATE TABLE model_log (
    event_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    kind TEXT NOT NULL,
    model_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    core INTEGER NOT NULL,
    nrt_status INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX model_log_by_time ON model_log (time_ns);

-- Marks that a program set; time_ns is the end.
CREATE TABLE mark_log (
    event_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX mark_log_by_time ON mark_log (time_ns);

CREATE TABLE memory_category (
    category INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    location TEXT NOT NULL
) STRICT;

-- The views of packed tables read these: the rows and bytes of a packed row, from 0, and the values of a byte in order.
CREATE TABLE number (i INTEGER PRIMARY KEY) STRICT;
INSERT INTO number VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8);
CREATE TABLE byte (bytes BLOB NOT NULL) STRICT;
INSERT INTO byte VALUES (CAST(x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f'
    || x'808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff' AS BLOB));

-- The content of each tier: every sample after first_ns, merged up to done_ns.
CREATE TABLE tier (
    tier TEXT PRIMARY KEY,
    step_ns INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,
    done_ns INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO tier VALUES ('second', 1000000000, 0, NULL), ('minute', 60000000000, 0, NULL),
                        ('hour', 3600000000000, 0, NULL);

-- The machine from since_ns until the next row: one row per start of an agent and per change.
CREATE TABLE machine (
    since_ns INTEGER PRIMARY KEY,
    boot_id TEXT NOT NULL,
    host_name TEXT NOT NULL,
{instance_text|    % $,
}{hardware_text|    % $,
}    software INTEGER,
    device_count INTEGER,
    cores_per_device INTEGER,
    lnc INTEGER NOT NULL,
    stack_count INTEGER,
    cores_per_stack INTEGER,
    device_memory_bytes INTEGER,
    tensor_peak_flops REAL,
    core_count INTEGER NOT NULL
) STRICT;

-- The devices of a row of machine. connected_devices: numbers with commas, NULL if unknown.
CREATE TABLE device (
    since_ns INTEGER NOT NULL REFERENCES machine,
    device INTEGER NOT NULL,
    name TEXT NOT NULL,
    arch TEXT NOT NULL,
    serial_number TEXT NOT NULL,
    core_count INTEGER NOT NULL,
    connected_devices TEXT,
    stack_count INTEGER NOT NULL,
    memory_capacity_bytes INTEGER,
    PRIMARY KEY (since_ns, device)
) STRICT, WITHOUT ROWID;

-- The health of a device from time_ns until its next rows: one for each reason, the worst has rank 0; a healthy device
-- has one row without a reason. Written at each start of an agent and at each change.
CREATE TABLE device_health (
    time_ns INTEGER NOT NULL,
    device INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    action TEXT NOT NULL,
    since_ns INTEGER NOT NULL,
    count INTEGER,
    core INTEGER,
    nrt_status INTEGER,
    detail TEXT NOT NULL,
    PRIMARY KEY (time_ns, device, rank)
) STRICT, WITHOUT ROWID;

-- Verdicts of the agent on ranks, from time_ns to to_ns (NULL: it holds, or its agent exited and none followed). rank
-- NULL: no single rank is named; pid, tag: of the rank, NULL and '' if unknown.
CREATE TABLE rank_verdict (
    verdict_id INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    to_ns INTEGER,
    kind TEXT NOT NULL,
    cause TEXT NOT NULL,
    communicator TEXT NOT NULL,
    rendezvous TEXT NOT NULL,
    rank_count INTEGER NOT NULL,
    rank INTEGER,
    pid INTEGER,
    tag TEXT NOT NULL,
    operation TEXT,
    sequence INTEGER,
    missing_count INTEGER NOT NULL,
    behind_ns INTEGER,
    interval_ns INTEGER
) STRICT;
CREATE INDEX rank_verdict_by_time ON rank_verdict (time_ns);
CREATE INDEX rank_verdict_by_rank ON rank_verdict (communicator, rank, time_ns);

-- What host threads did while cores of a process were idle: an observation of at most a minute ends at time_ns. held_ns
-- and idle_ns are of all cores; place 0 is the cause with the most idle time. '' is unknown.
CREATE TABLE idle (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    period_ns INTEGER NOT NULL,
    held_ns INTEGER NOT NULL,
    idle_ns INTEGER NOT NULL,
    gaps INTEGER NOT NULL,
    longest_ns INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    PRIMARY KEY (time_ns, process_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE idle_cause (
    time_ns INTEGER NOT NULL,
    process_id INTEGER NOT NULL REFERENCES process,
    place INTEGER NOT NULL,
    cause TEXT NOT NULL,
    thread TEXT NOT NULL,
    function TEXT NOT NULL,
    module TEXT NOT NULL,
    syscall TEXT NOT NULL,
    object TEXT NOT NULL,
    idle_ns INTEGER NOT NULL,
    gaps INTEGER NOT NULL,
    longest_ns INTEGER NOT NULL,
    PRIMARY KEY (time_ns, process_id, place)
) STRICT, WITHOUT ROWID;

-- A batch job as reported by the scheduler's prolog, from time_ns to to_ns (NULL: it still exists, or its agent exited
-- and none followed). A requeued job has a row for each run.
CREATE TABLE job (
    job_key INTEGER PRIMARY KEY,
    time_ns INTEGER NOT NULL,
    to_ns INTEGER,
{job_text|    % $,
}    lnc INTEGER NOT NULL
) STRICT;
CREATE INDEX job_by_time ON job (time_ns);
CREATE INDEX job_by_id ON job (job_id);

-- The cores that it held, and when.
CREATE TABLE job_core (
    job_key INTEGER NOT NULL REFERENCES job,
    core INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    to_ns INTEGER,
    PRIMARY KEY (job_key, core, time_ns)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_core_by_time ON job_core (time_ns);
