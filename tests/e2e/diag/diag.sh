#!/bin/bash
# diag - findings of neuron-monitor diag on healthy and on faulty machines: flipped bits, cores that die, tests that
# never end, figures below a threshold. It does not touch the cores of other processes.
. "$(dirname "$0")/../lib.sh"
needs jq

# diag CODE OPTION...: the result is in out.json.
diag() {
    local code=0
    neuron-monitor diag --json "${@:2}" >out.json 2>err.log || code=$?
    [ $code = "$1" ] || fail "diag ${*:2} exited with $code, not $1: $(cat err.log) $(jq -c '.tests[] | select(.result == "FAIL")' out.json | head -5)"
}
count() { jq "[.tests[] | select($1)] | length" out.json; }
is_count() { [ "$(count "$2")" = "$1" ] || fail "$(count "$2") are $2, not $1: $(jq -c '.tests[] | [.test, .part, .core, .result, .reason]' out.json | head -90)"; }

# Without devices there is nothing to choose from, so the list is not wrong.
code=0
NEURON_HOOKS_DIR=$PWD/empty neuron-monitor diag -r 1 --core 0 --sysfs-root "$PWD" >out.json 2>err.log || code=$?
[ $code = 1 ] && [ "$(wc -l <err.log)" = 1 ] && grep -q 'this machine has no cores: no device tree below' err.log || fail "unexpected exit code $code"

# A healthy machine, which diag builds itself if none exists: each engine and type, patterns, copies, collectives, a
# burn-in.
diag 0 -r 1
is_count 0 '.core and .test != "findings"'
diag 0 -r 4 --duration 200ms --memory 256K
is_count 0 '.result == "FAIL"'
for engine in dma tensor vector scalar gpsimd sync; do
    [ "$(count ".test == \"answer\" and .result == \"PASS\" and .core == 1 and (.part | startswith(\"$engine-\"))")" -gt 0 ] || fail "no answer of $engine passed"
done
for type in float32 bfloat16 float16 float8e3 float8e4 float8e5 int8 int16 int32; do
    [ "$(count ".test == \"answer\" and .core == 0 and (.part | endswith(\"-$type\"))")" -gt 0 ] || fail "no answer in $type passed"
done
is_count 10 '.test == "pattern" and .result == "PASS"'
is_count 6 '(.test | test("-to-")) and .result == "PASS" and .figure > 0 and .unit == "bytes/s" and (.has_threshold | not)'
is_count 4 '(.test | startswith("all-")) and .result == "PASS"'
is_count 2 '.test == "burn-in" and .result == "PASS" and .figure >= 1'
is_count 1 '.test == "counters" and .figure == 0'
# Two programs of one logical core, one for each half.
mkdir -m 700 two
NEURON_HOOKS_DIR=$PWD/two NEURON_SOFT_INSTANCE=trn2.3xlarge neuron-bench machine >/dev/null
# The lines of the table add up to its counts, in any order of the results of cores.
NEURON_HOOKS_DIR=$PWD/two NEURON_SOFT_INSTANCE=trn2.3xlarge neuron-monitor diag -r 2 --core 0,3 --memory 4K >two.txt || fail "unexpected output: $(cat two.txt)"
stand_for() { awk -v v="$1" '$1 == v { n += match($0, /\([0-9]+\) /) ? substr($0, RSTART + 1) + 0 : 1 } END { print n + 0 }' two.txt; }
[ "$(stand_for PASS)" = "$(sed -n 's/^[A-Z]*: \([0-9]*\) passed.*/\1/p' two.txt)" ] || fail "$(stand_for PASS) results passed, but the totals differ: $(cat two.txt)"
grep -q '^PASS  *answer (124)  *cores 0,3 ' two.txt || fail "unexpected output: $(cat two.txt)"
NEURON_HOOKS_DIR=$PWD/two NEURON_SOFT_INSTANCE=trn2.3xlarge diag 0 -r 2 --core 3 --memory 64K
is_count 31 '.core == 3 and .result == "PASS" and .part != null and (.part | endswith("@1"))'

# A machine of a type other than the requested one is not tested as if it were that type.
for level in 1 2; do
    NEURON_HOOKS_DIR=$PWD/two NEURON_SOFT_INSTANCE=trn1.2xlarge diag 1 -r $level
    is_count 1 '.test == "runtime" and .result == "FAIL" and (.reason | startswith("the software machine has type trn2.3xlarge, but NEURON_SOFT_INSTANCE is trn1.2xlarge"))'
    is_count 0 '.core and .test != "findings"'
done

# A flipped bit that no counter reports: found on the core where it flips, in the affected program and in no other.
NEURON_SOFT_FAULT=bit-flip:at=9,core=1 diag 1 -r 2 --memory 64K
is_count 1 '.result == "FAIL" and .test != "findings"'
# It stays known to the quickest diagnosis and to the device's health until the core passes.
is_count 1 '.result == "FAIL" and .test == "findings" and .core == 1 and .figure == 1'
diag 1 -r 1
is_count 1 '.result == "FAIL" and .test == "findings" and .core == 1 and .figure == 1'
code=0
neuron-monitor health --for 1ms >health.txt || code=$?
[ $code = 1 ] && grep -q silent_corruption health.txt || fail "unexpected exit code $code: $(cat health.txt)"
diag 0 -r 1 --core 0
diag 0 -r 2 --memory 4K
diag 0 -r 1
NEURON_SOFT_FAULT=bit-flip:at=9,core=1 diag 1 -r 2 --memory 64K
is_count 1 '.result == "FAIL" and .core == 1 and .part == "vector-add-float32" and (.reason | startswith("silently wrong answer: 1 wrong bit "))'
# Also in the burn-in: its first round is always complete.
NEURON_SOFT_FAULT=bit-flip:at=31,core=0 diag 1 -r 4 --duration 300ms --memory 64K --core 0
is_count 1 '.test == "burn-in" and .result == "FAIL"'
# Each answer fails when its bit flips: every program detects it.
NEURON_SOFT_FAULT=bit-flip:every=1 diag 1 -r 2 --core 1 --memory 64K
is_count 31 '.test == "answer" and .result == "FAIL"'

# A core that dies, its counters, and the remaining tests.
NEURON_SOFT_FAULT=sram-ue:at=3 diag 1 -r 2 --core 0 --memory 64K
is_count 1 '.test == "answer" and .result == "FAIL" and (.reason | contains("1202"))'
is_count 1 '.test == "counters" and .result == "FAIL" and (.reason | contains("sram_ecc_uncorrected 1"))'
diag 1 -r 1
is_count 1 '.test == "ecc-uncorrected" and .result == "FAIL" and .device == 0'
neuron-bench machine --remove >/dev/null && neuron-bench machine >/dev/null
diag 0 -r 2 --memory 4K # both cores pass

# A test that does not end is stopped. On a busy machine another test may reach the limit first.
is_ended() {
    NEURON_SOFT_FAULT=pause:at=2,time=60s diag 1 -r 2 --core 0 --memory 4K --timeout 4s
    is_count 1 '.result == "FAIL" and .test == "answer" and (.reason | startswith("no answer within 4 s"))' && echo yes
}
wait_for is_ended

# Thresholds: a figure below them warns or fails; an invalid file is one message.
echo '* host-to-device warn below 900T # more than there is' >warn
diag 0 -r 3 --core 0 --memory 64K --thresholds warn
is_count 1 '.test == "host-to-device" and .result == "WARN" and .has_threshold'
diag 1 -r 3 --core 0 --memory 64K --thresholds warn --strict
echo 'trn1.* pattern fail below 1M' >fail
diag 1 -r 2 --core 0 --memory 64K --thresholds fail
is_count 5 '.test == "pattern" and .result == "FAIL" and (.reason | contains("below 1.0MB"))'
echo 'inf2.* pattern fail below 1M' >fail
diag 0 -r 2 --core 0 --memory 64K --thresholds fail
printf '# fine\n* pattern fail below much\n' >bad
diag 1 -r 1 --thresholds bad
[ "$(wc -l <err.log)" = 1 ] && grep -q "bad: line 2: 'much' is not a valid value" err.log || fail "see err.log"
[ ! -s out.json ] || fail "expected only a message, found a report"
neuron-monitor diag --print-thresholds >shipped
diag 0 -r 1 --thresholds shipped

# Cores of a job are rejected with the job's number, the others are tested, and --wait waits for them.
neuron-packager example memcpy -o memcpy.neff
neuron-bench exec memcpy.neff --cores 0 --duration 600s --rate 20 >/dev/null 2>&1 &
job=$!
# If queried earlier, the diagnosis itself would own the core, and the job would not get it.
is_at_work() {
    neuron-monitor --once --period 200ms |
        jq -e --argjson pid "$job" 'any(.neuron_runtime_data[]; .pid == $pid and .report.execution_stats.execution_summary.completed > 0)' >/dev/null && echo yes
}
wait_for is_at_work
is_owned() { { neuron-monitor diag -r 2 --memory 4K 2>&1 >/dev/null || true; } | greps "process $job (neuron-bench) holds core 0" && echo yes; }
wait_for is_owned
diag 3 -r 2
[ ! -s out.json ] || fail "a core of a job was tested"
diag 0 -r 2 --core 1 --memory 64K
is_count 0 '.core == 0'
kill -0 "$job" || fail "the job has exited"
neuron-monitor diag --json -r 2 --core 0 --memory 64K --wait 900s >waited.json 2>waited.log &
waiter=$!
is_waiting() { grep -q "process $job (neuron-bench) holds core 0; waiting" waited.log && echo yes; }
wait_for is_waiting
kill -9 "$job"
wait $waiter || fail "see waited.log"
jq -e '[.tests[] | select(.core == 0 and .result == "PASS")] | length > 31' waited.json >/dev/null || fail "unexpected output: $(cat waited.json)"

# The vendor's library here is a stand-in. On a machine that is not a software machine, programs of the open
# instruction set are skipped, and a program of the user is compared with itself.
export NEURON_LIBNRT=$NTK_LIB_DIR/vendor/libnrt.so.1
cp -r "$NEURON_HOOKS_DIR/soft/sys" hardware
if [ -z "${NTK_SANITIZE:-}" ]; then
    diag 0 -r 3 --memory 64K
    is_count 62 '.test == "answer" and .result == "PASS"'
    diag 0 -r 3 --memory 64K --sysfs-root "$PWD/hardware"
    is_count 2 '.test == "answer" and .result == "SKIP"'
    is_count 10 '.test == "pattern" and .result == "PASS"'
    diag 0 -r 2 --memory 64K --sysfs-root "$PWD/hardware" --neff memcpy.neff
    is_count 2 '.test == "answer" and .result == "PASS" and (.reason | test("^digest [0-9a-f]{16}$"))'
    NEURON_SOFT_FAULT=bit-flip:at=2,core=1 diag 1 -r 2 --memory 64K --sysfs-root "$PWD/hardware" --neff memcpy.neff
    is_count 1 '.result == "FAIL" and .core == 1 and (.reason | startswith("the same inputs gave different outputs"))'
fi
NEURON_LIBNRT=$PWD/none diag 1 -r 1
is_count 1 '.test == "runtime" and .result == "FAIL"'

for wrong in '-r 5' '--duration 1s' '-r 2 --core 2' '-r 2 --core x' '-r 2 --memory 1' '--neff f'; do
    # shellcheck disable=SC2086
    diag 2 $wrong
done
