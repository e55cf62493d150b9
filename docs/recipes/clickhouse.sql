-- The tables of the recipes as views of an archive in a bucket: replace URL by https://BUCKET.s3.REGION.amazonaws.com/PREFIX.
-- Run queries with SETTINGS use_hive_partitioning = 1, join_use_nulls = 1.
CREATE VIEW machine_hour AS SELECT * FROM s3('URL/machine_hour/**/*.parquet', 'Parquet');
CREATE VIEW device_hour AS SELECT * FROM s3('URL/device_hour/**/*.parquet', 'Parquet');
CREATE VIEW core_hour AS SELECT * FROM s3('URL/core_hour/**/*.parquet', 'Parquet');
CREATE VIEW model_hour AS SELECT * FROM s3('URL/model_hour/**/*.parquet', 'Parquet');
CREATE VIEW process AS SELECT * FROM s3('URL/process/**/*.parquet', 'Parquet');
CREATE VIEW machine AS SELECT * FROM s3('URL/machine/**/*.parquet', 'Parquet');
CREATE VIEW job AS SELECT * FROM s3('URL/job/**/*.parquet', 'Parquet');
