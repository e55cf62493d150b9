-- The tables of the recipes as views of an archive: replace ROOT by its folder, or by s3://BUCKET/PREFIX.
CREATE VIEW machine_hour AS FROM read_parquet('ROOT/machine_hour/**/*.parquet', hive_partitioning = true, union_by_name = true);
CREATE VIEW device_hour AS FROM read_parquet('ROOT/device_hour/**/*.parquet', hive_partitioning = true, union_by_name = true);
CREATE VIEW core_hour AS FROM read_parquet('ROOT/core_hour/**/*.parquet', hive_partitioning = true, union_by_name = true);
CREATE VIEW model_hour AS FROM read_parquet('ROOT/model_hour/**/*.parquet', hive_partitioning = true, union_by_name = true);
CREATE VIEW process AS FROM read_parquet('ROOT/process/**/*.parquet', hive_partitioning = true, union_by_name = true);
CREATE VIEW machine AS FROM read_parquet('ROOT/machine/**/*.parquet', hive_partitioning = true, union_by_name = true);
CREATE VIEW job AS FROM read_parquet('ROOT/job/**/*.parquet', hive_partitioning = true, union_by_name = true);
