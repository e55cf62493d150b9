-- The tables of the recipes in Spark: replace ROOT by the folder or s3a://BUCKET/PREFIX. Spark reads the columns
-- from the files. Columns of the path are strings, or the host 017 would become 17.
SET spark.sql.session.timeZone = UTC;
SET spark.sql.sources.partitionColumnTypeInference.enabled = false;
CREATE OR REPLACE TEMPORARY VIEW machine_hour USING parquet
    OPTIONS (path 'ROOT/machine_hour', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW device_hour USING parquet
    OPTIONS (path 'ROOT/device_hour', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW core_hour USING parquet
    OPTIONS (path 'ROOT/core_hour', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW model_hour USING parquet
    OPTIONS (path 'ROOT/model_hour', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW process USING parquet
    OPTIONS (path 'ROOT/process', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW machine USING parquet
    OPTIONS (path 'ROOT/machine', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW job USING parquet
    OPTIONS (path 'ROOT/job', mergeSchema 'true');
