#!/bin/bash
# driver - reports from a driver's device tree, in both of its layouts: machine, errors, work of cores.
# Method: the tree of a software machine is copied and then modified as a driver would. It has thousands of small
# files, so it is in memory if there is room.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../lib.sh"
needs jq
needs_python jsonschema

is_up() { [ "$(wc -l <out.jsonl)" -ge 2 ] && echo yes; }
lines() { sed '$d' out.jsonl; } # the last one may be incomplete
shows() { [ "$(lines | jq -s "$2")" = "$1" ] && echo yes; } # shows VALUE FILTER

# drive LAYOUT MACHINE DEVICES CORES_PER_DEVICE TYPE: a tree of that machine, physical cores, the report's word.
drive() {
    local layout=$1 machine=$2 devices=$3 tree device file
    export NEURON_HOOKS_DIR=$memory/$layout NEURON_SOFT_INSTANCE=$machine
    mkdir -m 700 "$NEURON_HOOKS_DIR"
    NEURON_SOFT_SYSFS=$layout neuron-bench machine
    tree=$scratch/$layout.tree
    cp -r "$NEURON_HOOKS_DIR/soft/sys" "$tree"
    neuron-bench machine --remove
    device=$(dirname "$(find "$tree/" -name mem_ecc_uncorrected | grep '/neuron1/' | head -1)")
    [ -d "$device" ] || fail "$layout: the tree has no second device"
    mkdir -p "$tree/class/dmi/id"
    echo "Amazon EC2" >"$tree/class/dmi/id/sys_vendor"
    echo i-0123456789 >"$tree/class/dmi/id/board_asset_tag"
    echo "$machine" >"$tree/class/dmi/id/product_name"

    # Errors that a driver counted before the agent started are not events of a report.
    echo 40 >"$device/mem_ecc_uncorrected"
    rm -f out.jsonl # those of the previous machine
    neuron-monitor --sysfs-root "$tree" --period 200ms --omit usage_data >out.jsonl &
    local agent=$!
    wait_for is_up
    lines | jq -es ".[0].neuron_hardware_info | .neuron_device_count == $devices and .neuron_device_type == \"$5\" and
        .neuroncore_per_device_count * .logical_neuroncore_config == $4 and .error == \"\" and
        .neuron_device_memory_size > 0" >/dev/null ||
        fail "$layout: unexpected hardware info: $(lines | jq -cs '.[0].neuron_hardware_info')"
    lines | jq -es ".[0].instance_info | .instance_id == \"i-0123456789\" and .instance_type == \"$machine\"" >/dev/null ||
        fail "$layout: unexpected instance info: $(lines | jq -cs '.[0].instance_info')"

    # In one write, so that a file is never empty.
    echo 43 1<>"$device/mem_ecc_uncorrected"
    echo 2 1<>"$device/sram_ecc_uncorrected"
    wait_for shows 3 'map(.system_data.neuron_hw_counters.neuron_devices[1].mem_ecc_uncorrected) | add'
    wait_for shows 2 'map(.system_data.neuron_hw_counters.neuron_devices[1].sram_ecc_uncorrected) | add'
    wait_for shows 43 '.[-1].neuron_ext.devices[1].ecc_total.mem_ecc_uncorrected'
    [ "$(lines | jq -s 'map(.system_data.neuron_hw_counters.neuron_devices[0] | add) | add')" = 0 ] ||
        fail "$layout: the report has errors of another device"

    # Work that no hook sees: on a core of the second device.
    file=$(find "$tree/" -path '*/neuron1/*neuron_core0/*' -path '*/flop_count/total' | head -1)
    [ -n "$file" ] || fail "$layout: no core has a flop_count"
    echo 5000000 1<>"$file"
    wait_for shows 5000000 "map(.neuron_ext.neuroncores[\"$4\"].effective_flops // 0) | add"
    kill -TERM "$agent"
    wait "$agent" || fail "$layout: neuron-monitor exited with $?"
    valid_reports out.jsonl
    [ "$(jq -s 'all(.neuron_runtime_data == [])' out.jsonl)" = true ] || fail "$layout: the report has an application that does not run"
}

drive old inf2.24xlarge 6 2 inferentia2
drive new trn2.48xlarge 16 8 trainium2
