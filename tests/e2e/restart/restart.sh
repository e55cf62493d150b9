#!/bin/bash
# restart - an agent with --db that is stopped, and one that is killed, lose no execution: the next one
# continues from what is stored. Reports and database add up to what neuron-bench ran.
. "$(dirname "$0")/../lib.sh"
needs jq sqlite3 curl

# Observed executions, and those that the next agent found.
stored() {
    sqlite3 -readonly "$1" 'SELECT (SELECT coalesce(sum(completed), 0) FROM execution_sample) +
        (SELECT coalesce(sum(completed), 0) FROM unwatched)' 2>/dev/null
}
more_than() { [ "$(stored "$1")" -gt "$2" ] && echo yes; }
has_written() { [ -s "$1" ] && echo yes; }
# The counters on the last agent's page include those of all three agents.
page_says() {
    [ "$(curl -sf "http://127.0.0.1:$(sed -n 's/.*serving metrics on port //p' agent.log)/metrics" |
        sed -n 's/^neuron_executions_total{.*status_type="completed".* //p')" = "$1" ] && echo yes
}
has_ended() { [ "$(sqlite3 -readonly "$1" 'SELECT count(*) FROM process WHERE ended_ns IS NOT NULL')" = 1 ] && echo yes; }

neuron-packager example memcpy -o memcpy.neff

# run SIGNAL: executions under three agents, the first two stopped by SIGNAL; sets count.
run() {
    local signal=$1 db=$1.db round before=0
    for round in 1 2 3; do
        neuron-monitor --period 200ms --db "$db" --prometheus 127.0.0.1:0 --verbose 1 >"$signal-$round.jsonl" 2>agent.log &
        agent=$!
        if [ $round = 1 ]; then
            wait_for has_written "$signal-1.jsonl"
            neuron-bench exec memcpy.neff --duration 600s --rate 300 --json >bench.json &
            bench=$!
        fi
        wait_for more_than "$db" "$before"
        [ $round = 3 ] && break
        kill "-$signal" "$agent"
        wait "$agent" 2>/dev/null || true
        before=$(stored "$db")
    done
    kill -TERM "$bench"
    wait "$bench" || fail "neuron-bench exited with $?"
    count=$(jq .executions bench.json)
    wait_for has_ended "$db"
    wait_for page_says "$count"
    kill -TERM "$agent"
    wait "$agent" || fail "neuron-monitor exited with $?"
    [ "$(stored "$db")" = "$count" ] || fail "$signal: $count executions ran, $(stored "$db") are stored"
    [ "$(sqlite3 -readonly "$db" 'SELECT sum(completed) FROM core_total')" = "$count" ] ||
        fail "$signal: the totals are not $count"
    [ "$(neuron-monitor query executions --db "$db" --json | jq 'map(.completed) | add')" = "$count" ] ||
        fail "$signal: the query of executions does not add up to $count"
    [ "$(sqlite3 -readonly "$db" 'SELECT count(*) FROM process')" = 1 ] || fail "$signal: the database does not have exactly one process"
    [ "$(sqlite3 -readonly "$db" 'PRAGMA integrity_check')" = ok ] || fail "$signal: the database is damaged"
}

run TERM
[ "$(completed_in_reports TERM-?.jsonl)" = "$count" ] ||
    fail "$count executions ran, the reports show $(completed_in_reports TERM-?.jsonl)"
run KILL
valid_reports ./*.jsonl
