#!/bin/bash
# outside_text - names from inside a NEFF, as neuron-packager shows them: see outside_text.py.
here=$(cd "$(dirname "$0")" && pwd)
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
python3 "$here/outside_text.py" "$scratch"
