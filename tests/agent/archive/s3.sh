#!/bin/bash
# s3 - an archive in a bucket: signatures equal to those of botocore, awkward keys, a failing service, and DuckDB
# reading the objects.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
needs_readers
start_s3 s3
make_history h.db
export_to() { neuron-monitor export --db h.db --output-folder "$@"; }
well() { [ ! -e s3/wrong ] || fail "the service found an error: $(cat s3/wrong)"; }

# ---- the same objects as files in a folder, under names that must be encoded ----
export_to s3://fleet.history/some/prefix/ --cluster 'prod/eu=1 é+&~' --json >exported || fail "the export failed"
well
export_to out --cluster 'prod/eu=1 é+&~' >/dev/null
diff -r out s3/objects/fleet.history/some/prefix >&2 || fail "the bucket has other objects"
rows=$(jq '[.tables[] | select(.table == "core_sample") | .rows] | add' exported)
[ "$(ask "select count(*), min(cluster) from read_parquet('s3/objects/fleet.history/some/prefix/core_sample/**/*.parquet', hive_partitioning = true)")" = \
    "$rows|prod/eu=1 é+&~" ] || fail "DuckDB reads other rows"
[ "$(wc -l <s3/log)" = "$(jq '[.tables[].parts] | add' exported)" ] || fail "more requests than parts: $(cat s3/log)"

# ---- temporary keys ----
echo 'AKIDTOKEN secret+/= to/ken==' >s3/keys
AWS_ACCESS_KEY_ID=AKIDTOKEN AWS_SECRET_ACCESS_KEY=secret+/= AWS_SESSION_TOKEN=to/ken== export_to s3://with-token >/dev/null || fail "the export with a session token failed"
echo "$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY" >s3/keys
well

# ---- a failing service: requests are retried; a permanent failure is one message, and no partial object remains
# ----
echo 'throttle fail early late expire take fail' >s3/plan
export_to s3://trouble --tables core_sample,machine_sample >/dev/null || fail "the export failed: $(cat s3/log)"
well
diff -r out/core_sample/cluster* s3/objects/trouble/core_sample/cluster* >&2 || fail "the bucket has other objects after failures"
refused() { # WORDS PLAN PLACE
    local code=0
    echo "$2" >s3/plan
    export_to "$3" --tables machine_sample >out.txt 2>err || code=$?
    [ $code = 1 ] && [ "$(wc -l <err)" = 1 ] && greps "$1" <err || fail "$2: exit $code"
    : >s3/plan
}
refused 'SlowDown' 'throttle throttle throttle throttle throttle throttle' s3://down
refused 'AccessDenied' 'denied denied' s3://denied
refused 'NoSuchBucket' 'nobucket' s3://nobucket
[ "$(grep -c nobucket/ s3/log)" = 1 ] || fail "a missing bucket is requested again"
refused 'invalid bucket in' '' s3://x
refused "'.' or '..'" '' s3://bucket/a/../b
AWS_SECRET_ACCESS_KEY=other refused 'SignatureDoesNotMatch' '' s3://keys
rm s3/wrong
AWS_ENDPOINT_URL_S3=ftp://x refused 'invalid endpoint' '' s3://keys
[ -z "$(ls s3/objects | grep -E 'down|denied|keys' || true)" ] || fail "unexpected objects of failures: $(ls s3/objects)"

# ---- a step that the database has started to delete: the objects stay ----
cp h.db old.db
sqlite3 old.db "update tier set first_ns = 9000000000000000000" || fail "cannot change the database"
before=$(find s3/objects/trouble -type f -exec md5sum {} + | sort)
neuron-monitor export --db old.db --output-folder s3://trouble --tables core_sample,machine_sample --json >exported || fail "the export of a database without old rows failed"
[ "$(jq -c '[.tables[] | .parts, .kept]' exported)" = '[0,1,0,1]' ] || fail "unexpected parts of a database without old rows: $(cat exported)"
[ "$(find s3/objects/trouble -type f -exec md5sum {} + | sort)" = "$before" ] || fail "a repeated export wrote the objects again"
neuron-monitor export --db old.db --output-folder out --cluster 'prod/eu=1 é+&~' --tables core_sample --json | jq -e '.tables[0].kept == 1' >/dev/null ||
    fail "the export of a database without old rows replaced a part"
well
