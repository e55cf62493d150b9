#!/bin/bash
# pythons - frames of every CPython from 3.10 to 3.13 that is here, read from outside; without root and without BPF.
set -euo pipefail
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
[ -z "${NTK_SANITIZE:-}" ] || { echo "skipped: a sanitizer does not load into Python"; exit 77; }
job=$NTK_SOURCE_DIR/tests/shared/hostwork/jobs/idle_job.py
library=$NTK_BUILD_DIR/tests/idle-job/libidle_job.so
tried=0
is_ready() { grep -qx ready job.out && echo yes; }
for minor in 10 11 12 13; do
    for python in /usr/bin/python3.$minor ~/.pyenv/versions/3.$minor.*/bin/python3.$minor; do
        [ -x "$python" ] || continue
        tried=$((tried + 1))
        rm -f job.out
        "$python" "$job" sleep "$library" >job.out 2>job.err &
        pid=$!
        wait_for is_ready
        ends 0 neuron-profile idle --pid $pid --for 1s --method proc --json -o answer.json --folded folded.txt
        kill $pid
        wait $pid || true
        jq -e '[.processes[0].rows[] | select(.function == "wait_for_data" and .cause == "sleep")] | length > 0' answer.json >/dev/null ||
            complain "$python: wait_for_data does not sleep: $(jq -c '.processes[0].rows[:3]' answer.json)"
        grep -q 'sleep;<module>;wait_for_data' folded.txt || complain "$python: no stack of wait_for_data: $(head -n 3 folded.txt)"
        break
    done
done
[ $tried -gt 0 ] || { echo "skipped: no CPython from 3.10 to 3.13"; exit 77; }
