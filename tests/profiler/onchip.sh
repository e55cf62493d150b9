#!/bin/bash
# onchip - analyze's report of the state buffer and of PSUM against each byte followed by itself,
# on captures of real hardware where they are at hand.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
[ -n "${NTK_VENDOR_CAPTURES:-}" ] || skip "NTK_VENDOR_CAPTURES is not set"
for capture in "$NTK_VENDOR_CAPTURES"/*.ntff; do
    neff=${capture%.ntff}.neff
    neuron-profile analyze -s "$capture" -n "$neff" --json on-chip >told.json
    if grep -q '"on-chip": *null' told.json; then
        echo "$(basename "$capture"): not known"
        continue
    fi
    neuron-profile view -s "$capture" -n "$neff" --output-format json --output-file rows.json
    neuron-packager disasm "$neff" >listing.txt
    python3 "$NTK_SOURCE_DIR/tests/profiler/onchip.py" rows.json told.json listing.txt || fail "$(basename "$capture")"
    told=1
done
[ -n "${told:-}" ] || fail "nothing is known of any capture"
