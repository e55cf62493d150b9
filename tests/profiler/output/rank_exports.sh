#!/bin/bash
# rank_exports - folders of many ranks for other programs, kineto and chakra: files in the form that those programs
# need, with the times of our analysis of the same folder.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq python3
check=$NTK_SOURCE_DIR/tests/profiler/output/rank_exports.py
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank
export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_LOG_LEVEL=QUIET
# shellcheck disable=SC2016
world='for rank in $(seq 0 $(($RANKS - 1))); do
        NEURON_RT_VISIBLE_CORES=$rank "$0" $rank $RANKS 6 $((2 + rank * 3)) "" "$1" $QUEUED & ranks="$ranks $!"
    done; for rank in $ranks; do wait $rank || exit 1; done'
# view WANTED-EXIT-CODE ARGUMENT...
view() {
    local code=0
    neuron-profile view "${@:2}" >out 2>err || code=$?
    [ $code = "$1" ] || fail "view ${*:2}: unexpected exit code $code, not $1"
}
formats() { # formats WANTED-EXIT-CODE FOLDER
    view "$1" -d "$2" --output-format kineto --output-file "$2.kineto"
    view "$1" -d "$2" --output-format chakra --output-file "$2.chakra"
}

# ---- three ranks that execute and meet ----
neuron-packager example memcpy -o m.neff -s 64 >/dev/null
RANKS=3 QUEUED= NEURON_RT_ROOT_COMM_ID=127.0.0.1:46821 neuron-profile inspect -o world -- bash -c "$world" "$rank" "$PWD/m.neff" \
    >/dev/null 2>err || fail "inspect failed"
formats 0 world
neuron-profile analyze -d world --json joined >joined.json || fail "the analysis of ranks failed"
jq -e '.joined.unknown == null and (.joined.workers | length) == 3' joined.json >/dev/null || fail "ranks are not joined: $(cat joined.json)"
python3 "$check" 3 world.kineto world.chakra joined.json >said || fail "unexpected output: $(cat said)"
cp -r world.kineto before
formats 0 world # replaced, with the same bytes
diff -r before world.kineto >&2 || fail "a second export produces different bytes"

# ---- one of them has slow links: all ranks are affected, and the message reports that no rank can be named ----
RANKS=3 QUEUED= NEURON_RT_ROOT_COMM_ID=127.0.0.1:46823 NEURON_SOFT_FAULT=slow-link:from=1,factor=600,core=1 neuron-profile inspect -o slow -- \
    bash -c "$world" "$rank" "$PWD/m.neff" >/dev/null 2>err || fail "inspect of slow links failed"
neuron-profile analyze -d slow joined >text || fail "the analysis of ranks failed"
greps "cannot show slow links; use neuron-monitor slow" text || fail "slow links: $(cat text)"

# ---- three ranks with queued operations: a sum and a gathering, next to executions ----
RANKS=3 QUEUED=queued NEURON_RT_ROOT_COMM_ID=127.0.0.1:46822 neuron-profile inspect -o queued -- bash -c "$world" "$rank" "$PWD/m.neff" \
    >/dev/null 2>err || fail "inspect of queued executions failed"
formats 0 queued
python3 "$check" 3 queued.kineto queued.chakra >said || fail "unexpected traces of queued executions: $(cat said)"
jq -e '[.traceEvents[].args."Collective name" | select(.)] | group_by(.) | map([.[0], length]) == [["all_gather", 6], ["all_reduce", 6]]' \
    queued.kineto/rank_1.json >/dev/null || fail "unexpected trace of rank 1 with queued executions: $(cat queued.kineto/rank_1.json)"

# ---- one of them half-written: reported, and the others are complete ----
cut=$(find world -name ntrace.pb | head -1)
head -c 40 "$cut" >half && cat half >"$cut"
rm -r world.kineto world.chakra
formats 1 world
[ "$(grep -c 'ntrace.pb' err)" = 1 ] || fail "a truncated trace: expected one message"
python3 "$check" 2 world.kineto world.chakra >said || fail "unexpected traces of two of three ranks: $(cat said)"

# ---- one rank, no collectives ----
neuron-profile inspect -o one -- neuron-bench exec m.neff --count 4 >/dev/null 2>err || fail "inspect of one rank failed"
formats 0 one
python3 "$check" 1 one.kineto one.chakra >said || fail "unexpected traces of one rank: $(cat said)"
jq -e '[.traceEvents[] | select(.cat == "kernel")] | length == 4 and all(.[]; .name == "memcpy")' one.kineto/rank_0.json >/dev/null ||
    fail "unexpected executions of one rank: $(cat one.kineto/rank_0.json)"

# ---- a process of two cores is one rank: its cores are streams ----
NEURON_RT_NUM_CORES=2 neuron-profile inspect -o two -- neuron-bench exec m.neff --cores 0-1 --rate 100 --count 40 >/dev/null 2>err || fail "inspect of two cores failed"
[ "$(find two -name ntrace.pb | wc -l)" = 1 ] || fail "two cores are not one process: $(find two)"
formats 0 two
[ "$(ls two.kineto)" = rank_0.json ] && [ "$(find two.chakra -name '*.et' | wc -l)" = 1 ] || fail "two cores are two ranks: $(ls two.kineto two.chakra)"
python3 "$check" 1 two.kineto two.chakra >said || fail "unexpected traces of two cores: $(cat said)"
jq -e '.distributedInfo.world_size == 1 and ([.traceEvents[] | select(.cat == "kernel") | .args.stream] | length == 40 and (unique | length) == 2)' \
    two.kineto/rank_0.json >/dev/null || fail "unexpected executions of two cores: $(cat two.kineto/rank_0.json)"

# ---- of processes that execute on one core and meet from another, too, and the analysis says the same ----
# shellcheck disable=SC2016
pairs='for rank in 0 1; do
        NEURON_RT_VISIBLE_CORES=$((rank * 2))-$((rank * 2 + 1)) "$0" $rank 2 6 4 "" "$1" & ranks="$ranks $!"
    done; for rank in $ranks; do wait $rank || exit 1; done'
NEURON_RT_ROOT_COMM_ID=127.0.0.1:46824 neuron-profile inspect -o pairs -- bash -c "$pairs" "$rank" "$PWD/m.neff" >/dev/null 2>err ||
    fail "inspect of pairs failed"
neuron-profile analyze -d pairs --json joined >joined.json || fail "the analysis of pairs failed"
jq -e '.joined | .unknown == null and (.workers | length) == 2 and .absent_count == 0' joined.json >/dev/null || fail "unexpected analysis of pairs: $(cat joined.json)"
formats 0 pairs
python3 "$check" 2 pairs.kineto pairs.chakra joined.json >said || fail "unexpected traces of pairs: $(cat said)"

# ---- errors ----
mkdir full && touch full/other
for format in kineto chakra; do
    view 1 -d one --ignore-system-profile --output-format $format --output-file nothing
    greps 'the traces contain no executions or collectives' err || fail "no message about traces without ranks"
    view 1 -d one --output-format $format --output-file -
    greps 'cannot be written to stdout' err || fail "no message about stdout"
    view 1 -d one --output-format $format --output-file full
    greps 'the folder exists and contains other files (other)' err || fail "no message about a folder with other files"
    view 2 -s "$NTK_SOURCE_DIR/tests/corpus/ntff/sample_v6.ntff" --output-format $format
    greps "$format requires traces of several ranks" err || fail "no message about a capture instead of traces"
done
[ ! -e nothing ] && [ -z "$(find . -name '*.tmp-*')" ] || fail "temporary files were not removed: $(find . -name '*.tmp-*')"
