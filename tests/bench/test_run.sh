# test_run - run.sh on benches made for it: every kind of failure names its cause, and the table at the end has every
# target.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
mkdir -p build/bench
bench() { # NAME: a bench with its text on stdin
    { echo '#!/bin/bash' && cat; } >"build/bench/bench_$1"
    chmod +x "build/bench/bench_$1"
}
line() { printf 'echo "%-52s  min 1.000  median 1.000 x  target <= 1.000 x  %s"\n' "$1" "$2"; }
{ line "one" "met" && line "two" "met (minimum only)" && line "three" "within noise" && line "extra" "met" && printf 'echo "%-52s  target  not measured: no peer"\n' four; } | bench good
{ line "one" "missed" && echo 'echo "bench_missed: missed: one" >&2; exit 1'; } | bench missed
echo 'kill -SEGV $$' | bench crash
echo 'sleep 1000' | bench hangs
echo 'echo "skipped: peer is missing"; exit 77' | bench peerless
echo 'exit 3' | bench silent
for target in good:one good:two good:three good:four missed:one crash:one hangs:one peerless:one silent:one other:one; do
    echo "bench_${target/:/: }"
done >targets
export NTK_BENCH_TARGETS=$PWD/targets NTK_BENCH_LIMIT=1 NTK_TEST_PATIENCE=1
names=(bench_good bench_missed bench_crash bench_hangs bench_peerless bench_silent)
! "$NTK_SOURCE_DIR/tests/bench/run.sh" build "${names[@]}" >out 2>err || fail "failures did not fail the run"

grep '^FAILED' err >causes
diff - causes <<'TEXT' || fail "unexpected causes"
FAILED: bench_crash: killed by SIGSEGV
FAILED: bench_hangs: timed out after 1 s
FAILED: bench_missed: missed: one
FAILED: bench_silent: exit code 3
TEXT
sed '1,/^== targets/d; s/   */  /g' out >table
figures='min 1.000  median 1.000 x  target <= 1.000 x'
diff - table <<TEXT || fail "unexpected table"
missed  missed  one  $figures
not measured  crash  one  killed by SIGSEGV
not measured  good  four  no peer
not measured  hangs  one  timed out after 1 s
not measured  peerless  one  peer is missing
not measured  silent  one  exit code 3
within noise  good  three  $figures
met  good  one  $figures
met  good  two  $figures  (minimum only)
unlisted  good  extra  $figures
2 met, 1 within noise, 1 missed, 5 not measured
TEXT

# The page has the same figures.
! "$NTK_SOURCE_DIR/tests/bench/run.sh" --page page.md build "${names[@]}" >out 2>err || fail "failures did not fail the run with a page"
grep -A 6 '^## bench_good' page.md | sed 's/, [0-9-]*, load average at the start [0-9.]*$/, DATE, LOAD/' | diff - <(
    cat <<'TEXT'
## bench_good

`./dev bench bench_good`, DATE, LOAD

| quantity | measured | target | verdict |
|---|---|---|---|
| one | min 1.000, median 1.000 x | &lt;= 1.000 x | met |
TEXT
) || fail "unexpected page"
grep -q '^| four |  |  | not measured: no peer |$' page.md || fail "the page lacks a target that was not measured"
grep -q '^2 met, 1 within noise, 1 missed, 5 not measured\.$' page.md || fail "the sum of the page differs"

# One bench more: the others keep their sections, but not if these are of another machine.
line "one" "met" | bench missed
cp page.md before.md
"$NTK_SOURCE_DIR/tests/bench/run.sh" --page page.md build bench_missed >out 2>err || fail "unexpected output: $(cat err)"
grep -q '^3 met, 1 within noise, 0 missed, 5 not measured\.$' page.md || fail "the sum of the page differs after one bench: $(tail -1 page.md)"
diff <(sed '/^## bench_missed/,/^## /d; /^[0-9]* met/d' before.md) <(sed '/^## bench_missed/,/^## /d; /^[0-9]* met/d' page.md) || fail "sections of other benches changed"
sed -i 's/^| machine |.*/| machine | an older one |/' page.md
"$NTK_SOURCE_DIR/tests/bench/run.sh" --page page.md build bench_missed >out 2>err || fail "unexpected output: $(cat err)"
[ "$(grep '^## bench' page.md)" = "## bench_missed" ] || fail "the page mixes two machines"

# A bench that was removed or renamed takes its section with it.
sed -i 's/^## bench_missed/## bench_removed/' page.md
"$NTK_SOURCE_DIR/tests/bench/run.sh" --page page.md build bench_missed >out 2>err || fail "$(cat err)"
[ "$(grep '^## bench' page.md)" = "## bench_missed" ] || fail "the page has a bench that does not exist: $(grep '^## ' page.md)"

# A smoke run fails if the list differs, and is skipped if the bench is.
! "$NTK_SOURCE_DIR/tests/bench/run.sh" --smoke build bench_good >out 2>err || fail "an unlisted target was accepted"
grep -q 'targets are not those of targets.txt' err || fail "unexpected output: $(cat err)"
code=0
"$NTK_SOURCE_DIR/tests/bench/run.sh" --smoke build bench_peerless >out 2>err || code=$?
[ $code = 77 ] || fail "a bench without its peer: unexpected exit code $code"
