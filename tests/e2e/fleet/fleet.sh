#!/bin/bash
# fleet - a real Prometheus scrapes twenty machines: some without batch jobs, some with 500 at once, some with 500
# that come and go, one with a broken device. The number of series of a machine does not depend on its jobs, and the
# rules hold for all machines.
. "$(dirname "$0")/../lib.sh"
. "$NTK_SOURCE_DIR/tests/e2e/prometheus/server.sh"
needs prometheus jq curl
export NEURON_SOFT_INSTANCE=trn1.32xlarge
nodes=20

# The reports of real agents on each kind of machine.
neuron-packager example memcpy -o memcpy.neff
record() { # KIND REPORTS OPTION...
    neuron-monitor --period 500ms --no-imds --count "$2" "${@:3}" >"$1.jsonl" 2>>agent.log || fail "the agent of $1 failed"
}
neuron-bench machine >/dev/null
NEURON_PROCESS_TAG=train neuron-bench exec memcpy.neff --cores 0-31 --rate 64 --duration 600s >/dev/null 2>&1 &
job=$!
works() { # on all cores
    neuron-monitor --period 3s --no-imds --once |
        jq -e '[.neuron_runtime_data[].report.neuron_ext.neuroncores[].execution_summary[0]] | length == 32 and all(. > 0)' >/dev/null && echo yes
}
wait_for works
record plain 4
tail -n 2 plain.jsonl >two && mv two plain.jsonl
mkdir jobs
for id in $(seq 1 500); do # devices and cores, up to 16 jobs each
    place=$((id % 48))
    file=$([ $place -lt 16 ] && echo $place || echo $(((place - 16) / 2)).$((place % 2)))
    printf '%s\nuser=user%s\n' "$id" $((id % 40)) >>"jobs/$file"
done
record held 2 --hpc-job-mapping-dir jobs
jq -e '.neuron_ext.job_mapping | .error == "" and (.jobs | length) == 500' held.jsonl >/dev/null ||
    fail "jobs in the reports: $(jq -c '.neuron_ext.job_mapping | .error, (.jobs | length)' held.jsonl)"
# 500 jobs one after the other, and the reports of an agent meanwhile.
mkdir coming
(for id in $(seq 1001 1500); do
    printf '%s\n' "$id" >coming/.new && mv coming/.new "coming/$((id % 16))"
    [ $((id % 16)) != 0 ] || sleep 0.1
    rm -f "coming/$(((id + 8) % 16))"
done) &
coming=$!
have_come() { [ -n "$(ls coming)" ] && echo yes; }
wait_for have_come
record coming 6 --hpc-job-mapping-dir coming
wait "$coming"
kill "$job"
mkdir -m 700 "$memory/broken"
(
    export NEURON_HOOKS_DIR=$memory/broken
    neuron-bench machine >/dev/null
    NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec memcpy.neff --cores 6 --count 2 >/dev/null 2>&1 || true
    record broken 2
)
jq -es 'last | .neuron_ext.devices[3].health.verdict == "unhealthy"' broken.jsonl >/dev/null || fail "no device is unhealthy: $(tail -n 1 broken.jsonl | jq -c '.neuron_ext.devices[3]')"

"$NTK_BUILD_DIR/tests/fleet" serve $nodes plain.jsonl held.jsonl coming.jsonl broken.jsonl >ports &
has_ports() { [ "$(wc -w <ports)" = 8 ] && echo yes; }
wait_for has_ports
read -ra ports <ports
cp "$NTK_SOURCE_DIR/exporters/prometheus/rules/neuron.rules.yml" rules.yml
{
    printf 'global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\nrule_files: [ rules.yml ]\nscrape_configs:\n  - job_name: neuron\n'
    printf '    honor_labels: true\n    scrape_timeout: 1s\n    static_configs:\n'
    for k in $(seq 0 $((nodes - 1))); do
        echo "      - { targets: [ '127.0.0.1:${ports[k % 8]}' ], labels: { __metrics_path__: /n/$k/metrics, instance: node-$k, kind: kind-$((k % 4)) } }"
    done
} >server.yml
server_starts
query() { server_answers "$1" | jq -c "$2"; }
at_failure() {
    query 'count by (kind) ({__name__=~"neuron.*|execution.*|system.*"})' '.data.result' >series.log
    curl -s "http://127.0.0.1:$(server_port)/api/v1/targets" | jq -c '.data.activeTargets[] | select(.health != "up") | [.labels.instance, .lastError]' >targets.log
}
all_up() { [ "$(query 'sum(up)' '.data.result[0].value[1]')" = "\"$nodes\"" ] && echo yes; }
wait_for all_up

# Each machine of those three kinds has the same number of series, and none twice.
busy='instance=~"node-.*",kind=~"kind-[012]"'
counts() { query "count by (instance) ({$busy,__name__!~\"neuron_(device_)?job_info|ALERTS.*|up|scrape_.*\",__name__!~\".*:.*\"})" '.data.result | [length, (map(.value[1]) | unique | length)]'; }
all_alike() { [ "$(counts)" = '[15,1]' ] && echo yes; }
wait_for all_alike
jobs() { query "count by (instance) ($1{kind=\"kind-$2\"})" '[.data.result[].value[1]] | unique'; }
# Polled: the series of a machine disappear while a scrape of it fails.
jobs_are() { [ "$(jobs neuron_job_info 1) $(jobs neuron_device_job_info 1)" = '["32"] ["16"]' ] && echo yes; }
wait_for jobs_are
[ "$(jobs neuron_job_info 0)" = '[]' ] || fail "a job holds no device, but the page shows one: $(jobs neuron_job_info 0)"
some_come() { [ "$(query 'max(count by (instance) (neuron_job_info{kind="kind-2"})) <= 32' '.data.result | length')" = 1 ] && echo yes; }
wait_for some_come
# A join finds exactly one job for each core.
are_joined() {
    [ "$(query 'count(neuroncore_utilization_ratio{kind="kind-1"} * on (instance, neuroncore) group_left (job_id) neuron_job_info)' '.data.result[0].value[1]')" = '"160"' ] && echo yes
}
wait_for are_joined
# This still holds after each of the six lines was shown.
rounds() { [ "$(query 'min(count_over_time(up[1h])) >= 8' '.data.result | length')" = 1 ] && echo yes; }
wait_for rounds
wait_for all_alike

# Every rule can be evaluated; an unhealthy device is reported for its own machine and for no other.
rules() { curl -sf "http://127.0.0.1:$(server_port)/api/v1/rules" | jq -c '[.data.groups[].rules[] | .health] | unique'; }
rules_are_good() { [ "$(rules)" = '["ok"]' ] && echo yes; }
wait_for rules_are_good
unhealthy() { curl -sf "http://127.0.0.1:$(server_port)/api/v1/alerts" | jq -c '[.data.alerts[] | select(.labels.alertname == "NeuronNodeUnhealthy") | .labels.instance] | sort'; }
broken_are_reported() { [ "$(unhealthy)" = '["node-11","node-15","node-19","node-3","node-7"]' ] && echo yes; }
wait_for broken_are_reported
