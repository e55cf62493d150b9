#!/bin/bash
# progress - long operations show their progress: forced from the start, each step of each command
# advances to 100 %, and the output is the same as without progress.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
neuron-packager example memcpy -o big.neff -s 4096 -r 300 >printed 2>err || fail 'no example'
ends 0 neuron-profile capture -n big.neff -s big.ntff
[ -s big.ntff ] || fail 'no capture'

# shows STEPS COMMAND...: the steps, one per line, appear in this order; the shares of each never fall and end at 90
# % or more.
shows() {
    local steps=$1
    shift
    ends 0 "$@"
    ! grep -q '\[[#.]*\]' err || complain "$*: progress is shown without a terminal: $(cat err)"
    mv printed quiet
    NEURON_PROGRESS=always ends 0 "$@"
    cmp -s printed quiet || complain "$*: progress changes the answer"
    tr '\r' '\n' <err | sed -n 's/^\(.*\) \[[#.]*\] *\([0-9]*\) %.*/\1=\2/p' >bars
    [ "$(cut -d = -f 1 bars | uniq)" = "$steps" ] || complain "$*: steps are $(cut -d = -f 1 bars | uniq)"
    awk -F = '$1 == step && $2 < share { exit 1 } { step = $1; share = $2 } $2 > 100 { exit 1 }' bars ||
        complain "$*: a share decreases: $(cat bars)"
    awk -F = 'NR > 1 && $1 != step && share < 90 { exit 1 } { step = $1; share = $2 } END { exit share < 90 }' bars ||
        complain "$*: a step ends early: $(cat bars)"
}
capture=$'reading records\nanalysing\nmeasuring'
shows "$capture"$'\n'"$capture" neuron-profile diff big.ntff big.ntff --json
ends 0 neuron-profile baseline save one.base big.ntff
shows "$capture" neuron-profile baseline check one.base big.ntff --json
shows $'reading records\nanalysing\nestimating' neuron-profile analyze -s big.ntff --json
shows $'reading records\nanalysing\nestimating' neuron-profile analyze -s big.ntff --what-if dma=2 what-if
shows $'reading records\nbuilding the timeline\nanalysing\nwriting the page' neuron-profile view -s big.ntff --output-format html --output-file -
shows $'reading records\nreading table DmaPacket' neuron-profile query -s big.ntff --json 'SELECT queue_idx, sum(transfer_bytes) FROM DmaPacket GROUP BY 1'
shows $'reading records\nreading table DmaPacket' neuron-profile query -s big.ntff --json 'SELECT start_ts FROM DmaPacket ORDER BY 1 LIMIT 1'
