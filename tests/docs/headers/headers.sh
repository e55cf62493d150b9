#!/bin/bash
# headers - every header that hands out memory names its owner, and labels have the same form and words everywhere:
#
#   Owner:   create / destroy. | init / fini. | caller's storage; _fini() frees. | the text is the caller's, freed with free().
#   Threads: any. | any; no state. | any; plain data. | any; constant data. | any; immutable after creation. | one.
#            | one at a time. | one at a time per OBJECT. | as for OTHER.h.
#   Errors:  -ERRNO reason, ...
#   Source:  the document that a format or protocol comes from.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../../..}"

# Functions with names that promise memory to the caller, in headers that do not state who frees it. Const pointers
# are borrowed.
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

# Labels with another name or indentation, and other words for the phrases above.
odd() {
    xargs -r grep -nE \
        -e '^ \*? ?(Ownership|Owns|Threading|Thread|Thread[ -]safety|Error|Sources|Reference):' \
        -e '^ \* (Owner:( ?|  | {4,})[^ ]|Threads:( {0}| {2,})[^ ]|(Errors|Source):( {0,1}| {3,})[^ ])' \
        -e 'Threads: (pure|plain|constant|immutable|one thread|(a|one) [a-z]+( belongs|, one thread)|any[;,] (pure|plain functions))' |
        grep -vE 'Owner: .*Threads: |Threads: one thread (takes|asks)'
}
cat >"$scratch/odd.h" <<'TEXT'
 * Ownership: the caller.
 * Owner: the caller.
 * Threads:  any.
 * Errors: -ENOMEM.
 * Threads: pure functions.
 * Threads: one vec, one thread.
TEXT
[ "$(ls "$scratch"/odd.h | odd | wc -l)" = 6 ] || { echo "odd labels would not be found"; exit 1; }

found=$(find agent exporters profiler runtime-hooks shared top -name '*.h' ! -path 'runtime-hooks/include/*' | LC_ALL=C sort | odd) || true
[ -z "$found" ] || { echo "expected the labels and phrases of tests/docs/headers/headers.sh, found"; echo "$found"; exit 1; }
