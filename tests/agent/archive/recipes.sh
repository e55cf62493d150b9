#!/bin/bash
# recipes - every recipe of docs/recipes returns the same result in DuckDB, on the archive of two machines, and in
# SQLite, on the database of one of them. The page shows these answers; `recipes.sh --update` writes it and the
# tables of Athena, ClickHouse, Trino and Spark.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/recipes_lib.sh"
needs_readers
update=${1:-}

make_machine node-1 1
make_machine node-2 2
export_days node-1 one
export_days node-1 both
export_days node-2 both

# in_sqlite DATABASE RECIPE: prints as in_duckdb does.
in_sqlite() { sqlite3 -readonly -header -cmd ".read $recipes/sqlite.sql" "$1" <"$recipes/$2.sql"; }

mkdir answers
for recipe in $names; do
    in_duckdb one "$recipe" | plain >one.duckdb || fail "$recipe fails in DuckDB"
    in_sqlite node-1.db "$recipe" | plain >one.sqlite || fail "$recipe fails in SQLite"
    diff one.duckdb one.sqlite >differs.log || fail "$recipe: the answer of SQLite differs: see differs.log"
    in_duckdb both "$recipe" | plain >"answers/$recipe" || fail "$recipe fails in DuckDB"
    [ "$(wc -l <"answers/$recipe")" -gt 1 ] || fail "$recipe has no answer"
done
[ "$(ls answers | wc -l)" = "$(ls "$recipes" | grep -cvE '^(README.md|(sqlite|duckdb|clickhouse|athena|trino|spark).sql)$')" ] || fail "a recipe is not on the page"

# Expected answers for the generated data.
grep -q '^2026-11-01|2|192|51.1$' answers/utilization_by_day || fail "unexpected answer of utilization_by_day: $(cat answers/utilization_by_day)"
[ "$(sed -n 2p answers/jobs_by_waste | cut -d'|' -f 1-3)" = 'default|12|explore' ] || fail "unexpected answer of jobs_by_waste: $(cat answers/jobs_by_waste)"
[ "$(cut -d'|' -f 2-4 answers/rising_ecc | sed -n '2,5p' | paste -sd' ')" = 'node-2|1|2026-11-03 node-1|0|2026-11-01 node-2|0|2026-11-03 node-1|1|2026-11-03' ] || fail "unexpected answer of rising_ecc: $(cat answers/rising_ecc)"
grep -q '^default|node-1|notebook|python3 notebook.py|1002|1|69|72$' answers/held_idle || fail "unexpected answer of held_idle: $(cat answers/held_idle)"
[ "$(tail -n +2 answers/driver_regressions)" = 'model-1|2.28|2.31|2026-11-03|5|7.5|50' ] || fail "unexpected answer of driver_regressions: $(cat answers/driver_regressions)"

# A cluster with the same names of hosts changes no row of the others.
export_days node-1 twins
export_days node-2 twins
export_days node-2 twins --cluster twin --host node-1
for recipe in jobs_by_waste rising_ecc held_idle; do
    in_duckdb twins "$recipe" | plain | grep -v '^twin|' | diff "answers/$recipe" - >differs.log || fail "$recipe mixes clusters: see differs.log"
done

# A host with a number as its name has the same type in every table, including in those that have no other hosts.
export_days node-1 numbers --host 17
export_days node-2 numbers --tables 'machine,process,*_hour'
in_duckdb numbers jobs_by_waste >numbers.log || fail "DuckDB rejects a number as the name of a host"
[ "$(cut -d'|' -f 2 numbers.log | paste -sd' ')" = 'job_id 12 11' ] || fail "unexpected jobs of host 17"

# The example of docs/formats/archive.md.
example=$(example_of DuckDB | sed "s#ROOT#both#; s/'prod'/'default'/; s/;\$//")
[ "$(ask "$example" | sed -E 's/(\.[0-9]{4}).*/\1/')" = $'node-2|0.3427\nnode-1|0.6802' ] || fail "unexpected answer of the example: $(ask "$example")"

for engine in athena clickhouse trino spark; do
    python3 "$here/recipes.py" ddl "$NTK_SOURCE_DIR/docs/formats/archive-columns.md" $engine >$engine.sql
    [ "$update" != --update ] || cp $engine.sql "$recipes"
    diff "$recipes/$engine.sql" $engine.sql >differs.log || fail "$engine.sql has outdated columns: run recipes.sh --update"
done
python3 "$here/recipes.py" page "$recipes" answers >README.md
[ "$update" != --update ] || cp README.md "$recipes"
diff "$recipes/README.md" README.md >differs.log || fail "docs/recipes/README.md has outdated answers: run recipes.sh --update"
