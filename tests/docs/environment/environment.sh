#!/bin/bash
# docs/environment.md says of every variable that the vendor documents (names.txt) what it does here, and
# names every variable that the runtime reads.
set -u
root=$NTK_SOURCE_DIR
documented=$(grep -oE '`NEURON_[A-Z0-9_]+`' "$root/docs/environment.md" | tr -d '`' | LC_ALL=C sort -u)
failed=0

missing=$(LC_ALL=C comm -23 <(LC_ALL=C sort -u names.txt) <(echo "$documented"))
[ -z "$missing" ] || { echo "docs/environment.md does not name:" $missing; failed=1; }

# Names in full only: those of a component (_LOG_LEVEL_<COMP>) are put together at run time.
read_here=$(grep -rhoE '"NEURON_[A-Z0-9_]*[A-Z0-9]"' --include='*.c' --include='*.h' "$root/runtime-hooks" "$root/shared/abi" |
    tr -d '"' | LC_ALL=C sort -u)
[ -n "$read_here" ] || { echo "no variable found in the sources"; failed=1; }
missing=$(LC_ALL=C comm -23 <(echo "$read_here") <(echo "$documented"))
[ -z "$missing" ] || { echo "read but not in docs/environment.md:" $missing; failed=1; }
exit $failed
