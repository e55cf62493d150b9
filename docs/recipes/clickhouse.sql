-- The tables of the recipes as views in ClickHouse: replace ROOT by https://BUCKET.s3.REGION.amazonaws.com/PREFIX.
-- For a folder, replace s3('ROOT by file('FOLDER. Missing values are NULL only with these settings, which belong to
-- the session that runs a recipe.
SET aggregate_functions_null_for_empty = 1, join_use_nulls = 1;
CREATE OR REPLACE VIEW machine_hour AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/machine_hour/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `samples` Nullable(Int64),
    `period_ns` Nullable(Int64),
    `vcpu_period_ns` Nullable(Int64),
    `vcpu_user_ns` Nullable(Int64),
    `vcpu_system_ns` Nullable(Int64),
    `vcpu_ratio_max` Nullable(Float64),
    `memory_used_bytes_max` Nullable(Int64),
    `memory_used_bytes_last` Nullable(Int64),
    `memory_total_bytes` Nullable(Int64),
    `swap_used_bytes_max` Nullable(Int64),
    `events_read` Nullable(Int64),
    `events_lost` Nullable(Int64),
    `events_unlisted` Nullable(Int64),
    `context_switches` Nullable(Int64),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
CREATE OR REPLACE VIEW device_hour AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/device_hour/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `device` Nullable(Int64),
    `samples` Nullable(Int64),
    `memory_used_bytes_max` Nullable(Int64),
    `memory_used_bytes_last` Nullable(Int64),
    `mem_ecc_corrected` Nullable(Int64),
    `mem_ecc_uncorrected` Nullable(Int64),
    `sram_ecc_uncorrected` Nullable(Int64),
    `sram_ecc_corrected` Nullable(Int64),
    `mem_ecc_repairable_uncorrected` Nullable(Int64),
    `power_period_ns` Nullable(Int64),
    `power_ns` Nullable(Int64),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
CREATE OR REPLACE VIEW core_hour AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/core_hour/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `process` Nullable(String),
    `tag` Nullable(String),
    `pid` Nullable(Int64),
    `core` Nullable(Int64),
    `samples` Nullable(Int64),
    `period_ns` Nullable(Int64),
    `busy_period_ns` Nullable(Int64),
    `busy_ratio_max` Nullable(Float64),
    `busy_ns` Nullable(Int64),
    `pe_busy_ns` Nullable(Int64),
    `act_busy_ns` Nullable(Int64),
    `pool_busy_ns` Nullable(Int64),
    `dve_busy_ns` Nullable(Int64),
    `sp_busy_ns` Nullable(Int64),
    `dma_busy_ns` Nullable(Int64),
    `flops` Nullable(Int64),
    `effective_flops` Nullable(Int64),
    `hbm_read_bytes` Nullable(Int64),
    `hbm_written_bytes` Nullable(Int64),
    `dma_bytes` Nullable(Int64),
    `host_to_device_bytes` Nullable(Int64),
    `device_to_host_bytes` Nullable(Int64),
    `busy_of_calls_ns` Nullable(Int64),
    `in_flight_max` Nullable(Int64),
    `busy_total_ns` Nullable(Int64),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
CREATE OR REPLACE VIEW model_hour AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/model_hour/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `process` Nullable(String),
    `tag` Nullable(String),
    `pid` Nullable(Int64),
    `model_id` Nullable(Int64),
    `model` Nullable(String),
    `samples` Nullable(Int64),
    `period_ns` Nullable(Int64),
    `executions` Nullable(Int64),
    `errors` Nullable(Int64),
    `total_latency_p50_ns` Nullable(Int64),
    `total_latency_p99_ns` Nullable(Int64),
    `total_latency_histogram` Nullable(String),
    `device_latency_histogram` Nullable(String),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
CREATE OR REPLACE VIEW process AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/process/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `process` Nullable(String),
    `tag` Nullable(String),
    `pid` Nullable(Int64),
    `command` Nullable(String),
    `user` Nullable(String),
    `uid` Nullable(Int64),
    `container_id` Nullable(String),
    `runtime_version` Nullable(String),
    `framework_version` Nullable(String),
    `instance_type` Nullable(String),
    `lnc` Nullable(Int64),
    `software` Nullable(Int64),
    `hooks` Nullable(String),
    `cores_guessed` Nullable(Int64),
    `executions_counted` Nullable(String),
    `first_seen` Nullable(DateTime64(6, ''UTC'')),
    `last_seen` Nullable(DateTime64(6, ''UTC'')),
    `ended` Nullable(DateTime64(6, ''UTC'')),
    `killed` Nullable(Int64),
    `exit_code` Nullable(Int64),
    `exit_signal` Nullable(Int64),
    `cores` Nullable(Int64),
    `completed` Nullable(Int64),
    `failed` Nullable(Int64),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
CREATE OR REPLACE VIEW machine AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/machine/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `since` Nullable(DateTime64(6, ''UTC'')),
    `boot_id` Nullable(String),
    `host_name` Nullable(String),
    `instance_name` Nullable(String),
    `instance_id` Nullable(String),
    `instance_type` Nullable(String),
    `availability_zone` Nullable(String),
    `region` Nullable(String),
    `hardware_type` Nullable(String),
    `device_type` Nullable(String),
    `device_version` Nullable(String),
    `core_version` Nullable(String),
    `driver_version` Nullable(String),
    `software` Nullable(Int64),
    `device_count` Nullable(Int64),
    `cores_per_device` Nullable(Int64),
    `lnc` Nullable(Int64),
    `stack_count` Nullable(Int64),
    `cores_per_stack` Nullable(Int64),
    `device_memory_bytes` Nullable(Int64),
    `tensor_peak_flops` Nullable(Float64),
    `core_count` Nullable(Int64),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
CREATE OR REPLACE VIEW job AS SELECT * REPLACE (
    nullIf(decodeURLComponent(cluster), '__HIVE_DEFAULT_PARTITION__') AS cluster,
    nullIf(decodeURLComponent(host), '__HIVE_DEFAULT_PARTITION__') AS host
) FROM s3('ROOT/job/**/*.parquet', 'Parquet', '
    `time` DateTime64(6, ''UTC''),
    `job_id` Nullable(String),
    `user` Nullable(String),
    `name` Nullable(String),
    `partition` Nullable(String),
    `lnc` Nullable(Int64),
    `core` Nullable(Int64),
    `began` Nullable(DateTime64(6, ''UTC'')),
    `ended` Nullable(DateTime64(6, ''UTC'')),
    `cluster` Nullable(String),
    `date` Date,
    `host` Nullable(String)
') SETTINGS use_hive_partitioning = 1;
