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
    says err 'AFTER: a capture has 3 executions'
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
    # A baseline of three executions has no regions, as their diff has none.
    rm -f base.json
    ends 0 neuron-profile baseline save base.json -n e.neff "$three"
    ends 1 neuron-profile baseline check base.json -n e.neff one.ntff --limit regions=5%
    says err 'has a limit, but only the captures contain it'
    judge 'near($diff.total[0].after_ns; $diff.total[0].before_ns) and all($diff.operations[], $diff.engines[], $diff.queues[]; near(.after_ns; .before_ns)) and
        all($diff.queue_bytes[]; .after == .before) and all($diff.regions[]; .change_ns == null)' "$example: diff of one and three executions"
    ends 0 neuron-profile analyze -s "$three" -n e.neff advice
    says printed 'The capture has 3 executions: figures are of all of them together'
    ends 0 neuron-profile analyze -s "$three" -n e.neff what-if
    says printed 'In a capture of several executions, gains are too small'
    ends 0 neuron-profile view -s "$three" -n e.neff --brief
    grep -Eq '^Executions +3, figures are of all' printed || complain "$example: the brief summary lacks the number of executions"
    for order in --by=stall --loops; do
        ends 0 neuron-profile lines -s "$three" -n e.neff $order
        says printed 'The capture has 3 executions: '
    done
    ends 0 neuron-profile query -s "$three" --csv "SELECT message FROM Warning"
    says printed 'The capture has 3 executions; metrics are of all of them together.'
    # Executions of a part are unknown.
    ends 0 neuron-profile analyze -s "$three" -n e.neff --to 1us --json idle
    jq -e 'has("execution_count") | not' printed >/dev/null || complain "$example: a part has executions"
done
