#!/bin/bash
# outputs_agree - the figures that the outputs of one capture have in common have the same totals: for our own run,
# the sample, and captures of real hardware if there are any.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
agree() { python3 "$NTK_SOURCE_DIR/tests/profiler/output/outputs_agree.py" "$@" || fail "the outputs of $(basename "$1") disagree"; }
neuron-packager example attention -o attention.neff >/dev/null
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null 2>&1 || fail "the capture failed"
agree attention.ntff attention.neff
agree attention.ntff
agree "$NTK_SOURCE_DIR/tests/corpus/ntff/sample_v6.ntff"
for capture in ${NTK_VENDOR_CAPTURES:+"$NTK_VENDOR_CAPTURES"/*.ntff}; do
    [ ! -e "$capture" ] || agree "$capture" "${capture%.ntff}.neff"
done
