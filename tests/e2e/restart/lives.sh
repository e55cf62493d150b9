#!/bin/bash
# lives - a process that closes the runtime and starts it again remains one process: every sum of its executions is
# the same, even when agents with --db are killed and restarted at any moment of its lives.
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
        read -r -t "$patience" answer <&"${lives[0]}" || true
        [ "$answer" = "did $command" ] || fail "$case: no answer to '$command'"
    done
}
end_process() {
    exec {lives[1]}>&-
    wait "$process" || fail "$case: the process exited with $?"
}

# ---- the agents ----

begin_agent() {
    reports+=("$case-${#reports[@]}.jsonl")
    neuron-monitor --period 200ms --db "$db" --prometheus 127.0.0.1:0 --verbose 1 >"${reports[-1]}" 2>agent.log &
    agent=$!
    wait_for has_reports "${reports[-1]}"
}
kill_agent() {
    kill -KILL "$agent"
    wait "$agent" 2>/dev/null || true
}

# ---- reports about the process ----

sql() { sqlite3 -readonly "$db" "$1"; }
# The sums from the database: samples, totals of cores, the two views.
by_rows() {
    sql 'SELECT (SELECT coalesce(sum(completed), 0) FROM execution_sample) +
        (SELECT coalesce(sum(completed), 0) FROM unwatched), (SELECT coalesce(sum(completed), 0) FROM core_total)'
}
by_views() { sql 'SELECT (SELECT sum(completed) FROM process_overview), (SELECT sum(completed) FROM core_overview)'; }
by_models() { sql 'SELECT sum(executions_total) FROM model'; }
by_process_query() { neuron-monitor query processes --db "$db" --json | jq 'map(.completed) | add'; }
by_execution_query() { neuron-monitor query executions --db "$db" --json | jq 'map(.completed) | add'; }
# The values in the histograms of samples, and of totals.
by_latency() {
    python3 - "$db" <<'EOF'
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
print("|".join(str(sum(sum(list(varints(blob[1:]))[3::2]) for table in tables
          for blob, in db.execute("SELECT total_latency_histogram FROM %s WHERE total_latency_histogram NOT NULL" % table)))
          for tables in (("execution_sample", "unwatched"), ("core_total",))))
EOF
}
by_reports() { completed_in_reports "${reports[@]}"; }
by_page() {
    curl -sf "http://127.0.0.1:$(sed -n 's/.*serving metrics on port //p' agent.log)/metrics" |
        sed -n 's/^neuron_executions_total{.*status_type="completed".* //p'
}
says() { [ "$("$1")" = "$2" ] && echo yes; }
has_ended() { [ "$(sql 'SELECT count(*) FROM process WHERE ended_ns IS NOT NULL')" = 1 ] && echo yes; }
wait_for_count() {
    wait_for says by_rows "$1|$1"
    wait_for says by_reports "$1"
}
# expect WHEN COUNT BY...: each source reports the count; rows, views and latencies report it twice.
expect() {
    local by said when=$1 count=$2
    shift 2
    for by in "$@"; do
        said=$("$by")
        case $by in by_rows | by_views | by_latency) [ "$said" = "$count|$count" ] ;; *) [ "$said" = "$count" ] ;; esac ||
            fail "$case: $count executions ran, $when $by reports $said"
    done
}

begin_case() {
    case=$1 db=$1.db reports=()
    rm -f "$NEURON_HOOKS_DIR"/[0-9]*-* # of the previous case: its killed agent had no time to remove them
    begin_process
}
# end_case COUNT [UNSEEN]: the agent runs, and the process has performed COUNT executions, UNSEEN of them by a model
# that was unloaded while no agent ran.
end_case() {
    wait_for_count "$1"
    end_process
    wait_for has_ended
    wait_for says by_page "$1"
    expect "at the end" "$1" by_views by_process_query by_execution_query by_latency
    expect "at the end" $(($1 - ${2:-0})) by_models
    [ "$(sql 'SELECT count(*) FROM process')" = 1 ] || fail "$case: the database does not have exactly one process"
    [ "$(sql "SELECT cores FROM process_overview")" = 2 ] || fail "$case: the process does not have the two cores of the machine"
    kill_agent
    # An agent that starts after everything continues from there.
    begin_agent
    wait_for says by_page "$1"
    kill_agent
    expect "after it" "$1" by_rows by_views by_latency by_reports
}

begin_case watched
begin_agent
tell open 'run 7'
wait_for_count 7
tell close open 'run 3'
end_case 10

# Everything between two samples: the agent is stopped meanwhile.
begin_case one_period
begin_agent
tell open 'run 2'
wait_for_count 2
kill -STOP "$agent"
tell 'run 5' close open 'run 1' close open 'run 2'
kill -CONT "$agent"
end_case 10

# Killed between the lives; before the next agent reads, the second life executes less or more than the first.
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

# Killed after both lives, and also between the checks.
begin_case killed_after
begin_agent
tell open 'run 7'
wait_for_count 7
tell close open 'run 3'
wait_for_count 10
kill_agent
begin_agent
end_case 10

# Killed during the second life.
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

# Killed before it saw the end of the first life.
begin_case killed_before
begin_agent
tell open 'run 4'
wait_for_count 4
kill_agent
tell 'run 3' close open 'run 3'
begin_agent
end_case 10 3

valid_reports ./*.jsonl
