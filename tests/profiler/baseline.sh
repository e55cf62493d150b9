#!/bin/bash
# baseline - a check in CI from a user's view: exit codes, the output, and what a CI system reads.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
export NEURON_SOFT_INSTANCE=trn2.3xlarge
baseline() { ends "$1" neuron-profile baseline "${@:2}"; } # EXIT-CODE ARGUMENT...
# Four executions of each, so that a change can be distinguished from chance.
for kind in attention attention-slow; do
    neuron-packager example $kind -s 512 -o $kind.neff 2>err || complain "cannot create example $kind"
    mkdir $kind
    for run in 1 2 3 4; do
        neuron-profile capture -n $kind.neff -s $kind/$run.ntff >/dev/null 2>err || complain "the capture of $kind failed"
    done
done
fast=(-n attention.neff) slow=(-n attention-slow.neff)

baseline 0 save kept.json "${fast[@]}" attention
says printed 'kept.json: 4 executions'
jq -e '.format == "neuron-profile-baseline" and .version == 1 and (.executions | length) == 4 and
    .instance_type == "trn2.3xlarge" and (.neff_uuid | length) == 32' kept.json >/dev/null || complain 'the file'
# The page of the format documents each key.
for key in $(jq -r '[paths | .[] | strings] | unique[]' kept.json); do
    grep -q "\`$key\`" "$NTK_SOURCE_DIR/docs/formats/baseline.md" || complain "key $key is not documented"
done

baseline 0 check kept.json "${fast[@]}" attention/1.ntff attention/2.ntff attention/3.ntff attention/4.ntff
says printed 'Within the limits: 1 measure'
baseline 3 check kept.json "${slow[@]}" attention-slow --limit total=5% --limit engines=1000% --junit results.xml
says printed 'Over the limit: 1 of'
says printed '  OVER'
python3 - <<'PY' || complain 'results.xml'
import xml.etree.ElementTree as tree
suite = tree.parse('results.xml').getroot()
cases = suite.findall('testcase')
failed = [case for case in cases if case.find('failure') is not None]
assert suite.tag == 'testsuite' and int(suite.get('tests')) == len(cases) == 6
assert int(suite.get('failures')) == len(failed) == 1
assert failed[0].get('classname') == 'neuron-profile.total' and float(failed[0].get('time')) > 0
PY
baseline 3 check kept.json "${slow[@]}" attention-slow --json
jq -e '.verdict == "beyond" and .beyond_count == 1 and .can_tell and .baseline_count == 4 and .now_count == 4 and
    (.measures[0] | .is_beyond and .p < 0.05 and .limit_ratio == 0.05 and .now_ns > .baseline_ns and
    .change_ratio == (.now_ns - .baseline_ns) / .baseline_ns)' printed >/dev/null || complain 'the JSON'
for key in $(jq -r '[paths | .[] | strings] | unique[]' printed); do
    grep -q "\`$key\`" "$NTK_SOURCE_DIR/docs/formats/baseline.md" || complain "key $key is not documented"
done
# A speed-up is within limits, and diff and check report the same figure.
baseline 0 save slow.json "${slow[@]}" attention-slow
baseline 0 check slow.json "${fast[@]}" attention --json
jq '.measures[0].change_ratio' printed >mine
neuron-profile diff "${slow[@]}" --neff-after attention.neff attention-slow attention --json >printed 2>err
jq '.total[0].change_ratio' printed | cmp -s - mine || complain 'diff says something else'

# A comparison that is impossible is an error.
baseline 1 check none.json "${fast[@]}" attention
says err 'none.json'
baseline 1 check attention.neff "${fast[@]}" attention
says err 'not a baseline'
baseline 1 check kept.json "${fast[@]}" attention --limit engines/Tenser=5%
says err 'engines/Tenser'
baseline 1 check kept.json "${fast[@]}" attention none.ntff
baseline 1 save mixed.json attention attention-slow
says err 'from different programs'
[ ! -e mixed.json ] || complain 'a baseline of two programs'
neuron-packager example mlp -o mlp.neff 2>err && neuron-profile capture -n mlp.neff -s mlp.ntff >/dev/null 2>err || complain "the capture of another program failed"
baseline 1 check kept.json mlp.ntff --limit total=100000%
says err 'kept.json belongs to a different program: it shares 0 of '
[ ! -s printed ] || complain 'a verdict about another program'
sed 's/trn2.3xlarge/trn1.2xlarge/' kept.json >other.json
baseline 1 check other.json "${fast[@]}" attention
says err 'trn1.2xlarge'
head -c 20000 attention/1.ntff >cut.ntff
baseline 1 save cut.json cut.ntff
[ ! -e cut.json ] || complain 'a baseline of half a capture'
# Records that a capture lacks make figures unknown, not zero: nothing became faster.
for left in 30 14000 200; do
    head -c "-$left" attention/1.ntff >cut.ntff 2>/dev/null || complain 'cannot truncate the capture'
    ends 1 neuron-profile diff attention/1.ntff -n attention.neff cut.ntff
    says printed 'AFTER is incomplete: '
    says printed 'unknown AFTER'
    ! grep -Eq '  (gone|new)$| became ' printed || complain "a truncated capture has changes: $left bytes less"
done
head -c 1000 attention/1.ntff >cut.ntff
ends 1 neuron-profile diff attention/1.ntff -n attention.neff cut.ntff --json
jq -e '.verdict == "parts" and .changed_count == 0 and .total[0].after_ns == null and .total[0].change_ns == null' printed >/dev/null ||
    complain 'diff with a capture without a trace'
ends 1 neuron-profile view -s cut.ntff -n attention.neff --output-format summary-json
jq -e '[.[] | .[] | numbers] == []' printed >/dev/null || complain 'a capture without a trace has figures'
baseline 1 check kept.json cut.ntff
says err 'an incomplete capture cannot be compared with a baseline'
jq 'del(.executions[].memory_bytes)' kept.json >older.json
baseline 1 check older.json "${fast[@]}" attention --limit memory_bytes=1%
says err 'has a limit, but only the captures contain it'
baseline 1 save /dev/full "${fast[@]}" attention
baseline 2 check kept.json
baseline 2 keep kept.json attention
baseline 2 save kept.json attention --limit total=1%
baseline 2 check kept.json attention --limit total
