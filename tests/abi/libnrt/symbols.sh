#!/bin/bash
# What leaves libnrt.so.1: soname, version nodes, every function of the public headers under its node
# and nothing else; docs/libnrt-status.md names the same functions.
set -u
library=$1
headers=$2
status=$3
map=$4
calls=$5
failed=0
bad() { echo "$*"; failed=1; }

soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libnrt.so.1 ] || bad "soname is $soname"
nodes=$(objdump -p "$library" | awk '/^Version definitions/ { on = 1; next } /^$/ { on = 0 } on && NF >= 4 { print $4 }' | LC_ALL=C sort | tr '\n' ' ')
[ "$nodes" = "NRT_2.0.0 NRT_3.0.0 libnrt.so.1 " ] || bad "version nodes are $nodes"

exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort)
# The calls of NRT_3.0.0 but nrta_event_* exist under both nodes, the newer one is the default.
newer=$(sed -n '/^NRT_3/,/^}/s/^ *\(nrta_[a-z0-9_]*\);/\1/p' "$map")
versions() {
    LC_ALL=C sort -u | while read -r name; do
        case " $(echo $newer) " in
        *" $name "*) echo "$name@@NRT_3.0.0"; [[ $name == nrta_event_* ]] || echo "$name@NRT_2.0.0" ;;
        *) echo "$name@@NRT_2.0.0" ;;
        esac
    done | LC_ALL=C sort
}
declared=$(cat "$headers"/nrt/*.h | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -oE '\b(nrta?|nec)_[a-z0-9_]+\(' | tr -d '(' | versions)
diff <(echo "$declared") <(echo "$exported") || bad "declared (<) and exported (>) functions differ"
checked=$(sed -n 's/^CALL([^,]*, \([a-z0-9_]*\),.*/\1/p' "$calls" | versions)
missing=$(LC_ALL=C comm -23 <(echo "$exported") <(echo "$checked") | grep -v 'nrta_event_')
[ -z "$missing" ] || bad "exported functions whose signature calls.def does not state: $missing"
documented=$(grep -oE '^\| `(nrt|nec)[a-z0-9_]*`' "$status" | tr -d '|` ' | versions)
diff <(echo "$documented") <(echo "$exported") || bad "documented (<) and exported (>) functions differ"
states=$(grep -E '^\| `(nrt|nec)' "$status" | awk -F'|' '{ gsub(/ /, "", $3); print $3 }' | sort -u | grep -vxE 'implemented|emulated|unsupported')
[ -z "$states" ] || bad "unknown states: $states"
exit $failed
