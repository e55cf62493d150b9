#!/bin/bash
# The example client and neuron-bench on a generated NEFF: outputs, statistics, errors, exit codes.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
make_model=$1 cpu_node=$2
export NEURON_RT_LOG_LEVEL=QUIET
unset NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES NEURON_LIBNRT
code() { # expected command...
    local expected=$1
    shift
    "$@" >out 2>err </dev/null
    local got=$?
    [ $got = "$expected" ] || complain "exit $got, not $expected: $*"
}

"$make_model" adder.neff || exit 1
code 0 "$NTK_BIN_DIR/run_neff" adder.neff
[ "$(stat -c %s y.out)" = 32768 ] || complain "y.out has $(stat -c %s y.out) bytes"
[ "$(od -An -tf4 -j16 -N4 y.out | tr -d ' ')" = 4 ] || complain "y[4] without input is not 4"
printf '\0\0\200\077%.0s' $(seq 8192) >ones # 8192 times 1.0f
code 0 "$NTK_BIN_DIR/run_neff" adder.neff x ones
[ "$(od -An -tf4 -j16 -N4 y.out | tr -d ' ')" = 5 ] || complain "y[4] of ones is not 5"
code 0 "$NTK_BIN_DIR/run_neff" adder.neff x nowhere
grep -q 'input x is zero' err || complain "a missing input file is not reported"
[ "$(od -An -tf4 -j16 -N4 y.out | tr -d ' ')" = 4 ] || complain "a missing input is not zero"
code 1 "$NTK_BIN_DIR/run_neff" ones
grep -q NRT_INVALID err || complain "no message about a file that is not a NEFF"
code 2 "$NTK_BIN_DIR/run_neff"
code 2 "$NTK_BIN_DIR/run_neff" adder.neff x

# Both programs run code for the host only from files that the user owns, unless an option allows more.
"$make_model" cpu.neff "$cpu_node" || exit 1
code 0 "$NTK_BIN_DIR/run_neff" cpu.neff
if chown 65534 cpu.neff 2>/dev/null; then # root only
    code 1 "$NTK_BIN_DIR/run_neff" cpu.neff
    grep -q 'nrt_load failed' err || complain "code of another user's file was loaded"
    code 1 "$NTK_BIN_DIR/neuron-bench" exec cpu.neff -n 1
    NEURON_SOFT_CPU_NODES=1 code 0 "$NTK_BIN_DIR/run_neff" cpu.neff
fi

bench=$NTK_BIN_DIR/neuron-bench
code 0 "$bench" exec adder.neff --count 37 --threads 3 --cores 0-1 --json
grep -q '"executions":37,"numerical_errors":0,"errors":0,' out || complain "expected 37 executions"
code 0 "$bench" exec adder.neff -n 5
grep -q '^executions  5 ' out && grep -q '^adder.neff on 1 core, 1 thread,' out || complain "unexpected text"
code 0 "$bench" exec adder.neff -n 1 -c 1
grep -q '^adder.neff on core 1, 1 thread,' out || complain "unexpected core"
code 0 "$bench" exec adder.neff -n 1 --json
grep -Eq '"min":([0-9]+),"mean":\1,"p50":\1,"p90":\1,"p99":\1,"p99.9":\1,"max":\1}' out || complain "the percentiles of a single call differ"
code 1 "$bench" exec ones -c 1
grep -q 'cannot load '\''ones'\'' on core 1: NRT_INVALID' err || complain "the message does not name the core of the load"
(
    export NEURON_SOFT_INSTANCE=inf1.6xlarge NEURON_HOOKS_DIR=$scratch/inf1
    mkdir "$NEURON_HOOKS_DIR"
    "$NTK_BIN_DIR/neuron-packager" example pipeline --size 3 -o pipe.neff || complain "cannot create the pipeline"
    code 0 "$bench" exec pipe.neff -n 20
    grep -q '^pipe.neff on 3 cores, 3 threads,' out || complain "a pipeline without --cores does not get three cores"
    code 0 "$bench" exec pipe.neff -n 20 -c 1-6 --json # two pipelines
    grep -q '"core_count":6,"threads":6,.*"executions":20,"numerical_errors":0,"errors":0,' out ||
        complain "two pipelines do not get six cores"
    code 1 "$bench" exec pipe.neff -n 20 -c 1-4
    grep -q 'cannot load '\''pipe.neff'\'' on core 4: NRT_LOAD_NOT_ENOUGH_NC' err ||
        complain "an incomplete pipeline was accepted"
    ) || failed=1
# The options and files of the vendor's program: single latencies of the measured executions, by core, in us.
code 0 "$bench" exec -w 3 -n 8 -t 2 -f random --fixed-nc-count=2 -o results adder.neff --json
grep -q '"core_count":2,.*"executions":8,"numerical_errors":0,"errors":0,' out || complain "expected eight executions on two cores"
python3 - results/adder_i2_LIBMODE <<'CHECK' || complain "unexpected files of -o: $(find results)"
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
info, calls, device = read("info"), read("latency_data")["latency_data"], read("nc_latency_data")["latency_data"]
assert info["work"] == 8 and info["warmup"] == 3 and info["models"] == 2 and info["throughput"] > 0, info
assert calls.keys() == device.keys() <= {"0", "1"}, (calls, device)
for data, percentiles in (calls, info["latency"]), (device, info["nc_latency"]):
    samples = sorted(us for of_core in data.values() for us in of_core)
    assert len(samples) == 8 and all(us > 0 for us in samples), data
    assert percentiles["0"] == samples[0] and percentiles["100"] == samples[-1], (percentiles, samples)
    assert samples[0] <= percentiles["50"] <= percentiles["99"] <= samples[-1], percentiles
# An execution takes the same time on every software core, measured on the device's clock.
assert info["nc_latency"]["0"] == info["nc_latency"]["100"] < info["latency"]["0"], info
CHECK
[ -s results/profile_adder/profile.ntff ] || complain "the execution was not recorded"
code 0 "$bench" exec --warmup=none --work=2 --enable-only-latency --output-directory=only adder.neff
[ -s only/adder_i1_LIBMODE/info.json ] && [ ! -e only/profile_adder ] || complain "expected only latencies: $(find only)"
code 2 "$bench" exec adder.neff -n 1 --fixed-nc-count 1 -c 0
code 2 "$bench" exec adder.neff -n 1 -w many
code 2 "$bench" exec adder.neff -n 1 -f noise
code 0 "$bench" exec adder.neff --rate 100000 --count 10
code 0 "$bench" exec adder.neff --duration 50ms
code 0 "$bench" --help
code 0 "$bench" exec --help
code 2 "$bench"
code 2 "$bench" fly
code 2 "$bench" exec
# The duration of failures is not a latency.
"$NTK_BIN_DIR/neuron-packager" example deadlock -o deadlock.neff >/dev/null
NEURON_RT_EXEC_TIMEOUT=1 code 1 "$bench" exec deadlock.neff -n 1
grep -q '^latency     none: no execution completed$' out || complain "unexpected latency without a completed execution: $(cat out err)"
NEURON_RT_EXEC_TIMEOUT=1 code 1 "$bench" exec deadlock.neff -n 1 --json
grep -q '"executions":0,' out && ! grep -q latency_ns out || complain "unexpected latency in JSON without a completed execution: $(cat out err)"
code 2 "$bench" exec adder.neff --cores 0,2
code 2 "$bench" exec adder.neff --cores x
code 2 "$bench" exec adder.neff --rate -1
code 1 "$bench" exec nowhere.neff
[ "$(wc -l <err)" = 1 ] || complain "expected one line"
code 1 "$bench" exec ones
# The reason for a rejection is printed above the message, even if the log has other lines.
NEURON_RT_LOG_LEVEL=ERROR code 1 "$bench" exec ones
grep -q 'cut to here' err && complain "information for support, although the file is invalid"
tail -n 2 err | head -n 1 | grep 'NRT:nrt_load .*not a NEFF' >/dev/null || complain "the message lacks the reason"
tail -n 1 err | grep "^neuron-bench: cannot load 'ones' " >/dev/null || complain "the message is not the last line"
code 1 "$bench" exec adder.neff --cores 2
NEURON_LIBNRT=/nowhere/libnrt.so code 1 "$bench" exec adder.neff
grep -q 'cannot open libnrt.so.1' err || complain "no message about the missing library"
# Stopped by a signal where running is the job: success, with its figures.
env --default-signal=INT "$bench" exec adder.neff --rate 20 >out 2>err &
wait_for has_executed $! 1
kill -INT $!
wait $! || complain "SIGINT: unexpected exit code $?"
grep -q '^executions ' out || complain "no figures after SIGINT"
code 0 "$bench" machine
[ -e "$NEURON_HOOKS_DIR/soft/sys/module/neuron/version" ] || complain "machine built no tree"
code 0 "$bench" machine --remove
[ -z "$(ls -A "$NEURON_HOOKS_DIR")" ] || complain "leftover files in the hooks folder: $(ls -A "$NEURON_HOOKS_DIR")"
