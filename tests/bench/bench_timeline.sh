#!/bin/bash
# bench_timeline - the timeline page with ten million events in headless Chromium: the first picture after the index
# exists (at most 1 s), and the script time of a frame while zooming and moving (at most 16 ms).
set -u
browser=
for name in chromium-headless-shell chromium; do
    browser=${browser:-$(command -v "$name" || true)}
done
[ -n "$browser" ] && command -v python3 >/dev/null || exit 77
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-XXXXXX")
server=
trap 'kill "$server" 2>/dev/null; rm -rf "$scratch"' EXIT
mkfifo "$scratch/hold"
"$NTK_BUILD_DIR/tests/timeline_server" 2500000 <"$scratch/hold" >"$scratch/address" &
server=$!
exec 9>"$scratch/hold"
for _ in $(seq 600); do
    [ -s "$scratch/address" ] && break
    sleep 0.1
done
read -r address index_ms <"$scratch/address" || exit 1
python3 "$here/bench_timeline.py" "$browser" "$scratch/profile" "$address" "$index_ms" 9>&-
