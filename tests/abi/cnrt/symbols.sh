#!/bin/bash
# What libcnrt.so exports: every function that a header of any generation declares, under the name its macros give
# it, the functions that libcnml.so needs from it, and no others. docs/cnrt-status.md lists the same functions for
# each generation.
set -u
library=$1
headers=$2
status=$3
cc=$4
failed=0
bad() { echo "$*"; failed=1; }

soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libcnrt.so.4 ] || bad "soname is $soname"

declared_in() { # generation
    "$cc" -E -P -x c -I"$headers" "$headers/neuware/g$1/cnrt.h" | tr '\n' ' ' |
        grep -oE '\bcnrt[13]?_?[A-Z][A-Za-z0-9_]*\(' | tr -d '(' | LC_ALL=C sort -u
}
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^(ntk_cnrt|neuron_mark)_/ { print $3 }' | sed 's/@.*//' | LC_ALL=C sort -u)
declared=$( (declared_in 1 && declared_in 2 && declared_in 3) | LC_ALL=C sort -u)
diff <(echo "$declared") <(echo "$exported") || bad "declared (<) and exported functions (>) differ"
private=$(nm -D --defined-only "$library" | awk '$3 ~ /^ntk_cnrt_/ { print $3 }' | sed 's/@.*//' | LC_ALL=C sort -u)
asked=$(grep -oE '\bntk_cnrt_[a-z_]+\(' "$headers/../cnrt/cnrt_internal.h" | tr -d '(' | LC_ALL=C sort -u)
diff <(echo "$asked") <(echo "$private") || bad "cnrt_internal.h (<) and exported functions (>) differ"

for generation in 1 2 3; do
    plain=$(declared_in $generation | sed -E 's/^cnrt[13]_/cnrt/' | LC_ALL=C sort -u)
    documented=$(awk -F'|' -v g="$generation" '/^\| `cnrt/ && index($3, g) { gsub(/[` ]/, "", $2); print $2 }' "$status" | LC_ALL=C sort -u)
    diff <(echo "$plain") <(echo "$documented") || bad "generation $generation: declared (<) and documented functions (>) differ"
done
states=$(awk -F'|' '/^\| `cnrt/ { gsub(/ /, "", $4); print $4 }' "$status" | sort -u | grep -vxE 'implemented|emulated')
[ -z "$states" ] || bad "unknown states: $states"
exit $failed
