#!/bin/bash
# canary - neuron-monitor diag --canary finds a flipped bit on a free core, and never makes a job that starts
# meanwhile fail to get a core, however often jobs start.
. "$(dirname "$0")/../lib.sh"
needs jq
neuron-bench machine >/dev/null
neuron-packager example memcpy -o memcpy.neff

neuron-monitor diag --canary --interval 1ms --rounds 3 --json >good.jsonl || fail "unexpected output: $(cat good.jsonl)"
[ "$(jq -s 'map(select(.result == "PASS")) | [length, (map(.part) | unique | length), (map(.core) | unique | length)]' -c good.jsonl)" = '[6,3,2]' ] ||
    fail "unexpected output: $(cat good.jsonl)"
code=0
NEURON_SOFT_FAULT=bit-flip:at=1,core=1 neuron-monitor diag --canary --interval 1ms --rounds 1 >bad.txt || code=$?
[ $code = 1 ] || fail "unexpected exit code of the canary after a wrong answer: $code: $(cat bad.txt)"
grep -q ' FAIL core 1 answer dma-copy: silently wrong answer: 1 wrong bit in ' bad.txt || fail "unexpected output: $(cat bad.txt)"
[ "$(grep -c FAIL bad.txt)" = 1 ] || fail "unexpected output: $(cat bad.txt)"

# Every program reports this verdict for the device until a diagnosis finds the core healthy.
reason() { neuron-monitor --once | jq -c '.neuron_ext.devices[0].health | [.verdict, (.reasons[] | .reason, .cores)]'; }
[ "$(reason)" = '["unhealthy","silent_corruption",[1]]' ] || fail "unexpected output: $(reason)"
neuron-monitor diag -r 2 --core 0 --memory 4K >/dev/null || fail "core 0 is reported as healthy"
[ "$(reason)" = '["unhealthy","silent_corruption",[1]]' ] || fail "another core was reported as healthy: $(reason)"
neuron-monitor diag -r 2 --memory 4K >/dev/null || fail "both cores are reported as healthy"
[ "$(reason)" = '["healthy"]' ] || fail "unexpected output: $(reason)"

# Jobs on one core, on both, on any: the canary occupies each core most of the time and leaves at once.
neuron-monitor diag --canary --interval 1ms >canary.txt 2>&1 &
canary=$!
for cores in '--cores 0' '--cores 1' '--cores 0-1' '--cores 0-1'; do
    for _ in 1 2 3; do
        # shellcheck disable=SC2086
        neuron-bench exec memcpy.neff $cores --count 2 >/dev/null 2>job.log || fail "a job ($cores) was rejected"
    done
done
kill -TERM $canary
wait $canary || fail "the canary exited with $?: $(cat canary.txt)"
grep -q ', 0 wrong; ' canary.txt || fail "unexpected output: $(cat canary.txt)"
# A killed canary also releases its core.
neuron-monitor diag --canary --interval 1ms >canary.txt 2>&1 &
canary=$!
has_worker() { [ -n "$(cat /proc/$canary/task/$canary/children)" ] && echo yes; }
wait_for has_worker
kill -9 $canary
neuron-bench exec memcpy.neff --cores 0-1 --count 2 >/dev/null || fail "a core is lost with the canary"

# Next to an agent: a finding of the canary becomes a verdict in the agent's reports. The canary exits with the agent,
# however the agent exits.
neuron-monitor diag -r 2 --memory 4K >/dev/null || fail "the cores are not healthy at the start"
verdict() { tail -n 2 agent.jsonl | head -n 1 | jq -c '.neuron_ext.devices[0].health | [.verdict, (.reasons[] | .reason)]'; }
children() { cat "/proc/$agent/task/$agent/children"; }
start_agent() {
    : >agent.jsonl
    "$@" neuron-monitor --period 200ms --canary 100ms >agent.jsonl 2>agent.log &
    agent=$!
    has_child() { [ -n "$(children)" ] && echo yes; }
    wait_for has_child
    child=$(children)
}
is_gone() { are_gone $child && echo yes; }
start_agent env NEURON_SOFT_FAULT=bit-flip:at=1,core=1
is_found() { [ "$(verdict)" = '["unhealthy","silent_corruption"]' ] && echo yes; }
wait_for is_found
is_logged() { grep -q 'FAIL core 1 answer ' agent.log && echo yes; }
wait_for is_logged
neuron-bench exec memcpy.neff --cores 0-1 --count 2 >/dev/null || fail "the agent's canary keeps a core from a job"
kill -TERM "$agent"
wait "$agent" || fail "the agent exited with $?"
wait_for is_gone
start_agent env
kill -9 "$agent"
wait_for is_gone
