#!/bin/bash
# libnds.a defines every function of nrt/nds/neuron_ds.h, and a program needs nothing else of ours to link it. No
# library defines the driver's functions.
set -u
library=$1 headers=$2 cc=$3
shift 3 # the rest runs programs of another architecture
failed=0
bad() { echo "$*"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

functions() { # header: the functions that it declares
    tr '\n' ' ' <"$1" | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' | grep -oE "\b$2_[a-z0-9_]+\(" | tr -d '(' | LC_ALL=C sort -u
}

declared=$(functions "$headers/nrt/nds/neuron_ds.h" nds)
[ "$(echo "$declared" | wc -l)" = 21 ] || bad "neuron_ds.h declares $(echo "$declared" | wc -l) functions, not 21"
defined=$(nm -g --defined-only "$library" 2>/dev/null | awk '$2 == "T" { print $3 }' | LC_ALL=C sort -u)
missing=$(LC_ALL=C comm -23 <(echo "$declared") <(echo "$defined"))
[ -z "$missing" ] || bad "declared and not in the library: $missing"
foreign=$(echo "$defined" | grep -vE '^(nds|ntk)_')
[ -z "$foreign" ] || bad "unexpected names: $foreign"
driver=$(functions "$headers/ndl/ndl.h" ndl | wc -l)
[ "$driver" = 90 ] || bad "ndl.h declares $driver functions, not 90"

# A sanitizer's library links only with its compiler flags.
if [ -z "${NTK_SANITIZE:-}" ]; then
    {
        echo '#include <nrt/nds/neuron_ds.h>'
        echo 'typedef void (*any)(void);'
        echo 'any all[] = {'
        for name in $declared; do echo "(any)$name,"; done
        echo '}; int main(void) { return all[0] == 0; }'
    } >"$work/all.c"
    "$cc" -std=c17 -Wall -Werror -I"$headers" "$work/all.c" "$library" -lpthread -o "$work/all" &&
        "$@" "$work/all" || bad "a program with -lnds alone does not link"
fi
exit $failed
