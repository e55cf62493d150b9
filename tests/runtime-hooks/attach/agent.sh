#!/bin/bash
# neuron-monitor --attach: a job that was already running is in reports, the database and on /metrics, counted from
# then on. Without the privilege one message reports it and the agent continues; a job with hooks is left alone.
# --attach finds every job of the machine; in a PID namespace only those of this test.
if [ -z "${attach_alone-}" ] && unshare --pid --fork --mount-proc true 2>/dev/null; then
    exec env attach_alone=1 unshare --pid --fork --kill-child --mount-proc bash "$0"
fi
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq sqlite3 curl
# With the privilege, the first error is that this script runs no model.
neuron-monitor attach $$ 2>may.err || true
grep -q 'has no libnrt.so.1 mapped' may.err || skip "$(cat may.err)"

head -c 1024 /dev/zero >model.neff
coproc job {
    NEURON_PROCESS_TAG=late NEURON_RT_VISIBLE_CORES=0 \
        LD_LIBRARY_PATH=$NTK_BUILD_DIR/tests/attach-stub exec "$NTK_BUILD_DIR/tests/attach_client"
}
pid=$job_PID
tell() {
    echo "$1" >&"${job[1]}"
    read -r answer <&"${job[0]}"
    [ "$answer" = "done" ] || fail "the job answers '$answer', not 'done'"
}
tell init
tell "load $PWD/model.neff 0"
tell "exec 9 0 1000" # before the agent starts

neuron-monitor --attach --no-imds --period 300ms --db history.db --prometheus 127.0.0.1:0 --verbose 1 >reports 2>agent.err &
agent=$!
attached() { grep -c "^attached to $pid (attach_client): .*libnrt.so" agent.err | sed 's/^1$/yes/'; }
wait_for attached
mine() { jq -c "select(.neuron_runtime_data != null) | .neuron_runtime_data[] | select(.pid == $pid)" reports; }
reported() { [ "$(mine | wc -l)" -gt 0 ] && echo yes; }
wait_for reported
tell "exec 40 0 2000"
tell "exec 2 5 1000"
tell "alloc 0 0 123456"
# shellcheck disable=SC2329 # wait_for calls it
counted() {
    mine | jq -es '[.[].report.execution_stats.execution_summary] | (map(.completed) | add) == 40 and (map(.timed_out) | add) == 2' >/dev/null && echo yes
}
wait_for counted
said=$(mine | tail -1 | jq -c '[.neuron_runtime_tag, (.. | .hooks? // empty)]')
[ "$said" = '["late","attached"]' ] || fail "unexpected report: $said"
tensors() { mine | tail -1 | jq -r '.report.memory_used.neuron_runtime_used_bytes.usage_breakdown.neuroncore_memory_usage."0".tensors | if . == 123456 then "yes" else . end'; }
wait_for tensors

on_page() {
    local port
    port=$(sed -n 's/.*serving metrics on port //p' agent.err)
    [ "$(curl -fsS "http://127.0.0.1:$port/metrics" |
        awk '/^execution_status_total/ && /status_type="completed"/ && /late/ { n += $NF } END { print n + 0 }')" = 40 ] && echo yes
}
wait_for on_page
# shellcheck disable=SC2329
stored() {
    local row
    row=$(sqlite3 history.db "SELECT hooks, completed FROM process_overview WHERE pid = $pid")
    [ "$row" = 'attached|40' ] && echo yes
}
wait_for stored

tell "exec 5 0 1000"
kill -9 "$agent" # the job must not be affected, and no helper may remain
# shellcheck disable=SC2329
detached() { grep -c "^detached from $pid .*observed 4[0-9] execution calls" agent.err | sed 's/^1$/yes/'; }
wait_for detached
tell "exec 5 0 1000"

# A user without any privilege. Up to here only root could attach.
if [ "$(id -u)" = 0 ]; then
    open_to_others "$scratch"
    mkdir -m 777 unprivileged
    chmod 755 "$memory"
    export NEURON_HOOKS_DIR=$PWD/unprivileged
    as_user 65534 neuron-monitor --attach --no-imds --period 300ms --count 2 \
        >unprivileged.reports 2>unprivileged.err || fail "the agent ended"
    [ "$(wc -l <unprivileged.reports)" = 2 ] || fail "no two reports without the privilege"
    [ "$(grep -c attach unprivileged.err)" = 1 ] || fail "expected one message"
    grep -q 'attaching requires root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE' unprivileged.err ||
        fail "unexpected report without the privilege"
fi
