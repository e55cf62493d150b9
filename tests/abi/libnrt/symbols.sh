#!/bin/bash
# What leaves libnrt.so.1: soname, version nodes, every function of the public headers under its node
# and nothing else; docs/libnrt-status.md names the same functions.
set -u
library=$1
headers=$2
status=$3
failed=0
bad() { echo "$*"; failed=1; }

soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libnrt.so.1 ] || bad "soname is $soname"
nodes=$(objdump -p "$library" | awk '/^Version definitions/ { on = 1; next } /^$/ { on = 0 } on && NF >= 4 { print $4 }' | LC_ALL=C sort | tr '\n' ' ')
[ "$nodes" = "NRT_2.0.0 NRT_3.0.0 libnrt.so.1 " ] || bad "version nodes are $nodes"

exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort)
declared=$(cat "$headers"/nrt/*.h | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -oE '\bnrta?_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort -u | sed 's/$/@@NRT_2.0.0/')
diff <(echo "$declared") <(echo "$exported") || bad "declared (<) and exported (>) functions differ"
documented=$(grep -oE '^\| `nrt[a-z0-9_]*`' "$status" | tr -d '|` ' | LC_ALL=C sort -u | sed 's/$/@@NRT_2.0.0/')
diff <(echo "$documented") <(echo "$exported") || bad "documented (<) and exported (>) functions differ"
exit $failed
