#!/bin/bash
# example_lines - examples record their own source: `lines` on a capture of attention-slow names the line that
# reloads the scores as the one that the softmax waits for, with its text and loops, without any source folder.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq
export NEURON_SOFT_INSTANCE=trn1.2xlarge
neuron-packager example attention-slow -s 512 -o slow.neff
neuron-profile capture -n slow.neff -s slow.ntff >/dev/null

# LINE of the source that calls the function named by the first argument
line_of() { sed -n "/^static ntk_neff_token $2(/,/^}/{/$1/=}" "$NTK_SOURCE_DIR/shared/kernels/attention.c"; }
reduce=$(line_of 'ntk_neff_kernel_emit(.*&reduce' softmax)
reload=$(line_of 'ntk_neff_kernel_load(' spill_and_reload)
neuron-profile lines -s slow.ntff -n slow.neff --json >lines.json
jq -e --argjson first "$reduce" --argjson reload "$reload" '
    (if type == "object" then .source_line else . end) | map(select(.file_path == "shared/kernels/attention.c")) as $lines |
    ($lines[:2] | map(select(.line_number == $first)) | first) as $line |
    ($lines | length) > 10 and all($lines[]; .text) and $line.function == "softmax" and
    ($line.blocked_by | max_by(.evt_wait_time) | .line_number == $reload and .file_path == "shared/kernels/attention.c") and
    ($line.text | startswith("ntk_neff_kernel_emit(")) and $line.evt_wait_time > 30000' lines.json >/dev/null ||
    fail "lines $reduce and $reload have unexpected costs: $(cat lines.json)"
neuron-profile lines -s slow.ntff -n slow.neff --loops >loops
grep -q 'r > tile > key .* 16 ' loops || fail "unexpected loops: $(cat loops)"

# next FILE: runs the command that the text ends with.
next() {
    local command
    command=$(sed -n '$s/^Next: \(neuron-profile analyze .*\) (.*)$/\1/p' "$1")
    [ -n "$command" ] || fail "no next command: $(tail -n 5 "$1")"
    bash -c "$command" >answer 2>err || fail "$command: $(cat err)"
}
# The text ends with these two lines and with a command that estimates the gain.
neuron-profile lines -s slow.ntff -n slow.neff >text
grep -q "^- attention.c:$reduce leaves .* idle for .*, waiting mostly for attention.c:$reload (" text || fail "the cause of line $reduce is missing: $(tail -n 4 text)"
next text
grep -q '^THEN ON THE CRITICAL PATH' answer || fail "the next command does not estimate a gain: $(cat answer)"

# optimize removes positions and source.
neuron-packager optimize -o bare.neff slow.neff >/dev/null
neuron-profile lines -s slow.ntff -n bare.neff >bare
grep -q 'attention\.c' bare && fail "optimised, but it has lines: $(cat bare)"
next bare
grep -q '^== Costs (top) ==' answer || fail "the next command does not show the cost of operations: $(cat answer)"
exit 0
