#!/bin/bash
# The stand-in for the vendor's runtime behaves like one: each variant exports its list of symbols, contains none of
# our hooks, creates no segment, and its device tree counts like a driver's.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq nm objdump

# variant, exports, one export as nm prints it, one that is absent
while read -r variant count present absent; do
    library=$NTK_LIB_DIR/vendor${variant%-}/libnrt.so.1
    exports=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }')
    [ "$(wc -l <<<"$exports")" = "$count" ] || fail "$variant exports $(wc -l <<<"$exports") names, not $count"
    grep -qx "$present" <<<"$exports" || fail "$variant lacks $present"
    ! grep -qx "$absent\(@.*\)\?" <<<"$exports" || fail "$variant exports $absent"
    [ "$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')" = libnrt.so.1 ] || fail "$variant: unexpected soname"
    ! nm "$library" | greps -E ' hooks_(mask|segment_open|state)| ntk_ring_' || fail "$variant has our hooks inside"
done <<'END'
- 150 nrta_execute_schedule@@NRT_3.0.0 nrt_get_status_as_str
-unversioned 152 nrta_execute_schedule nrta_event_register_xu_completion
-node2 152 nrta_execute_schedule@@NRT_2.0.0 nrta_event_register_xu_completion
-no-model-info 149 nrt_get_model_vnc_count@@NRT_2.0.0 nrt_get_model_info
-inner 150 nrt_execute_repeat@@NRT_2.0.0 nrt_newer_call
-inside 150 nrt_execute_repeat@@NRT_2.0.0 nrt_newer_call
-symbolic 150 nrt_execute_repeat@@NRT_2.0.0 nrt_newer_call
-newer 151 nrt_newer_call@@NRT_2.0.0 nrt_get_status_as_str
-missing 149 nrt_get_model_info@@NRT_2.0.0 nrt_tensor_memset
-few 2 nrt_init@@NRT_2.0.0 nrt_execute
-slow 150 nrt_execute@@NRT_2.0.0 nrt_newer_call
END
objdump -d --no-show-raw-insn "$NTK_LIB_DIR/vendor-inner/libnrt.so.1" | sed -n '/<nrt_execute>:/,/^$/p' |
    greps 'nrt_execute_repeat@plt' || fail "inner: nrt_execute does not go through the PLT"
objdump -p "$NTK_LIB_DIR/vendor-symbolic/libnrt.so.1" | greps SYMBOLIC || fail "symbolic is not"
[ -z "${NTK_SANITIZE:-}" ] || exit 0

neuron-packager example mlp -s 128 -o mlp.neff >/dev/null
for library in "$NTK_LIB_DIR"/vendor*/libnrt.so.1; do
    [[ $library != */vendor-few/* ]] || continue # it lacks the calls to execute
    done_count=$(NEURON_LIBNRT=$library neuron-bench exec mlp.neff --count 3 --json | jq .executions)
    [ "$done_count" = 3 ] || fail "$library runs $done_count executions of 3"
done
segments=$(find "$NEURON_HOOKS_DIR" -maxdepth 1 -name '[0-9]*')
[ -z "$segments" ] || fail "the stand-in has a segment: $segments"
counted=$(cat "$NEURON_HOOKS_DIR/soft/sys/devices/virtual/neuron_device/neuron0/neuron_core0/stats/status/success/total")
[ "$counted" = 30 ] || fail "the tree counts $counted executions of 30"
model=$(neuron-top --sysfs-root "$NEURON_HOOKS_DIR/soft/sys" --json --once -d 200ms | jq -r '.devices[0].name')
[ "$model" = Trainium1 ] || fail "the device of the tree is $model"
