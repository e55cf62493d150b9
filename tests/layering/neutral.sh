#!/bin/bash
# neutral - engine, core and inspect serve every front: they use no interface's names or status numbers, no vendor's
# log, and no environment variables. Differences between fronts come in options. The snapshot, its collection and the
# rings are also shared by all interfaces.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

offences() {
    grep -rnE --include='*.[ch]' --include='*.def' \
        '[Nn][Rr][Tt]|cnml|popef|NERR|NEURON_|getenv|\benviron\b|\b(100[2-6]|120[0-6])\b|\[(ND|NC|MLA) |(^|[^A-Za-z])(ND|NC|HBM) %|FATAL-RT|neuron_mem_' "$@"
}

for word in nrt_init NRT_TIMEOUT cnrtInit cnmlInit popef NERR_OK NEURON_RT_NUM_CORES 'secure_getenv("X")' 'extern char **environ;' '= 1003,' '1200' \
    '"[ND %u][NC %u]"' '"[MLA %u]"' '"on ND %u"' '"_NC %u"' FATAL-RT neuron_mem_log_x; do
    printf '%s\n' "$word" >"$scratch/planted.c"
    offences "$scratch" >/dev/null || { echo "$word would not be found"; exit 1; }
done
if offences runtime-hooks/engine runtime-hooks/core runtime-hooks/inspect; then
    echo "a front maps names and numbers, and reads the environment (runtime-hooks/env)"
    exit 1
fi
if grep -rnE --include='*.[ch]' --include='*.def' '\b_?(nrt|cnrt|cnml|NRT|CNRT|CNML)_' shared/metrics shared/collect shared/ring; then
    echo "a status or a handle has a neutral name here; fronts and formats know the interface's"
    exit 1
fi
