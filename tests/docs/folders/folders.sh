#!/bin/bash
# folders - every folder of the product has a README.md that starts with its name and names only files that exist; and
# the picture in README.md and docs/architecture.md is the same and names all parts.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../../..}"
bad=0
complain() {
    echo "$1" >&2
    bad=1
}

missing=$(find agent exporters profiler runtime-hooks shared top -type f ! -name '.*' ! -name README.md |
    grep -Ev '^(runtime-hooks/include|shared/rpc/proto/grpc)/' | sed 's|/[^/]*$||' | sort -u | while read -r folder; do
    [ "$(head -1 "$folder/README.md" 2>/dev/null)" = "# $folder" ] || echo "$folder/README.md"
done)
[ -z "$missing" ] || complain "missing, or without its name as the first line: $missing"

# `name.c` in a README is a file of its folder, or of any folder; `X_name.c` is a pattern.
files=$(find agent cmake docs exporters profiler runtime-hooks shared tests top -type f)
strange=$(find agent exporters profiler runtime-hooks shared top -name README.md | while read -r page; do
    grep -oE '`[a-zA-Z0-9_./-]+\.(c|h|def|sh|py|js|css|html|proto|map|awk|sql|yml|yaml|jq|in)`' "$page" | tr -d '`' |
        grep -Ev '^(X[_.]|\.[a-z]+$)' | sed 's|^\.\./||' | sort -u | while read -r name; do
        grep -E "(^|/)${name//./\\.}\$" <<<"$files" >/dev/null || echo "$page: $name"
    done
done)
[ -z "$strange" ] || complain "a README names a file that does not exist: $strange"

picture() { sed -n '/^ programs   agent/,/^```/p' "${1:-docs/architecture.md}"; }
[ "$(picture README.md)" = "$(picture)" ] || complain "README.md and docs/architecture.md have different pictures"
for name in abi base metrics device ring formats http aws rpc parquet report collect store kernels hosts exporters agent \
    top profiler bench popef mlugraph rtd libnrt cnml cnrt interpose attach inspect env nrt core engine hooks; do
    picture | grep -w "$name" >/dev/null || complain "the picture lacks $name"
done
exit $bad
