-- The tables of the recipes as views of an archive: replace ROOT by its folder, or by s3://BUCKET/PREFIX.
CREATE MACRO archive(name) AS TABLE FROM read_parquet('ROOT/' || name || '/**/*.parquet',
    union_by_name = true, hive_partitioning = true, hive_types = {'cluster': VARCHAR, 'date': DATE, 'host': VARCHAR});
CREATE VIEW machine_hour AS FROM archive('machine_hour');
CREATE VIEW device_hour AS FROM archive('device_hour');
CREATE VIEW core_hour AS FROM archive('core_hour');
CREATE VIEW model_hour AS FROM archive('model_hour');
CREATE VIEW process AS FROM archive('process');
CREATE VIEW machine AS FROM archive('machine');
CREATE VIEW job AS FROM archive('job');
