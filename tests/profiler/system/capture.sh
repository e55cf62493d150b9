#!/bin/bash
# capture - the ways to run a NEFF for a capture: several workers, queued executions, one buffer for all tensors, and
# the system trace instead of a capture.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
unset NEURON_RT_ROOT_COMM_ID NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS
capture() { # EXIT-CODE ARGUMENT...
    ends "$1" timeout "$patience" neuron-profile capture -n m.neff "${@:2}" </dev/null
}
says() { grep -q -- "$1" err || complain "expected '$1'"; }
time_of() { neuron-profile view -s "$1" | awk '$1 == "total_time" { print $2 }'; }
neuron-packager example memcpy -o m.neff -s 64 >/dev/null || exit 1
capture 0 -s one.ntff
time=$(time_of one.ntff)
[ -n "$time" ] || complain "the summary has no time"

# ---- a node of several subgraphs: as many cores as it needs, one after the other ----
(
    export NEURON_SOFT_INSTANCE=inf1.xlarge NEURON_HOOKS_DIR=$scratch/inf1
    mkdir -m 700 inf1
    neuron-packager example pipeline -o pipe.neff --size 3 && cp m.neff kept.neff && mv pipe.neff m.neff
    capture 0 -s pipe.ntff
    neuron-profile show-session -s pipe.ntff >printed
    for core in 0 1 2; do
        grep -Eq "^ +$core +[0-9]+  NC $core +sg0$core " printed || complain "no core $core"
    done
    grep -q 'NC 3' printed && complain "an unused core is listed"
    grep -Eq '^Tensor +MATMUL +6 ' printed || complain "expected the products of three cores"
    mv kept.neff m.neff
)

# ---- workers: a core, a file and inputs each ----
head -c 32768 /dev/zero | tr '\0' 'a' >a.raw
head -c 32768 /dev/zero | tr '\0' 'b' >b.raw
input=in
printf '%s a.raw\n%s b.raw\n' $input $input >lines
capture 0 -s w.ntff -r 2 --num-exec 2 -m lines --save-output
[ "$(grep ntff printed)" = "$(printf 'w_rank_%s.ntff\n' 0 0_exec_2 1 1_exec_2)" ] || complain "names of two workers"
for rank in 0 1; do
    neuron-profile show-session -s w_rank_$rank.ntff >text 2>err || complain "rank $rank: show-session"
    grep -Eq "^ +0 +[0-9]+  NC $rank " text || complain "rank $rank did not run on core $rank"
    [ "$(time_of w_rank_$rank.ntff)" = "$time" ] || complain "rank $rank has a different time"
done
set -- *_rank_0.out
cmp -s "$1" a.raw || complain "rank 0 did not get the input of line 1"
set -- *_rank_1.out
cmp -s "$1" b.raw || complain "rank 1 did not get the input of line 2"
rm -f w_rank_*
capture 0 -s w.ntff -r 2 -i 1
[ "$(ls w_rank_*)" = w_rank_1.ntff ] && [ "$(cat printed)" = w_rank_1.ntff ] || complain "expected only a capture of rank 1"
# All captures of one NEFF together; captures of others are not included.
neuron-packager example mlp -o other.neff >/dev/null
mkdir -p many/below
capture 0 -s many/w.ntff -r 2
capture 0 -n other.neff -s many/other.ntff
capture 0 -s many/below/run.ntff --profile-nth-exec 2
timeout "$patience" neuron-profile view -d many -n m.neff >text 2>err || complain "view -d -n: unexpected exit code $?"
[ "$(awk 'NR > 1 && NF == 0 { exit } NR > 1 { print $1 }' text | tr '\n' ' ')" = \
    'below/run_exec_2 w_rank_0 w_rank_1 ' ] || complain "unexpected captures of one NEFF: $(cat text)"
grep -Eq '^total_time .* all the same$' text || complain "ranks of one time differ"
timeout "$patience" neuron-profile view -d many -n m.neff --output-format summary-json >json 2>err || complain "view -d -n as JSON failed"
[ "$(grep -c '"total_time"' json)" = 3 ] && grep -q '^  "w_rank_1": {' json || complain "expected JSON of three captures"
head -c 3000 many/w_rank_0.ntff >many/cut.ntff
timeout "$patience" neuron-profile view -d many -n m.neff >text 2>err
[ $? = 1 ] && grep -q '^w_rank_1 ' text || complain "a damaged capture among others: expected exit code 1 and the other captures"
says 'cut.ntff: '
timeout "$patience" neuron-profile view -d many/below -n other.neff >text 2>err
[ $? = 1 ] || complain "a NEFF without captures: expected exit code 1"
says 'many/below has no capture of other.neff (1 captures of other NEFFs)'
# Two nodes of one worker each: a world of two, joined by two commands.
export NEURON_RT_ROOT_COMM_ID=127.0.0.1:46820
timeout "$patience" env NEURON_RT_VISIBLE_CORES=0 neuron-profile capture -n m.neff -s n.ntff -r 1 --collectives-worker-count 2 \
    >other 2>&1 </dev/null &
export NEURON_RT_VISIBLE_CORES=1
capture 0 -s n.ntff -r 1 --collectives-worker-count 2 --collectives-worker-start-id 1
wait $! || complain "the other node failed: $(cat other)"
[ -s n_rank_0.ntff ] && [ -s n_rank_1.ntff ] || complain "the captures of two nodes are missing"
unset NEURON_RT_VISIBLE_CORES
# Workers that wait for another node exit when their command is killed.
neuron-profile capture -n m.neff -s k.ntff -r 2 --collectives-worker-count 3 >/dev/null 2>&1 </dev/null &
command=$!
have_begun() { workers=$(pgrep -P $command) && [ "$(wc -w <<<"$workers")" = 2 ] && echo yes; }
wait_for have_begun
workers=$(pgrep -P $command)
kill -9 $command
have_exited() { are_gone $workers && echo yes; }
wait_for have_exited
unset NEURON_RT_ROOT_COMM_ID
# A failing worker stops the others: the machine has two cores.
capture 1 -s f.ntff -r 3
says 'rank 2: nrt_init failed'
capture 1 -s f.ntff -r 2 -m m.neff
printf '%s a.raw\n' $input >lines
capture 1 -s f.ntff -r 2 -m lines
says 'rank 1: lines has no line 2'
capture 2 -m lines
says 'require --collectives-workers-per-node'
capture 2 -r 2 --collectives-worker-count 1
says 'ranks 0 to 1 exceed the 1 workers'
capture 2 -r 2 -i none
says "invalid value 'none' for --collectives-profile-id: expected all or a rank"
capture 2 -r 2 -i 2
says '--collectives-profile-id: rank 2 does not exist (number of ranks: 2)'
capture 2 -i 1
says 'rank 1 does not exist (number of ranks: 1)'

# ---- a failed execution: its records are kept, and named ----
(
    export NEURON_SOFT_FAULT=device-error:at=2 NEURON_HOOKS_DIR=$scratch/faulty
    mkdir -m 700 faulty
    capture 1 -s bad.ntff --num-exec 3
    [ "$(cat printed)" = "$(printf 'bad.ntff\nbad_exec_2.ntff')" ] || complain "the captures up to the failure are not named: $(cat printed)"
    neuron-profile show-session -s bad_exec_2.ntff >text 2>err || complain "the capture of the failed execution cannot be read: $(cat err)"
    capture 1 -t systrace -s bad.json --num-exec 3
    [ "$(cat printed)" = bad.json ] || complain "the trace of the failure is not named: $(cat printed)"
    [ "$(jq '[.events[] | select(.event_type == "nrt_execute" and .phase == "start")] | length' bad.json)" = 2 ] || complain "the trace lacks the failed execution"
)

# ---- queued executions ----
for mode in async async-wait; do
    capture 0 -s $mode.ntff --exec-mode $mode --num-exec 30 --profile-nth-exec 20
    [ "$(time_of ${mode}_exec_20.ntff)" = "$time" ] || complain "$mode: execution 20 has a different time"
done
capture 2 --exec-mode now
says "invalid value 'now' for --exec-mode: expected sync, async or async-wait"

# ---- one buffer ----
capture 0 -s io.ntff --single-io "$input" a.raw --save-output
[ "$(time_of io.ntff)" = "$time" ] || complain "with one buffer, the execution has a different time"
capture 2 -s io.ntff --single-io-threshold 1M
says '--single-io-threshold requires --single-io'
capture 0 -s io.ntff --single-io --single-io-threshold 1M "$input" a.raw --save-output
cmp -s out.out a.raw || complain "small tensors share a buffer"

# ---- inputs that the NEFF contains ----
capture 1 -s nothing.ntff --io-from=neff
says "has no value for input 'in' (no member inputs/in.npy or .bin)"
capture 0 -s given.ntff --io-from=neff "$input" a.raw
capture 2 --io-from=disk
says "invalid value 'disk' for --io-from: expected zeros or neff"
neuron-packager unpack m.neff >/dev/null 2>err && mkdir m/inputs && cp b.raw m/inputs/in.bin &&
    neuron-packager create -i m -o held.neff >/dev/null 2>err || complain "cannot create the NEFF with inputs"
capture 0 -n held.neff -s held.ntff --io-from=neff --save-output
cmp -s out.out b.raw || complain "the input of the NEFF was not read"
capture 0 -n held.neff -s held.ntff --io-from=neff --save-output "$input" a.raw
cmp -s out.out a.raw || complain "a specified file does not take precedence"
head -c 100 a.raw >m/inputs/in.bin
neuron-packager create -i m -o held.neff >/dev/null 2>err || complain "cannot create the NEFF with a short input"
capture 1 -n held.neff --io-from=neff
says "inputs/in.bin has 100 bytes, but input 'in' requires 32768"

# ---- warm-up: the recorded execution is the one after it ----
capture 0 -s warm.ntff --warmup 3 --num-exec 2 --profile-nth-exec 2
[ "$(time_of warm_exec_2.ntff)" = "$time" ] || complain "after the warm-up, the execution has a different time"
capture 0 -t systrace -s t.json --warmup 3 --num-exec 2 --systrace-event-filter nrt_execute
[ "$(grep -o '"event_type":"nrt_execute","phase":"stop"' t.json | wc -l)" = 2 ] || complain "warm-up is not traced"

# ---- a full disk: what fits is a readable file, and missing records are reported ----
neuron-packager example mlp -o large.neff >/dev/null || complain "cannot create the large model"
capture 0 -n large.neff -s whole.ntff
whole=$(stat -c %s whole.ntff)
limited() { # BYTES
    (
        ulimit -f $(($1 / 1024))
        trap '' XFSZ
        timeout "$patience" neuron-profile capture -n large.neff -s half.ntff >printed 2>err </dev/null
    )
    local got=$?
    [ $got = 1 ] || complain "a full disk: exit code $got"
}
limited $((whole * 3 / 4))
says 'half.ntff: some records were dropped for lack of space'
[ "$(stat -c %s half.ntff)" -lt "$whole" ] || complain "the limit had no effect"
neuron-profile view -s half.ntff >text 2>err || complain "a part of a capture is not readable"
grep -q '^total_time ' text || complain "a part of a capture has no time"
limited 2048
[ ! -e half.ntff ] || complain "an empty file was not removed"

# ---- errors of the device are in the capture, with the instruction that caused them ----
errors_of() { # EXAMPLE: engine, kind and pc of each
    neuron-packager example "$1" -o error.neff >/dev/null || complain "cannot create example $1"
    capture 0 -n error.neff -s error.ntff --ignore-exec-errors
    neuron-profile show-session -s error.ntff -e >text 2>err || complain "$1: show-session -e"
    awk '$3 == "ERROR"' text | sed -E 's/.*ERROR +//; s/ +/ /g'
}
[ "$(errors_of nan)" = "$(printf 'Scalar NaN written, pc 1\nVector NaN written, pc 4')" ] || complain "unexpected errors of a NaN: $(cat text)"
[ "$(errors_of oob)" = 'DMA out of bounds' ] || complain "unexpected errors of an access out of bounds: $(cat text)"
[ "$(errors_of deadlock)" = 'Vector waits for an event that is never signalled, pc 2' ] || complain "unexpected errors of a deadlock: $(cat text)"
[ -z "$(errors_of memcpy)" ] || complain "unexpected errors of a run without errors: $(cat text)"
# The NaN appears when the instruction that wrote it ends.
errors_of nan >/dev/null
moment=$(awk '$3 == "ERROR" && $4 == "Scalar" { print int($2 / 1000) }' text)
neuron-profile show-session -s error.ntff -i |
    awk -v t="$moment" '$2 == "Scalar" && $3 == 1 && $4 + $5 - t <= 1 && t - $4 - $5 <= 1 { found = 1 } END { exit !found }' ||
    complain "the NaN is at $moment ns: $(neuron-profile show-session -s error.ntff -i)"
neuron-profile view -s error.ntff --output-format csv --output-file error.csv 2>err || complain "the export of errors failed"
grep -q "^NaN written,1,\"scalar, pc 1\",[0-9a-f]*,0,$moment,Errors$" error.csv/Error.csv || complain "unexpected rows of errors: $(cat error.csv/Error.csv)"

# ---- the system trace instead ----
capture 0 -t systrace --num-exec 3 -s t.json --systrace-event-filter nrt_execute
[ "$(grep -o '"event_type":"[a-z_]*","phase":"stop"' t.json | sort | uniq -c | tr -s ' ')" = \
    ' 3 "event_type":"nrt_execute","phase":"stop"' ] || complain "expected only the events of three executions"
capture 0 -t systrace -s t.json --systrace-event-filter ^software
grep -q nc_exec_running t.json && ! grep -q nrt_execute t.json || complain "^software does not select all other types"
capture 1 -t systrace -s t.json --systrace-event-filter nothing
says "unknown event type 'nothing'; --systrace-get-event-types lists them"
timeout "$patience" neuron-profile capture --systrace-get-event-types >types 2>err || complain "expected a list of types"
grep -qx nrt_execute types && grep -qx nc_exec_running types || complain "types are missing"
