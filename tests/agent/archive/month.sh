#!/bin/bash
# month - the archive of 200 machines over a month, 6,000 files, as DuckDB reads it: the sums are those that were
# written, and files and row groups that a question does not need are not read.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
needs_readers
month=$memory/month
"$NTK_BIN_DIR/../tests/tests_archive_month" "$month" 200 30 4 >answers || fail "cannot create the archive of a month"
node "$here/month.mjs" "$tools" "$month" answers || fail "DuckDB reads unexpected values"
file=$(find "$month/core_hour/cluster=odd/date=2026-11-07/host=node-0123" -name '*.parquet')
[ "$(ask "hyparquet:$file")" = "4|1794013200000|1794024000000" ] || fail "hyparquet reads $(ask "hyparquet:$file")"
