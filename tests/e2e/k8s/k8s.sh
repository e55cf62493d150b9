#!/bin/bash
# k8s - a kubelet, a real gRPC server, assigns one core to each of two pods. Reports and metrics name the pod of each
# running application, also through a pipe; when the kubelet disappears, the labels do too.
. "$(dirname "$0")/../lib.sh"
needs jq curl python3
needs_python grpc

"$python" "$(dirname "$0")/kubelet.py" "$scratch/kubelet.sock" 0 1 >kubelet.out 2>kubelet.err &
kubelet=$!
kubelet_is_up() { grep -q ready kubelet.out && echo yes; }
wait_for kubelet_is_up

neuron-packager example memcpy -o memcpy.neff
neuron-monitor --period 250ms --prometheus 127.0.0.1:0 --verbose 1 --zero-fill --pid-label --k8s-info --k8s-period 1s \
    --k8s-socket "$scratch/kubelet.sock" >reports.jsonl 2>agent.log &
agent=$!
agent_is_up() { [ -s reports.jsonl ] && grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for agent_is_up
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
for core in 0 1; do
    NEURON_PROCESS_TAG=same neuron-bench exec memcpy.neff --cores "$core" --duration 600s --rate 50 >/dev/null 2>&1 &
done

# In a report: the owners of the cores, and where each of the two runs.
latest() { tail -n 2 reports.jsonl | sed -n 1p; }
pods_in_report() {
    jq -e '[.neuron_runtime_data[].report.neuron_ext | [.namespace, .pod_name, .container_name] | join("/")] | sort
        == ["ns-0/pod-0/main", "ns-1/pod-1/main"]' one.jsonl >/dev/null
}
cores_in_report() {
    jq -e '.neuron_k8s_info | .error == "" and .period == 1 and .neurondevices_k8s_info == {} and
        .neuroncores_k8s_info == {"0": {"pod_name": "pod-0", "namespace": "ns-0", "container_name": ["main"]},
                                  "1": {"pod_name": "pod-1", "namespace": "ns-1", "container_name": ["main"]}}' one.jsonl >/dev/null
}
all_in_report() { latest >one.jsonl && pods_in_report && cores_in_report && echo yes; }
wait_for all_in_report

# On the page: one tag, two pods, two pids.
page() { curl -sf "http://127.0.0.1:$port/metrics"; }
pods_on_page() {
    [ "$(page | grep '^neuroncore_utilization_ratio' | grep 'runtime_tag="same"' |
        sed 's/.*container_name="\([^"]*\)".*namespace="\([^"]*\)",neuroncore="\([^"]*\)",pid="[0-9]*",pod_name="\([^"]*\)".*/\3 \2 \4 \1/' |
        sort | paste -sd';')" = "0 ns-0 pod-0 main;1 ns-1 pod-1 main" ] && echo yes
}
wait_for pods_on_page
core_has_pod() { page | grep '^neuroncore_busy_seconds_total' | greps 'neuroncore="1",pod_name="pod-1"' && echo yes; }
wait_for core_has_pod

# The same from only the pipe.
mkfifo pipe
exec 9<>pipe
neuron-monitor-prometheus --address 127.0.0.1 --port 0 <pipe >pipe.out 2>pipe.err &
pipe_has_pods() { # without new reports, a page becomes stale
    cat one.jsonl >&9
    curl -sf "http://127.0.0.1:$(sed -n 's/.* port //p' pipe.out)/metrics" |
        grep '^execution_status_total' | greps 'namespace="ns-1",pod_name="pod-1"' && echo yes
}
wait_for pipe_has_pods

# A configuration file can request the same.
echo '{"k8s_info": true, "system_metrics": [{"type": "memory_info"}]}' >k8s.json
asked_by_file() {
    neuron-monitor -c k8s.json --period 300ms --once --k8s-socket "$scratch/kubelet.sock" |
        jq -e '.neuron_k8s_info.neuroncores_k8s_info["1"].pod_name == "pod-1"' >/dev/null && echo yes
}
wait_for asked_by_file

# The kubelet disappears: reported once, labels absent, reports continue. A kubelet without a processor may have been
# late earlier.
complaints() { grep -c 'cannot get pods from the kubelet' agent.log || true; }
before=$(complaints)
kill "$kubelet"
pods_are_gone() { ! page | greps pod_name && latest | jq -e '.neuron_k8s_info.error != ""' >/dev/null && echo yes; }
wait_for pods_are_gone
# One message for the connection that breaks in the middle of a request, if any, and one for refused connections.
new=$(grep 'cannot get pods from the kubelet' agent.log | tail -n +$((before + 1)) | sed 's/.*: //' | uniq)
all_new=$(($(complaints) - before))
[ "$(echo "$new" | wc -l)" = "$all_new" ] && [ "$all_new" -le 2 ] && [ $((all_new + before)) -ge 1 ] || fail "expected one message per reason, not $all_new"
kill -TERM "$agent"
wait "$agent" || fail "the agent exited with $?"
valid_reports reports.jsonl
