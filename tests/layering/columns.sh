#!/bin/bash
# columns - the store accesses columns of the database and parameters of statements by name or enum, never by a
# number that a new column would shift. The only number is in ntk_store_sql_number(): its first column.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A parameter in SQL is ":name", not "?1" and not a plain "?".
offences() {
    grep -rnE --include='*.[ch]' --include='*.def' --include='*.sql' \
        -e 'sqlite3_(column|bind)_[a-z0-9]+\([^()]*, *([a-z0-9_>.-]*(column|next|at)\+\+|[0-9])' \
        -e '\?[0-9]' -e '[(,=<>] ?\?([ ,)"]|$)' "$@" |
        grep -v 'out_number = sqlite3_column_int64(statement, 0);'
}

for access in 'sqlite3_column_int64(statement, 3)' 'sqlite3_column_text(binder.statement, column++)' \
    'sqlite3_column_type(statement, 3 + i)' 'sqlite3_bind_int64(statement, 1, key)' \
    'sqlite3_bind_int64(binder->statement, binder->next++, value)' \
    '"SELECT 1 FROM job WHERE job_id = ?1"' '"INSERT INTO job VALUES (?, :key)"' '", ?"' \
    '"SELECT 1 FROM job WHERE job_id = ?"'; do
    printf '%s\n' "$access" >"$scratch/planted.c"
    offences "$scratch" >/dev/null || { echo "$access would not be found"; exit 1; }
done
if offences shared/store agent; then
    echo "by name: ntk_store_sql_u64(statement, \"name\"), ntk_store_sql_bind(statement, \"name\", value) and their kin" \
        "(shared/store/store_sql.h)"
    exit 1
fi
