#!/bin/bash
# hostile - jobs that are hard to observe: names with escape sequences, threads and processes that vanish, ten
# thousand threads, a map file of garbage, an end in the middle; and users without permission to look.
. "$(dirname "$0")/lib.sh"
methods=proc
[ -n "$(why_no_bpf)" ] || methods="proc bpf"

is_clean() { # FILE: no control characters except line breaks
    ! LC_ALL=C grep -q '[[:cntrl:]]' < <(tr -d '\n\t' <"$1") || complain "$method: $1 has control characters: $(head -n 5 "$1" | cat -v)"
}
# A busy machine keeps threads from a CPU; /proc also shows that as running.
idle_of() { jq -e '[.processes[0].causes[].cause | select(IN("running", "cpu-pressure") | not)][0] == "sleep"' answer.json >/dev/null || complain "$method: $1: the main cause is not sleep: $(jq -c '.processes[0].causes[:2]' answer.json)"; }

for method in $methods; do
    started "$job" churn
    head -c 100000 /dev/urandom >"/tmp/perf-$pid.map"
    ends 0 neuron-profile idle --pid $pid --for 1s --method $method --folded folded.txt
    is_clean printed
    is_clean folded.txt
    ends 0 neuron-profile idle --pid $pid --for 1s --method $method --json -o answer.json
    idle_of churn
    stop
    rm "/tmp/perf-$pid.map"

    started "$job" crowd
    ends 0 neuron-profile idle --pid $pid --for 1s --method $method --json -o answer.json
    idle_of crowd
    stop

    # The job ends while it is observed: the answer is what was seen until then.
    started "$job" sleep
    neuron-profile idle --pid $pid --for 1h --method $method >printed 2>err &
    observer=$!
    is_observing() { [ "$(readlink /proc/$observer/fd/* 2>/dev/null | grep -c -e "^$NEURON_HOOKS_DIR/")" -gt 0 ] && echo yes; }
    wait_for is_observing
    stop
    wait $observer || complain "$method: exit code $? when the job ended"
    says printed "observed for"
done

ends 1 neuron-profile idle --pid 4194303
says err "process 4194303 does not exist"
# A process is not found because its segment has another version.
started "$job" sleep
cp "$(segment)" "$NEURON_HOOKS_DIR/4194302-1"
printf '\xee' | dd of="$NEURON_HOOKS_DIR/4194302-1" bs=1 seek=8 conv=notrunc status=none
ends 1 neuron-profile idle --pid 4194302
says err "4194302-1: unsupported ABI version 238"
rm "$NEURON_HOOKS_DIR/4194302-1"
stop
ends 2 neuron-profile idle
says err "use either --pid PID or --job NAME"
ends 2 neuron-profile idle --pid 1 --rate 5000
says err "--rate: at most 1000"
if [ "$(id -u)" = 0 ]; then
    # Even where the segment can be read, another user's memory and stacks cannot.
    open_to_others "$scratch"
    started "$job" sleep
    chmod 755 "$memory" "$NEURON_HOOKS_DIR"
    chmod 644 "$NEURON_HOOKS_DIR"/*-*
    ends 1 as_user 65534 neuron-profile idle --pid $pid --for 1s
    grep -q -e "cannot trace process $pid" -e "process $pid has no readable hooks" err || complain "another user was accepted: $(cat err)"
    stop

    # Without privileges only the states in /proc are available.
    mkdir "$memory/own"
    chown 65534 "$memory/own"
    chmod 755 "$memory" "$scratch"
    cp "$job" "$scratch/others/job"
    export NEURON_HOOKS_DIR=$memory/own
    rm -f job.out
    as_user 65534 "$scratch/others/job" sleep >job.out 2>job.err &
    wait_for is_ready
    pid=$(pgrep -f "$scratch/others/job sleep")
    method=auto
    as_user 65534 neuron-profile idle --pid "$pid" --for 1s --json >answer.json 2>err || complain "without privilege: unexpected exit code $?"
    jq -e '.processes[0] | .method == "proc" and (.reason | length > 0)' answer.json >/dev/null ||
        complain "unexpected result without privilege: $(jq -c '.processes[0] | [.method, .reason]' answer.json)"
    idle_of "without privilege"
    ends 1 as_user 65534 neuron-profile idle --pid "$pid" --for 1s --method bpf
    grep -q -e "BPF requires root" -e "type information" -e "PID namespace" err || complain "unexpected result of bpf without privilege: $(cat err)"
    kill "$pid"
fi
