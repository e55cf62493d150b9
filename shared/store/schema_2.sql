-- Schema 2: three tiers (a row per second, per minute, per hour), what the machine is, and what a
-- screen of a past moment needs. Run after schema_1.sql in a new file, or on a file of schema 1.
-- The tables of the tiers themselves are schema_2_tiers.sql, once per tier.

ALTER TABLE process ADD COLUMN uid INTEGER;
ALTER TABLE process ADD COLUMN software INTEGER;

ALTER TABLE model ADD COLUMN estimated INTEGER;
ALTER TABLE model ADD COLUMN load_time_ns INTEGER;
ALTER TABLE model ADD COLUMN load_duration_ns INTEGER;
ALTER TABLE model ADD COLUMN unloaded_ns INTEGER;

ALTER TABLE machine_sample ADD COLUMN vcpu_io_wait_ratio REAL;
ALTER TABLE machine_sample ADD COLUMN swap_total_bytes INTEGER;
ALTER TABLE machine_sample ADD COLUMN context_switches INTEGER;

ALTER TABLE device_sample ADD COLUMN stack_0_used_bytes INTEGER;
ALTER TABLE device_sample ADD COLUMN stack_1_used_bytes INTEGER;
ALTER TABLE device_sample ADD COLUMN stack_2_used_bytes INTEGER;
ALTER TABLE device_sample ADD COLUMN stack_3_used_bytes INTEGER;

ALTER TABLE core_sample ADD COLUMN in_flight INTEGER;
ALTER TABLE core_sample ADD COLUMN host_to_device_bytes INTEGER;
ALTER TABLE core_sample ADD COLUMN device_to_host_bytes INTEGER;

-- The last row of a key before a moment.
CREATE INDEX memory_sample_by_key
    ON memory_sample (process_id, core, category, model_id, time_ns);

-- What each tier holds: every sample after first_ns, merged up to done_ns.
CREATE TABLE tier (
    tier TEXT PRIMARY KEY,
    step_ns INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,
    done_ns INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO tier VALUES ('second', 1000000000, 0, NULL), ('minute', 60000000000, 0, NULL),
                        ('hour', 3600000000000, 0, NULL);

-- What the machine is, from since_ns until the next row: one per start of an agent and per change.
CREATE TABLE machine (
    since_ns INTEGER PRIMARY KEY,
    boot_id TEXT NOT NULL,
    host_name TEXT NOT NULL,
    instance_name TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    instance_type TEXT NOT NULL,
    zone TEXT NOT NULL,
    region TEXT NOT NULL,
    hardware_type TEXT,
    device_type TEXT,
    device_version TEXT,
    core_version TEXT,
    driver_version TEXT,
    software INTEGER,
    device_count INTEGER,
    cores_per_device INTEGER,
    lnc INTEGER NOT NULL,
    stack_count INTEGER,
    cores_per_stack INTEGER,
    device_memory_bytes INTEGER,
    tensor_peak_flops REAL,
    core_count INTEGER NOT NULL
) STRICT;

-- The devices of a row of machine. neighbours: numbers with commas, NULL where not known.
CREATE TABLE device (
    since_ns INTEGER NOT NULL REFERENCES machine,
    device INTEGER NOT NULL,
    name TEXT NOT NULL,
    arch TEXT NOT NULL,
    serial TEXT NOT NULL,
    core_count INTEGER NOT NULL,
    neighbours TEXT,
    stack_count INTEGER NOT NULL,
    stack_capacity_bytes INTEGER,
    PRIMARY KEY (since_ns, device)
) STRICT, WITHOUT ROWID;
