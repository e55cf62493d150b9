#!/bin/bash
# outside_text - what a NEFF calls things, as neuron-packager shows it: see outside_text.py.
set -u
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is missing"
    exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-text-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
PATH=$NTK_BIN_DIR:$PATH python3 "$(dirname "$0")/outside_text.py" "$scratch"
