#!/bin/bash
# full - the disk of the database is full: the agent reports that once, continues reporting and serving, stores again
# when there is room, and exits with a failure if it could not. A file size limit simulates the disk.
. "$(dirname "$0")/../lib.sh"
needs jq sqlite3 curl prlimit

lines() { [ "$(wc -l <"$1")" -ge "$2" ] && echo yes; }
says() { grep -q "$2" "$1" && echo yes; }
samples() { sqlite3 -readonly "$1" 'SELECT count(*) FROM machine_sample' 2>/dev/null; }
more_samples() { [ "$(samples "$1")" -gt "$2" ] && echo yes; }

# run NAME [OPTION]: starts an agent with files that cannot grow beyond the limit, its reports through a pipe; sets
# agent.
run() {
    mkfifo "$1.pipe"
    cat "$1.pipe" >"$1.jsonl" &
    (trap '' XFSZ && exec neuron-monitor --period 200ms --db "$1.db" --prometheus 127.0.0.1:0 --verbose 1 "${@:2}" >"$1.pipe" 2>"$1.log") &
    agent=$!
    wait_for more_samples "$1.db" 0
}
# The write-ahead log next to the file grows first.
fill() { prlimit --pid "$agent" --fsize=$(($(stat -c %s "$1.db-wal") + 1)): || fail "cannot set a limit"; }

neuron-packager example memcpy -o memcpy.neff
run room
fill room
neuron-bench exec memcpy.neff --count 50 >bench.txt
wait_for says room.log 'monitoring continues; periods are kept in memory, and all but the last 63 are merged into one'
before=$(wc -l <room.jsonl)
wait_for lines room.jsonl $((before + 10))
port=$(sed -n 's/.*serving metrics on port //p' room.log)
curl -sf "http://127.0.0.1:$port/metrics" | greps 'system_memory_total_bytes' || fail "no metrics while the disk is full"
stored=$(samples room.db)
prlimit --pid "$agent" --fsize=unlimited: || fail "cannot remove the limit"
wait_for says room.log 'writing again; [0-9]* periods were merged, 0 were lost'
wait_for more_samples room.db "$stored"
[ "$(sqlite3 -readonly room.db 'SELECT sum(completed) FROM process_overview')" = 50 ] || fail "counts were lost"
kill -TERM "$agent"
wait "$agent" || fail "the agent failed"
[ "$(grep -c 'monitoring continues' room.log)" = 1 ] || fail "expected one message"
[ "$(sqlite3 -readonly room.db 'PRAGMA integrity_check')" = ok ] || fail "the database is damaged"

# The disk stays full: stored rows remain, rows that could not be stored are reported, also together with the failure
# of another output.
run stays --otlp=http://127.0.0.1:1
fill stays
wait_for says stays.log 'monitoring continues'
kill -TERM "$agent"
code=0
wait "$agent" || code=$?
[ $code = 1 ] || fail "an agent that lost periods exits with $code"
for loss in 'otlp: timed out' 'the last [0-9.]* s were not stored: '; do
    says stays.log "$loss" >stays.said || fail "the loss was not reported: $loss"
done
[ "$(sqlite3 stays.db 'PRAGMA integrity_check')" = ok ] || fail "the database is damaged"
[ "$(sqlite3 stays.db 'SELECT count(*) > 0 FROM machine_sample')" = 1 ] || fail "no samples are left"
valid_reports ./*.jsonl
