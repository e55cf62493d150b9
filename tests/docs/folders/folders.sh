#!/bin/bash
# folders - every folder of the product has a README.md that starts with its name, and the picture in
# docs/architecture.md names all parts.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../../..}"
bad=0
complain() {
    echo "$1" >&2
    bad=1
}

missing=$(find agent exporters profiler runtime-hooks shared top -name '*.[ch]' -o -name '*.def' -o -name '*.sh' |
    grep -v '^runtime-hooks/include/' | sed 's|/[^/]*$||' | sort -u | while read -r folder; do
    [ "$(head -1 "$folder/README.md" 2>/dev/null)" = "# $folder" ] || echo "$folder/README.md"
done)
[ -z "$missing" ] || complain "missing, or without its name as the first line: $missing"

picture() { sed -n '/^ programs   agent/,/^```/p' docs/architecture.md; }
for name in abi base metrics device ring formats http aws rpc parquet report collect store kernels hosts exporters agent \
    top profiler bench popef mlugraph rtd libnrt cnml cnrt interpose attach inspect env nrt core engine hooks; do
    picture | grep -w "$name" >/dev/null || complain "the picture lacks $name"
done
exit $bad
