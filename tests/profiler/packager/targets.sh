#!/bin/bash
# targets - an example for target * runs on every machine except those that neuron-packager lists. Method: each
# example on a machine of each kind is rejected exactly where it is listed.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
unset NEURON_SOFT_INSTANCE NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES NEURON_LOGICAL_NC_CONFIG NEURON_RT_VIRTUAL_CORE_SIZE NEURON_LIBNRT
examples=$(neuron-packager example --list | awk '/^[a-z]/ { print $1 }')
[ "$(wc -w <<<"$examples")" -ge 12 ] || fail "expected at least 12 examples: $examples"
for example in $examples; do
    neuron-packager example "$example" --target '*' -o "$example.1" 2>"$example.1.not"
    neuron-packager example "$example" --target '*' --lnc 2 -o "$example.2" 2>"$example.2.not" ||
        greps -e '--lnc 1 and an inf1 machine$' <"$example.2.not" || fail "$example --lnc 2: unexpected message: $(cat "$example.2.not")"
done
grep -q '^neuron-packager: conv.1 does not run on inf1.xlarge, .*mlu270x4 (a tensor engine with 64 columns)$' conv.1.not || fail "unexpected output: $(cat conv.1.not)"
grep -q '^neuron-packager: mlp.1 does not run on trn2.3xlarge, .*, trn3.3xlarge, .*trn3pds98.48xlarge (logical cores with 2 physical cores; use --lnc 2)$' mlp.1.not ||
    fail "unexpected output: $(cat mlp.1.not)"
[ "$(wc -l <mlp.1.not)" = 1 ] || fail "unexpected output: $(cat mlp.1.not)"

for machine in inf1.xlarge trn1.2xlarge trn3.3xlarge; do
    export NEURON_SOFT_INSTANCE=$machine NEURON_HOOKS_DIR=$memory/hooks/$machine
    mkdir -m 700 "$NEURON_HOOKS_DIR"
    for example in $examples; do
        for lnc in 1 2; do
            file=$example.$lnc
            [ -e "$file" ] || continue
            [ $lnc = 1 ] || [ $machine = trn3.3xlarge ] || continue # all others are listed for that
            neuron-bench exec "$file" --count 1 >out 2>&1 || true
            runs=yes
            ! grep -qE 'cannot load|nrt_init failed' out || runs=no
            is_listed=no
            ! grep -qE "[ ,]$machine(,| \\()" "$file.not" || is_listed=yes
            [ $runs != $is_listed ] || fail "$file on $machine: runs $runs, listed $is_listed: $(grep -v infodump out)"
        done
    done
done
