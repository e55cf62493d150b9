#!/bin/bash
# health_command - neuron-monitor health: its exit codes, and its report for a machine without devices, a healthy
# one, one with faults of a device and of a core, and for remote agents, some with a token, some that do not respond.
. "$(dirname "$0")/../lib.sh"
needs jq
export NEURON_SOFT_INSTANCE=inf2.24xlarge

# health CODE ARGUMENT...: its output is in text, its errors in errors.
health() {
    local expected=$1 code=0
    shift
    neuron-monitor health "$@" >text 2>errors || code=$?
    [ $code = "$expected" ] || fail "exit code $code of health $*: $(cat text errors)"
}

health 3 --for 10ms
greps '^this machine is unknown: it reports no Neuron devices$' <text || fail "unexpected output: $(cat text)"
health 2 --no-such
health 2 --token-file x
health 2 --sysfs-root x localhost:1
health 2 --for 10ms --npd
[ "$(cat text)" = 'health is unknown: no Neuron devices' ] || fail "unexpected output: $(cat text)"
health 2 --npd --json
health 2 --reason dma_abort
health 2 --npd --reason dma_abort,nothing
grep -q "invalid value 'nothing' for --reason: expected reasons listed in docs/health.md" errors || fail "unexpected output: $(cat errors)"
neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
health 0 --for 10ms
greps '^this machine is healthy$' <text || fail "unexpected output: $(cat text)"
[ "$(grep -cE ' healthy +- .* none$' text)" = 6 ] || fail "a local check does not show since when: $(cat text)"
greps '^source: the devices and processes of this machine (no agent is running on this machine)$' <text ||
    fail "unexpected source: $(cat text)"
health 0 --for 10ms --npd
[ "$(cat text)" = 'no Neuron errors' ] || fail "unexpected output: $(cat text)"
code=0
neuron-monitor health --for 10ms --npd >/dev/full 2>errors || code=$?
[ $code = 2 ] || fail "unexpected exit code of a failed write: $code"
code=0
neuron-monitor health --for 10ms >/dev/full 2>errors || code=$?
[ $code = 1 ] || fail "unexpected exit code on a full disk: $code"

echo 0123456789abcdef0123 >token
neuron-monitor --period 1h --http 0 --http-token-file token --no-imds --quiet --verbose 1 2>agent.log &
first_agent=$!
is_up() { grep -q 'listening on port' agent.log && echo yes; }
wait_for is_up
agent=127.0.0.1:$(sed -n 's/.*http: listening on port //p' agent.log)
is_well() { health 0 --token-file token "$agent" && echo yes; }
wait_for is_well

# Every process sees an error of a device. An error of a core that no counter records is known only to observers
# present at that time.
NEURON_SOFT_FAULT=hbm-ue-repairable:at=3 neuron-bench exec memcpy.neff --cores 4 --count 5 >/dev/null 2>&1 || true
NEURON_SOFT_FAULT=dma-abort:at=3 neuron-bench exec memcpy.neff --cores 7 --count 5 >/dev/null 2>&1 || true
is_reported() {
    neuron-monitor health --token-file token --json "$agent" >text 2>errors || [ $? = 1 ] || return
    jq -e '.hosts[0].devices[3].reasons | any(.reason == "dma_abort" and .cores == [7])' <text >/dev/null && echo yes
}
wait_for is_reported
# Without a name, the command queries the agent of this machine, which remembers earlier events. An agent that gets no
# processor for 5 s does not answer, and the command falls back to segments: retry.
from_agent() {
    neuron-monitor health --json >text 2>errors || [ $? = 1 ] || return
    jq -e '.hosts[0].source == "agent"' <text >/dev/null && echo yes
}
wait_for from_agent
jq -e '.hosts[0] | .source == "agent" and .action == "reload_driver" and ([.devices[] | select(.verdict != "healthy") | .device] == [2, 3])' <text >/dev/null ||
    fail "unexpected output: $(cat text)"
shows_source() { health 1 && greps '^source: the agent on this machine$' <text && echo yes; }
wait_for shows_source
top_asks() { neuron-top --once -d 200ms >text && greps '^ND[23] unhealthy since [0-9:]* .* and 1 more device$' <text && echo yes; }
wait_for top_asks
mv "$NEURON_HOOKS_DIR/agent.sock" "$NEURON_HOOKS_DIR/away"
neuron-top --once -d 200ms >text
greps '^ND2 unhealthy (hbm_repairable: ' <text || fail "neuron-top without an agent shows another verdict: $(cat text)"
health 1 --for 10ms --json
jq -e '.hosts[0] | .source == "segments" and (.devices | all(has("since_ns") | not)) and ([.devices[] | select(.verdict != "healthy") | .device] == [2])' <text >/dev/null ||
    fail "unexpected output: $(cat text)"
mv "$NEURON_HOOKS_DIR/away" "$NEURON_HOOKS_DIR/agent.sock"
# The earlier answer again, for the next checks.
wait_for is_reported
# Also core 4, because the agent observed the process itself.
jq -e '[.hosts[0].devices[].cores[] | select(.verdict != "healthy")] | any(.core == 7) and all(.verdict == "unhealthy" and (.core == 4 or .core == 7))' <text >/dev/null ||
    fail "unexpected cores: $(cat text)"
[ "$(jq -c '[.hosts[0].devices[] | select(.verdict != "healthy") | [.device, .verdict, .action]]' <text)" = \
    '[[2,"unhealthy","reload_driver"],[3,"unhealthy","reset_device"]]' ] || fail "unexpected devices: $(cat text)"

# A machine that does not respond is unknown, which is less bad than unhealthy.
health 1 --token-file token "$agent" 127.0.0.1:1
greps '^127.0.0.1:1 is unknown: ' <text || fail "unexpected output: $(cat text)"
greps "^$agent is unhealthy: reload the driver or reboot the instance$" <text || fail "unexpected output: $(cat text)"
greps "^$agent  *3  unhealthy .* dma_abort  *7  *[0-9]*  reset_device$" <text || fail "unexpected output: $(cat text)"
health 3 127.0.0.1:1
health 3 "$agent"
greps 'authentication required' <text || fail "unexpected output: $(cat text)"

# As node-problem-detector asks: with the rule of its configuration, and for a single reason. The condition has only
# one rule, because several would repeat one another's messages.
config=$NTK_SOURCE_DIR/exporters/kubernetes/node-problem-detector.json
jq -e --argjson max 80 '.plugin == "custom" and .pluginConfig.max_output_length == $max and (.conditions | map(.type)) == ["NeuronHealth"] and
    (.rules | map(.condition)) == ["NeuronHealth"] and
    (.rules | all(.type == "permanent" and .condition == "NeuronHealth" and .args[:3] == ["health", "--npd", "--reason"]))' "$config" >/dev/null || fail "unexpected rules in $config"
jq -r '.rules[].args[3]' "$config" | tr , '\n' | sort >rules
sed -nE 's/^\| `([a-z_]+)` \| unhealthy .*/\1/p' "$NTK_SOURCE_DIR/docs/health.md" | sort >reasons
diff reasons rules >differ || fail "docs/health.md and $config have different reasons: $(cat differ)"
while read -r expected list; do
    health "$expected" --npd --reason "$list" --token-file token "$agent"
    [ "$(wc -l <text)" = 1 ] && [ "$(wc -L <text)" -le 80 ] || fail "$list: expected one line of at most 80 characters: $(cat text)"
done <<END
1 $(jq -r '.rules[0].args[3]' "$config")
1 dma_abort
1 hbm_repairable
0 hbm_uncorrectable
0 silent_corruption
END
health 1 --npd --token-file token "$agent"
greps '^device 2: hbm_repairable: reload the driver or reboot the instance$' <text || fail "unexpected output: $(cat text)"
health 2 --npd --reason hbm_uncorrectable 127.0.0.1:1
greps '^health is unknown: ' <text || fail "unexpected output: $(cat text)"

# The epilog of a job queries at once, so an answer is newer than its query and includes the most recent events.
for device in 0 1 4 5; do
    find "$NEURON_HOOKS_DIR/soft" -path "*neuron$device/*" -name mem_ecc_uncorrected >counter
    echo 1 1<>"$(cat counter)" # in one write, never empty
    wait_for from_agent
    jq -e --argjson device $device '.hosts[0] | .source == "agent" and .devices[$device].verdict == "unhealthy"' <text >/dev/null ||
        fail "no error of device $device: $(cat text)"
done

# An agent that found the socket taken serves it once the other one has exited.
neuron-monitor --period 1h --http 0 --no-imds --quiet --verbose 1 2>second.log &
is_second_up() { grep -q 'another process is listening on it' second.log && echo yes; }
wait_for is_second_up
kill $first_agent
wait $first_agent || fail "the first agent failed"
takes_over() {
    neuron-monitor health --for 10ms --json >text 2>errors
    jq -e '.hosts[0].source == "agent"' <text >/dev/null && echo yes
}
wait_for takes_over
