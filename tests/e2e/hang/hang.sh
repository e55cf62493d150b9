#!/bin/bash
# hang - ranks of a job wait for one of them: which rank, where it is, and what happened to it, according to the
# segments of this machine, to one agent, and to the agents of two machines.
. "$(dirname "$0")/../lib.sh"
needs jq curl

export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_NUM_CORES=1 NEURON_RT_ROOT_COMM_ID=127.0.0.1:46820
export NEURON_RT_LOG_LEVEL=QUIET
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank

# start RANKS STEP_MS [FAULT RANK [NEFF [queued]]]: a job; ranks[] are its processes.
start() {
    local i
    ranks=()
    for ((i = 0; i < $1; i++)); do
        ${slow_link:+$([ "$i" != "$slow_link" ] || echo env NEURON_SOFT_FAULT=slow-link:from=1,factor=600)} \
            "$rank" "$i" "$1" 100000 "$2" "$([ "$i" != "${4:--1}" ] || echo "$3")" "${5:-}" "${6:-}" 2>"rank$i.err" &
        ranks[i]=$!
    done
}
stop() { end_jobs "${ranks[@]}"; }
# hang JSON-FILTER ARGUMENT...: applies the filter to the report of the first communicator.
hang() {
    neuron-monitor hang --json "${@:2}" >hang.json || [ $? = 1 ]
    jq -r ".communicators[0] | $1" hang.json
}
says() { [ "$(hang "${@:2}")" = "$1" ] && echo yes; } # says VALUE JSON-FILTER ARGUMENT...
wheres='[.ranks[].where] | join(" ")'

neuron-monitor hang >text || fail "expected no hang, found one: $(cat text)"
[ "$(cat text)" = $'no process is a rank of a communicator\nsource: shared memory of the processes (no agent is running on this machine)' ] ||
    fail "expected no report, found: $(cat text)"

# A rank that sleeps: within the limit everything continues; beyond it the rank is named, with its last operation and
# where it waits.
start 4 5 sleep@20 2
state='"\(.kind) \(.operation) \(.sequence) \(.missing_count) \(.rendezvous) \([.ranks[].where] | join(" "))"'
wait_for says "hangs barrier 41 1 127.0.0.1:46820 arrived arrived elsewhere arrived" "$state" --after 100ms
[ "$(jq ".communicators[0].ranks[2].pid" hang.json)" = "${ranks[2]}" ] || fail "the answer names another process: $(cat hang.json)"
[ "$(jq -r '.communicators[0].ranks[2] | "\(.operation) \(.sequence) \(.in_operation)"' hang.json)" = "all_gather 40 false" ] ||
    fail "the answer names another operation: $(cat hang.json)"
wait_for says yes '.ranks[2].thread | if test("sleeps") then "yes" else . end' --after 100ms
neuron-monitor hang --after 1h >text || fail "unexpected exit code without a hang"
greps "no operation hangs in 1 communicator$" text || fail "unexpected text: $(cat text)"
code=0
neuron-monitor hang --after 100ms >text || code=$?
[ $code = 1 ] || fail "unexpected exit code of a hang: $code"
greps -F "3 of 4 ranks arrived: ranks 0-1,3" text || fail "unexpected text: $(cat text)"
greps -E "rank 2: process ${ranks[2]} .*left all_gather 40 .* ago and has not arrived since" text || fail "unexpected text: $(cat text)"
greps '^no rank belongs to the job other: ' <<<"$(neuron-monitor hang --after 100ms --job other)" || fail "no message about an unknown job"
greps '^no operation hangs in 1 communicator$' <<<"$(neuron-monitor hang --after 1h --job 127.0.0.1:46820)" || fail "a job that continues is reported"
code=0
neuron-monitor hang --after 100ms >/dev/full 2>errors || code=$?
[ $code = 1 ] && greps "cannot write to stdout: No space left on device" errors || fail "a full disk: unexpected exit code $code: $(cat errors)"
code=0
neuron-monitor hang --after 100ms --job other >/dev/null || code=$?
[ $code = 0 ] || fail "the hang of another job was counted"
stop

# The agent detects it by itself and reports it once; over HTTP it also reports the killed rank, which no other
# process reports.
port() { sed -n 's/.*listening on port //p' out.log; }
has_port() { [ -n "$(port)" ] && echo yes; }
watch() {
    rm -f out.log # of an earlier watcher
    neuron-monitor --verbose 1 --http 127.0.0.1:0 >out.jsonl 2>out.log &
    watcher=$!
    wait_for has_port
    agent=127.0.0.1:$(port)
}
watch
start 3 5
wait_for says goes_on .kind --all "$agent" # between two operations, too
neuron-monitor hang --all "$agent" >text
! greps "^idle\|the operation itself" text || fail "a job at work: $(cat text)"
wait_for says joined 'if .sequence > 20 then "joined" else .sequence end' --all "$agent"
# Must be stopped between two operations. If it stopped inside one, it continues and is stopped again.
is_stopped() { [[ $(cat "/proc/${ranks[1]}/stat") = *') T '* ]] && echo yes; }
stops_between() {
    local where
    kill -STOP "${ranks[1]}"
    wait_for is_stopped
    mv "$NEURON_HOOKS_DIR/agent.sock" "$NEURON_HOOKS_DIR/away" # read its segment, which is current
    where=$(hang '.ranks[1].where' --all)
    mv "$NEURON_HOOKS_DIR/away" "$NEURON_HOOKS_DIR/agent.sock"
    [ "$where" != elsewhere ] || { echo yes && return; }
    kill -CONT "${ranks[1]}"
}
wait_for stops_between
wait_for says "arrived elsewhere arrived" "$wheres" --after 300ms "$agent"
[ "$(jq -r '.communicators[0].ranks[1].host' hang.json)" = "$agent" ] || fail "unexpected host: $(cat hang.json)"
wait_for eval 'grep -q "has been hanging for .*: rank 1 is elsewhere" out.log && echo yes'
[ "$(grep -c 'has been hanging for .*: rank 1 is elsewhere' out.log)" = 1 ] || fail "expected one message"
metric() { curl -sf "http://$agent/metrics" | sed -n "s/^neuron_collective_$1{.*runtime_tag=\"${ranks[0]}\".*} //p" | head -1; }
wait_for eval '[ "$(metric in_operation_seconds | cut -d. -f1)" -ge 1 ] && echo yes'
barriers=$(curl -sf "http://$agent/metrics" | sed -n "s/^neuron_collective_operations_total{.*operation=\"barrier\".*runtime_tag=\"${ranks[0]}\".*} //p")
[ "$barriers" = "$(($(jq '.communicators[0].sequence' hang.json) / 2))" ] || fail "$barriers barriers in /metrics, other than in $(cat hang.json)"
kill -9 "${ranks[1]}"
wait_for says lost '.ranks[1].where' "$agent"
[ "$(jq -r '.communicators[0].kind' hang.json)" = broke ] || fail "a dead rank does not break the communicator: $(cat hang.json)"
[ "$(jq '.communicators[0].ranks[1].pid' hang.json)" = "${ranks[1]}" ] || fail "the answer names another dead process: $(cat hang.json)"
# Without a name the agent of this machine answers; for another user of the machine, the segments do.
[ "$(hang '.ranks[1].where')" = lost ] && [ "$(jq -r '.hosts[0] | "\(.host) \(.source)"' hang.json)" = " agent" ] ||
    fail "the agent of this machine was not queried: $(cat hang.json)"
neuron-monitor hang >text && fail "a lost rank: expected exit code 1, found 0"
greps '^source: the agent on this machine$' text || fail "unexpected text: $(cat text)"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$scratch" "$memory" "$NEURON_HOOKS_DIR"
    setpriv --reuid 65534 --regid 65534 --clear-groups neuron-monitor hang >text || true
    greps '^source: shared memory of the processes (.* 403: it responds only to root and its own user)$' text || fail "unexpected source for another user: $(cat text)"
fi
wait_for eval 'grep -q "broke: rank 1 is lost" out.log && echo yes'
# The others are notified and exit: they do not count as ranks that were never seen, and the start time of the trouble is kept.
wait_for says "gone lost gone" "$wheres" "$agent"
neuron-monitor hang "$agent" >text || true
greps 'rank 0: process .*left the communicator after .*; its process exited' text || fail "a rank that left after another one was lost counts as lost: $(cat text)"
stop

# A job with ranks that exit normally, one after the other, is not a trouble, and nothing remains of it. It replaces the
# killed job.
ends_in_order() {
    local before=$(grep -c 'broke' out.log)
    start 3 10 "" "" "$scratch/memcpy.neff"
    unset LD_PRELOAD LD_LIBRARY_PATH
    # The earlier ranks are still known.
    wait_for says joined "if .sequence > 20 and .ranks[0].pid == ${ranks[0]} then \"joined\" else .sequence end" --all "$agent"
    touch world.end
    wait "${ranks[@]}" || fail "a rank failed: $(cat rank?.err)"
    rm world.end
    wait_for eval '[ "$(neuron-monitor hang --json --all "$agent" | jq -c .communicators)" = "[]" ] && echo yes'
    [ "$(grep -c 'broke' out.log)" = "$before" ] || fail "a normal exit is reported as trouble"
}
neuron-packager example memcpy -o memcpy.neff
ends_in_order
if [ -z "${NTK_SANITIZE:-}" ]; then
    export LD_PRELOAD=$NTK_LIB_DIR/libneuron-hooks.so LD_LIBRARY_PATH=$NTK_LIB_DIR/vendor
    ends_in_order
fi

kill "$watcher" # the rest uses segments only
wait "$watcher" || fail "the agent failed"
[ ! -e "$NEURON_HOOKS_DIR/agent.sock" ] || fail "its socket was not removed"

# A model that ranks run together: the ranks wait inside its executions.
start 2 5 sleep@10 1 "$scratch/memcpy.neff"
wait_for says yes 'if .kind == "hangs" and .missing_count == 1 and .ranks[1].where == "elsewhere" and .sequence > 10 then "yes" else "no" end' --after 300ms
neuron-monitor hang --json --all >hang.json || true
[ "$(jq -r '[.communicators[] | select(.model_id > 0) | .operation] | join(" ")' hang.json)" = program ] ||
    fail "unexpected communicator of the model: $(cat hang.json)"
stop

# Queued operations, two at a time: the current one is the sum, by its own name, although the other was queued after
# it.
queued() {
    start 3 5 sleep@12 1 "" queued
    unset LD_PRELOAD LD_LIBRARY_PATH
    wait_for says "hangs all_reduce 25 1 queue 0 of $NEURON_RT_ROOT_COMM_ID arrived elsewhere arrived" "$state" --after 300ms
    stop
}
queued

# Around the vendor's runtime (a stand-in) the hooks record the same about host calls and executions.
if [ -z "${NTK_SANITIZE:-}" ]; then # the sanitizer's library must come first
    export LD_PRELOAD=$NTK_LIB_DIR/libneuron-hooks.so LD_LIBRARY_PATH=$NTK_LIB_DIR/vendor
    start 3 5 sleep@12 0 "$scratch/memcpy.neff"
    unset LD_PRELOAD LD_LIBRARY_PATH
    wait_for says "barrier 25 elsewhere arrived arrived" 'select(.model_id == 0) | "\(.operation) \(.sequence) \([.ranks[].where] | join(" "))"' --after 300ms
    neuron-monitor hang --json --all >hang.json || true
    [ "$(jq -r '[.communicators[] | select(.model_id > 0) | .sequence] | join(" ")' hang.json)" = 13 ] ||
        fail "unexpected executions around the vendor's library: $(cat hang.json)"
    stop
    for vendor in vendor vendor-unversioned; do # of either form
        export LD_PRELOAD=$NTK_LIB_DIR/libneuron-hooks.so LD_LIBRARY_PATH=$NTK_LIB_DIR/$vendor
        queued
    done
fi

# A rank that becomes slow at some step: the others wait for it each time, and its host is the cause.
start 4 20 slow@20 2
slow() { neuron-monitor slow --for 2s --json "$@" >slow.json || [ $? = 1 ]; }
is_slow() { slow "$@" && [ "$(jq -r '.communicators[0].slow | "\(.rank) \(.where)"' slow.json)" = "2 host" ] && echo yes; }
wait_for is_slow
[ "$(jq '.communicators[0].slow.pid' slow.json)" = "${ranks[2]}" ] || fail "the answer names another slow rank: $(cat slow.json)"
watch
wait_for is_slow "$agent"
wait_for eval 'grep -q "rank 2 of 4 (process ${ranks[2]}) is slow: the other ranks spend .* waiting for it; cause: host" out.log && echo yes'
stop
# A rank that arrives in time but has slow links.
slow_link=1
start 4 20
is_slow() { slow "$@" && [ "$(jq -r '.communicators[0].slow | "\(.rank) \(.where)"' slow.json)" = "1 link" ] && echo yes; }
wait_for is_slow
[ "$(jq '.communicators[0].slow.pid' slow.json)" = "${ranks[1]}" ] || fail "the answer names another rank with a slow link: $(cat slow.json)"
wait_for is_slow "$agent"
slow_link=
stop
# An execution that does not end, in a process that is not a rank: listed by its core, here and by an agent, until
# the process is gone.
rm "$NEURON_HOOKS_DIR/agent.sock" # the agent still reports the killed ranks
neuron-packager example conv -s 4 -o lone.neff
NEURON_RT_EXEC_TIMEOUT=10000 NEURON_SOFT_FAULT=hang:at=20 neuron-bench exec lone.neff --count 40 >lone.txt 2>&1 &
lone=$!
is_stuck() {
    neuron-monitor hang --json --after 1s "$@" >hang.json || [ $? = 1 ]
    [ "$(jq ".stuck | length == 1 and .[0].pid == $lone and .[0].age_ns > 1000000000" hang.json)" = true ] && echo yes
}
wait_for is_stuck
wait_for is_stuck "$agent"
[ "$(jq -r '.stuck[0].host' hang.json)" = "$agent" ] || fail "the answer names another host of the stuck core: $(cat hang.json)"
neuron-monitor hang --after 1s --job other >text || fail "another job's execution counts: $(cat text)"
code=0
neuron-monitor hang --after 1s >text || code=$?
[ $code = 1 ] && greps "STUCK: core [0-9]* of process $lone (neuron-bench) has been in one execution for .*, longer than 1.00s" text ||
    fail "an execution that is stuck: unexpected exit code $code: $(cat text)"
neuron-monitor hang --after 1h >text || fail "an execution within the limit is reported: $(cat text)"
greps ', and no execution is stuck: the longest has been running for [0-9.]*[a-z]*, limit 3600s' text || fail "the answer lacks the longest execution: $(cat text)"
is_learned() { neuron-monitor hang --json >hang.json || [ $? = 1 ]; [ "$(jq '.stuck[0] | .threshold_is_learned and .threshold_ns >= 5000000000' hang.json)" = true ] && echo yes; }
wait_for is_learned
wait_for eval 'grep -q "core [0-9]* of process $lone (neuron-bench) has been in one execution for" out.log && echo yes'
kill -9 "$lone"
wait "$lone" 2>/dev/null || true
wait_for eval 'grep -q "the execution on core [0-9]* of process $lone is no longer stuck" out.log && echo yes'

# Two machines (hooks folders) with one agent each: their ranks form one job. Ranks of a machine that was not asked
# are unseen.
second=$(mktemp -d "$memory/second-XXXXXX")
neuron-monitor --verbose 1 --http 127.0.0.1:0 >a.jsonl 2>a.log &
NEURON_HOOKS_DIR=$second neuron-monitor --verbose 1 --http 127.0.0.1:0 >b.jsonl 2>b.log &
port_of() { sed -n 's/.*listening on port //p' "$1"; }
wait_for eval '[ -n "$(port_of a.log)" ] && [ -n "$(port_of b.log)" ] && echo yes'
a=127.0.0.1:$(port_of a.log) b=http://127.0.0.1:$(port_of b.log)
# Software ranks meet in a hooks folder, so each machine runs both ranks of a separate job with the same name. Rank 0
# of the first and rank 1 of the second are checked.
"$rank" 0 2 100000 5 2>/dev/null &
NEURON_HOOKS_DIR=$second "$rank" 1 2 100000 5 2>/dev/null &
wait_for says "arrived arrived" "$wheres" --after 300ms "$a" "$b"
[ "$(jq -r '[.communicators[0].ranks[].host] | join(" ")' hang.json)" = "$a $b" ] || fail "unexpected hosts: $(cat hang.json)"
wait_for says "arrived unseen" "$wheres" --after 300ms "$a"
# A machine that does not respond is reported, and its ranks are unseen.
neuron-monitor hang --after 300ms --timeout "${patience}s" "$a" 127.0.0.1:1 >text 2>errors || true
greps "127.0.0.1:1: .*; its ranks are missing from this output" errors || fail "unexpected errors: $(cat errors)"
greps "rank 1: not reported by any process" text || fail "unexpected text: $(cat text)"
code=0
neuron-monitor hang 127.0.0.1:1 >text 2>/dev/null || code=$?
[ ! -s text ] || fail "the answer describes a machine that did not respond: $(cat text)"
[ $code = 3 ] || fail "exit code $code when no agent answers"
