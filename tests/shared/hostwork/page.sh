#!/bin/bash
# page - the activity of host threads while cores are idle, from the observation to the page: the tab, rows of
# threads on the clock of the executions, one file, Perfetto and Chrome, and the folder of a trigger. The job sleeps
# between its executions.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs_browser
needs python3 jq

is_ready() { grep -qx ready job.out && echo yes; }
"$NTK_BUILD_DIR/tests/tests_idle_job" sleep >job.out 2>job.err &
job=$!
wait_for is_ready
neuron-profile idle --pid $job --for 2s --method proc --json --record out >idle.json 2>err || fail "idle --record failed"
folder=$(sed -n 's/^neuron-profile: recorded process [0-9]* to //p' err)
[ -s "$folder/idle.json" ] && [ -s "$folder/ntrace.pb" ] || fail "no recording in '$folder': $(cat err)"
jq -e --slurpfile all idle.json '.processes[0] | (.stacks | length > 0 and all(.frames[0] | startswith("tests_idle_job"))) and
    del(.stacks, .rows) == ($all[0].processes[0] | del(.rows))' "$folder/idle.json" >/dev/null || fail "the file differs from the output of --json"
neuron-profile analyze -d out host-threads >text 2>err || fail "analyze host-threads failed"
grep -q '^  advice: ' text && grep -q "% of the idle time of process $job: sleep$" text || fail "host-threads has no advice: $(cat text)"
grep -Eq "^ *$job +[0-9.]+m?s +[0-9.]+% +sleep" text || fail "the first cause is not sleep: $(cat text)"
# The same spans in every export.
neuron-profile view -d out --output-format perfetto --output-file out.pftrace 2>err || fail "the export to Perfetto failed"
neuron-profile view -d out --output-format chrome --output-file out.json 2>err || fail "the export to Chrome failed"
neuron-profile query -d out --json "SELECT name, count(*) AS n FROM SystemProfileEvents
    WHERE name LIKE 'thread_%' OR name = 'nc_idle' GROUP BY 1 ORDER BY 1" >spans.json 2>err || fail "unexpected result for query: $(cat err)"
jq -e 'map(.name) | contains(["nc_idle", "thread_sleep"])' spans.json >/dev/null || fail "no spans: $(cat spans.json)"
(cd "$NTK_SOURCE_DIR" && protoc --decode=ntk.perfetto.Trace profiler/output/traces/perfetto.proto) <out.pftrace >trace.txt 2>err || fail "protoc failed"
for name in nc_idle thread_sleep; do
    count=$(jq --arg name $name '.[] | select(.name == $name) | .n' spans.json)
    [ "$(jq --arg name $name '[.traceEvents[] | select(.name == $name and .ph == "X")] | length' out.json)" = "$count" ] || fail "chrome does not have $count $name"
    greps "name: \"$name\"" trace.txt || fail "perfetto has no $name"
done
# Time between executions has a cause, and states of threads do not count as calls.
[ "$(neuron-profile analyze -d out --json host-gaps | jq '[."host-gaps"[].cores[].causes_ns.other_call] | add // 0')" = 0 ] || fail "states of threads count as calls"

neuron-profile view -d out --output-format html --output-file out.html 2>err || fail "the export to HTML failed"
# A trigger records the host threads of the same time. This job has no listener, so the recording has only host
# threads.
neuron-packager example conv -s 4 -o m.neff >/dev/null
neuron-bench exec m.neff --rate 20 --count 100000 >bench.out 2>&1 &
bench=$!
is_triggered() { rm -rf triggered && neuron-profile trigger --pid $bench --executions 3 --idle --json -o triggered >trigger.json 2>err && echo yes; }
wait_for is_triggered
before=$(jq -r '.processes[0].before' trigger.json)
jq -e '.processes[0] | .held_seconds > 0 and .idle_percent > 0' "$before/idle.json" >/dev/null || fail "the host side of a trigger is missing: $(ls "$before")"
neuron-profile view -d triggered --output-format chrome --output-file triggered.trace.json 2>err || fail "the export of a trigger to Chrome failed"
jq -e '[.traceEvents[] | select(.name == "nc_exec_running" and .ph == "X") | .ts] as $runs | [.traceEvents[] | select(.name == "MATMUL") | .ts] |
    length > 0 and all(.[]; . as $at | any($runs[]; $at >= . and $at < . + 1000))' triggered.trace.json >/dev/null ||
    fail "captured instructions are not where the trace has their execution"
neuron-profile view -d triggered --output-format html --output-file triggered.html 2>err || fail "the export of a trigger to HTML failed"

neuron-profile view -d out --port 0 --no-open >view.log 2>view.err &
is_up() { grep -q '^View profile at ' view.log && echo yes; }
wait_for is_up
python3 "$NTK_SOURCE_DIR/tests/shared/hostwork/page.py" "$browser" "$scratch/profile" "$folder/idle.json" "$(sed -n 's/^View profile at //p' view.log)" \
    out.html triggered.html || fail "see above"
