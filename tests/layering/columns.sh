#!/bin/bash
# columns - the store reads a column of the database by its name or an enum, never by a number that
# a new column would shift. The one number is that of ntk_store_sql_number(): its first column.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

offences() {
    grep -rnE --include='*.[ch]' 'sqlite3_column_[a-z0-9]+\([^()]*, *(column *\+\+|[0-9])' "$@" |
        grep -v 'out_number = sqlite3_column_int64(statement, 0);'
}

for read in 'sqlite3_column_int64(statement, 3)' 'sqlite3_column_text(binder.statement, column++)' \
    'sqlite3_column_type(statement, 3 + i)'; do
    printf '%s\n' "$read" >"$scratch/planted.c"
    offences "$scratch" >/dev/null || { echo "$read would not be found"; exit 1; }
done
if offences shared/store agent; then
    echo "read it by name: ntk_store_sql_u64(statement, \"name\") and its kin (shared/store/store_sql.h)"
    exit 1
fi
