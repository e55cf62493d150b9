#!/bin/bash
# clients - a client of each generation, in C and C++, runs on its own machine.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
[ -z "${NTK_SANITIZE:-}" ] || skip "the clients are built without sanitizers"
tests=$1
for generation in 1 2 3; do
    for language in c cc; do
        client=cnml_client_g${generation}_$language
        NEURON_HOOKS_DIR="$scratch/$client" NEURON_SOFT_INSTANCE=mlu270 "$tests/$client" >out 2>err || complain "$client failed"
    done
done
