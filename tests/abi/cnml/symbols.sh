#!/bin/bash
# symbols - the library exports exactly the calls of the table that the headers are made from, and each generation
# has its own numbers, in C and in C++.
set -euo pipefail
library=$1 headers=$2 cc=$3 cxx=$4
cd "${NTK_SOURCE_DIR:?}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

awk -v what=map -f runtime-hooks/cnml/cnml_headers.awk runtime-hooks/cnml/cnml_ops.def |
    sed -n 's/^        \([A-Za-z].*\);/\1/p' | sort >"$scratch/expected"
nm -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >"$scratch/exported"
if ! diff "$scratch/expected" "$scratch/exported"; then
    echo "the library does not export the calls of cnml_ops.def"
    failed=1
fi

# name and value in each generation; - is absent
while read -r name g1 g2 g3; do
    for g in 1 2 3; do
        value=$(eval echo "\$g$g")
        [ "$value" = - ] && continue
        echo "assert_number($name == $value);" >>"$scratch/numbers$g"
    done
done <<'END'
CNML_STATUS_NODEVICE -1 -1 -1
CNML_STATUS_INVALIDARG 2 2 2
CNML_STATUS_OUTOFRANGE 4 4 4
CNML_STATUS_OVERFLOWERR 6 6 6
CNML_STATUS_INVALIDPARAM 8 8 8
CNML_STATUS_BADCAST 11 11 11
CNML_STATUS_UNSUPPORT 12 12 12
CNML_1H8 1 1 1
CNML_C10 3 3 3
CNML_MLU100 - 3 3
CNML_MLU270 - 5 5
CNML_FILTER 1 1 1
CNML_CONST 2 2 2
CNML_DATA_FLOAT16 1 1 1
CNML_DATA_FIX8 4 4 4
CNML_DATA_INT8 5 4 4
CNML_DATA_INT4 - - 14
CNML_DATA_QUANT8 11 11 11
CNML_DATA_BOOL 13 13 13
CNML_NHWC 3 3 3
CNML_HWCN 17 17 17
CNML_WNCH 23 23 23
CNML_ACTIVE_RELU6 5 5 5
CNML_ACTIVE_HARD_SIGMOID - - 6
CNML_POOL_MAX 1 1 1
CNML_POOL_MAXINDEX - 2 2
CNML_POOL_KVALID 1 1 1
CNML_Sparse 1 1 -
CNML_SOFTMAX_DIM_C 1 1 -
CNML_SOFTMAX_DIM_N 4 4 -
CNML_DIM_W 3 3 3
CNML_CONCAT_BATCH 1 1 1
CNML_SPLIT_WIDTH 3 3 3
CNML_CAST_INT8_TO_FLOAT16 2 3 3
CNML_CAST_FLOAT16_TO_FIX8 5 5 5
CNML_CAST_FLOAT32_TO_FLOAT16 6 6 6
END
for g in 1 2 3; do
    printf '#include "neuware/g%d/cnml.h"\n' $g | cat - "$scratch/numbers$g" >"$scratch/all$g"
    for how in "$cc -x c -std=c11 -Dassert_number(x)=_Static_assert(x,#x)" "$cxx -x c++ -std=c++17 -Dassert_number(x)=static_assert(x,#x)"; do
        read -ra words <<<"$how"
        if ! "${words[@]}" -Wall -Wextra -Werror -fsyntax-only -I"$headers" - <"$scratch/all$g"; then
            echo "generation $g"
            failed=1
        fi
    done
done
exit $failed
