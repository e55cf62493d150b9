#!/bin/bash
# onchip - analyze's report of the state buffer and of PSUM against an independent trace of every byte, on captures
# of real hardware if there are any.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
[ -n "${NTK_VENDOR_CAPTURES:-}" ] || skip "NTK_VENDOR_CAPTURES is not set"
for capture in "$NTK_VENDOR_CAPTURES"/*.ntff; do
    neff=${capture%.ntff}.neff
    neuron-profile analyze -s "$capture" -n "$neff" --json on-chip >on-chip.json
    if grep -q '"on-chip": *null' on-chip.json; then
        # The message names the operation that prevents it, in text and in JSON.
        why='cannot decode the operands of [A-Za-z_0-9]+ [(][A-Za-z]+, pc [0-9]+[)]'
        neuron-profile analyze -s "$capture" -n "$neff" on-chip memory >printed
        grep -Eq "^Unavailable: $why" printed || fail "$(basename "$capture"): on-chip names no operation: $(cat printed)"
        grep -Eq "^State buffer and PSUM are unknown: $why" printed || fail "$(basename "$capture"): memory names no operation"
        neuron-profile analyze -s "$capture" -n "$neff" --json memory | grep -E "\"chip_absent\": *\"$why" >/dev/null ||
            fail "$(basename "$capture"): JSON names no operation"
        continue
    fi
    neuron-profile view -s "$capture" -n "$neff" --output-format json --output-file rows.json
    neuron-packager disasm "$neff" >listing.txt
    python3 "$NTK_SOURCE_DIR/tests/profiler/onchip.py" rows.json on-chip.json listing.txt || fail "rows and text of $(basename "$capture") differ"
    has_known_values=1
done
# Those of versions 4 and 5 can be decoded.
for capture in v4_stream_256k_fd1k v5_transpose_1024; do
    neuron-profile analyze -s "$NTK_VENDOR_CAPTURES/$capture.ntff" memory | greps -E '^ *[0-9]+ +sbuf .*KB' || fail "$capture has no map"
done
[ -n "${has_known_values:-}" ] || fail "no capture has known values"
