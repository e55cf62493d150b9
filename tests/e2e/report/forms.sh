#!/bin/bash
# forms - reports about two applications with each option, on machines with one and with two physical cores per
# logical core; every line conforms to the schema.
. "$(dirname "$0")/../lib.sh"
needs jq
needs_python jsonschema

report() { neuron-monitor --once --period 200ms "$@"; }
# A report during which both applications executed; plain.json has them ordered by tag, not by arrival.
both_run() {
    report >plain.jsonl
    jq '.neuron_runtime_data |= sort_by(.neuron_runtime_tag)' plain.jsonl >plain.json
    jq -e '[.neuron_runtime_data[] | select(.report.execution_stats.execution_summary.completed > 0)] | length == 2' plain.jsonl >/dev/null &&
        echo yes
}
# holds FILE FILTER: the filter is true for the report in FILE.
holds() { jq -e "$2" "$1" >/dev/null || fail "$machine: $1 does not satisfy $2"; }

# on MACHINE LNC: runs two applications with one core each, and makes reports in all forms.
on() {
    machine=$1
    export NEURON_HOOKS_DIR=$memory/$machine NEURON_SOFT_INSTANCE=$machine
    mkdir -m 700 "$NEURON_HOOKS_DIR"
    neuron-packager example memcpy --lnc "$2" -o "$machine.neff"
    local tag benches=()
    for tag in 0 1; do
        # Only the first keeps a log of its memory; the log takes memory too.
        NEURON_PROCESS_TAG=app-$tag NEURON_RT_DEBUG_MEMLOG_MAX_SIZE=$((1000 * (1 - tag))) neuron-bench exec "$machine.neff" --cores $tag --duration 900s --rate 50 >/dev/null 2>&1 &
        benches+=($!)
    done
    mkdir "$machine.out"
    cd "$machine.out"
    wait_for both_run
    report --timestamps --all-cores >all.jsonl
    report --vendor-keys-only >vendor.jsonl
    report --omit loaded_models,usage_data,usage_breakdown,v3d,neuron_ext >omit.jsonl
    report --command-lines >commands.jsonl
    neuron-monitor --count 2 --period 200ms --timestamps >count.jsonl
    echo '{"neuron_runtimes":[{"tag_filter":"-1$","metrics":[{"type":"memory_used"}]}]}' >one.json
    report -c one.json >one.jsonl
    echo '{"system_metrics":[{"type":"memory_info"}]}' >none.json
    report -c none.json >none.jsonl
    kill "${benches[@]}"
    valid_reports ./*.jsonl

    holds plain.json '[.neuron_runtime_data[].neuron_runtime_tag] == ["app-0", "app-1"]'
    holds plain.json 'keys_unsorted == ["neuron_runtime_data", "system_data", "instance_info", "neuron_hardware_info", "neuron_ext"]'
    holds vendor.jsonl 'keys_unsorted == ["neuron_runtime_data", "system_data", "instance_info", "neuron_hardware_info"]'
    holds plain.json '[.neuron_runtime_data[].report.neuron_ext.memory | map(select(.category == "host_application" and (has("core") | not)) | .current_bytes) | add // 0] |
        .[0] > 0 and .[1] == 0'
    holds vendor.jsonl '.neuron_runtime_data[0].report | keys_unsorted == ["execution_stats", "memory_used", "neuron_runtime_vcpu_usage", "neuroncore_counters"]'
    holds plain.json '.instance_info | .instance_type == "'"$machine"'" and .error == ""'
    holds plain.json ".neuron_hardware_info.logical_neuroncore_config == $2"
    holds plain.json 'all(.neuron_runtime_data[].report.memory_used.loaded_models[]; .is_running and .uuid != "")'
    holds plain.json '[.neuron_runtime_data[].report.neuroncore_counters.neuroncores_in_use | keys[]] == ["0", "1"]'
    holds plain.json 'all(.neuron_runtime_data[].report.neuron_ext.command; . == "neuron-bench")'
    holds commands.jsonl 'all(.neuron_runtime_data[].report.neuron_ext.command; test("--rate 50$"))'
    holds all.jsonl '(.neuron_hardware_info | .neuron_device_count * .neuroncore_per_device_count) as $cores |
        all(.neuron_runtime_data[].report.neuroncore_counters.neuroncores_in_use; length == $cores)'
    holds omit.jsonl '[paths | map(tostring) | .[-1]] | all(. != "loaded_models" and . != "usage_data" and . != "usage_breakdown" and . != "v3d" and . != "neuron_ext")'
    holds count.jsonl '.system_data.memory_info.period > 0'
    [ "$(jq -s 'map(.sequence) == [1, 2]' count.jsonl)" = true ] || fail "$machine: not two numbered reports"
    holds one.jsonl '[.neuron_runtime_data[] | {(.neuron_runtime_tag): (.report | keys_unsorted)}] == [{"app-1": ["memory_used", "neuron_ext"]}]'
    holds none.jsonl '.neuron_runtime_data == [] and (.system_data | keys) == ["memory_info"]'
    cd "$scratch"
}

on trn1.2xlarge 1
on trn2.3xlarge 2
# Two physical cores per logical core: each is listed, the logical one is their mean, and a model has a part on each.
cd trn2.3xlarge.out
holds plain.json '.neuron_hardware_info | .neuroncore_version == "v3d" and .neuroncore_per_device_count == 4'
holds plain.json '[.neuron_runtime_data[].report.neuroncore_counters.neuroncores_in_use[].v3d | keys[]] ==
    ["nc_v3.0", "nc_v3.1", "nc_v3.2", "nc_v3.3"]'
holds plain.json 'all(.neuron_runtime_data[].report.neuroncore_counters.neuroncores_in_use[];
    (.neuroncore_utilization - ([.v3d[].neuroncore_utilization] | add / 2) | fabs) < 1e-9)'
holds plain.json 'all(.neuron_runtime_data[].report.memory_used.loaded_models[].subgraphs; keys == ["sg_00", "sg_01"])'
holds plain.json '[.neuron_runtime_data[].report.memory_used.loaded_models[].subgraphs.sg_01 | .neuroncore_index, .v3] == [0, "nc_v3.1", 1, "nc_v3.3"]'
