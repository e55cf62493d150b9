#!/bin/bash
# outside_text - what a NEFF calls things, as neuron-packager shows it: see outside_text.py.
here=$(cd "$(dirname "$0")" && pwd)
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
python3 "$here/outside_text.py" "$scratch"
