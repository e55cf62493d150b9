#!/bin/bash
# agent - neuron-monitor --archive writes hours and days that have ended on its own, once, also after a restart and
# after a destination was full or missing. None of this delays the agent, and no data is lost.
if [ -z "${NTK_ARCHIVE_APART:-}" ] && unshare -m true 2>/dev/null; then # its own disk, which is full
    NTK_ARCHIVE_APART=1 exec unshare -m --propagation private bash "$0"
fi
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
needs_readers
make_history now.db

# Two days ago: all of its hours have ended once the next sample is stored.
make_old() {
    cp now.db "$1"
    rm -f "$1"-* "$1.archive"
    move_history "$1" "2 * 86400000000000"
}
start() { # DATABASE PLACE ARGUMENT...
    local db=$1 place=$2
    shift 2
    rm -f lines agent.err # of the previous agent
    neuron-monitor --db "$db" --archive "$place" --no-imds --period 1s "$@" >lines 2>agent.err &
    agent=$!
}
stop() { kill $agent && wait $agent || fail "the agent failed"; }
# Everything from two days ago is recorded as written.
noted() {
    local day
    day=$(date -u -d '1 day ago' +%s)
    [ "$(awk -v day="$day" '/^(core_sample|model_log|process|device) / && $2 / 1e9 > day { n++ } END { print n }' "$1.archive")" = 4 ] && echo yes
}
rows() { ask "select count(*), count(distinct time) from read_parquet('$1/core_sample/**/*.parquet', hive_partitioning = true)"; }

# ---- ended hours and days are written as neuron-monitor export writes them; a restart writes nothing again ----
make_old a.db
wanted=$(sqlite3 -readonly a.db "select count(*), count(distinct time_ns) from core_sample")
today=$(date -u +%F) # an hour of today may end meanwhile
start a.db out --archive-cluster prod
wait_for noted a.db
stop
[ ! -s agent.err ] || fail "unexpected message of the agent"
[ "$(rows out)" = "$wanted" ] || fail "unexpected rows $(rows out), not $wanted"
[ "$(ls out/core_sample)" = 'cluster=prod' ] || fail "unexpected cluster: $(ls out/core_sample)"
neuron-monitor export --db a.db --output-folder same --cluster prod --to "$(date -u -d yesterday +%F)T00:00:00Z" >/dev/null
for part in $(find out -name '*.parquet' ! -path "*/date=$today/*"); do
    cmp "$part" "same/${part#out/}" || fail "$part differs"
done

# ---- a restart writes nothing again, except a step with late rows ----
find out -type f ! -path "*/date=$today/*" -exec stat -c '%n %Y %i' {} + | sort >before
sqlite3 a.db "insert into model_log select max(event_id) + 1, min(time_ns) + 1, process_id, 'load', 99, 'late', 0, 0, 1, 1 from model_log"
start a.db out --archive-cluster prod
late() { [ "$(ask "select count(*) from read_parquet('out/model_log/**/*.parquet') where name = 'late'")" = 1 ] && echo yes; }
wait_for late
stop
find out -type f ! -path "*/date=$today/*" -exec stat -c '%n %Y %i' {} + | sort | diff before - | grep '^[<>]' | cut -d/ -f2 | sort -u >again.diff || true
[ "$(cat again.diff)" = model_log ] || fail "the agent writes parts again after a restart: $(cat again.diff)"

# ---- a destination that is full or not a folder: reported once, reports continue, and everything is written when
# that is possible ----
make_old b.db
cause='exists'
if [ -n "${NTK_ARCHIVE_APART:-}" ] && mkdir place && mount -t tmpfs -o size=64k tmpfs place 2>/dev/null; then
    cause='No space left on device'
    head -c 50000 /dev/zero >place/filler
else
    rm -rf place
    : >place
fi
start b.db place
refused() { greps 'stay in the database' <agent.err && echo yes; }
wait_for refused
[ "$cause" = exists ] || greps "$cause" <agent.err || fail "no message about the full disk"
find place -name '.*.tmp-*' | greps . && fail "leftover files: $(find place -name '.*')"
lines=$(wc -l <lines)
more() { [ "$(wc -l <lines)" -gt $((lines + 1)) ] && echo yes; }
wait_for more
if [ "$cause" = exists ]; then rm place; else rm place/filler && mount -o remount,size=64m place; fi
wait_for noted b.db
is_resumed() { greps 'archiving resumed' <agent.err && echo yes; }
wait_for is_resumed
stop
[ "$(rows place)" = "$wanted" ] || fail "unexpected rows after the folder was full: $(rows place)"
[ "$(wc -l <agent.err)" = 2 ] || fail "expected two messages"
[ "$cause" = exists ] || umount place

# ---- a bucket; one that does not respond does not delay the exit ----
start_s3 s3
make_old c.db
start c.db s3://fleet
wait_for noted c.db
stop
[ ! -e s3/wrong ] || fail "the service found an error: $(cat s3/wrong)"
[ "$(rows s3/objects/fleet)" = "$wanted" ] || fail "unexpected rows in the bucket: $(rows s3/objects/fleet)"
make_old d.db
echo wait >s3/plan
start d.db s3://slow
waits() { grep -c '^wait' s3/log >/dev/null && echo yes; }
wait_for waits
lines=$(wc -l <lines)
wait_for more
stop
[ ! -e s3/objects/slow ] || fail "a partial object is in the bucket"

# ---- rows that the database has deleted meanwhile are reported and counted once, however often the rest is retried
# ----
make_old f.db
first=$(sqlite3 f.db "select min(time_ns) from machine_sample")
sqlite3 f.db "update tier set first_ns = $first where tier = 'second'"
step=3600000000000
printf 'neuron-monitor archive 1\nstore %016x\nplace s3://late\ncluster default\nmachine_sample %s 0\n' \
    "$(sqlite3 f.db "select min(since_ns) from machine")" $((first / step * step - step)) >f.db.archive
echo nobucket nobucket nobucket >s3/plan
start f.db s3://late --archive-tables machine_sample
wait_for is_resumed
stop
[ "$(grep -c 'NoSuchBucket' agent.err)" = 1 ] || fail "no message about the missing bucket"
[ "$(grep -c 'were deleted before they could be archived' agent.err)" = 1 ] || fail "the losses are not reported exactly once"

# ---- wrong use ----
for wrong in "--archive x" "--db e.db --archive-cluster x" "--db e.db --archive s3://UPPER" "--db e.db --archive x --archive-tables none"; do
    code=0
    neuron-monitor --once $wrong >/dev/null 2>err || code=$?
    [ $code != 0 ] && [ "$(wc -l <err)" -le 2 ] || fail "$wrong: exit $code"
done
code=0
env -u AWS_ACCESS_KEY_ID AWS_PROFILE=absent neuron-monitor --once --db e.db --archive s3://late >/dev/null 2>err || code=$?
[ $code = 1 ] && greps "unknown profile 'absent'" <err || fail "an unknown profile: exit $code, $(cat err)"
