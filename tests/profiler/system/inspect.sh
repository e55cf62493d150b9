#!/bin/bash
# inspect - neuron-profile inspect around real programs, and what view and show-session print about the folders.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export LC_ALL=C.UTF-8
unset NEURON_HOOKS NEURON_LIBNRT NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES
for name in $(compgen -e NEURON_RT_INSPECT_); do unset "$name"; done
neuron-packager example memcpy -o m.neff -s 64 >/dev/null || exit 1

# ---- a program with both kinds of profile ----
neuron-profile inspect -o out --capture-system-profiles --capture-device-profiles --host-memory \
    -- neuron-bench exec m.neff --count 5 --json >printed 2>err || complain "inspect: unexpected exit code $?"
grep -q '^INFO\[0000\] Running command "neuron-bench exec m.neff --count 5 --json" with profiling enabled$' err ||
    complain "inspect does not print its command"
folder=$(tail -n 1 printed)
[[ $folder == out/i-local_pid_*/*Z ]] && [ -d "$folder" ] || complain "the output does not name the folder: $folder"
for file in ntrace.pb trace_info.pb host_mem.pb; do
    [ -s "$folder/$file" ] || complain "$file is missing"
done
[ ! -e "$folder/cpu_util.pb" ] || complain "the inspection has cpu_util.pb without a request"
set -- "$folder"/*_instid_0_vnc_0.ntff
[ -s "$1" ] || complain "no device profile was written"
set -- "$folder"/neff_*_vnc_0.neff
cmp -s "$1" m.neff || complain "the copy of the NEFF is missing or differs"

# ---- the text output ----
for place in out "$(dirname "$folder")" "$folder"; do
    neuron-profile view -d "$place" >text 2>err || complain "view -d $place: unexpected exit code $?"
    [ -s err ] && complain "view -d $place: expected nothing on stderr"
done
grep -Eq '^ *[0-9]+  nrt_execute +neuron_rt +5 ' text || complain "five executions are not in the table"
grep -Eq '^ *[0-9]+  nc_exec_running +neuron_hw +5 ' text || complain "five executions are not in the device rows"
grep -Eq '^ +1  memcpy +0 ' text || complain "execution 1 has no row"
grep -Eq '_instid_0_vnc_0.ntff +10001 +0 +1 ' text || complain "the capture is not that of execution 1"
# The device time of a row is that of the capture.
row=$(awk '$1 == 1 && $2 == "memcpy" { print $NF }' text)
capture=$(awk '/_vnc_0.ntff/ { print $5 }' text)
[ -n "$row" ] && [ "$row" = "$capture" ] || complain "device time $row is not the capture's $capture"
neuron-profile show-session -d out -j >json 2>err || complain "show-session -d -j: unexpected exit code $?"
[ "$(grep -c '"is_partial": false' json)" = 5 ] || complain "the summary does not have five executions"
neuron-profile view -d out --output-format json --output-file all.json >printed 2>err || complain "json: unexpected exit code $?"
for key in trace_event mem_usage cpu_util parent_id exec_id nrt-nc-000 '"usage"'; do
    grep -q -- "$key" all.json || complain "$key is not in the JSON"
done
neuron-profile view -d out --output-format json >again.json 2>err
cmp -s all.json again.json || complain "the same folder produces different bytes"
neuron-profile view -d out --ignore-device-profile >text 2>err
grep -q ntff text && complain "captures are shown despite --ignore-device-profile"
neuron-profile view -d out --ignore-system-profile >text 2>err
grep -q nrt_execute text && complain "events are shown despite --ignore-system-profile"

neuron-profile view -d out --system-trace-filter-event-type hardware >text 2>err || complain "filter: unexpected exit code $?"
grep -q nc_exec_running text && ! grep -Eq '^ *[0-9]+  nrt_execute' text || complain "the filter does not select only hardware events"
neuron-profile view -d out --system-trace-filter-neuron-core 1 --output-format json >text 2>err || complain "filter: unexpected exit code $?"
grep -q nrt_execute text && complain "events of core 0, but only those of core 1 were requested"
neuron-profile view -d out --system-trace-filter-instance-id i-local,i-2 >text 2>err
grep -Eq '^ *[0-9]+  nrt_execute' text || complain "the events of this machine are missing"

# ---- the other formats: the same events in each, and the same bytes when repeated ----
for format in json csv sqlite parquet perfetto chrome html; do
    for file in "all.$format" "again.$format"; do
        neuron-profile view -d out --output-format $format --output-file "$file" >printed 2>err || complain "$format: unexpected exit code $?"
        [ ! -s printed ] && [ ! -s err ] || complain "$format: expected no output"
    done
    diff -r "all.$format" "again.$format" >/dev/null || complain "$format: the same folder produces different bytes"
done
python3 "$NTK_SOURCE_DIR/tests/profiler/output/tables_agree.py" all.sqlite all.csv all.parquet >printed 2>err ||
    complain "the tables disagree"
grep -q '^11 tables, ' printed || complain "expected 11 tables"
(cd "$NTK_SOURCE_DIR" && protoc --decode=ntk.perfetto.Trace profiler/output/traces/perfetto.proto) <all.perfetto >trace.txt 2>err ||
    complain "perfetto: cannot be decoded"
python3 "$NTK_SOURCE_DIR/tests/profiler/system/system_rows.py" trace.txt all.chrome all.sqlite >printed 2>err || complain "the traces differ from the tables"
query() { sqlite3 -readonly all.sqlite "$1"; }
[ "$(query "select count(*) from SystemProfileEvents where name = 'nrt_execute'")" = 5 ] || complain "the database does not have five executions"
# The process freed all memory that it allocated.
[ "$(query "select total_bytes from SystemProfileHbmUsage order by timestamp desc, rowid desc limit 1")" = 0 ] &&
    [ "$(query "select max(tensors_bytes) from SystemProfileHbmUsage")" = 65536 ] || complain "unexpected device memory"
[ "$(query "select count(*) from SystemProfileHbmUsage where total_bytes != generic_bytes + weights_bytes + tensors_bytes +
    dma_rings_runtime_bytes + dma_rings_spill_bytes + dma_rings_io_bytes + scratchpad_bytes + shared_scratchpad_bytes +
    profiler_buffers_bytes + ucode_lib_bytes + unknown_bytes")" = 0 ] || complain "types do not add up"
[ "$(query "select nc_id, session_id from DeviceProfileList")" = '0|' ] || complain "unexpected list of captures"
# A flow leads from the call of an execution to the core: all its events have the same number.
neuron-profile view -d out --output-format perfetto --show-perfetto-flows --output-file flows.pftrace 2>err || complain "the export with flows failed"
(cd "$NTK_SOURCE_DIR" && protoc --decode=ntk.perfetto.Trace profiler/output/traces/perfetto.proto) <flows.pftrace >flows.txt
grep -E 'flow_ids: [0-9]{1,18}$' flows.txt >host_flows.txt # flows of instructions are longer
[ "$(wc -l <host_flows.txt)" = "$(query "select count(*) from SystemProfileEvents where flow_id is not null and name not in
    ('timestamp_sync_point', 'nrt_model_switch')")" ] && ! grep -q flow_ids trace.txt || complain "unexpected flows"
[ "$(sort -u host_flows.txt | wc -l)" = 5 ] || complain "expected a flow for each of five executions"
neuron-profile view -d out --output-format chrome --output-file groups.json --system-trace-primary-group instance_id \
    --system-trace-secondary-group process_id 2>err || complain "the export with groups failed"
grep -q '"name":"process_name","pid":1,"tid":0,"args":{"name":"i-local"}' groups.json &&
    grep -q '"args":{"name":"neuron_hw PID [0-9]* core 0"}' groups.json || complain "the events are not grouped by machine and process"
(cd "$folder" && neuron-profile view -d . --output-format csv >"$scratch/printed" 2>"$scratch/err") || complain "the export to CSV without a name failed"
[ "$(cat printed)" = 'neuron-profile: wrote system_profile_csv' ] && [ -s "$folder/system_profile_csv/CpuUsage.csv" ] &&
    complain "the inspection has cpu_util.pb without a request"
[ -s "$folder/system_profile_csv/SystemProfileEvents.csv" ] || complain "no events in the default folder"
rm -r "$folder/system_profile_csv"
neuron-profile view -d out --output-format sqlite --output-file events.sqlite --system-trace-filter-event-type hardware \
    --ignore-device-profile 2>err || complain "the export of a filtered database failed"

# ---- a truncated trace: the intact part, one message, exit code 1 ----
cp -r "$folder" cut
head -c 700 "$folder/ntrace.pb" >cut/ntrace.pb
neuron-profile view -d cut >text 2>err
[ $? = 1 ] || complain "a truncated trace: not exit code 1"
[ "$(grep -c 'ntrace.pb is truncated' err)" = 1 ] && grep -q '^Session' text || complain "expected one warning about the truncated trace, and the other rows"
printf 'this is not a trace' >cut/ntrace.pb
neuron-profile view -d cut >text 2>err
[ $? = 1 ] && grep -q 'ntrace.pb is not an inspection trace' err || complain "no message about a file that is not a trace"

# ---- defaults: only the system trace, one folder per process; sessions ----
neuron-profile inspect -o two -- bash -c 'neuron-bench exec m.neff --count 2 --cores 0 & neuron-bench exec m.neff --count 3 --cores 1; wait' \
    >printed 2>err || complain "two processes: unexpected exit code $?"
[ "$(grep -c '^two/i-local_pid_' printed)" = 2 ] || complain "two processes: expected two folders"
[ -z "$(find two -name '*.ntff')" ] || complain "device profiles were written without a request"
neuron-profile view -d two >text 2>err || complain "two folders: unexpected exit code $?"
[ "$(grep -c '^Session' text)" = 2 ] || complain "two folders are not shown as two"
neuron-profile inspect -o all --capture-device-profiles --device-profile-mode session neuron-bench exec m.neff --count 4 \
    >printed 2>err || complain "session mode: unexpected exit code $?"
[ -z "$(find all -name ntrace.pb)" ] || complain "a system trace was written without a request"
neuron-profile view -d all >text 2>err || complain "session mode: view: unexpected exit code $?"
grep -Eq '^profile_nc_0_session_1.ntff +10001 +0 +all ' text || complain "the capture of the session is missing"

# ---- the layout of the vendor's runtime: the same events, at any level of the folder, with the host's name only on
# request ----
neuron-profile inspect -o vendor --format vendor --capture-system-profiles --capture-device-profiles --host-memory -- \
    neuron-bench exec m.neff --count 3 >printed 2>err || complain "--format vendor: unexpected exit code $?"
leaf=$(tail -1 printed)
for level in vendor "$(dirname "$leaf")" "$leaf"; do
    neuron-profile view -d "$level" --output-format json >text 2>err || complain "vendor's layout: $level: unexpected exit code $?"
    [ "$(grep -o '"name":"nrt_execute"' text | wc -l)" = 3 ] && [ "$(grep -o '"bound":' text | wc -l)" = 3 ] || complain "vendor's layout: $level: expected three executions"
    [ ! -s err ] && ! grep -q '"host_name"' text || complain "vendor's layout: $level: expected no output"
done
# The clock of the core, which starts at 0 here, determines the execution of the capture. Without it no capture is
# joined.
neuron-profile view -d vendor >text 2>err || complain "vendor's layout: text: unexpected exit code $?"
grep -Eq '_instid_0_vnc_0.ntff +10001 +0 +1 ' text && ! grep -q 'Not joined' text || complain "vendor's layout: the capture is missing or not joined"
cp -r vendor other
LC_ALL=C sed -i 's/nc_timestamp_ns/xc_timestamp_ns/g' "other/${leaf#vendor/}/ntrace.pb"
neuron-profile view -d other >text 2>err || complain "no clock of the core: unexpected exit code $?"
grep -Eq '^Not joined to the trace: .*_vnc_0.ntff: the trace contains no clock times for its core$' text || complain "no message about the missing clock of the core"
neuron-profile view -d vendor --output-format summary-json >text 2>err || complain "vendor's layout: summary: unexpected exit code $?"
grep -q '"trace_version": 2' text && ! grep -q '"host_name"' text || complain "vendor's layout: unexpected summary"
neuron-profile view -d vendor --output-format summary-json --private >text 2>err || complain "--private: unexpected exit code $?"
grep -q '"host_name": "' text || complain "--private: the name of the host is missing"

# ---- a process that is already running ----
neuron-bench exec m.neff --rate 50 --duration 1h >/dev/null 2>&1 &
job=$!
wait_for has_segment
# One second shows 50 executions; if the job got no processor in it, a longer recording does.
for seconds in 1 4 16 64; do
    rm -rf live
    neuron-profile inspect --pid $job --duration ${seconds}s -o live >printed 2>err || complain "--pid: unexpected exit code $?"
    [ "$(awk '/^neuron-profile: recorded/ { print $4 }' err)" = 0 ] || break
done
kill $job
neuron-profile view -d live >text 2>err || complain "--pid: view: unexpected exit code $?"
[ "$(awk '/^neuron-profile: recorded/ { print $4 }' err)" != 0 ] || complain "--pid: no executions"
grep -Eq '^ *[0-9]+  nc_exec_running +neuron_hw +[1-9]' text || complain "--pid: no execution is on the core"
grep -q ' 0 without start or end, 0 events overwritten' text || complain "--pid: events are missing"
# Its executions have no phases: the output of P in neuron-top fits a terminal.
grep -Eq '^EXEC +MODEL +NC +THREAD +START' text && ! grep -q CHECK text || complain "--pid: empty columns are shown"
awk '/^EXEC/ { on = 1 } on && length > 80 { exit 1 }' text || complain "--pid: executions are wider than a terminal"
neuron-profile view -d live --output-format perfetto --output-file live.pftrace 2>err || complain "--pid: perfetto: unexpected exit code $?"
neuron-profile analyze -d live host-gaps >text 2>err || complain "--pid: host-gaps: unexpected exit code $?"
grep -Eq "^ *$job +0 +[1-9]" text || complain "--pid: no gaps between executions"
neuron-profile analyze -d live executions >text 2>err || complain "--pid: executions: unexpected exit code $?"
grep -q '^No steps: ' text || complain "--pid: executions do not say why they have no steps"
# A recording of this kind does not contain the use of memory.
neuron-profile analyze -d live memory >text 2>err || complain "--pid: memory: unexpected exit code $?"
grep -q "^Process $job: unknown (the trace" text && ! grep -q '0B' text || complain "--pid: unrecorded memory is shown as none"
neuron-profile analyze -d live memory --json >text 2>err || complain "--pid: memory in JSON: unexpected exit code $?"
grep -q peak_bytes text && complain "--pid: unrecorded memory is none in JSON"

# ---- a failed execution: the clock of its core did not advance; all outputs have one time for it ----
(
    export NEURON_SOFT_FAULT=device-error:at=2 NEURON_HOOKS_DIR=$scratch/faulty
    mkdir -m 700 faulty
    neuron-packager example conv -s 4 -o failing.neff >/dev/null 2>err || complain "cannot create the NEFF of a failed execution"
    neuron-profile inspect -o failed -- neuron-bench exec failing.neff --count 2 >/dev/null 2>err
    neuron-profile view -d failed --output-format summary-json >view.json 2>err || complain "a failed execution: view: $(cat err)"
    neuron-profile analyze -d failed --json executions >analyze.json 2>err || complain "a failed execution: analyze: $(cat err)"
    jq -es '[.[0].sessions[0].executions[] | [.exec_id, .device_ns]] as $x | [.[1].executions[] | [.exec_id, .device_ns]] as $y |
        ($x | length) == 2 and $x == $y and all($x[]; .[1] > 0)' view.json analyze.json >/dev/null ||
        complain "a failed execution has two times: $(jq -c '[.sessions[0].executions[].device_ns]' view.json) $(jq -c '[.executions[].device_ns]' analyze.json)"
)

# ---- wrong usage, and signals to the command itself ----
code() { # WANTED PATTERN ARGUMENT...
    local wanted=$1 pattern=$2
    shift 2
    neuron-profile "$@" >printed 2>err
    local got=$?
    [ $got = "$wanted" ] || complain "$*: exit code $got, not $wanted"
    grep -q -- "$pattern" err || complain "$*: expected '$pattern'"
}
code 2 "missing argument COMMAND" inspect -o out
code 2 "invalid value 'none' for --device-profile-mode: expected model or session" inspect --device-profile-mode none true
code 2 "invalid value 'xml' for --format: expected own or vendor" inspect --format xml true
code 2 "--pid requires --format own" inspect --pid 1 --format vendor
code 2 "are mutually exclusive" inspect --pid 1 true
code 2 "--pid and --job are mutually exclusive" trigger --pid 1 --job train
code 2 "no process: use --pid PID or --job NAME" trigger
code 2 "requires --pid" inspect --duration 1s true
code 2 "records only the calls of a running process" inspect --pid 1 --capture-device-profiles
code 1 "process 1 has no readable hooks" inspect --pid 1
code 127 "cannot run 'no-such-program'" inspect -o none no-such-program
code 7 "wrote no profile to none" inspect -o none -- sh -c 'exit 7'
code 143 "wrote no profile to none" inspect -o none -- sh -c 'kill -TERM $$'
code 1 "not an inspection folder" view -d "$NEURON_HOOKS_DIR"
code 1 "nowhere" view -d nowhere
code 2 "are mutually exclusive" view -d out -s x.ntff
code 2 "invalid value 'xml' for --output-format: " view -d out --output-format xml
code 2 "cannot group events by 'colour': use" view -d out --output-format perfetto --system-trace-primary-group colour
code 2 "require -d" view -s x.ntff --system-trace-secondary-group process_id
code 2 "requires perfetto or chrome" view -s x.ntff --show-perfetto-flows
code 2 "output format 'json' cannot be combined with -d and -n: " view -d out -n m.neff --output-format json
code 2 "invalid core list 'x'" view -d out --system-trace-filter-neuron-core x
code 2 "require -d" view -s x.ntff --system-trace-filter-event-type hardware
code 2 "use the filters without -n" view -d out -n m.neff --system-trace-filter-event-type hardware
code 1 "nothing.neff" view -d out -n nothing.neff
