#!/bin/bash
# store - the database from a user's view: queries while it is written, a second agent, a damaged and a newer file,
# and how long it keeps rows.
. "$(dirname "$0")/../lib.sh"
needs jq sqlite3

stored() { sqlite3 -readonly "$1" 'SELECT coalesce(sum(completed), 0) FROM execution_sample' 2>/dev/null; }
has_stored() { [ "$(stored "$1")" -ge "$2" ] && echo yes; }
one_line() { [ "$(wc -l <"$1")" = 1 ] || fail "expected one message: $(cat "$1")"; }

neuron-packager example memcpy -o memcpy.neff
neuron-monitor --quiet --db a.db 2>agent.txt &
agent=$!
wait_for sh -c "sqlite3 -readonly a.db 'SELECT 1 FROM machine_sample LIMIT 1' 2>/dev/null | sed s/1/yes/"
[ "$(sqlite3 -readonly a.db 'SELECT min(period_ns) > 0 FROM machine_sample')" = 1 ] || fail "the database has a row with a period of 0"
neuron-bench exec memcpy.neff --count 300 --rate 300 >bench.txt
wait_for has_stored a.db 300

# Queried while the agent writes: the same answer as from the file, and the same in every form.
[ "$(neuron-monitor query latency --db a.db --json --model memcpy | jq '.[0].completed')" = 300 ] ||
    fail "latency does not count 300 executions"
[ "$(neuron-monitor query executions --db a.db --json --step 1s | jq '[.[].completed // 0] | add')" = 300 ] ||
    fail "the steps do not add up to 300 executions"
neuron-monitor query executions --db a.db --csv | greps ',300,0,' || fail "CSV lacks 300 executions"
neuron-monitor query latency --db a.db | greps '^memcpy ' || fail "the table lacks the model"

# A second agent is rejected with one message and does not disturb the first.
code=0
neuron-monitor --quiet --db a.db --count 1 2>second.txt || code=$?
[ $code = 1 ] || fail "a second agent exits with $code"
one_line second.txt
grep -q 'another neuron-monitor is writing to it' second.txt || fail "unexpected output: $(cat second.txt)"
kill "$agent"
wait "$agent" || fail "the agent failed: $(cat agent.txt)"
[ ! -s agent.txt ] || fail "the agent complains: $(cat agent.txt)"

# A view and a query return the same values for a file, including those for unwatched time.
neuron-bench exec memcpy.neff --count 77 >bench.txt
neuron-monitor --quiet --db a.db 2>agent.txt &
agent=$!
counted() { [ "$(sqlite3 -readonly a.db 'SELECT sum(completed) FROM process_overview')" = "$1" ] && echo yes; }
wait_for counted 377
neuron-bench exec memcpy.neff --count 11 >bench.txt
wait_for counted 388
kill "$agent"
wait "$agent" || fail "the agent failed: $(cat agent.txt)"
[ "$(neuron-monitor query processes --db a.db --json | jq -c '[.[].completed]')" = '[300,77,11]' ] || fail "unexpected executions of the processes"
# A view has no inherent order: SQLite may read it by process numbers, which start again at some
# time.
view=$(sqlite3 -readonly a.db 'SELECT completed FROM process_overview ORDER BY completed DESC' | paste -sd,)
[ "$view" = 300,77,11 ] || fail "the view has $view executions"
[ "$(neuron-monitor query executions --db a.db --json | jq '.[0].completed')" = 388 ] || fail "unexpected sum of query executions"
[ "$(sqlite3 -readonly a.db 'SELECT sum(completed) FROM core_overview')" = 388 ] || fail "unexpected sum of core_overview"
shares=$(neuron-monitor query cores --db a.db --json | jq '[.[].busy_ratio] | add * 100')
view=$(sqlite3 -readonly a.db 'SELECT sum(busy_percent) FROM core_overview')
jq -ne "$shares > 0 and ($shares - $view | fabs) < 0.3" >/dev/null || fail "cores are busy $shares %, in the view $view %" # rounded

# A damaged file: one message, the agent continues, the file is still there.
cp a.db damaged.db
page=$(sqlite3 damaged.db "SELECT rootpage FROM sqlite_schema WHERE name = 'machine_sample'")
dd if=/dev/zero of=damaged.db bs=4096 seek=$((page - 1)) count=1 conv=notrunc status=none
before=$(sha256sum <damaged.db)
neuron-monitor --quiet --db damaged.db --period 1s --count 2 2>damaged.txt || fail "the agent stops: $(cat damaged.txt)"
one_line damaged.txt
grep -q 'damaged.db is damaged (.*): renamed it to damaged.db.damaged-' damaged.txt || fail "unexpected output: $(cat damaged.txt)"
[ "$(sha256sum <damaged.db.damaged-*Z)" = "$before" ] || fail "the damaged file was changed"
[ "$(sqlite3 damaged.db 'SELECT count(*) > 0 FROM machine_sample')" = 1 ] || fail "nothing was stored"

# One option sets how long rows are kept; an invalid list is a usage error.
neuron-monitor --quiet --db a.db --db-keep 1s,1h --db-size 64M --count 1 || fail "--db-keep stops the agent"
code=0
neuron-monitor --quiet --db a.db --db-keep 1h,x --count 1 2>keep.txt || code=$?
[ $code = 2 ] || fail "a wrong --db-keep exits with $code"
grep -q 'one to three times' keep.txt || fail "unexpected output: $(cat keep.txt)"

# A newer schema is rejected with one message, and the file is not modified.
sqlite3 a.db 'PRAGMA user_version = 99'
for command in "neuron-monitor --quiet --count 1" "neuron-monitor query latency"; do
    code=0
    $command --db a.db 2>newer.txt || code=$?
    [ $code = 1 ] || fail "$command exits with $code for a newer file"
    one_line newer.txt
    grep -q 'a.db: schema version 99 belongs to a newer neuron-monitor' newer.txt || fail "unexpected output: $(cat newer.txt)"
done
