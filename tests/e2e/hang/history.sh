#!/bin/bash
# history - the database shows what happened to the ranks of a job, long after job and agent have ended.
. "$(dirname "$0")/../lib.sh"
needs jq

export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_NUM_CORES=1 NEURON_RT_ROOT_COMM_ID=127.0.0.1:46822
export NEURON_RT_LOG_LEVEL=QUIET
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank

start() { # start RANKS STEP_MS [FAULT RANK]
    local i
    ranks=()
    for ((i = 0; i < $1; i++)); do
        "$rank" "$i" "$1" 100000 "$2" "$([ "$i" != "${4:--1}" ] || echo "$3")" 2>"rank$i.err" &
        ranks[i]=$!
    done
}
stop() { end_jobs "${ranks[@]}"; }
ask() { neuron-monitor query "$@" --db jobs.db --json >answer.json 2>errors; }
verdict() { # verdict FILTER: prints yes when a verdict matches
    ask verdicts && [ "$(jq "[.[] | select($1)] | length > 0" answer.json)" = true ] && echo yes
}
agent_start() {
    rm -f out.jsonl # of the previous agent
    neuron-monitor --verbose 1 --db jobs.db >out.jsonl 2>>out.log &
    agent=$!
}
agent_stop() {
    kill -TERM "$agent"
    wait "$agent" || fail "the agent failed"
}

# In another job, all ranks become slower after a while: the message names no rank, but the time and the factor.
agent_start
together=()
for i in 0 1 2; do
    NEURON_RT_ROOT_COMM_ID=127.0.0.1:46823 "$rank" "$i" 3 100000 20 slow@500 2>/dev/null &
    together+=("$!")
done

# A slow rank: named while it is slow, and afterwards.
start 3 20 slow@1 2
fast=${ranks[0]} slow=${ranks[2]}
# On a busy machine other ranks may be slow for a while, too.
wait_for verdict ".kind == \"slow\" and .pid == $slow and .rank == 2 and .rank_count == 3 and .cause == \"host\" and .to == null and .behind_ns > 0 and
    .interval_ns > .behind_ns"
stop
wait_for verdict ".kind == \"slow\" and .pid == $slow and .to != null"

wait_for verdict '.kind == "slower" and .to == null and .rank == null and .rank_count == 3 and .cause == "outside"
    and .rendezvous == "127.0.0.1:46823" and .behind_ns > 0 and .interval_ns > .behind_ns'
wait_for eval 'grep -q "the ranks at 127.0.0.1:46823 became slower .* ago, all by the same amount (3 of 3 ranks visible): .* cause: outside" out.log && echo yes'
wait_for eval 'grep -q "\"kind\":\"slower\"" out.jsonl && echo yes'
kill -9 "${together[@]}"
wait "${together[@]}" 2>/dev/null || true

# One is killed while the others wait: the job broke, and the killed rank is the cause.
start 3 5
killed=${ranks[1]}
ask_sequence() { ask ranks --job 127.0.0.1:46822 && [ "$(jq "[.[] | select(.pid == $killed)] | .[0].operations > 20" answer.json)" = true ] && echo yes; }
wait_for ask_sequence
kill -9 "$killed"
wait_for verdict ".kind == \"broke\" and .pid == $killed"
stop
agent_stop

# Nothing is left of the job; an agent that starts later closes what is open.
agent_start
# It has to report first: the earlier agent may have closed everything, and a signal would stop a program that has
# hardly started.
wait_for eval '[ -s out.jsonl ] && echo yes'
wait_for verdict '.kind == "broke" and .to != null'
agent_stop
ask verdicts --job 127.0.0.1:46822 || fail "the query by job failed: $(cat errors)"
jq -e "any(.[]; .kind == \"slow\" and .rank == 2 and .pid == $slow and .cause == \"host\" and .to > .from)" answer.json >/dev/null ||
    fail "unexpected verdict on the slow rank: $(cat answer.json)"
jq -e ".[] | select(.kind == \"broke\" and .rank == 1 and .pid == $killed and .cause == \"lost\")" answer.json >/dev/null ||
    fail "unexpected verdict on the killed rank: $(cat answer.json)"
ask ranks || fail "the query of ranks failed: $(cat errors)"
[ "$(jq "[.[] | select(.pid == $slow)] | length == 1 and (.[0].verdicts | contains(\"slow host\")) and .[0].rank == 2 and .[0].rendezvous == \"127.0.0.1:46822\"" answer.json)" = true ] ||
    fail "unexpected row of the slow rank: $(cat answer.json)"
# The others waited for it; it waited for none.
[ "$(jq "[.[] | select(.rank_count == 3)] | (map(select(.pid == $slow)) | .[0].wait_ratio) < (map(select(.pid == $fast)) | .[0].wait_ratio)" answer.json)" = true ] ||
    fail "unexpected row of the waiting rank: $(cat answer.json)"
[ "$(jq '[.[] | select(.rank == 0)] | .[0] | .operations > 0 and .wait_ns > 0 and .in_operations_ns >= .wait_ns and .errors == 0' answer.json)" = true ] ||
    fail "unexpected work of a rank: $(cat answer.json)"

# The text output; other windows and jobs.
neuron-monitor query verdicts --db jobs.db >text || fail "the query as a table failed"
greps -E 'slow +2 +3 +host' text || fail "unexpected table: $(cat text)"
neuron-monitor query verdicts --db jobs.db --to 2020-01-01T00:00:00Z --from 2019-01-01T00:00:00Z --json >text || fail "the query of an earlier time failed"
[ "$(jq length text)" = 0 ] || fail "unexpected rows of an earlier time: $(cat text)"
code=0
neuron-monitor query ranks --db jobs.db --job other >/dev/null 2>errors || code=$?
[ $code = 1 ] && greps "unknown job 'other'" errors || fail "another job: unexpected exit code $code: $(cat errors)"
code=0
neuron-monitor query memory --db jobs.db --job other >/dev/null 2>errors || code=$?
[ $code = 2 ] && greps -e "--job does not apply to question 'memory'" errors || fail "a job of memory: unexpected exit code $code: $(cat errors)"
