#!/bin/bash
# readers - files of the Parquet writer in DuckDB and hyparquet: every kind of value, absent values, dictionaries,
# statistics.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
here=$NTK_SOURCE_DIR/tests/shared/parquet
needs_npm @duckdb/node-api hyparquet-compressors
make=$NTK_BIN_DIR/../tests/tests_parquet_make
for rows in 0 1 7 1000 130000; do
    for codec in zstd snappy; do
        "$make" $rows-$codec.parquet $rows $codec || fail "cannot write $rows rows with $codec"
    done
done
"$make" again.parquet 1000 zstd && cmp again.parquet 1000-zstd.parquet || fail "the same rows produce different bytes"
node "$here/readers.mjs" "$tools" ./*-*.parquet >out 2>err || fail "see err"
grep -qx '10 files' out || fail "see out"
