#!/bin/bash
# sql - queries on the page return the rows of `neuron-profile query`, can read no other data, can be stopped at any
# time, and delay no other request. With a browser, also the tab.
. "$(dirname "$0")/../lib.sh"
needs python3
neuron-packager example attention -o attention.neff
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null
neuron-profile inspect -o folder --capture-system-profiles --capture-device-profiles -- \
    neuron-bench exec attention.neff --count 3 >/dev/null 2>&1
is_up() { grep -q '^View profile at ' "$log" && echo yes; }
# view LOG ARGUMENT...: serves a page; sets $address and $view, its process.
view() {
    log=$1
    shift
    neuron-profile view --port 0 --no-open "$@" >"$log" 2>"$log.err" &
    view=$!
    wait_for is_up
    address=$(sed -n 's/^View profile at //p' "$log")
}
query="SELECT engine, opcode, count(*) AS n, sum(duration_ns) AS ns FROM Instruction GROUP BY 1, 2 ORDER BY ns DESC, 1, 2"
neuron-profile query -s attention.ntff -n attention.neff --csv "$query" >wanted.csv
neuron-profile query -s attention.ntff -n attention.neff --csv --rows 2 "$query" >two.csv 2>err
[ "$(head -3 wanted.csv)" = "$(cat two.csv)" ] || fail "--rows 2 prints unexpected rows: $(cat two.csv)"
grep -q 'printed the first 2 rows; use a larger --rows' err || fail "--rows does not report that there are more: $(cat err)"
neuron-profile query -s attention.ntff --csv --rows 1000000 "$query" 2>err | diff - wanted.csv >&2 && [ ! -s err ] || fail "--rows beyond the end"
[ "$(neuron-profile query -s attention.ntff --json --rows 1 "$query" 2>err | jq length)" = 1 ] || fail "--rows 1 with --json: expected one row"
late="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
    SELECT hex(zeroblob(300)) AS h, CASE WHEN i = 900 THEN abs(-9223372036854775808) END AS x FROM n"
code=0
neuron-profile query -s attention.ntff --csv "$late" >rows.csv 2>err || code=$?
[ "$code" = 3 ] && [ -s rows.csv ] || fail "unexpected exit code of a query that fails after its first rows: $code"
code=0
neuron-profile query -s attention.ntff --csv --output-file rows.out "$late" 2>err || code=$?
[ "$code" = 1 ] && [ ! -e rows.out ] || fail "unexpected exit code of a query to a file that fails after its first rows: $code"
neuron-profile query -s attention.ntff --rows 1 "$query" 2>err | wc -l | greps '^2$' || fail "--rows 1 with text: expected a header and one row"

view folder.log -d folder -n attention.neff
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/sql.py" folder "$address" || fail "see above"
kill -TERM "$view"
wait "$view" || fail "neuron-profile exited with $?"
head -c -100 attention.ntff >cut.ntff
view cut.log -s cut.ntff -n attention.neff
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/sql.py" cut "$address" || fail "see above"
kill -TERM "$view"
view view.log -s attention.ntff -n attention.neff
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/sql.py" capture "$address" "$view" "$query" wanted.csv || fail "see above"
if browser=$(command -v chromium-headless-shell || command -v chromium); then
    python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/sql.py" page "$address" "$browser" "$scratch/profile" "$query" wanted.csv || fail "see above"
else
    echo "no Chromium, so the tab is not tried"
fi
# A running query ends with the server.
running=$(python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/sql.py" endless "$address" "$view") || fail "see above"
kill -TERM "$view"
wait "$view" || fail "neuron-profile exited with $?"
are_gone "$running" || fail "the query is still running"
[ ! -s view.log.err ] || fail "view printed a message: $(cat view.log.err)"
