# recipes.py ddl COLUMNS ENGINE - prints the tables of the recipes for athena, clickhouse, trino or spark, from
# docs/formats/archive-columns.md.
# recipes.py page FOLDER ANSWERS - prints docs/recipes/README.md with the recipes of FOLDER and their answers.
import os
import re
import sys

TABLES = ["machine_hour", "device_hour", "core_hour", "model_hour", "process", "machine", "job"]
RECIPES = ["utilization_by_day", "jobs_by_waste", "rising_ecc", "held_idle", "driver_regressions"]
TYPES = {
    "athena": {"TIMESTAMP": "timestamp", "BIGINT": "bigint", "DOUBLE": "double", "VARCHAR": "string", "BLOB": "binary"},
    "trino": {"TIMESTAMP": "timestamp(6)", "BIGINT": "bigint", "DOUBLE": "double", "VARCHAR": "varchar", "BLOB": "varbinary"},
    "clickhouse": {"TIMESTAMP": "DateTime64(6, ''UTC'')", "BIGINT": "Int64", "DOUBLE": "Float64", "VARCHAR": "String", "BLOB": "String"},
}


def columns(path, table):
    section = re.search(rf"^## {table}$.*?(?=^## |\Z)", open(path).read(), re.M | re.S).group(0)
    found = re.findall(r"^\| (\w+) \| (\w+) \|$", section, re.M)
    # The cluster comes from the path; a job has a column with the same name, which cannot be declared in addition.
    return [(name, kind) for name, kind in found if kind in TYPES["athena"] and name != "cluster"]


# Without declared columns, ClickHouse takes the types of the columns in the path and the list of the others from the
# first file that it finds. It does not decode names in paths.
def clickhouse(path):
    print("""-- The tables of the recipes as views in ClickHouse: replace ROOT by https://BUCKET.s3.REGION.amazonaws.com/PREFIX.
-- For a folder, replace s3('ROOT by file('FOLDER. Missing values are NULL only with these settings, which belong to
-- the session that runs a recipe.
SET aggregate_functions_null_for_empty = 1, join_use_nulls = 1;""")
    types = TYPES["clickhouse"]
    decoded = ",\n".join(f"    nullIf(decodeURLComponent({name}), '__HIVE_DEFAULT_PARTITION__') AS {name}" for name in ("cluster", "host"))
    for table in TABLES:
        rows = [f"    `{name}` " + (types[kind] if name == "time" else f"Nullable({types[kind]})") for name, kind in columns(path, table)]
        rows += ["    `cluster` Nullable(String)", "    `date` Date", "    `host` Nullable(String)"]
        print(f"CREATE OR REPLACE VIEW {table} AS SELECT * REPLACE (\n{decoded}\n) FROM s3('ROOT/{table}/**/*.parquet', 'Parquet', '\n"
              + ",\n".join(rows) + "\n') SETTINGS use_hive_partitioning = 1;")


def ddl(path, engine):
    if engine == "clickhouse":
        clickhouse(path)
        return
    if engine == "spark":
        print("-- The tables of the recipes in Spark: replace ROOT by the folder or s3a://BUCKET/PREFIX. Spark reads the columns\n"
              "-- from the files. Columns of the path are strings, or the host 017 would become 17.\n"
              "SET spark.sql.session.timeZone = UTC;\n"
              "SET spark.sql.sources.partitionColumnTypeInference.enabled = false;")
        for table in TABLES:
            print(f"CREATE OR REPLACE TEMPORARY VIEW {table} USING parquet\n    OPTIONS (path 'ROOT/{table}', mergeSchema 'true');")
        return
    if engine == "athena":
        print("-- The tables of the recipes in Athena: replace ROOT by s3://BUCKET/PREFIX. MSCK REPAIR TABLE finds new days.")
    else:
        print("-- The tables of the recipes in Trino, in a schema of the Hive catalog 'hive': replace ROOT by s3://BUCKET/PREFIX.\n"
              "-- CALL system.sync_partition_metadata(SCHEMA, TABLE, 'ADD') finds new days.\n"
              "-- The connector accepts only timestamps of the session's precision, by default MILLISECONDS.\n"
              "SET SESSION hive.timestamp_precision = 'MICROSECONDS';")
    types = TYPES[engine]
    quote = "`" if engine == "athena" else '"'
    for table in TABLES:
        rows = [f"    {quote}{name}{quote} {types[kind]}" for name, kind in columns(path, table)]
        if engine == "athena":
            print(f"CREATE EXTERNAL TABLE {table} (\n" + ",\n".join(rows) + "\n) PARTITIONED BY (cluster string, `date` string, host string)\n"
                  f"STORED AS PARQUET LOCATION 'ROOT/{table}/';\nMSCK REPAIR TABLE {table};")
        else:
            rows += [f'    "{name}" varchar' for name in ("cluster", "date", "host")]
            print(f"CREATE TABLE {table} (\n" + ",\n".join(rows) + "\n) WITH (format = 'PARQUET', external_location = 'ROOT/"
                  f"{table}/',\n    partitioned_by = ARRAY['cluster', 'date', 'host']);\n"
                  f"CALL system.sync_partition_metadata(CURRENT_SCHEMA, '{table}', 'ADD');")


def page(folder, answers):
    print(open(os.path.dirname(os.path.abspath(__file__)) + "/recipes_head.txt").read(), end="")
    for recipe in RECIPES:
        text = open(f"{folder}/{recipe}.sql").read().strip()
        title = recipe.replace("_", " ").capitalize().replace("ecc", "ECC")
        rows = [line.split("|") for line in open(f"{answers}/{recipe}").read().splitlines()]
        print(f"\n## {title}\n\n```sql\n{text}\n```\n")
        head = rows.pop(0)
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for row in rows:
            print("| " + " | ".join(row) + " |")


{"ddl": ddl, "page": page}[sys.argv[1]](*sys.argv[2:])
