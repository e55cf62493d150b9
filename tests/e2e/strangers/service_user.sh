#!/bin/bash
# service_user - the agent as its unit runs it: a user with four capabilities. It counts the jobs of every user,
# removes what they leave behind, and answers all of them; no other user can pose as it.
. "$NTK_SOURCE_DIR/tests/support/apart.sh"
. "$(dirname "$0")/../lib.sh"
needs jq setpriv
open_to_others "$scratch"
export LD_LIBRARY_PATH=$NTK_LIB_DIR # of that copy
export NEURON_RT_LOG_LEVEL=QUIET
export -n NEURON_HOOKS_DIR # each user has a folder
service=64901 stranger=64902
neuron-packager example conv -s 4 -o m.neff >/dev/null
chmod 644 m.neff

# The rights of the unit.
unit=$NTK_SOURCE_DIR/agent/neuron-monitor.service
rights=$(sed -n 's/^AmbientCapabilities=//p' "$unit" | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
[ "$(sed -n 's/^CapabilityBoundingSet=//p' "$unit")" = "$(sed -n 's/^AmbientCapabilities=//p' "$unit")" ] || fail "the unit has two sets of rights"
as_service() { # in the background
    exec setpriv --reuid $service --regid $service --clear-groups --inh-caps="$rights" --ambient-caps="$rights" \
        --bounding-set="-all,$rights" --no-new-privs "$@"
}
install -d -o $service -g $service /run/neuron-monitor "$scratch/state"
as_service neuron-monitor --period 200ms --db "$scratch/state/monitor.db" >reports.jsonl 2>agent.log &
agent=$!
wait_for has_reports reports.jsonl

# runs USER TAG: runs a job of three executions; the agent counts it although it has ended by the next look.
runs() {
    setpriv --reuid "$1" --regid "$1" --clear-groups env NEURON_PROCESS_TAG="$2" neuron-bench exec "$scratch/m.neff" -n 3 --cores 0 >bench.out 2>&1 ||
        fail "cannot run an execution"
    is_counted() {
        [ "$(jq -s --arg tag "$2" '[.[].neuron_runtime_data[]? | select(.neuron_runtime_tag == $tag)
            | .report.execution_stats.execution_summary.completed] | add' reports.jsonl)" = "$3" ] && echo yes
    }
    wait_for is_counted "$1" "$2" 3
}
is_empty() { [ "$(find "$1" -name '[0-9]*-[0-9]*' | wc -l)" = 0 ] && echo yes; }
watched 1001
runs 1001 first
runs 1001 second
wait_for is_empty /dev/shm/neuron-1001
# In a folder of all users, in which another user created a file with the name of an agent's mark.
mkdir -m 1777 /dev/shm/new
as_user $stranger sh -c 'printf 1 >/dev/shm/new/.reader.lock'
mv /dev/shm/new /dev/shm/neuron
is_marked() { [ "$(stat -c %u /dev/shm/neuron/.reader.lock)" = $service ] && echo yes; }
wait_for is_marked
runs 1002 third
wait_for is_empty /dev/shm/neuron

# It answers every user, but the answer about ranks is only for root and the service.
source_of_hang() { # USER: prints why the agent did not answer, or null
    setpriv --reuid "$1" --regid "$1" --clear-groups neuron-monitor hang --json >hang.json 2>hang.err || true
    jq -r '.hosts[].no_agent // empty' hang.json
}
[ "$(stat -c %u /run/neuron-monitor/agent.sock)" = $service ] || fail "the socket belongs to another user"
[ "$(source_of_hang 0)" = "" ] || fail "root is not answered: $(cat hang.json)"
source_of_hang 1001 | greps 'it responds only to root and its own user' || fail "data of users is shown to another user: $(cat hang.json)"
# A folder that was not created by the service manager is not used.
chown 0:0 /run/neuron-monitor
source_of_hang 1001 | greps 'agent.sock is not a socket owned by root, the service or this user' || fail "the socket of another user is trusted: $(cat hang.json)"
chown $service:$service /run/neuron-monitor
runs 1001 fourth
kill -TERM $agent
wait $agent || fail "the agent exited with $?"
