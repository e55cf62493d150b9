#!/bin/bash
# headers - every header that hands out memory says whose it is: "Owner:".
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../../..}"

# Names of files that declare what somebody has to free, and have no word about it. What is const is borrowed.
silent() {
    xargs -r awk '
        { gsub(/const [a-z0-9_ ]*[*][*]out_/, "") }
        /_(destroy|fini|dup)[(]/ || /[*][*]out_/ { gives[FILENAME] = 1 }
        /Owner(:|, threads:)|Owned by/ { says[FILENAME] = 1 }
        END { for (file in gives) if (!(file in says)) print file }'
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int ntk_x_create(struct ntk_x **out_x);' >"$scratch/a.h"
echo 'void ntk_x_fini(struct ntk_x *x);' >"$scratch/b.h"
[ "$(ls "$scratch"/*.h | silent | wc -l)" = 2 ] || { echo "a header without an owner would not be found"; exit 1; }

found=$(find agent exporters profiler runtime-hooks shared top -name '*.h' ! -path 'runtime-hooks/include/*' | LC_ALL=C sort | silent)
[ -z "$found" ] || { echo "no Owner: in"; echo "$found"; exit 1; }
