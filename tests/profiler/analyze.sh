#!/bin/bash
# analyze - analyze on the capture of an example, as users call it: sums that must hold, names that only the NEFF
# has, and wrong usage.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
# The page of the format documents every printed key.
keys_are_documented() {
    local key
    for key in $(jq -r '[paths[-1] | strings] | unique[]' printed |
        awk 'NR == FNR { page = page $0 "\n"; next } !index(page, "`" $0 "`")' "$NTK_SOURCE_DIR/docs/formats/analyses.md" -); do
        complain "key $key is in no table"
    done
}
analyze() { # EXIT-CODE ARGUMENT...
    judge
    ends "$1" neuron-profile analyze "${@:2}"
}
filters=()
holds() { # FILTER: a jq filter that must be true; one jq run checks the whole output
    filters+=("$1")
}
judge() {
    local number answers
    [ ${#filters[@]} != 0 ] || return 0
    mapfile -t answers < <(jq "$(printf '([try (%s) catch false][-1] // false),' "${filters[@]}") empty" printed 2>err)
    for number in "${!filters[@]}"; do
        [ "${answers[number]:-}" = true ] || complain "does not hold: ${filters[number]}"
    done
    filters=()
}
# Sums that hold in every capture of a program with layers.
sums_hold() {
    holds '.idle as $i | all($i.engines[]; (.busy_ns + .idle_ns - $i.total_ns | fabs) < 0.01 and
        (([.idle_by_reason_ns[]] | add) - .idle_ns | fabs) < 0.01 and (([.waits[].idle_ns] | add) - .idle_ns | fabs) < 0.01)'
    holds '.bubbles as $b | ([.idle.engines[].idle_ns] | add) as $idle | ($b.idle_ns - $idle | fabs) < 0.01 and
        ([$b.causes[].count] | add) == $b.count and (([$b.causes[].gaps_ns] | add) - $idle | fabs) < 0.01 and
        all($b.causes[]; .due_ns > 0 and .due_ns <= .gaps_ns + 0.01 and .longest_ns == .gaps[0].gap_ns)'
    holds '."critical-path" as $p | all($p.resources, $p.layers; ([.[].path_ns] | add) - $p.total_ns | fabs < 0.1)'
    holds '."critical-path" | ([.kinds_ns[]] | add) - .total_ns | fabs < 0.01'
    holds '."critical-path" | .steps[0].start_ns == 0 and ([.steps[1:][].start_ns] == [.steps[:-1][].end_ns]) and
        .steps[-1].end_ns == .total_ns'
    holds '.top | [.layers, .operations, .instructions] | map([map(.count), map(.flops), map(.hbm_read_bytes),
        map(.hbm_write_bytes)] | map(add)) | .[0] == .[1] and .[1] == .[2]'
    holds '.roofline as $r | ([$r.layers[].flops] | add) == $r.total.flops and
        ([$r.layers[].hbm_bytes] | add) == $r.total.hbm_bytes and
        (([$r.layers[].time_ns] | add) - $r.total.time_ns | fabs) < 0.1'
    holds 'all(.roofline | .total, .layers[]; .roofline_ratio == null or (.roofline_ratio > 0 and .roofline_ratio <= 1))'
    holds '.dma | ([.queues[].bytes] | add) == .total.bytes and
        (([.queues[].wasted_bytes] | add) - .total.wasted_bytes | fabs) < 1'
    holds '([.tensors[].read_bytes] | add) == .dma.hbm_read_bytes and ([.tensors[].write_bytes] | add) == .dma.hbm_write_bytes'
    holds '[.memory.chip[] | {core, space, peak_bytes, over_time}] == [."on-chip"[] | {core, space, peak_bytes, over_time}]'
    holds 'all(."on-chip"[]; .peak_bytes as $peak | (.values | length) == .value_count and
        all(.values[]; .from_ns < .until_ns and .bytes > 0 and .name != null) and
        ([.values[] | [.from_ns, .bytes], [.until_ns, -.bytes]] | sort | reduce .[] as [$t, $b] ([0, 0];
            [.[0] + $b, ([.[1], .[0] + $b] | max)]) | .[1]) == $peak)'
    holds 'all(.memory.chip[]; (.over_time | max) == .peak_bytes and ([.layers_at_peak[].bytes] | add) == .peak_bytes)'
}
for run in "mlp 1 trn1.2xlarge" "conv 1 trn2.3xlarge" "attention 2 trn2.3xlarge"; do
    set -- $run
    neuron-packager example "$1" --lnc "$2" -o e.neff 2>err || complain "cannot create example $1"
    mkdir -m 700 machine
    NEURON_HOOKS_DIR=$scratch/machine NEURON_SOFT_INSTANCE=$3 NEURON_RT_VIRTUAL_CORE_SIZE=$2 \
        neuron-profile capture -n e.neff -s e.ntff >/dev/null 2>err || complain "the capture of $run failed"
    rm -rf machine
    analyze 0 -s e.ntff -n e.neff --json
    sums_hold
done

neuron-packager example attention -o a.neff -s 512 || exit 1
neuron-profile capture -n a.neff -s a.ntff >/dev/null 2>err || complain "the capture failed"

analyze 0 -s a.ntff -n a.neff --json
keys_are_documented
holds '.idle.engines | length == 5'
sums_hold
holds 'any(.idle.engines[].waits[]; .reason == "dma" and .queue == "qSyncIO0")'
holds 'any(.idle.engines[].waits[]; .reason == "engine" and .changed_by == "tensor" and .opcode == "MATMUL")'
holds '."critical-path" | ([.resources[].path_ratio] | add) - 1 | fabs < 1e-6'
holds '[.top.layers[].name] | contains(["load", "scores", "softmax", "transpose", "weigh", "store"])'
holds '."critical-path".total_ns as $t | ([.top.layers[].path_ns] | add) - $t | fabs < 0.1'
holds '.tensors | map(select(.name == "q"))[0] | .kind == "input" and .reload_ratio == 1'
holds '.dma | .hbm_read_bytes + .hbm_write_bytes == .total.bytes'
holds 'all(.dma.queues[]; .efficiency_ratio > 0 and .efficiency_ratio <= 1)'
holds '.memory.device[0] | .total_bytes == ([.uses[].bytes] | add) and .total_bytes > 0'
# q, k and v of 512 positions, before the first softmax
holds 'any(.memory.chip[]; .space == "sbuf" and .peak_bytes > 2048 and .peak_bytes < .partition_bytes / 10)'
holds '.roofline.total | .bound == "memory" and .roofline_ratio > 0 and .roofline_ratio < 1'
holds '.roofline.layers | map(select(.layer == "scores"))[0].bound == "compute"'
holds '.activity | (.rows | length) == 7 and all(.rows[]; (.pieces | length) == 1000 and .busy_ratio > 0)'
holds 'all(.activity.rows[]; ([.pieces[]] | add / 1000) - .busy_ratio | fabs < 1e-3)'
holds '.advice | length > 0 and all(.[]; .share_of_execution > 0 and (.text | test("[0-9]")))'
holds 'any(.advice[]; .id == "path-dma")'
grep -oE '^NTK_ADVICE[A-Z_]*\([A-Z_]+, "[a-z-]+", [0-9.]+' "$NTK_SOURCE_DIR/profiler/analysis/advice.def" >rules
[ "$(wc -l <rules)" -ge 13 ] || complain "advice.def has fewer than 13 rules"
while IFS='",( ' read -r kind _ _ id _ threshold _; do
    [ "$kind" = NTK_ADVICE ] && sign='>' || sign='<'
    grep -q "^| \`$id\` | .* | $sign $threshold |" "$NTK_SOURCE_DIR/docs/advice.md" ||
        complain "docs/advice.md lacks rule $id with $sign $threshold"
done <rules

analyze 0 -s a.ntff -n a.neff --engine vector,tensor --limit 2 --json bubbles
holds '.bubbles | .engine_count == 2 and all(.causes[]; (.gaps | length) <= 2 and
    all(.gaps[]; .engine == "vector" or .engine == "tensor")) and any(.causes[]; .count > 2)'
analyze 0 -s a.ntff -n a.neff --limit 3 bubbles
grep -q '^The 3 longest gaps;' printed && [ "$(sed '1,/^The 3 longest/d' printed | wc -l)" = 4 ] || complain "expected the three longest gaps"
grep -q 'waits for DMA queue qSyncIO0$' printed || complain "expected the cause of a gap"

# Without the NEFF queues have no names.
analyze 0 -s a.ntff -n - --json idle
holds 'keys == ["idle"]'
holds 'any(.idle.engines[].waits[]; .reason == "dma") and all(.idle.engines[].waits[]; .queue == null)'
analyze 0 -s a.ntff -n - critical-path
grep -q '^No layers' printed || complain "expected a message that the program has no layers"
analyze 0 -s a.ntff -n - tensors
grep -q '^Unavailable: this analysis requires the NEFF' printed || complain "expected a message that the analysis requires the NEFF"
analyze 0 -s a.ntff -n a.neff on-chip
grep -Eq '^ +0  sbuf +0x[0-9a-f]+ .* DMA_[A-Z]+ +[qkv]$' printed || complain "no row of an input in the state buffer"
analyze 0 -s a.ntff -n - on-chip
grep -q '^Unavailable: ' printed || complain "expected a message that the values are unknown"
analyze 0 -s a.ntff -n - --json tensors memory
holds '.tensors == null and .memory.chip == null and (.memory.device | length) == 1'
analyze 0 -s a.ntff -n a.neff --output-file all.txt
[ ! -s printed ] || complain "expected no output in addition to the file"
analyze 0 --list
for name in $(awk '/^  / { print $1 }' printed); do
    sed 's/\\-/-/g' "$NTK_SOURCE_DIR/profiler/neuron-profile.1.in" | grep "^\.B $name\$" >/dev/null ||
        complain "the man page does not describe $name"
done

# ---- host activity: two processes with one core each ----
neuron-profile inspect -o out -- sh -c 'for core in 0 1; do
        NEURON_RT_VISIBLE_CORES=$core neuron-bench exec a.neff --count 4 &
    done; wait' >/dev/null 2>err || complain "inspect failed"
analyze 0 -d out --json
keys_are_documented
holds '."host-gaps" | length == 2 and all(.[].cores[]; .run_count == 4 and .gap_count == 3)'
holds 'all(."host-gaps"[]; .software_cores == true)'
holds 'all(."host-gaps"[].cores[]; ([.causes_ns[]] | add) == .gap_ns and .gap_ns + .run_ns == .span_ns)'
holds 'all(.memory[]; .peak_bytes == ([.uses[].peak_bytes] | add) and .end_bytes == 0)'
holds 'all(.memory[]; any(.uses[]; .name == "tensors" and .peak_bytes == 2 * 3 * 64 * 512 + 4 * 64 * 512))'
holds '.ranks[0] | .type == "nc_exec_running" and .step_count == 4 and (.workers | length) == 2'
analyze 0 -d out host-gaps
[ "$(grep -c '^== ' printed)" = 1 ] || complain "expected only one analysis"
grep -q '^Software cores: RUNNING is the time that the chip would need' printed || complain "the gaps of software cores are not marked"
analyze 0 -d out executions
grep -q '^Software cores: DEVICE is the time that the chip would need' printed || complain "executions on software cores are not marked"
analyze 0 -d "$(dirname out/*/*/ntrace.pb | head -1)" ranks
grep -q '^Unavailable: requires executions by at least two workers' printed || complain "no message that ranks require two workers"
analyze 2 -s a.ntff --limit 0 bubbles
grep -q -- "--limit: expected 1 to 100000" err || complain "no message about a limit of 0"
analyze 2 -s a.ntff --limit 3 idle
grep -q "limit requires the 'bubbles' analysis" err || complain "no message about a limit without the bubbles analysis"
analyze 2 -s a.ntff --engine vector top
grep -q "engine requires the 'bubbles' analysis" err || complain "no message about an engine without the bubbles analysis"
analyze 2 -s a.ntff --engine pool bubbles
grep -q "invalid value 'pool' for --engine: expected tensor, " err || complain "no message about an unknown engine"
analyze 2 -d out --limit 3
grep -q "limit requires the 'bubbles' analysis" err || complain "no message about a limit with a folder"
analyze 2 -d out idle
grep -q "analysis 'idle' does not apply to this kind of input" err || complain "no message about an analysis of captures with a folder"
analyze 2 -d out -s a.ntff
analyze 1 -d "$NEURON_HOOKS_DIR"

# ---- two ranks of one world that wait for each other in five barriers and collectives ----
neuron-profile inspect -o world -- sh -c 'for rank in 0 1; do
        NEURON_RT_VISIBLE_CORES=$rank "$NTK_BIN_DIR/../tests/tests_profiler_collective_rank" $rank 2 5 || exit 1 &
        ranks="$ranks $!"
    done; for rank in $ranks; do wait $rank || exit 1; done' >/dev/null 2>err || complain "inspect of ranks failed"
analyze 0 -d world --json ranks
holds '[.ranks[].type] | sort == ["cc_exec_barrier", "cc_running"]'
holds 'all(.ranks[]; .step_count == 5 and ([.workers[].worker_gid] == [0, 1]) and all(.workers[]; .span_count == 5))'
holds 'all(.ranks[]; ([.workers[].last_count] | add) == 5 and .skew_ns == ([.workers[].behind_ns] | add))'
# Of two ranks, one waits for as long as the other is late; and no rank leaves before the last one has arrived.
holds 'all(.ranks[]; .workers as [$a, $b] | $a.waited_ns == $b.behind_ns and $b.waited_ns == $a.behind_ns)'
holds 'all(.ranks[].workers[]; .total_ns >= .waited_ns)'
analyze 0 -d world ranks
grep -Eq '^cc_running: 5 steps of 2 workers; ' printed || complain "unexpected collectives of two ranks"

# ---- four ranks, where rank 2 idles for 30 ms before each of five barriers ----
mkdir -m 700 many
# Recorded again if another rank got no processor for longer than that.
rank_2_is_late() {
    rm -rf late
    NEURON_HOOKS_DIR=$scratch/many NEURON_SOFT_INSTANCE=trn1.32xlarge neuron-profile inspect -o late -- sh -c 'for rank in 0 1 2 3; do
            idle=0
            [ $rank != 2 ] || idle=30
            NEURON_RT_VISIBLE_CORES=$rank "$NTK_BIN_DIR/../tests/tests_profiler_collective_rank" $rank 4 5 $idle || exit 1 &
            ranks="$ranks $!"
        done; for rank in $ranks; do wait $rank || exit 1; done' >/dev/null 2>err || echo "never: inspect four ranks"
    neuron-profile analyze -d late --json --what-if rank2.host=0 joined >late.json 2>err &&
        jq -e '.joined | .estimate_ns < .unchanged_ns and (.workers[2] | .path_ns.host > 0 and .last_count >= 1)' late.json >/dev/null && echo yes
}
wait_for rank_2_is_late
analyze 0 -d late --json --what-if rank2.host=0 joined
keys_are_documented
holds '.joined | .unknown == null and .collective_count == 10 and ([.workers[].worker_gid] == [0, 1, 2, 3])'
holds 'all(.joined.workers[]; ([.parts_ns[]] | add) == .span_ns and .exposed_ns == .parts_ns.wait + .parts_ns.link)'
holds '.joined | ([.workers[].path_ns[]] | add) == .total_ns'
holds '.joined.workers[2] | .parts_ns.host >= .path_ns.host'
analyze 1 -d late --what-if rank1.run=2,rank9.host=0 joined
[ "$(wc -l <err)" = 1 ] && grep -q 'unknown rank 9: the trace has 4 ranks from 0 to 3' err && [ ! -s printed ] || complain "no message about a change of an unknown rank"
analyze 0 -d late joined
grep -q '^4 workers joined at 10 collectives; critical path ' printed || complain "unexpected text of joined ranks"
cut=$(find late -name ntrace.pb | head -1)
head -c 40 "$cut" >cut && cat cut >"$cut"
analyze 1 -d late --json joined
[ "$(grep -c 'ntrace.pb' err)" = 1 ] || complain "a truncated trace: expected one message"
holds '.joined | .unknown == null and (.workers | length) == 3'
analyze 2 -d late --what-if wait=2 joined
analyze 2 -d late --what-if link=2 host-gaps
analyze 2 -s a.ntff --what-if link=2

# ---- a folder of captures without a trace: no figure of it, and the next step ----
mkdir captures
cp a.ntff captures/whole.ntff
head -c 1000 a.ntff >captures/cut.ntff
ends 1 neuron-profile view -d captures
says printed 'Trace     none: the folder has only captures'
grep -Eq 'recorded for|Events ' printed && complain "a folder without a trace has figures of one"
grep -Eq '^cut.ntff .* - +-$' printed || complain "the truncated capture has counts"
ends 1 neuron-profile view -d captures --output-format summary-json
jq -e '.sessions[0] | has("begin_ns") or has("event_count") or (.captures | map(select(.file == "cut.ntff"))[0] | has("packet_count")) | not' printed >/dev/null ||
    complain "JSON of a folder without a trace has figures of one"
analyze 1 -d captures memory
says err 'captures: no trace of host activity, only captures: analyse one with -s'
# A file that does not exist is not the name of an analysis.
analyze 1 absent.ntff idle
says err "cannot open 'absent.ntff'"
analyze 2 idel
says err "did you mean 'idle'?"
ends 0 neuron-profile show-session a.ntff
cp printed session
ends 0 neuron-profile show-session -s a.ntff
cmp -s printed session || complain "show-session without -s prints something else"
ends 2 neuron-profile view -s a.ntff --output-format page --disable-ui

# ---- two ranks that execute, with captures: placed next to their ranks, or omitted with a message ----
mkdir -p -m 700 hooks
neuron-packager example spin -o spin.neff -s 1 || exit 1
for format in own vendor; do # in our layout, and in the vendor's, where the clock of the core places them
    began=$(date +%s%N)
    NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn1.32xlarge neuron-profile inspect -o inspected_$format --format $format \
        --capture-system-profiles --capture-device-profiles -- sh -c 'for rank in 0 1; do
            NEURON_RT_VISIBLE_CORES=$rank "$NTK_BIN_DIR/../tests/tests_profiler_collective_rank" $rank 2 3 0 spin.neff || exit 1 &
            ranks="$ranks $!"
        done; for rank in $ranks; do wait $rank || exit 1; done' >/dev/null 2>err || complain "inspect of two executing ranks failed: $format"
    took=$(($(date +%s%N) - began)) # none of their executions can start farther from one of their collectives than this
    first=$(dirname "$(find inspected_$format -name ntrace.pb | sort | head -1)")
    cp "$first"/*_vnc_0.ntff "$first/copy.ntff"
    for named in joined ''; do # read piece by piece, and as a whole
        analyze 0 -d inspected_$format --json $named
        holds '.joined | .unknown == null and (.captures | length) == 3 and ([.captures[] | select(.omitted_reason == null) | .number] | sort) == [0, 1]'
        holds '[.joined.captures[] | select(.omitted_reason == null) | .after_ns | . > -'$took' and . < '$took'] == [true, true]'
        holds '[.joined.captures[] | select(.omitted_reason != null) | .omitted_reason] == ["its name does not contain a core number"]'
        holds 'all(.joined.workers[]; .parts_ns.run > 0)'
    done
done
mv inspected_own inspected
analyze 0 -d inspected joined
[ "$(grep -c '^Capture .*: worker [01]; its execution started [0-9.]* us \(before\|after\) the first collective' printed)" = 2 ] && grep -q '^Capture .*copy.ntff is omitted: ' printed || complain "unexpected captures of ranks"

# ---- diff: the same attention with spilt scores, once, then with four executions per side ----
diff_() { # EXIT-CODE ARGUMENT...
    judge
    ends "$1" neuron-profile diff "${@:2}"
}
neuron-packager example attention-slow -o slow.neff -s 512 || exit 1
mkdir slow fast
for i in 1 2 3 4; do
    neuron-profile capture -n slow.neff -s slow/$i.ntff >/dev/null 2>err || complain "the capture failed"
    neuron-profile capture -n a.neff -s fast/$i.ntff >/dev/null 2>err || complain "the capture failed"
done
diff_ 0 -n slow.neff --neff-after a.neff --json slow/1.ntff a.ntff
holds '.can_tell == false and .total[0].change_ratio < -0.3 and .total[0].p == null'
holds '.path_layers | map(select(.name == "spill scores"))[0] | .after_ns == null and .change_ns == -.before_ns'
holds '.path_resources[0] | .name == "DMA queue qScalarSpillReload0" and .after_ns == null'
holds '.queue_bytes | map(select(.name == "qScalarSpillReload0"))[0].before == 2 * 512 * 512 * 4'
holds '.verdict == "faster" and .most == "spill scores"'
diff_ 0 slow fast
grep -Eq '^The execution became significantly faster: -[0-9.]+ us \(-[0-9.]+%\), largest contribution on the path: [A-Za-z ]+ \(-[0-9.]+ us\)$' printed ||
    complain "the diff has no verdict"
grep -Eq '^execution .* 0.029  significant$' printed || complain "four executions: expected no significance"
grep -q 'Mann-Whitney' printed || complain "does not name the test"
# Without spills, the softmax no longer repeats. The layer is still there.
diff_ 0 -n slow.neff --neff-after a.neff slow/1.ntff a.ntff
grep -Eq '^softmax +[0-9.]+ +[0-9.]+% +[0-9.]+ ' printed || complain "the layer softmax is not on both sides"
grep -Eq '^NC 0 all layer softmax +[0-9.]+ +- +- +only before$' printed || complain "a region of one side is not marked"
! grep -Eq '^NC .*(gone|new)$' printed || complain "a region of one side counts as gone or new"
diff_ 0 fast fast --json
keys_are_documented
holds 'all(.. | objects | select(has("p")); .p == 1 and .is_significant == false)'
holds '.verdict == "same" and .changed_count == 0 and .most == null'
diff_ 0 a.ntff a.ntff
grep -q '^BEFORE was recorded on' printed && complain "one machine counts as two"
mkdir -m 700 machine
NEURON_HOOKS_DIR=$scratch/machine NEURON_SOFT_INSTANCE=trn2.3xlarge NEURON_RT_VIRTUAL_CORE_SIZE=1 \
    neuron-profile capture -n a.neff -s other.ntff >/dev/null 2>err || complain "the capture on another machine failed"
rm -rf machine
diff_ 0 a.ntff other.ntff
head -1 printed | grep -E '^BEFORE was recorded on [a-z0-9.]+, AFTER on trn2.3xlarge: ' >/dev/null || complain "two machines count as one"
grep -q '^Too few executions to tell a change from chance' printed || complain "expected a message that one execution is too few"
cp a.ntff slow/5.ntff
diff_ 1 slow fast
grep -q 'from different programs' err || complain "two programs count as one"
diff_ 1 hooks fast
diff_ 1 /nonexistent fast
diff_ 2 fast
diff_ 2 fast fast fast

analyze 2 -s a.ntff nosuch
grep -q "unknown analysis 'nosuch'" err || complain "expected a message about nosuch"
analyze 0 a.ntff dma
grep -q '^== DMA ==$' printed || complain "a capture without -s is not read"
analyze 0 out memory
grep -q '^== Device memory (memory) ==$' printed || complain "a folder without -d is not read"
analyze 2 nosuch dma
grep -q "unknown analysis 'nosuch'.*: --list shows the analyses; pass a capture with -s" err || complain "expected a message about nosuch"
analyze 2 -s a.ntff engines
grep -q "unknown analysis 'engines' (did you mean 'idle'?)" err || complain "the first word of a heading does not suggest its name"
analyze 2 -s a.ntff 'On the chip'
grep -q "(did you mean 'on-chip'?)" err || complain "the words of a heading do not suggest its name"
analyze 0 -s a.ntff idle top on-chip dma
[ "$(grep '^== ' printed)" = "== Engines (idle) ==
== Costs (top) ==
== DMA ==
== On the chip (on-chip) ==" ] || complain "headings without the names to type: $(grep '^== ' printed)"
grep -Eq '^Spilled values: (unknown|.* written, .* read back); no queue is named a spill queue$' printed ||
    complain "dma does not give the spilled values, or does not say that the capture has no spill queue"
grep -q '^MEAN and SMALL are for data packets; PACKETS and BYTES include semaphore writes' printed || complain "dma does not say which packets count"
grep -q '^Values of each space, sorted by BYTES (per partition) times duration' printed || complain "on-chip does not give the order of its rows"
grep -q '^EVENT_SEMAPHORE only waits' printed || complain "top does not say why EVENT_SEMAPHORE takes no time"
analyze 0 -s a.ntff roofline
grep -q '^Layers: TIME is the layer.s part of the critical path' printed && grep -q '^Regions: TIME is the total time that' printed ||
    complain "roofline does not say how layers and regions differ"
# An execution with errors: they come before all advice about its speed.
for failing in "nan 2 Scalar of core 0 at [0-9.]* us, pc 1 .nan.c:[0-9]*.: NaN written" "oob 1 DMA of core 0 at [0-9.]* us: out of bounds" \
    "deadlock 1 Vector of core 0 at [0-9.]* us, pc 2 .deadlock.c:[0-9]*.: waits for an event that is never signalled"; do
    read -r name count first <<<"$failing"
    neuron-packager example "$name" -o "$name.neff" >/dev/null 2>err || complain "cannot create example $name"
    neuron-profile capture -n "$name.neff" -s "$name.ntff" >/dev/null 2>err
    analyze 0 -s "$name.ntff" -n "$name.neff" --json advice
    holds ".advice[0] | .id == \"errors\" and .value == $count and (has(\"estimated_gain_ns\") | not) and (.text | test(\"$first\"))"
    holds '[.advice[] | select(.id == "errors")] | length == 1'
    judge
    ends 0 neuron-profile view -s "$name.ntff" -n "$name.neff" --brief
    grep -A2 '^Findings' printed | grep "the device recorded $count error" >/dev/null || complain "$name: the brief summary lacks the errors"
done
# A comparison says so; an execution that stopped early is neither a baseline nor faster than one.
ends 0 neuron-profile diff nan.ntff nan.ntff
says printed 'AFTER: the device recorded 2 errors; neuron-profile show-session -e lists them'
ends 0 neuron-profile baseline save nan.json nan.ntff
for name in oob deadlock; do
    ends 0 neuron-profile diff "$name.ntff" "$name.ntff"
    says printed 'BEFORE: the device recorded 1 error, so an execution stopped early and its times are too short'
    ends 0 neuron-profile diff --json "$name.ntff" "$name.ntff"
    says err 'AFTER: the device recorded 1 error, so'
    ends 1 neuron-profile baseline save "$name.json" "$name.ntff"
    says err 'stopped early cannot be a baseline'
    [ ! -e "$name.json" ] || complain "$name: a baseline was written"
    ends 1 neuron-profile baseline check nan.json "$name.ntff"
    says err 'stopped early cannot be compared with a baseline'
done
analyze 0 -s nan.ntff --to 100ns --json advice
holds 'all(.advice[]; .id != "errors")'
analyze 2
analyze 1 -s a.neff
analyze 1 -s /nonexistent.ntff
judge
