#!/bin/bash
# query - SELECT statements over a capture return the rows of the exported database, and can read no other file.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq sqlite3
neuron-packager example mlp -o m.neff -s 128 >/dev/null
neuron-profile capture -n m.neff -s m.ntff >/dev/null 2>&1 || fail "the capture failed"
NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_SYSTEM_PROFILE=1 NEURON_RT_INSPECT_OUTPUT_DIR=folder \
    neuron-profile inspect -o folder -- neuron-profile capture -n m.neff -s again.ntff >/dev/null 2>&1 || fail "inspect failed"
neuron-profile view -s m.ntff --output-format sqlite --output-file m.sqlite >/dev/null || fail "cannot export the capture to a database"
neuron-profile view -d folder --output-format sqlite --output-file folder.sqlite >/dev/null || fail "cannot export the folder to a database"
export SQLITE_TMPDIR=$PWD/spill
mkdir spill

# ask SOURCE-OPTION SOURCE DATABASE SQL: both return the same rows, as CSV with column names.
ask() {
    local count
    neuron-profile query "$1" "$2" --csv "$4" >ours 2>err || fail "$4: unexpected output"
    sqlite3 -readonly -json "$3" "$4" >theirs.json || fail "$4: sqlite3 fails"
    neuron-profile query "$1" "$2" --json "$4" >ours.json || fail "$4: the query as JSON failed"
    jq -c '.[]' theirs.json ours.json >rows
    count=$(($(wc -l <ours) - 1))
    [ "$(wc -l <rows)" = $((2 * count)) ] || fail "$4: CSV has $count rows, both JSON together $(wc -l <rows)"
    diff <(tail -n "$count" rows) <(head -n "$count" rows) >&2 || fail "$4: CSV and sqlite3 disagree"
}
for source in "-s m.ntff m.sqlite" "-d folder folder.sqlite"; do
    set -- $source
    sqlite3 -readonly "$3" "SELECT name FROM sqlite_schema WHERE type = 'table'" >tables
    [ "$(wc -l <tables)" -gt 3 ] || fail "$2 has no tables"
    ask "$1" "$2" "$3" "$(sed "s/.*/SELECT '&' AS name, count(*) AS n FROM \"&\"/; \$!s/$/ UNION ALL/" tables)"
    while read -r table; do
        ask "$1" "$2" "$3" "SELECT * FROM \"$table\" LIMIT 3"
    done <tables
done
ask -s m.ntff m.sqlite 'SELECT opcode, count(*) AS n, sum(duration_ns) AS ns FROM Instruction GROUP BY 1 ORDER BY 3 DESC, 1'
ask -s m.ntff m.sqlite 'WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 5) SELECT i, NULL AS absent, 0.5 AS half FROM s'
ask -s m.ntff m.sqlite 'SELECT a.id FROM Instruction a JOIN Instruction b ON a.id = b.id WHERE b.duration_ns > 0 ORDER BY 1'
[ "$(neuron-profile query -s m.ntff --csv "SELECT count(*) FROM Instruction WHERE engine = 'GpSimd'")" = \
    "$(neuron-profile query -s m.ntff --csv "SELECT count(*) FROM Instruction WHERE engine = 'gpsimd'")" ] ||
    fail "engines are not found as other outputs spell them"
# Aggregates are computed over groups of rows (query_plan.h) if the result is the same.
while IFS= read -r sql; do
    ask -s m.ntff m.sqlite "$sql"
done <<'SQL'
SELECT count(*) FROM Instruction
SELECT sum(duration_ns), min(start_ts), max(end_ts), avg(duration_ns), total(duration_ns), count(layer) FROM Instruction
SELECT engine, opcode, count(*), max(duration_ns) m FROM Instruction WHERE pc > 100 AND engine <> 'sync' GROUP BY engine, opcode HAVING count(*) > 3 ORDER BY count(*) DESC, 2 LIMIT 5
SELECT engine e, sum(duration_ns) / 1000.0 AS us FROM Instruction GROUP BY e ORDER BY us DESC
SELECT duration_ns / 100 * 100 AS bucket, count(*) FROM Instruction GROUP BY bucket
SELECT duration_ns / 100, count(*), count(DISTINCT opcode) FROM Instruction GROUP BY duration_ns / 100
SELECT DISTINCT engine, opcode FROM Instruction
SELECT DISTINCT opcode FROM Instruction WHERE duration_ns > 100 ORDER BY opcode DESC LIMIT 4
SELECT queue_name, sum(transfer_bytes), avg(transfer_bytes) FROM DmaPacket GROUP BY queue_name
SELECT min(opcode), max(opcode), min(engine) FROM Instruction WHERE opcode LIKE 'M%'
SELECT sum(psum_write_bytes), count(psum_write_bytes), avg(sbuf_read_bytes) FROM Instruction WHERE engine = 'none'
SELECT count(*), sum(duration_ns) FROM Instruction WHERE engine = 'none' GROUP BY engine
SELECT layer, opcode, count(*) FROM Instruction GROUP BY layer, opcode ORDER BY 1, 2
SELECT CASE WHEN duration_ns > 500 THEN 'long' ELSE 'short' END AS size, count(*) FROM Instruction GROUP BY size
SELECT engine, count(*) FROM Instruction GROUP BY engine ORDER BY sum(evt_wait_time_ns) DESC
SELECT round(avg(duration_ns), 2) FROM Instruction
SELECT max(throughput), min(throughput), count(throughput) FROM DmaPacket
SELECT opcode, duration_ns FROM Instruction WHERE duration_ns = (SELECT max(duration_ns) FROM Instruction) ORDER BY start_ts LIMIT 2
SELECT sum(duration_ns) * 1.0 / count(*) AS mean, count(operands), count(*) - count(layer) FROM Instruction
SELECT engine, avg(evt_wait_time_ns), sum(evt_wait_time_ns), count(evt_wait_time_ns) FROM Instruction GROUP BY 1
SELECT engine_idx % 4 AS lane, sum(transfer_bytes) AS bytes, max(throughput) AS fastest FROM DmaPacket GROUP BY lane ORDER BY lane
SELECT transfer_id, count(*), sum(read_bytes) FROM DmaPacket GROUP BY transfer_id ORDER BY 2 DESC, 1 LIMIT 5
SELECT id, count(*) FROM Instruction GROUP BY id ORDER BY id DESC LIMIT 3
SELECT core_count FROM (SELECT count(DISTINCT pcore_idx) AS core_count FROM Instruction)
SELECT metric, count(*) FROM (SELECT engine AS metric FROM Instruction) GROUP BY metric
SQL
# Columns that a statement does not read are not computed.
ask -s m.ntff m.sqlite 'SELECT rowid, DURATION_NS AS d, "pc" FROM Instruction ORDER BY 1 LIMIT 3'
ask -s m.ntff m.sqlite 'SELECT count(*) AS n, count(operands) AS o FROM Instruction NATURAL JOIN Instruction AS again'
ask -s m.ntff m.sqlite 'SELECT count(*) AS n FROM Instruction a JOIN Instruction b USING (pc, engine)'
ask -s m.ntff m.sqlite 'SELECT max(length(i.operands)) AS o, count(p.transfer_bytes) AS b FROM Instruction i, (SELECT * FROM DmaPacket LIMIT 2) p'
ask -d folder folder.sqlite 'SELECT name, count(*) AS n FROM SystemProfileEvents GROUP BY 1 ORDER BY 1'
[ "$(neuron-profile query -s m.ntff --json 'SELECT count(*) AS n FROM sbufallocation' 2>err | jq '.[0].n')" = 0 ] &&
    grep -q 'SbufAllocation is empty without --enable-memory-tracker' err || fail "the memory tracker is on, or no message reports that it is off"
[ "$(neuron-profile query -s m.ntff --enable-memory-tracker --json 'SELECT count(*) > 3 AS n FROM SbufAllocation' 2>err | jq '.[0].n')" = 1 ] &&
    [ ! -s err ] || fail "no allocations"
[ -z "$(ls spill)" ] || fail "leaves $(ls spill)"

# As users see it, and as scripts call it.
[ "$(neuron-profile query -s m.ntff 'SELECT 1 AS one, NULL AS none')" = "$(printf 'one  none\n  1     -')" ] || fail "unexpected text: $(neuron-profile query -s m.ntff 'SELECT 1 AS one, NULL AS none')"
echo 'SELECT 7 AS seven;' | neuron-profile query -s m.ntff --json - | jq -e '. == [{ "seven": 7 }]' >/dev/null || fail "a query from stdin failed"
[ "$(neuron-profile query m.ntff --csv 'SELECT count(*) FROM Instruction')" = "$(neuron-profile query -s m.ntff --csv 'SELECT count(*) FROM Instruction')" ] ||
    fail "a capture before the query is not read"
[ "$(neuron-profile query folder --csv 'SELECT count(*) > 0 FROM SystemProfileEvents' | tail -n 1)" = 1 ] || fail "a folder before the query is not read"
neuron-profile query --tables | greps '^Instruction ' || fail "--tables lacks Instruction"
neuron-profile query --tables instruction | greps '^duration_ns *integer *ns' || fail "--tables instruction lacks duration_ns"
neuron-profile query --tables instruction | greps '^Always NULL (.*: .*spill_save_bytes, spill_reload_bytes' || fail "--tables instruction does not list the columns without data"
neuron-profile query --tables instruction | greps '^pcore_idx .*in the order of the core numbers' || fail "pcore_idx is not explained"
neuron-profile query -s m.ntff --csv "select count(*) from OpcodeSummary where working_time_ns + waiting_time_ns <> instruction_time_ns
    or (waiting_time_ns > 0) <> (opcode = 'EVENT_SEMAPHORE' and instruction_time_ns > 0)" >sums || fail "OpcodeSummary"
[ "$(tail -1 sums)" -eq 0 ] || fail "working and waiting time do not add up: $(cat sums)"
neuron-profile query --tables OpcodeSummary | greps '^active_time_ns .* including EVENT_SEMAPHORE' || fail "OpcodeSummary does not mention that it counts EVENT_SEMAPHORE"
neuron-profile query --tables KernelIterationVariables | greps 'Always NULL' && fail "a table with all columns lists empty ones"
neuron-profile query --tables --json -d folder | jq -e 'any(.table == "SystemProfileEvents" and (.columns | length > 5))' >/dev/null || fail "--tables --json lacks SystemProfileEvents"

# refused TEXT SQL...: a message with TEXT, exit code 1, nothing on stdout.
refused() {
    local code=0
    neuron-profile query -s m.ntff "$2" >out 2>err || code=$?
    [ "$code" = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$1" err || fail "$2: unexpected output"
}
refused 'no such table: nowhere' 'SELECT * FROM nowhere'
refused "no such table: instructions (did you mean 'Instruction'?); 'neuron-profile query --tables' lists" 'SELECT * FROM instructions'
refused 'no such table in a capture: Execution (only folders of inspections have this table: pass one with -d)' 'SELECT * FROM Execution'
refused "no such column: nowhere; 'neuron-profile query --tables TABLE' lists the columns" 'SELECT nowhere FROM Instruction'
refused 'near "SELEC": syntax error' 'SELEC 1'
! grep -q -- --tables err || fail "a syntax error names the list of tables"
# A folder has other tables, and a missing file is not a word of the query.
neuron-profile query -d folder 'SELECT * FROM Instruction' 2>err && fail "a folder has a table of captures"
grep -qF 'no such table in a folder: Instruction (only captures have this table: pass one with -s)' err || fail "a table of captures: $(cat err)"
neuron-profile query -d folder 'SELECT * FROM nowhere' 2>err && fail "a folder has an unknown table"
grep -qF "'neuron-profile query --tables -d FOLDER' lists the tables" err || fail "an unknown table of folders: $(cat err)"
code=0
neuron-profile query absent.ntff 'SELECT 1' 2>err || code=$?
[ $code = 1 ] && grep -qF "cannot open 'absent.ntff'" err || fail "a missing capture before the query: $code: $(cat err)"
refused 'the query is empty' ' ; '
refused 'the query is empty' ' -- nothing'
refused 'only one SQL statement' 'SELECT 1; SELECT 2'
refused "unexpected text: '-- two" 'SELECT 1 ; -- two
SELECT 2'
[ "$(neuron-profile query -s m.ntff --json ' SELECT 1 AS n ; -- that is all ' | jq '.[0].n')" = 1 ] || fail "comments count as a statement"
refused 'use one SELECT' 'DELETE FROM Instruction'
refused 'use one SELECT' "ATTACH '/etc/passwd' AS p"
refused 'use one SELECT' 'PRAGMA writable_schema = 1'
refused 'use one SELECT' 'CREATE TABLE t (x)'
refused 'use one SELECT' "VACUUM INTO '$PWD/stolen'"
refused 'use one SELECT' VACUUM
refused 'only one SQL statement' "SELECT 1; VACUUM INTO '$PWD/stolen'"
refused 'only one SQL statement' "SELECT 1; PRAGMA temp_store_directory = '$PWD'"
refused 'not authorized' 'SELECT * FROM pragma_database_list'
[ ! -e stolen ] || fail "a query wrote a file"
refused 'authorized' "SELECT load_extension('/tmp/x.so')"
refused 'columns' 'SELECT * FROM Instruction, DmaPacket'
status() {
    local want=$1 code=0
    shift
    neuron-profile query "$@" >out 2>err || code=$?
    [ "$code" = "$want" ] || fail "$*: exit code is not $want"
}
status 2 -s m.ntff
status 2 'SELECT 1'
status 2 -s m.ntff -d folder 'SELECT 1'
status 2 -s m.ntff --json --csv 'SELECT 1'
status 2 -s m.ntff SELECT 1
status 1 --tables nothing
status 1 -s nothing.ntff 'SELECT 1'
status 1 -d nothing 'SELECT 1'
