#!/bin/bash
# lives - a process that closes the runtime and begins again is one process: whoever adds up what it did says the same,
# also when agents with --db are killed and begin again at any moment of its lives.
. "$(dirname "$0")/../lib.sh"
needs jq sqlite3 curl python3

neuron-packager example memcpy -o memcpy.neff

# ---- the process ----

begin_process() {
    coproc lives { NEURON_PROCESS_TAG=$case exec "$NTK_BUILD_DIR/tests/tests_e2e_lives_process" memcpy.neff; }
    process=$lives_PID
}
tell() {
    local answer command
    for command in "$@"; do
        echo "$command" >&"${lives[1]}"
        answer=
        read -r -t 60 answer <&"${lives[0]}" || true
        [ "$answer" = "did $command" ] || fail "$case: no answer to '$command'"
    done
}
end_process() {
    exec {lives[1]}>&-
    wait "$process" || fail "$case: the process ended with $?"
}

# ---- the agents ----

begin_agent() {
    reports+=("$case-${#reports[@]}.jsonl")
    neuron-monitor --period 200ms --db "$db" --prometheus 127.0.0.1:0 --verbose 1 >"${reports[-1]}" 2>agent.log &
    agent=$!
    pids+=("$agent")
    wait_for has_reports "${reports[-1]}"
}
kill_agent() {
    kill -KILL "$agent"
    wait "$agent" 2>/dev/null || true
}

# ---- what is said of it ----

sql() { sqlite3 -readonly "$db" "$1"; }
by_samples() {
    sql 'SELECT (SELECT coalesce(sum(completed), 0) FROM execution_sample) +
        (SELECT coalesce(sum(completed), 0) FROM unwatched)'
}
by_totals() { sql 'SELECT coalesce(sum(completed), 0) FROM core_total'; }
by_process_view() { sql 'SELECT sum(completed) FROM process_overview'; }
by_core_view() { sql 'SELECT sum(completed) FROM core_overview'; }
by_models() { sql 'SELECT sum(executions_total) FROM model'; }
by_process_query() { neuron-monitor query processes --db "$db" --json | jq 'map(.completed) | add'; }
by_execution_query() { neuron-monitor query executions --db "$db" --json | jq 'map(.completed) | add'; }
# The values of the histograms of tables.
values_of() {
    python3 - "$db" "$@" <<'EOF'
import sqlite3, sys

def varints(blob):
    value = shift = 0
    for byte in blob:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0

db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
print(sum(sum(list(varints(blob[1:]))[3::2]) for table in sys.argv[2:]
          for blob, in db.execute("SELECT latency_histogram FROM %s WHERE latency_histogram NOT NULL" % table)))
EOF
}
by_latency() { values_of execution_sample unwatched; }
by_total_latency() { values_of core_total; }
by_reports() { completed_in_reports "${reports[@]}"; }
by_page() {
    curl -sf "http://127.0.0.1:$(sed -n 's/.*serving metrics at port //p' agent.log)/metrics" |
        sed -n 's/^neuron_executions_total{.*status_type="completed".* //p'
}
says() { [ "$("$1")" = "$2" ] && echo yes; }
has_ended() { [ "$(sql 'SELECT count(*) FROM process WHERE ended_ns IS NOT NULL')" = 1 ] && echo yes; }
wait_for_count() {
    local by
    for by in by_reports by_samples by_totals; do
        wait_for says "$by" "$1"
    done
}

begin_case() {
    case=$1 db=$1.db reports=()
    rm -f "$NEURON_HOOKS_DIR"/[0-9]*-* # of the case before, which its killed agent had no time to remove
    begin_process
}
# end_case COUNT [UNSEEN]: the agent is there, and the process has done so much, so many of them by a model that was
# unloaded while no agent was there.
end_case() {
    local by said
    wait_for_count "$1"
    end_process
    wait_for has_ended
    for by in by_process_view by_core_view by_process_query by_execution_query by_latency by_total_latency by_page; do
        said=$("$by")
        [ "$said" = "$1" ] || fail "$case: $1 executions ran, $by is $said"
    done
    [ "$(by_models)" = $(($1 - ${2:-0})) ] || fail "$case: $1 executions ran, by models $(by_models)"
    [ "$(sql 'SELECT count(*) FROM process')" = 1 ] || fail "$case: not one process"
    [ "$(sql "SELECT cores FROM process_overview")" = 2 ] || fail "$case: not the two cores of the machine"
    kill_agent
    # One that begins after all of it goes on from there.
    begin_agent
    said=$(by_page)
    [ "$said" = "$1" ] || fail "$case: $1 executions ran, the page of the next agent says $said"
    kill_agent
    for by in by_samples by_totals by_process_view by_core_view by_latency by_total_latency by_reports; do
        said=$("$by")
        [ "$said" = "$1" ] || fail "$case: $1 executions ran, after the next agent $by is $said"
    done
    valid_reports "${reports[@]}"
}

begin_case watched
begin_agent
tell open 'run 7'
wait_for_count 7
tell close open 'run 3'
end_case 10

# All of it between two samples: the agent stands still meanwhile.
begin_case one_period
begin_agent
tell open 'run 2'
wait_for_count 2
kill -STOP "$agent"
tell 'run 5' close open 'run 1' close open 'run 2'
kill -CONT "$agent"
end_case 10

# Killed between the lives; the second does less or more than the first before the next agent looks.
for second in 3 30; do
    begin_case "killed_between_$second"
    begin_agent
    tell open 'run 7'
    wait_for_count 7
    kill_agent
    tell close open "run $second"
    begin_agent
    end_case $((7 + second))
done

# Killed after both, and between the looks at them.
begin_case killed_after
begin_agent
tell open 'run 7'
wait_for_count 7
tell close open 'run 3'
wait_for_count 10
kill_agent
begin_agent
end_case 10

# Killed while the second goes on.
begin_case killed_within
begin_agent
tell open 'run 7'
wait_for_count 7
tell close open 'run 1'
wait_for_count 8
kill_agent
tell 'run 1'
begin_agent
wait_for_count 9
tell 'run 1'
end_case 10

# Killed before the end of the first was seen.
begin_case killed_before
begin_agent
tell open 'run 4'
wait_for_count 4
kill_agent
tell 'run 3' close open 'run 3'
begin_agent
end_case 10 3
