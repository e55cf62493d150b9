# make.sh FOLDER - makes the files of a release: what its programs write for a small job on software cores, gzipped
# if large, and facts.json with the numbers that later releases must find in them. release.sh --make calls it.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq sqlite3
skip_sanitized
mkdir files killed && chmod 700 killed
count=40

# A job that ends while an agent watches it: the database, its archive and a report.
neuron-packager example attention -s 128 -o attention.neff
neuron-monitor --period 200ms --db monitor.db >reports 2>agent.err &
agent=$!
wait_for has_reports reports
neuron-bench exec attention.neff --count $count --rate 200 >bench.log
has_stored() { [ "$(sqlite3 -readonly monitor.db 'SELECT sum(completed) FROM process_overview')" = $count ] && echo yes; }
wait_for has_stored
# The tier of minutes, too: its first row is written when the minute ends.
has_minute() { [ "$(sqlite3 -readonly monitor.db 'SELECT count(*) FROM core_minute')" -gt 0 ] && echo yes; }
wait_for has_minute
kill -TERM "$agent"
wait "$agent" || fail "the agent failed"
sqlite3 monitor.db 'PRAGMA journal_mode=DELETE; VACUUM' >vacuum.log
gzip -9nc monitor.db >files/monitor.db.gz
neuron-monitor export --db monitor.db --output-folder files/archive --host release >export.log
jq -c 'select(.neuron_runtime_data | length > 0)' reports | tail -1 >files/report.jsonl

# A message that no peer accepted.
neuron-monitor --once --quiet --period 100ms --remote-write http://127.0.0.1:1/ --remote-write-spool files/spool 2>push.err || true
rm -f files/spool/lock

# A killed job: its segment stays.
export NEURON_HOOKS_DIR=$scratch/killed
NEURON_HOOKS_MEMORY=1M neuron-bench exec attention.neff --count 1000000 --rate 20 >killed.log &
job=$!
wait_for has_executed "$job" 2
kill -9 "$job"
wait "$job" 2>killed.log || true
left=$(segment)
gzip -9nc "$left" >"files/$(basename "$left").segment.gz"
read=$("$NTK_BUILD_DIR/tests/release_segment" killed)

neuron-profile capture -n attention.neff -s attention.ntff >capture.log 2>&1
neuron-profile view -n attention.neff -s attention.ntff --output-format summary-json --output-file files/summary.json >view.log
neuron-profile baseline save files/baseline.json attention.ntff >baseline.log
gzip -9n attention.*
mv attention.* files

jq -n --argjson completed $count --argjson segment "$read" \
    --argjson cores "$(neuron-monitor query cores --db monitor.db --json | jq length)" \
    --arg instance "$NEURON_SOFT_INSTANCE" '$ARGS.named' >files/facts.json
rm -rf "$1"
cp -r files "$1"
