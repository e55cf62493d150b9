#!/bin/bash
# A process with limited address space (ulimit -v) runs models on software cores; what does not fit is rejected with
# the name of the limit.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
[ -z "$NTK_SANITIZE" ] || skip "a sanitizer needs more address space than the limit"
unset NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES NEURON_LIBNRT
neuron-packager example memcpy -o small.neff
neuron-packager example memcpy --size 800000 -o large.neff # 390 MiB in each direction

under_limit() { (ulimit -v 600000 && exec neuron-bench exec -n 2 "$1" >out 2>err); }
under_limit small.neff || fail "a small model does not run: $(tail -3 err)"
grep -q '^executions  2 ' out || fail "expected two executions: $(cat out)"
! under_limit large.neff || fail "a model larger than the address space runs"
grep -q "this process can address only .* of the HBM stack's 16.0GB: raise its limit (ulimit -v)" err ||
    fail "the limit is not named: $(tail -3 err)"
