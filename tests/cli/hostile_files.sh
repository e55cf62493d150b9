#!/bin/bash
# hostile_files - truncated and modified files in the programs that open them: see hostile_files.py, and
# hostile_inputs.py for the argument "inputs". The captures of NTK_VENDOR_CAPTURES are modified too if it is set.
set -u
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is missing"
    exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-hostile-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -m 700 "$scratch/hooks"
export PATH=$NTK_BIN_DIR:$PATH NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn1.2xlarge NEURON_RT_LOG_LEVEL=NONE
unset NEURON_HOOKS NEURON_LIBNRT NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES
if [ "${1:-}" = inputs ]; then
    command -v openssl >/dev/null || { echo "skipped: openssl is missing"; exit 77; }
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/hostile_inputs.py" "$scratch"
    exit
fi
files=("$here"/../corpus/ntff/*.ntff)
[ -z "${NTK_VENDOR_CAPTURES:-}" ] || files+=("$NTK_VENDOR_CAPTURES"/*.ne[f]f "$NTK_VENDOR_CAPTURES"/*.ntff)
python3 "$here/hostile_files.py" "$scratch" "${files[@]}"
