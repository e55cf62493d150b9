#!/bin/bash
# pythons - frames of every installed CPython from 3.10 to 3.13, in and outside a container: read without root
# and BPF, and by the program in the kernel where it can be used.
. "$(dirname "$0")/lib.sh"
methods=proc
[ -n "$(why_no_bpf)" ] || methods="proc bpf"
waits_in() { # COMMAND...: observes the job, a process of that command
    local method
    for method in $methods; do
        started "$@" "$python_job" sleep "$library"
        ends 0 neuron-profile idle --pid $pid --for 1s --method $method --json -o answer.json --folded folded.txt
        stop
        jq -e '[.processes[0].rows[] | select(.function == "wait_for_data" and .cause == "sleep")] | length > 0' answer.json >/dev/null ||
            complain "$method: $*: wait_for_data does not sleep: $(jq -c '.processes[0].rows[:3]' answer.json)"
        grep -q 'sleep;<module>;wait_for_data' folded.txt || complain "$method: $*: no stack of wait_for_data: $(head -n 3 folded.txt)"
        ! grep -E ';\[unknown\](;| )' folded.txt || complain "$method: $*: a Python function has no name"
    done
}
# A child process executes another interpreter while it is observed.
has_read_child() { readlink /proc/$observer/fd/* 2>/dev/null | greps "/child.so$" && echo yes; }
finds_after_exec() { # PYTHON
    cp "$library" child.so
    for _ in {1..8}; do
        rm -f go
        started "$1" "$python_job" exec "$library"
        neuron-profile idle --pid $pid --for 3s --method bpf --json -o answer.json 2>err &
        observer=$!
        wait_for has_read_child
        touch go
        wait $observer || complain "bpf: exec: exit code $?: $(cat err)"
        stop
        ! jq -e 'any(.processes[0].rows[]; .function == "load_after_exec" and .cause == "sleep")' answer.json >/dev/null || return 0
    done
    complain "bpf: $1: no row of load_after_exec: $(jq -c '.processes[0].rows[:3]' answer.json)"
}
has_container=$("${container[@]}" echo yes 2>/dev/null) || true
tried=0
for minor in 10 11 12 13; do
    for python in /usr/bin/python3.$minor ~/.pyenv/versions/3.$minor.*/bin/python3.$minor; do
        [ -x "$python" ] || continue
        tried=$((tried + 1))
        waits_in "$python"
        [ -z "$has_container" ] || waits_in "${container[@]}" "$python"
        [[ $methods != *bpf* ]] || finds_after_exec "$python"
        break
    done
done
[ $tried -gt 0 ] || skip "no CPython from 3.10 to 3.13"
