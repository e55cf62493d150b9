#!/bin/bash
# clickhouse - every recipe of docs/recipes returns the same result in ClickHouse, on an archive in a folder and in a
# bucket, as in DuckDB: also with awkward names of hosts and clusters, files of an older agent, sums above 64 bits, and
# tables without files. The engine is chdb, which ./dev does not install, because it is large: docs/recipes/README.md.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/recipes_lib.sh"
needs_readers
[ -d "$tools/node_modules/chdb" ] || skip "chdb is not below build/tools/npm (docs/recipes/README.md has the command)"
start_s3 s3

# ---- the machines of the page, and those with awkward names; 2^63 ns are 2.6 million hours ----
make_machine node-1 1
make_machine node-2 2
make_machine large 1 1000000
export_all() { # PLACE
    export_days node-1 "$1"
    export_days node-2 "$1"
    export_days node-2 "$1" --cluster twin --host node-1
    export_days node-1 "$1" --cluster 1 --host 017
    export_days node-2 "$1" --cluster 'x=1/ü' --host 'a/b %20+c'
    export_days node-1 "$1" --cluster nameless --host ''
    export_days large "$1"
}
export_all all
export_all s3://fleet/all
[ ! -e s3/wrong ] || fail "the service found an error: $(cat s3/wrong)"
diff -r all s3/objects/fleet/all >&2 || fail "the bucket has other objects"
# The files of an older agent have fewer columns. They come first in the order of names.
for place in all s3/objects/fleet/all; do
    for file in "$place"/device_hour/cluster=1/*/*/*.parquet; do
        ask "copy (select * exclude (mem_ecc_repairable_uncorrected) from read_parquet('$file', hive_partitioning = false)) to 'older' (format parquet)" >/dev/null
        mv older "$file"
    done
done

# in_clickhouse FUNCTION ROOT FOLDER FILE...: writes the answers to FOLDER. FUNCTION reads files, instead of s3().
in_clickhouse() {
    sed "s#s3('ROOT#$1('$2#" "$recipes/clickhouse.sql" >clickhouse.sql
    mkdir -p "$3"
    node "$here/clickhouse.mjs" "$tools" clickhouse.sql "$3" "${@:4}" || fail "ClickHouse fails on $2"
}
bucket=$AWS_ENDPOINT_URL_S3/fleet
in_clickhouse file "$PWD/all" folder "${queries[@]}"
in_clickhouse s3 "$bucket/all" objects "${queries[@]}"
for recipe in $names; do
    in_duckdb all "$recipe" | plain >"duckdb.$recipe" || fail "$recipe fails in DuckDB"
    [ "$(wc -l <"duckdb.$recipe")" -gt 1 ] || fail "$recipe has no answer"
    for place in folder objects; do
        plain <$place/"$recipe" | diff "duckdb.$recipe" - >differs.log || fail "$recipe: ClickHouse differs, $place: see differs.log"
    done
done
grep -q 'a/b %20+c' folder/held_idle || fail "unexpected names of hosts: $(cat folder/held_idle)"

# ---- a filter skips files by their names; the process is new, so nothing is cached ----
echo "select count(*) as rows from core_hour where date between '2026-11-02' and '2026-11-02' and host = 'a/b %20+c' and busy_ns > 0" >day.sql
: >s3/reads
in_clickhouse s3 "$bucket/all" objects day.sql
[ "$(tail -1 objects/day)" = 73 ] || fail "unexpected rows of a day: $(cat objects/day)"
[ "$(grep -c list-type s3/reads)" -gt 1 ] || fail "the list has one page: $(cat s3/reads)"
grep -v list-type s3/reads | cut -d' ' -f2 | sort -u >read.log
[ "$(wc -l <read.log)" = 1 ] && grep -q 'date%3D2026-11-02/host%3Da%252Fb' read.log || fail "expected one object to be read"
[ ! -e s3/wrong ] || fail "the service found an error: $(cat s3/wrong)"

# ---- tables without files are empty ----
mkdir nothing
in_clickhouse file "$PWD/nothing" none "${queries[@]}"
[ "$(cat none/rising_ecc)" = 'cluster|host|device|date|corrected|week_before|uncorrected' ] || fail "unexpected answer without files: $(cat none/rising_ecc)"

# ---- the example of docs/formats/archive.md ----
example_of ClickHouse | sed "s#ROOT#$PWD/all#" >example.sql
in_clickhouse file "$PWD/all" folder example.sql
[ "$(grep -c . folder/example)" = 7 ] && grep -q '^a/b %20+c|' folder/example || fail "unexpected answer of the example: $(cat folder/example)"
