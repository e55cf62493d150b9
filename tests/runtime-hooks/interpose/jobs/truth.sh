#!/bin/bash
# The same jobs on our own core and around another runtime, preloaded and audited: the clients' own counts equal
# those of reports, database, metrics and neuron-top, in every count, byte of tensors and model.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq curl
skip_sanitized
client=$NTK_BUILD_DIR/tests/interpose/linked
"$NTK_BUILD_DIR/tests/tests_make_model" adder.neff
neuron-packager example nan -o nan.neff >/dev/null
neuron-packager example oob -o oob.neff >/dev/null
# The vendor's devices are in a separate tree, which exists before the agent's first look.
export NEURON_SOFT_INSTANCE=inf2.24xlarge VENDOR_MACHINE_DIR=$scratch/machine
export NEURON_RT_LOG_LEVEL=QUIET
mkdir -m 700 "$VENDOR_MACHINE_DIR"
CLIENT_NEFF=adder.neff LD_LIBRARY_PATH=$NTK_LIB_DIR/vendor "$client" sync >/dev/null

outcomes='completed completed_with_err completed_with_num_err timed_out incorrect_input failed_to_queue'

# job TAG WORK...: starts a client that keeps running; $run is the prefix of its command.
job() {
    local tag=$1
    shift
    CLIENT_NEFF=$tag.neff NEURON_PROCESS_TAG=$tag $run "$client" "$@" stay:600000 >"$tag.out" 2>"$tag.err" &
    jobs+=($!)
}

# facts FOLDER: prints the counts of every source, in the same words.
facts() {
    local tag i
    for tag in adder nan oob; do
        echo "client $(cut -d' ' -f3- <$tag.out)"
        sed -n "s/^execution_status_total{.*runtime_tag=\"$tag\".*status_type=\"\([a-z_]*\)\".*} /metrics $tag \1 /p" metrics
        sed -n "s/^neuron_memory_used_bytes{.*category=\"tensors\".*memory_location=\"neuron_device\".*runtime_tag=\"$tag\".*} /metrics $tag tensors /p" metrics
        sed -n "s/^neuron_model_loaded_info{.*model_id=\"\([0-9]*\)\",model_name=\"\([a-z]*\)\".*runtime_tag=\"$tag\".*} 1/metrics $tag model \1 \2/p" metrics
        jq -rs --arg tag $tag --arg outcomes "$outcomes" '[.[].neuron_runtime_data[] | select(.neuron_runtime_tag == $tag).report] as $mine |
            (($outcomes / " ")[] | "\(.) \([. as $key | $mine[].execution_stats.execution_summary[$key]] | add)"),
            ([$mine[].neuron_ext.memory_by_category[] | select(.category == "tensors").peak_bytes] | max),
            ([$mine[].neuron_ext.models[] | [.model_id, .name, .uuid, .core_count]] | unique | tojson) |
            "reports \($tag) \(.)"' reports
        neuron-monitor query executions --db db --process $tag --json |
            jq -r --arg tag $tag '.[0] | to_entries[] | select(.key | test("^(completed|failed|timed|incorrect)")) | "db \($tag) \(.key) \(.value)"'
        jq -r --arg tag $tag '.models[] | select(.tag == $tag) | "top \($tag) \(.model_id) \(.name) \(.uuid) \(.loaded)"' top
        jq -r --arg tag $tag '.applications[] | select(.tag == $tag) | "top \($tag) \(.model_count) \(.in_flight)"' top
    done
    echo "top $(jq .device_tensors_bytes top)"
}

# run_all MEANS: writes the facts of the same three jobs to MEANS.facts.
run_all() {
    local agent port i=0
    jobs=()
    rm -f reports db* ./*.out ./*.err
    neuron-monitor $tree --period 500ms --db db --prometheus 127.0.0.1:0 --verbose 1 >reports 2>log &
    agent=$!
    wait_for has_reports reports
    port=$(sed -n 's/.*serving metrics on port //p' log)
    NEURON_RT_VISIBLE_CORES=0 job adder sync:20 repeat:4 bad:3 nrta:5 threads:6 tensors:3
    NEURON_RT_VISIBLE_CORES=1 job nan sync:6 nrta:2
    NEURON_RT_VISIBLE_CORES=2 job oob sync:4
    have_answered() { [ "$(cat ./*.out 2>/dev/null | grep -c '^client ')" = 3 ] && echo yes; }
    wait_for have_answered
    has_all() {
        curl -s "http://127.0.0.1:$port/metrics" >metrics
        [ "$(grep -c '^neuron_model_loaded_info' metrics)" = 3 ] && greps 'incorrect_input".*} 3$' <metrics &&
            greps 'status_type="completed".*} 53$' <metrics &&
            greps 'runtime_tag="nan".*status_type="completed_with_num_err".*} 8$' <metrics &&
            greps 'runtime_tag="oob".*status_type="completed_with_err".*} 4$' <metrics &&
            greps 'category="tensors".*runtime_tag="adder".*} 90112$' <metrics && neuron-top $tree --json --once -d 200ms >top &&
            [ "$(jq '.applications | length' top)" = 3 ] && echo yes
    }
    wait_for has_all
    kill -TERM "${jobs[@]}"
    gone() { [ "$(tail -1 reports | jq '.neuron_runtime_data | length')" = 0 ] && echo yes; }
    wait_for gone
    kill -TERM $agent
    wait $agent || fail "the agent fails"
    cp reports $1.jsonl
    facts >"$1.facts"
    for i in adder nan oob; do [ ! -s $i.err ] || fail "$1: $i printed an error"; done
}

run='' tree='' LD_LIBRARY_PATH=$NTK_LIB_DIR run_all core
export LD_LIBRARY_PATH=$NTK_LIB_DIR/vendor
tree="--sysfs-root $VENDOR_MACHINE_DIR/soft/sys"
run='neuron-monitor run --' run_all preload
run='neuron-monitor run --audit --' run_all audit
valid_reports core.jsonl preload.jsonl audit.jsonl
for means in preload audit; do
    diff core.facts $means.facts || fail "$means: the core (<) and the hooks (>) differ"
done

# The counts that all three means agree on are those of the clients.
wanted="client 0=53 2=3 tensors=5 bytes=90112 models=1 y=cbf29ce484222325
metrics adder completed 53
metrics adder incorrect_input 3
reports adder completed 53
db adder completed 53
metrics nan completed_with_num_err 8
reports nan completed_with_num_err 8
db nan completed_with_num_err 8
metrics oob completed_with_err 4
reports oob completed_with_err 4
db oob completed_with_err 4
metrics adder tensors 90112"
while read -r line; do
    grep -qxF "$line" preload.facts || fail "expected '$line', found: $(cat preload.facts)"
done <<<"$wanted"
