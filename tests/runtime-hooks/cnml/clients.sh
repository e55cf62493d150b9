#!/bin/bash
# clients - a client of each generation, in C and C++, runs on its own machine.
set -u
[ -z "${NTK_SANITIZE:-}" ] || { echo "the clients are built without sanitizers"; exit 77; }
tests=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
for generation in 1 2 3; do
    for language in c cc; do
        client=cnml_client_g${generation}_$language
        if ! NEURON_HOOKS_DIR="$scratch/$client" NEURON_SOFT_INSTANCE=mlu270 "$tests/$client"; then
            echo "$client failed"
            failed=1
        fi
    done
done
exit $failed
