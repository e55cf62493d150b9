#!/bin/bash
# grammar - the grammars of Trino, Spark and Hive accept the tables and the recipes of docs/recipes. These engines are
# not available as packages here, so no test runs the files in them. Athena has Hive's grammar for tables and Trino's
# for queries.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/recipes_lib.sh"
needs_npm dt-sql-parser
errors() { # ENGINE:FILE...
    node "$here/grammar.mjs" "$tools" "$@" || fail "cannot check the syntax"
}
errors hive:"$recipes/athena.sql" trino:"$recipes/trino.sql" spark:"$recipes/spark.sql" \
    "${queries[@]/#/trino:}" "${queries[@]/#/spark:}" >errors.log
[ ! -s errors.log ] || fail "a grammar rejects docs/recipes"
echo 'SELECT host, FROM (core_hour' >wrong.sql
[ "$(errors {trino,spark,hive}:wrong.sql | cut -d: -f1 | sort -u | paste -sd' ')" = 'hive spark trino' ] || fail "a grammar accepts a wrong query"
# Trino and Spark read 1.0 as a decimal. Dividing decimals in Trino keeps only the digits of the operands.
! grep -nE '[0-9]\.[0-9]+ [*/]|[*/] *[0-9]+\.[0-9]+([^0-9e]|$)' "${queries[@]}" | grep -v '1\.1 \* p99_before' || fail "a decimal factor: write 1e0 for 1.0"
