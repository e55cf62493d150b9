#!/bin/bash
# The variables of the runtime are in one table (runtime-hooks/libnrt/nrt_env.def). docs/environment.md lists the
# same names: those with an effect here above "The vendor's other variables", the others below it. Every variable
# that the vendor documents (names.txt) is among them. The code reads those with an effect and no others, and a test
# sets each of them.
set -u
root=$NTK_SOURCE_DIR
table=$root/runtime-hooks/libnrt/nrt_env.def
page=$root/docs/environment.md
failed=0
bad() { echo "$*"; failed=1; }
same() { # subject of the comparison, left side, right side
    local differences
    differences=$(LC_ALL=C diff <(echo "$2") <(echo "$3") | grep '^[<>]') || return 0
    bad "$1:" $differences
}
names() { grep -oE "$1" | grep -oE 'NEURON_[A-Z0-9_]*[A-Z0-9]' | LC_ALL=C sort -u; }

# _LOG_LEVEL_<COMP> and _LOG_LOCATION_<COMP> are composed at run time and have no row on the page.
component='NEURON_RT_LOG_(LEVEL|LOCATION)_[A-Z]+'
rows() { sed -n "s/^NRT_ENV(\(.*\), $1)\$/\1/p" "$table" | grep -vxE "$component" | LC_ALL=C sort; }
honoured=$(rows HONOURED)
ignored=$(rows IGNORED)
[ "$(grep -c '^NRT_ENV(' "$table")" = "$(grep -cE '^NRT_ENV\([A-Z0-9_]+, (HONOURED|IGNORED)\)$' "$table")" ] || bad "a row of $table is malformed"
same "the table is not in order, or a name appears twice" "$(grep '^NRT_ENV(' "$table")" "$(grep '^NRT_ENV(' "$table" | LC_ALL=C sort -u)"

same "act by the table (<) and by the page (>)" "$honoured" \
    "$(sed "/^The vendor's other variables/,\$d" "$page" | grep '^|' | names '^\| [^|]*')"
same "change nothing by the table (<) and by the page (>)" "$ignored" \
    "$(sed -n "/^The vendor's other variables/,\$p" "$page" | grep '^|' | names '^\| [^|]*')"
missing=$(LC_ALL=C comm -23 <(LC_ALL=C sort -u names.txt) <(printf '%s\n%s\n' "$honoured" "$ignored" | LC_ALL=C sort))
[ -z "$missing" ] || bad "documented by the vendor, but not in the table:" $missing

# Those of the log are found by their endings; our programs read NEURON_LIBNRT and NEURON_LIBCNML.
read_here=$(grep -rhE '"NEURON_' --include='*.c' --include='*.h' "$root/runtime-hooks" "$root/shared/abi" "$root/profiler" |
    grep -v '(void)setenv(' |
    names '"NEURON_[A-Z0-9_]*[A-Z0-9]"')
same "act by the table (<) and are read by the code (>)" "$(echo "$honoured" | grep -v 'NEURON_RT_LOG_')" \
    "$(echo "$read_here" | grep -vxE 'NEURON_RT_LOG_.*|NEURON_ENV_.*')"
tested=$(grep -rhE 'NEURON_' --include='*.c' --include='*.sh' "$root/tests" --exclude-dir=docs | names 'NEURON_[A-Z0-9_]*[A-Z0-9]')
missing=$(LC_ALL=C comm -23 <(echo "$honoured") <(echo "$tested"))
[ -z "$missing" ] || bad "not set by any test:" $missing
exit $failed
