#!/bin/bash
# bench_timeline - the timeline page with ten million events in headless Chromium: the time to the first picture once
# the index exists (at most 1 s), and the script time of a frame while zooming and moving (at most 16 ms).
. "$(dirname "$0")/lib.sh"
needs_browser
needs python3
slices=$(size 10000000 100000)
[ -x "$NTK_BUILD_DIR/tests/timeline_server" ] || skip "timeline_server was not built"
mkfifo hold
"$NTK_BUILD_DIR/tests/timeline_server" $((slices / 4)) <hold >address 2>server.err &
server=$!
exec 9>hold
wait_with "$server" server.err has_reports address
read -r address index_ms <address
python3 "$NTK_SOURCE_DIR/tests/bench/bench_timeline.py" "$browser" "$scratch/profile" "$address" "$(size 5 1)" "$(size 1 30)" \
    >figures 2>browser.err 9>&- || fail "the page failed: $(tail -1 browser.err)"
figure "index of $slices slices" "$index_ms" ms
# Lines of bench_timeline.py: the figure that counts, then its name.
while read -r value target name; do
    if [ "$target" = - ]; then figure "$name" "$value" ms; else figure "$name" "$value" ms most "$target"; fi
done <figures
result
