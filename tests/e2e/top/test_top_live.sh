#!/bin/bash
# test_top_live - neuron-top next to neuron-monitor while neuron-bench runs NEFFs on software cores. Both show the
# same about every application, on the real screen (tmux) and as text, with LNC 1 and LNC 2, and while applications
# come and go. Exits with 77 without tmux or jq.
. "$(dirname "$0")/../lib.sh"
set +e +o pipefail # exit codes are checked where they matter
needs tmux jq
export LC_ALL=C.UTF-8 TERM=xterm-256color COLUMNS=200
unset NO_COLOR
# A closing terminal also signals the helper of the leak sanitizer, and the process that waits for it never exits. So
# leaks are searched for in the tests without a terminal.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
at_failure() {
    cp screen screen.log
    cp frame frame.log
    diff expected shown >difference.log
}

# Bytes as neuron-top writes them.
size() {
    awk -v v="$1" 'BEGIN {
        split("B KB MB GB TB", unit, " ")
        for (i = 1; v >= 1023.95 && i < 5; i++) v /= 1024
        printf "%.1f%s", v, unit[i] }'
}
report() { neuron-monitor --once 2>>"$scratch/monitor.err"; }
# The summary rows as the report has them; jq selects the runtimes.
expected_rows() { # report, selector of a runtime
    jq -r --arg tag "$2" '
        [.neuron_runtime_data[] | select($tag == "" or .neuron_runtime_tag == $tag)
            | .report.memory_used.neuron_runtime_used_bytes] as $m
        | [$m[].usage_breakdown.neuroncore_memory_usage[]] as $cores
        | [$m[].usage_breakdown.host] as $host
        | ["host", ([$m[].host] | add), ([$host[].tensors] | add), ([$host[].constants] | add),
           ([$host[].dma_buffers] | add), ([$host[].application_memory] | add)],
          ["device", ([$m[].neuron_device] | add), ([$cores[].tensors] | add), ([$cores[].constants] | add),
           ([$cores[].model_code] | add), ([$cores[].runtime_memory] | add),
           ([$cores[].model_shared_scratchpad] | add)]
        | map(if . == null then 0 else . end) | @tsv' "$1" | while read -r place total a b c d e; do
        if [ "$place" = host ]; then
            echo "Host Used Memory Total: $(size "$total") Tensors: $(size "$a") Constants: $(size "$b")" \
                "DMA Buffers: $(size "$c") App. Memory: $(size "$d")"
        else
            echo "Device Used Memory Total: $(size "$total") Tensors: $(size "$a") Constants: $(size "$b")" \
                "Model Code: $(size "$c") Runtime Memory: $(size "$d") Model Scratchpad: $(size "$e")"
        fi
    done
}
shown_rows() { grep -E '^(Host|Device) Used Memory' "$1" | tr -s ' ' | sed 's/ $//'; }

# Report and screen have the same rows; polled because a screen may be half drawn.
same_memory() { # frame tag
    local frame=$1 tag=$2
    [ "$frame" != "$scratch/screen" ] || screen_to "$frame"
    report >"$scratch/report.json"
    expected_rows "$scratch/report.json" "$tag" >"$scratch/expected"
    shown_rows "$frame" >"$scratch/shown"
    grep -q 'Total: [1-9]' "$scratch/expected" && cmp -s "$scratch/expected" "$scratch/shown" && echo yes
}
screen_to() { tmx capture-pane -p -t top >"$1" 2>/dev/null; }
on_screen() { screen_to "$scratch/screen" && grep -q -e "$1" "$scratch/screen" && echo yes; }
in_frame() { neuron-top --once -d 200ms --expand >"$scratch/frame" && grep -q -e "$1" "$scratch/frame" && echo yes; }

run() { # physical cores per logical core, instance, cores of the first, of the second, row of a busy core
    local example
    export NEURON_HOOKS_DIR=$memory/hooks-$1 NEURON_SOFT_INSTANCE=$2
    for example in mlp attention; do
        neuron-packager example $example -s 128 --lnc "$1" -o "$scratch/$example.neff" >/dev/null || exit 1
    done
    mkdir -m 700 "$NEURON_HOOKS_DIR"
    NEURON_PROCESS_TAG=first neuron-bench exec "$scratch/mlp.neff" --cores "$3" --rate 20 --duration 600 \
        >"$scratch/first.out" 2>&1 &
    local first=$!
    NEURON_PROCESS_TAG=second neuron-bench exec "$scratch/attention.neff" --cores "$4" --rate 20 --duration 600 \
        >"$scratch/second.out" 2>&1 &
    local second=$!
    wait_for in_frame '\]:first.*\]:second\|\]:second.*\]:first'
    wait_for in_frame '^  *\[.\] mlp  *10001 '
    wait_for in_frame '^  *\[.\] attention  *10001 '
    wait_for in_frame "$5" # a core that is busy at that moment
    wait_for same_memory "$scratch/frame" ""
    grep -q "running on i-local ($2)" "$scratch/frame" || fail "LNC $1: unexpected title"
    grep -q "^NeuronCore $6 Utilization" "$scratch/frame" || fail "LNC $1: unexpected version of the cores"
    [ "$(jq -r '.neuron_hardware_info.neuroncore_version' "$scratch/report.json")" = "$6" ] ||
        fail "LNC $1: the report's version of the cores"
    # One row of cores per device of the report.
    [ "$(grep -Ec '^ND[0-9]+ ' "$scratch/frame")" = \
        "$(jq -r '.neuron_hardware_info.neuron_device_count' "$scratch/report.json")" ] || fail "LNC $1: unexpected number of devices"

    tmx kill-session -t top 2>/dev/null
    tmx new-session -d -s top -x 200 -y 60 "NEURON_HOOKS_DIR='$NEURON_HOOKS_DIR' '$NTK_BIN_DIR/neuron-top' --layout vendor; echo status=\$?; exec cat"
    wait_for on_screen '>\[1\]:all<.*\]:first'
    wait_for same_memory "$scratch/screen" ""
    tmx send-keys -t top d
    wait_for on_screen '>\[2\]:'
    local tag
    tag=$(grep -o '>\[2\]:[a-z]*<' "$scratch/screen" | sed 's/.*://; s/<//')
    wait_for same_memory "$scratch/screen" "$tag"
    tmx send-keys -t top f
    wait_for on_screen 'Total: .*TF)'
    tmx send-keys -t top f 1

    kill -KILL "$first" # no time to clean up
    wait "$first" 2>/dev/null
    wait_for on_screen '>\[1\]:all< *\[2\]:second *$'
    kill -TERM "$second"
    wait "$second" 2>/dev/null
    wait_for on_screen 'no Neuron application is running'
    wait_for on_screen 'Device Used Memory *Total: 0.0B'
    tmx send-keys -t top q
    wait_for on_screen 'status=0'
    neuron-bench machine --remove >/dev/null || fail "LNC $1: the machine cannot be removed"
}

tmx new-session -d -s keep cat
run 1 trn1.32xlarge 0,1 5 '^ND0  ||*\.*\[ *[0-9.][0-9. ]*%\]' v2
run 2 trn2.3xlarge 1 2-3 '^ND0 .*||*\.*\[ *[0-9.][0-9. ]*%\]' v3d

echo "all checks passed"
