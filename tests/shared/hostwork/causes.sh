#!/bin/bash
# causes - jobs with idle time of known causes: the first cause in the answer is right, and its share is within 5
# points of what the job itself measured.
. "$(dirname "$0")/lib.sh"
method=$1
if [ "$method" = bpf ]; then
    why=$(why_no_bpf)
    [ -z "$why" ] || skip "$why"
fi

feed() { # a slow loader, until the job has ended
    (
        exec 3>batches
        while echo -n x >&3 2>/dev/null; do sleep 0.015; done
    ) 2>/dev/null &
}
observed() { # the profiler's answer, then the measurements of the job
    neuron-profile idle --pid $pid --for 2s --method $method --json --folded folded.txt >answer.json 2>idle.err ||
        fail "$name: neuron-profile idle failed"
    stop
    read -r idle_ns cause_ns < <(tail -n 1 job.out)
    measured=$(jq -n "100 * $cause_ns / $idle_ns")
    [ "$method" = proc ] || [ "$(jq '.processes[0].method' answer.json)" = '"bpf"' ] || complain "$name: method is not bpf"
}
share_of() { jq "[.processes[0].causes[] | select(.cause | IN($1)) | .percent] | add // 0" answer.json; }
points=5
# The additional cause on a busy machine: threads that are ready and have no CPU. In /proc they are running. The job
# does not know how much of it is part of the time that it measured.
busy='"cpu-pressure"'
[ "$method" = bpf ] || busy='"cpu-pressure","running"'
agrees() { # CAUSE: it comes first, with the share that the job measured; otherwise sets why
    local first share most
    first=$(jq -r "[.processes[0].causes[] | select(.cause == \"$1\" or (.cause | IN($busy) | not))][0].cause" answer.json)
    share=$(share_of "\"$1\"")
    most=$(share_of "\"$1\",$busy")
    why="the first cause is $first with $share to $most %, not $1 with the job's $measured %"
    printf '%s: %s, named %.1f to %.1f %%, measured %.1f %%\n' "$name" "$first" "$share" "$most" "$measured"
    [ "$first" = "$1" ] && jq -en "$share - $points <= $measured and $measured <= $most + $points" >/dev/null
}
idles_by() { # CAUSE NAME COMMAND...: observes the job until both agree, which may take several tries on a busy machine
    local cause=$1 try
    name=$2
    shift 2
    echo "== $name"
    for try in {1..8}; do
        [ ! -p batches ] || feed
        started "$@"
        ! declare -F partner >/dev/null || partner
        observed
        ! agrees "$cause" || return 0
    done
    complain "$name: $why: $(jq -c '[.processes[0].causes[] | {cause, percent}]' answer.json)"
}
row_has() { # FIELD VALUE: of the largest row with the cause
    jq -e "any(.processes[0].rows[]; $1 == \"$2\")" answer.json >/dev/null ||
        complain "$name: no row has $1 = $2: $(jq -c '.processes[0].rows[:3]' answer.json)"
}

idles_by sleep sleep "$job" sleep
[ "$method" = proc ] || row_has .function wait_by_sleep
[ "$method" = proc ] || grep -q 'sleep;.*wait_by_sleep.* [0-9]*$' folded.txt || complain "folded lines lack wait_by_sleep"

idles_by running running "$job" running
[ "$method" = proc ] || row_has .function prepare_batch

mkfifo batches
idles_by read fifo "$job" fifo "$PWD/batches"
row_has .object "$PWD/batches"
[ "$method" = proc ] || row_has .function load_batch
rm batches

idles_by network network "$job" network
idles_by poll poll "$job" poll
idles_by sleep mixed "$job" mixed # and network, for a shorter time
if [ "$method" = bpf ]; then
    # About 5 % of the time of a small page's fault is the way into the kernel and back. Interrupts are off there, so
    # samples of it are in user code: then it counts as running, while the job measures it.
    ! grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled || points=12
    idles_by page-fault page-fault "$job" page-fault
    points=5
fi
idles_by lock lock "$job" lock
if [ "$method" = bpf ]; then
    row_has '.held_by.name' tests_idle_job
    # The answer traces a wait to the thread or process that ended it.
    mkfifo batches
    idles_by read worker "$job" worker "$PWD/batches"
    row_has .function load_batch
    rm batches
    idles_by sleep child "$job" child
fi

if [ -x /usr/bin/python3 ]; then
    idles_by sleep python-sleep /usr/bin/python3 "$python_job" sleep "$library"
    [ "$method" = proc ] || row_has .function wait_for_data
    idles_by running python-running /usr/bin/python3 "$python_job" running "$library"
    [ "$method" = proc ] || row_has .function tokenize_batch
    if [ "$method" = bpf ]; then
        idles_by gil python-gil /usr/bin/python3 "$python_job" gil "$library"
        idles_by garbage-collection python-gc /usr/bin/python3 "$python_job" garbage-collection "$library"
        idles_by garbage-collection container-gc "${container[@]}" /usr/bin/python3 "$python_job" garbage-collection "$library"
        row_has .function collect
        # Short waits have Python frames, although the frames of their threads seldom change.
        has_frames() {
            jq -e '[.processes[0].rows[] | select(.cause == "sleep")] as $sleep |
                ($sleep | map(select(.function == "load_batches").seconds) | add) >= 0.9 * ($sleep | map(.seconds) | add)' answer.json >/dev/null
        }
        name=python-loader
        for _ in {1..8}; do
            started /usr/bin/python3 "$python_job" loader "$library"
            observed
            ! has_frames || break
        done
        has_frames || complain "$name: waits have no Python frames: $(jq -c '.processes[0].rows[:3]' answer.json)"
    fi
fi

# A slow disk. It is mounted where only the job sees it, and disappears with the job.
mkdir disk
slow_disk=$NTK_BUILD_DIR/tests/tests_slow_disk
if [ -w /dev/fuse ] && unshare -m "$slow_disk" disk 2>/dev/null; then
    idles_by read disk unshare -m bash -c '"$0" disk && exec "$1" fifo "$PWD/disk/batches"' "$slow_disk" "$job"
    row_has .object "$PWD/disk/batches"
    [ "$method" = proc ] || row_has .function load_batch
fi

# A rank that waits for another one, which computes before it arrives.
late=
partner() {
    [ -z "$late" ] || kill "$late"
    rm -f late.out # of the previous partner
    "$job" late-rank "$PWD/ranks" >late.out 2>late.err &
    late=$!
    wait_for is_ready late.out
}
export NEURON_PROCESS_TAG=ranks
idles_by wait late-rank "$job" early-rank "$PWD/ranks"
[ "$method" = proc ] || row_has .function meet_ranks
unset -f partner
kill "$late"
unset NEURON_PROCESS_TAG

# The quota of a cgroup: 3 ms in 20 ms.
group=/sys/fs/cgroup/neuron-idle-$$
[ ! -d /sys/fs/cgroup/cpu ] || group=/sys/fs/cgroup/cpu/neuron-idle-$$
if [ "$method" = bpf ] && mkdir "$group" 2>/dev/null; then
    trap 'code=$?; { end_jobs $pid; rmdir "$group" || true; } 2>/dev/null; (exit $code); finish' EXIT
    { echo 20000 >"$group/cpu.cfs_period_us" && echo 3000 >"$group/cpu.cfs_quota_us"; } 2>/dev/null || echo "3000 20000" >"$group/cpu.max"
    idles_by throttled quota bash -c 'echo $$ >"$0/cgroup.procs" && exec "$1" quota' "$group" "$job"
fi
