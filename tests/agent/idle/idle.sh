#!/bin/bash
# idle - the agent observes why jobs are idle, and the database has the answer after job and agent have ended.
. "$(dirname "$0")/../../shared/hostwork/lib.sh"
needs jq

agent_start() {
    rm -f agent.err # of the previous agent
    neuron-monitor --verbose 1 --quiet --db jobs.db --idle 2>agent.err &
    agent=$!
}
is_observed() { grep -qF "observing idle time of process $1" agent.err && echo yes; }
agent_stop() {
    kill $agent
    wait $agent || fail "the agent failed"
}
ask() { neuron-monitor query idle --db jobs.db --json "$@" >answer.json 2>query.err || fail "query idle failed"; }
has() { # FILTER: true for at least one row
    jq -e "any(.[]; $1)" answer.json >/dev/null || complain "no row has $1: $(jq -c '.[:3]' answer.json)"
}
ended() { # PID: at least one of its rows is stored
    neuron-monitor query idle --db jobs.db --json --process "$1" >answer.json && [ "$(jq length answer.json)" -gt 0 ] && echo yes
}
# finds PID FILTER: runs agents until a row matches. What a short observation sees depends on when it looks.
finds() {
    local try
    for try in {1..8}; do
        agent_start
        wait_for is_observed "$1"
        agent_stop
        ask --process "$1"
        ! jq -e "any(.[]; $2)" answer.json >/dev/null || return 0
    done
    has "$2"
}

# A job that ends is stored then; so is a job that outlives the agent.
export NEURON_PROCESS_TAG=sleeper
started "$job" sleep
sleeper=$pid
export NEURON_PROCESS_TAG=reader
mkfifo batches
(
    exec 3>batches
    while echo -n x >&3 2>/dev/null; do sleep 0.015; done
) 2>/dev/null &
started "$job" fifo "$PWD/batches"
reader=$pid
agent_start
wait_for is_observed $sleeper
wait_for is_observed $reader
kill $sleeper
wait $sleeper || true
wait_for ended $sleeper
has ".pid == $sleeper and .tag == \"sleeper\" and .idle_ratio > 0.3 and .observed_seconds > 0"
agent_stop
finds $reader ".pid == $reader and .cause == \"read\" and .object == \"$PWD/batches\" and .syscall == \"read\" and .seconds > 0"
ask --job reader
[ "$(jq 'all(.[]; .tag == "reader") and length > 0' answer.json)" = true ] || complain "--job reader shows other rows: $(jq -c '.[:3]' answer.json)"
ask --process sleeper --step 1m
[ "$(jq 'all(.[]; .pid == '$sleeper') and length > 0' answer.json)" = true ] || complain "--process sleeper shows other rows: $(jq -c '.[:3]' answer.json)"
kill $reader
wait $reader || true
rm batches

# A Python job: its functions are known, without root and without BPF.
if [ -x /usr/bin/python3 ]; then
    export NEURON_PROCESS_TAG=python
    started /usr/bin/python3 "$python_job" sleep "$library"
    finds $pid '.cause == "sleep" and .function == "wait_for_data"'
    stop
fi

# Without --idle nothing is observed; --idle without a database is rejected.
agent=
neuron-monitor --once --db other.db >report.json
neuron-monitor query idle --db other.db --json >answer.json
[ "$(jq length answer.json)" = 0 ] || complain "unexpected idle time without --idle: $(cat answer.json)"
ends 2 neuron-monitor --idle
says err "--idle requires --db"
