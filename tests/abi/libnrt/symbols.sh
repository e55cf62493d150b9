#!/bin/bash
# What libnrt.so.1 exports: its soname, its version nodes, every row of the table of calls under its node, what
# program marks need, and its own mark; nothing else. The public headers and docs/libnrt-status.md name the same
# functions.
set -u
library=$1
headers=$2
status=$3
calls=$4
failed=0
bad() { echo "$*"; failed=1; }

soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libnrt.so.1 ] || bad "soname is $soname"
nodes=$(objdump -p "$library" | awk '/^Version definitions/ { on = 1; next } /^$/ { on = 0 } on && NF >= 4 { print $4 }' | LC_ALL=C sort | tr '\n' ' ')
[ "$nodes" = "HOOKS_1 NRT_2.0.0 NRT_3.0.0 libnrt.so.1 " ] || bad "version nodes are $nodes"

# A row of the table is an exported function; the newest version of a name is the default.
exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort)
rows=$(sed -nE 's/^NRT_CALL(_[23])?\([^,]*, ([a-z0-9_]+),.*/\2 \1/p' "$calls" | LC_ALL=C sort)
tabled=$(awk '{ version[NR] = $2; name[NR] = $1; if ($2 == "_3") newer[$1] = 1 }
    END { for (i = 1; i <= NR; i++)
              print name[i] (version[i] == "_3" ? "@@NRT_3.0.0" : newer[name[i]] ? "@NRT_2.0.0" : "@@NRT_2.0.0") }' \
    <<<"$rows" | LC_ALL=C sort)
marks=$(grep -oE '^neuron_mark_[a-z]+@@HOOKS_1$' <<<"$exported" | tr '\n' ' ')
[ "$marks" = "neuron_mark_now@@HOOKS_1 neuron_mark_trace@@HOOKS_1 neuron_mark_write@@HOOKS_1 " ] || bad "of marks it exports $marks"
grep -qx 'neuron_soft_runtime@@HOOKS_1' <<<"$exported" || bad "the software runtime has no mark"
exported=$(grep -vE '^neuron_(mark_|soft_runtime@)' <<<"$exported")
diff <(echo "$tabled") <(echo "$exported") || bad "rows of the table (<) and exported functions (>) differ"
names=$(cut -d' ' -f1 <<<"$rows" | LC_ALL=C sort -u)
declared=$(cat "$headers"/nrt/*.h | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -oE '\b(nrta?|nec)_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort -u)
diff <(echo "$declared") <(echo "$names") || bad "declared functions (<) and rows of the table (>) differ"
documented=$(grep -oE '^\| `(nrt|nec)[a-z0-9_]*`' "$status" | tr -d '|` ' | LC_ALL=C sort)
diff <(echo "$documented") <(echo "$names") || bad "documented functions (<) and rows of the table (>) differ"
states=$(grep -E '^\| `(nrt|nec)' "$status" | awk -F'|' '{ gsub(/ /, "", $3); print $3 }' | sort -u | grep -vxE 'implemented|emulated|unsupported')
[ -z "$states" ] || bad "unknown states: $states"
exit $failed
