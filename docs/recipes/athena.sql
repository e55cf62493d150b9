-- The tables of the recipes in Athena: replace ROOT by s3://BUCKET/PREFIX. MSCK REPAIR TABLE finds new days.
CREATE EXTERNAL TABLE machine_hour (
    `time` timestamp,
    `samples` bigint,
    `period_ns` bigint,
    `vcpu_period_ns` bigint,
    `vcpu_user_ns` bigint,
    `vcpu_system_ns` bigint,
    `vcpu_ratio_max` double,
    `memory_used_bytes_max` bigint,
    `memory_used_bytes_last` bigint,
    `memory_total_bytes` bigint,
    `swap_used_bytes_max` bigint,
    `events_read` bigint,
    `events_lost` bigint,
    `events_unlisted` bigint,
    `context_switches` bigint
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/machine_hour/';
MSCK REPAIR TABLE machine_hour;
CREATE EXTERNAL TABLE device_hour (
    `time` timestamp,
    `device` bigint,
    `samples` bigint,
    `memory_used_bytes_max` bigint,
    `memory_used_bytes_last` bigint,
    `mem_ecc_corrected` bigint,
    `mem_ecc_uncorrected` bigint,
    `sram_ecc_uncorrected` bigint,
    `sram_ecc_corrected` bigint,
    `mem_ecc_repairable_uncorrected` bigint,
    `power_period_ns` bigint,
    `power_ns` bigint
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/device_hour/';
MSCK REPAIR TABLE device_hour;
CREATE EXTERNAL TABLE core_hour (
    `time` timestamp,
    `process` string,
    `tag` string,
    `pid` bigint,
    `core` bigint,
    `samples` bigint,
    `period_ns` bigint,
    `busy_period_ns` bigint,
    `busy_ratio_max` double,
    `busy_ns` bigint,
    `pe_busy_ns` bigint,
    `act_busy_ns` bigint,
    `pool_busy_ns` bigint,
    `dve_busy_ns` bigint,
    `sp_busy_ns` bigint,
    `dma_busy_ns` bigint,
    `flops` bigint,
    `effective_flops` bigint,
    `hbm_read_bytes` bigint,
    `hbm_written_bytes` bigint,
    `dma_bytes` bigint,
    `host_to_device_bytes` bigint,
    `device_to_host_bytes` bigint,
    `busy_of_calls_ns` bigint,
    `in_flight_max` bigint,
    `busy_total_ns` bigint
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/core_hour/';
MSCK REPAIR TABLE core_hour;
CREATE EXTERNAL TABLE model_hour (
    `time` timestamp,
    `process` string,
    `tag` string,
    `pid` bigint,
    `model_id` bigint,
    `model` string,
    `samples` bigint,
    `period_ns` bigint,
    `executions` bigint,
    `errors` bigint,
    `total_latency_p50_ns` bigint,
    `total_latency_p99_ns` bigint,
    `total_latency_histogram` binary,
    `device_latency_histogram` binary
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/model_hour/';
MSCK REPAIR TABLE model_hour;
CREATE EXTERNAL TABLE process (
    `time` timestamp,
    `process` string,
    `tag` string,
    `pid` bigint,
    `command` string,
    `user` string,
    `uid` bigint,
    `container_id` string,
    `runtime_version` string,
    `framework_version` string,
    `instance_type` string,
    `lnc` bigint,
    `software` bigint,
    `hooks` string,
    `cores_guessed` bigint,
    `executions_counted` string,
    `first_seen` timestamp,
    `last_seen` timestamp,
    `ended` timestamp,
    `killed` bigint,
    `exit_code` bigint,
    `exit_signal` bigint,
    `cores` bigint,
    `completed` bigint,
    `failed` bigint
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/process/';
MSCK REPAIR TABLE process;
CREATE EXTERNAL TABLE machine (
    `time` timestamp,
    `since` timestamp,
    `boot_id` string,
    `host_name` string,
    `instance_name` string,
    `instance_id` string,
    `instance_type` string,
    `availability_zone` string,
    `region` string,
    `hardware_type` string,
    `device_type` string,
    `device_version` string,
    `core_version` string,
    `driver_version` string,
    `software` bigint,
    `device_count` bigint,
    `cores_per_device` bigint,
    `lnc` bigint,
    `stack_count` bigint,
    `cores_per_stack` bigint,
    `device_memory_bytes` bigint,
    `tensor_peak_flops` double,
    `core_count` bigint
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/machine/';
MSCK REPAIR TABLE machine;
CREATE EXTERNAL TABLE job (
    `time` timestamp,
    `job_id` string,
    `user` string,
    `name` string,
    `partition` string,
    `lnc` bigint,
    `core` bigint,
    `began` timestamp,
    `ended` timestamp
) PARTITIONED BY (cluster string, `date` string, host string)
STORED AS PARQUET LOCATION 'ROOT/job/';
MSCK REPAIR TABLE job;
