#!/bin/bash
# executions - a capture of several executions: its figures are those of one, times their number, and no finding takes
# the repetition for a property of the program.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
judge() { # FILTER DESCRIPTION, of one.json, three.json and diff.json
    jq -en --slurpfile one one.json --slurpfile three three.json --slurpfile diff diff.json "\$one[0] as \$one | \$three[0] as \$three |
        \$diff[0] as \$diff | def near(x; y): (x - y | fabs) < 0.01 + 0.001 * (y | fabs); $1" >/dev/null || complain "$2"
}
for example in mlp attention conv; do
    neuron-packager example $example -o e.neff >/dev/null 2>err || complain "cannot create example $example"
    neuron-profile capture -n e.neff -s one.ntff >/dev/null 2>err || complain "the capture of $example failed"
    rm -rf many
    neuron-profile inspect -o many --capture-device-profiles --device-profile-mode session -- \
        neuron-bench exec e.neff --count 3 >/dev/null 2>err || complain "the inspection of $example failed"
    three=$(find many -name '*_session_*.ntff')
    ends 0 neuron-profile show-session -s "$three" --json
    jq -e '.NeffNodes[0].NodeInfo.Graphs[0].ExecutionCount == 3' printed >/dev/null || complain "expected a capture of three executions"
    ends 0 neuron-profile analyze -s one.ntff -n e.neff --json
    cp printed one.json
    ends 0 neuron-profile analyze -s "$three" -n e.neff --json
    cp printed three.json
    ends 0 neuron-profile diff -n e.neff one.ntff "$three" --json
    cp printed diff.json
    judge '$three.execution_count == 3 and ($one | has("execution_count") | not)' "$example: the number of executions"
    # The path covers each execution: three times the time of each resource and layer.
    judge 'def shares(a): a | map({key: .name, value: .path_ns}) | from_entries;
        all("resources", "layers"; . as $part | shares($one."critical-path"[$part]) as $x | shares($three."critical-path"[$part]) as $y |
            all($x | keys[]; . as $name | $x[$name] < 10 or near($y[$name]; 3 * $x[$name])))' "$example: the critical path of three executions"
    judge '$three."critical-path" | ([.kinds_ns[]] | add) as $sum | near($sum; .total_ns) and .steps[0].start_ns == 0 and
        ([.steps[1:][].start_ns] == [.steps[:-1][].end_ns])' "$example: the path has gaps"
    # Engines that have finished an execution have no work left: they do not issue instructions.
    judge 'all(range($one.idle.engines | length); $one.idle.engines[.] as $x | $three.idle.engines[.] as $y |
        near($y.busy_ns; 3 * $x.busy_ns) and all($x.idle_by_reason_ns | keys[]; . as $reason |
            ($y.idle_by_reason_ns[$reason] - 3 * $x.idle_by_reason_ns[$reason] | fabs) < 10))' "$example: reasons of idle time"
    judge '$three | ([.idle.engines[].idle_ns] | add) as $idle | near(.bubbles.idle_ns; $idle) and near([.bubbles.causes[].gaps_ns] | add; $idle)' \
        "$example: bubbles"
    # Each execution reads its inputs once.
    judge '($three.advice | map(select(.id == "reload")) | length) == ($one.advice | map(select(.id == "reload")) | length)' \
        "$example: inputs count as loaded again"
    # Each execution of a baseline counts, with its regions, as in their diff.
    rm -f base.json
    ends 0 neuron-profile baseline save base.json -n e.neff "$three"
    says printed 'base.json: 3 executions'
    ends 0 neuron-profile baseline check base.json -n e.neff one.ntff --limit regions=5%
    judge 'near($diff.total[0].after_ns; $diff.total[0].before_ns) and all($diff.operations[], $diff.engines[], $diff.queues[]; near(.after_ns; .before_ns)) and
        all($diff.queue_bytes[]; .after == .before) and all($diff.regions[]; near(.after_ns; .before_ns)) and
        $diff.before_count == 1 and $diff.after_count == 3 and $diff.executions.after.outliers == []' "$example: diff of one and three executions"
    ends 0 neuron-profile analyze -s "$three" -n e.neff advice
    says printed 'The capture has 3 executions: figures cover all of them together'
    # Each execution is estimated separately.
    judge 'def gains(a): a."what-if".changes | map({key: .change, value: .gain_ns}) | from_entries;
        gains($one) as $x | gains($three) as $y | ($x | length) > 8 and ($x | keys) == ($y | keys) and
        all($x | keys[]; . as $change | ($y[$change] - 3 * $x[$change] | fabs) < 3)' "$example: estimates of three executions"
    judge '$three."what-if" | .baseline.error_ratio == 0 and .unknown_waits == 3 * $one."what-if".unknown_waits and
        all(.baseline, .changes[]; ([.path_by_part_ns[]] | add) as $sum | near($sum; .total_ns))' "$example: the parts of what-if do not add up"
    judge 'near($three."what-if".baseline.least_ns; 3 * $one."what-if".baseline.least_ns)' "$example: the lower bound of three executions"
    ends 0 neuron-profile analyze -s "$three" -n e.neff what-if
    grep -q '^The 3 executions took ' printed || complain "$example: what-if does not name the executions"
    says printed 'Each execution is estimated separately'
    ends 0 neuron-profile view -s "$three" -n e.neff --brief
    grep -Eq '^Executions +3, figures cover all' printed || complain "$example: the brief summary lacks the number of executions"
    for order in --by=stall --loops; do
        ends 0 neuron-profile lines -s "$three" -n e.neff $order
        says printed 'The capture has 3 executions: '
    done
    ends 0 neuron-profile query -s "$three" --csv "SELECT message FROM Warning"
    says printed 'The capture has 3 executions; metrics cover all of them together.'
    # One execution alone has the figures of a capture of it.
    for number in 1 2 3; do
        ends 0 neuron-profile analyze -s "$three" -n e.neff --execution $number --json
        cp printed three.json
        judge '$three | has("execution_count") | not' "$example: execution $number is several"
        judge 'near($three."what-if".measured_ns; $one."what-if".measured_ns) and near($three."critical-path".total_ns; $one."critical-path".total_ns) and
            all(range($one.idle.engines | length); near($three.idle.engines[.].busy_ns; $one.idle.engines[.].busy_ns)) and
            ($three.advice | map(.id)) == ($one.advice | map(.id))' "$example: execution $number alone"
    done
    ends 1 neuron-profile analyze -s "$three" -n e.neff --execution 4 idle
    says err '--execution 4: the capture has 3 known executions'
    ends 1 neuron-profile view -s one.ntff -n e.neff --execution 2 --brief
    says err '--execution 2: the capture has 1 known execution'
    # A window of two executions has twice the figures of one. One of parts has the sum of its parts.
    jq -e . one.json >/dev/null
    ends 0 neuron-profile show-session -s "$three" --json
    read -r first second third length < <(jq -r '.NeffNodes[0].NodeInfo.Graphs[0].Executions |
        "\(.[0].StartNs) \(.[1].StartNs) \(.[2].StartNs) \(.[0].TimeNs)"' printed)
    window() { # FILE OPTION...
        local file=$1
        shift
        ends 0 neuron-profile analyze -s "$three" -n e.neff "$@" --json
        cp printed "$file"
    }
    ends 0 neuron-profile diff -n e.neff --to "${third}ns" "$three" "$three" --json
    says err 'AFTER: a window covers 2 executions; its figures are means per execution'
    window three.json --to "${third}ns"
    judge '$three.execution_count == 2' "$example: a window of two executions has $(jq .execution_count three.json)"
    judge 'def gains(a): a."what-if".changes | map({key: .change, value: .gain_ns}) | from_entries;
        gains($one) as $x | gains($three) as $y | ($x | keys) == ($y | keys) and
        all($x | keys[]; . as $change | ($y[$change] - 2 * $x[$change] | fabs) < 3)' "$example: estimates of a window of two executions"
    judge 'def shares(a): a | map({key: .name, value: .path_ns}) | from_entries;
        shares($one."critical-path".resources) as $x | shares($three."critical-path".resources) as $y |
        all($x | keys[]; . as $name | $x[$name] < 10 or near($y[$name]; 2 * $x[$name]))' "$example: the path in a window of two executions"
    judge 'all(range($one.idle.engines | length); $one.idle.engines[.] as $x | $three.idle.engines[.] as $y |
        all($x.idle_by_reason_ns | keys[]; . as $reason |
            ($y.idle_by_reason_ns[$reason] - 2 * $x.idle_by_reason_ns[$reason] | fabs) < 10))' "$example: reasons of idle time in a window"
    from=$((first + length / 3)) to=$((second + length / 2))
    window three.json --from "${from}ns" --to "${to}ns"
    window left.json --from "${from}ns" --to "${second}ns"
    window right.json --from "${second}ns" --to "${to}ns"
    jq -en --slurpfile both three.json --slurpfile left left.json --slurpfile right right.json '
        [$both[0], $left[0], $right[0]] as [$both, $left, $right] |
        def estimate(a): a."what-if".baseline.dependencies_only_ns;
        $both.execution_count == 2 and ([$left, $right] | all(has("execution_count") | not)) and
        (estimate($both) - estimate($left) - estimate($right) | fabs) < 1 and
        all($both."critical-path".kinds_ns | keys[]; . as $kind | select($kind != "start" and $kind != "end") |
            ([$both, $left, $right | ."critical-path".kinds_ns[$kind]] | .[0] - .[1] - .[2] | fabs) < 1)' >/dev/null ||
        complain "$example: the parts of two executions in a window are not the sum of both"
    ends 0 neuron-profile analyze -s "$three" -n e.neff --from "${from}ns" --to "${to}ns" what-if
    says printed 'The window covers 2 executions: figures cover all of them together'
    says printed 'The part of each execution in the window is estimated separately'
    # The core of a capture still has its executions, a window within one does not.
    ends 0 neuron-profile analyze -s "$three" -n e.neff --core 0 --json idle
    jq -e '.execution_count == 3' printed >/dev/null || complain "$example: the executions of a core are unknown"
    ends 0 neuron-profile analyze -s "$three" -n e.neff --to 1us --json idle
    jq -e 'has("execution_count") | not' printed >/dev/null || complain "$example: a window within an execution has several"
done
for option in "0" "-1" "x" ""; do
    ends 2 neuron-profile analyze -s one.ntff --execution "$option" idle
    says err 'expected an execution number, 1 or greater'
done
ends 2 neuron-profile query -s one.ntff --execution 1 --to 1us "SELECT 1"
says err '--execution cannot be combined with --from or --to'
ends 1 neuron-profile analyze -d many --execution 1 host-gaps
says err '--execution requires one capture'

# One slow execution is an outlier with a name, and not a slower program; if all are slow, the program is slower.
neuron-packager example mlp -o e.neff >/dev/null 2>err
for run in usual: last:slow-hbm:from=6,factor=3 slow:slow-hbm:every=1,factor=3; do
    rm -rf many
    NEURON_SOFT_FAULT=${run#*:} neuron-profile inspect -o many --capture-device-profiles --device-profile-mode session -- \
        neuron-bench exec e.neff --count 6 >/dev/null 2>err || complain "the inspection of ${run%%:*} executions failed"
    cp "$(find many -name '*_session_*.ntff')" "${run%%:*}.ntff"
done
ends 0 neuron-profile baseline save six.json -n e.neff usual.ntff
for pair in last: slow:; do
    ends 0 neuron-profile diff -n e.neff usual.ntff "${pair%:}.ntff"
    cp printed "${pair%:}.txt"
    ends 0 neuron-profile diff -n e.neff usual.ntff "${pair%:}.ntff" --json
    cp printed "${pair%:}.json"
done
grep -q '^after  .*last.ntff, execution 6 (' last.txt || complain "diff does not name the slow execution"
jq -e '.verdict != "slower" and .before_count == 6 and .after_count == 6 and (.executions.after | .max_ns > 1.2 * .median_ns and
    (.outliers | length) == 1 and .outliers[0].number == 6) and .executions.before.outliers == [] and
    (.total[0] | .after_max_ns > 1.2 * .after_ns and .after_min_ns > 0 and .change_ratio < 0.01)' last.json >/dev/null ||
    complain "one slow execution counts as a slower program"
jq -e '.verdict == "slower" and .can_tell and (.total[0] | .is_significant and .before_max_ns < .after_min_ns) and
    .executions.after.outliers == []' slow.json >/dev/null || complain "six slow executions are not slower"
ends 0 neuron-profile baseline check six.json -n e.neff last.ntff
says printed 'last.ntff, execution 6 ('
ends 3 neuron-profile baseline check six.json -n e.neff slow.ntff
ends 0 neuron-profile baseline check six.json -n e.neff last.ntff --json
jq -e '.executions.now.outliers[0].source == "last.ntff, execution 6" and .executions.baseline.count == 6' printed >/dev/null ||
    complain "the JSON of check does not name the slow execution"
# One execution is too few for the test, however many the other side has: it counts if it is outside of their range.
for run in usual slow; do
    fault=()
    [ $run = usual ] || fault=(NEURON_SOFT_FAULT=slow-hbm:every=1,factor=3)
    rm -rf many
    env "${fault[@]}" neuron-profile inspect -o many --capture-device-profiles --device-profile-mode session -- \
        neuron-bench exec e.neff --count 64 >/dev/null 2>err || complain "the inspection of 64 $run executions failed"
    cp "$(find many -name '*_session_*.ntff')" $run-64.ntff
    env "${fault[@]}" neuron-profile capture -n e.neff -s $run-1.ntff >/dev/null 2>err || complain "the capture of a $run execution failed"
    ends 0 neuron-profile baseline save $run-64.json -n e.neff $run-64.ntff
    ends 0 neuron-profile baseline save $run-1.json -n e.neff $run-1.ntff
done
for pair in "64 1" "1 64"; do
    read -r before after <<<"$pair"
    ends 0 neuron-profile diff -n e.neff usual-$before.ntff slow-$after.ntff --json
    jq -e --argjson before $before --argjson after $after '.verdict == "slower" and .changed_count > 0 and (.can_tell | not) and
        .before_count == $before and .after_count == $after and .total[0].change_ratio > 0.1' printed >/dev/null ||
        complain "diff of $before and $after slow executions finds $(jq .verdict printed)"
    ends 3 neuron-profile baseline check usual-$before.json -n e.neff slow-$after.ntff
    ends 0 neuron-profile baseline check usual-$before.json -n e.neff usual-$after.ntff
    ends 0 neuron-profile baseline check slow-$before.json -n e.neff usual-$after.ntff
done

# A baseline that check would reject does not replace another one.
cp usual-64.json kept.json
ends 1 neuron-profile baseline save kept.json -n e.neff $(printf 'usual-64.ntff %.0s' {1..157})
says err 'too many executions for a baseline: 10048 (at most 10000); save fewer captures'
cmp -s kept.json usual-64.json || complain "a baseline that is too large replaced another one"

# A baseline names its slow execution.
ends 0 neuron-profile baseline save last.json -n e.neff last.ntff
ends 0 neuron-profile baseline check last.json -n e.neff usual.ntff
says printed 'last.ntff, execution 6 ('

# The page shows of the host what it did during the execution.
neuron-packager example memcpy -s 64 -o m.neff >/dev/null
neuron-profile inspect -o hosted --capture-system-profiles --capture-device-profiles --device-profile-mode session -- \
    neuron-bench exec m.neff --count 3 >/dev/null 2>err || complain "an inspection with the host failed"
three=$(find hosted -name '*_session_*.ntff')
serves() { grep -q '^View profile at ' log && echo yes; }
host_slices() { # OPTION...: prints their number, and the time that the page shows
    rm -f log
    neuron-profile view -s "$three" --no-open --port 0 "$@" >log 2>err &
    local pid=$!
    wait_for serves
    curl -sf "$(sed -n 's/^View profile at //p' log)api/v1/meta" | jq -r '"\([.tracks[] | select(.kind == "host") | .slices] | add) \(.span)"'
    kill $pid
    wait $pid 2>/dev/null
}
read -r all whole < <(host_slices)
read -r some alone < <(host_slices --execution 2)
[ "$some" -gt 0 ] && [ "$some" -lt "$all" ] && [ "$alone" -lt $((whole / 2)) ] ||
    complain "the host has $some of $all slices in one of three executions, in $alone of $whole ns"
