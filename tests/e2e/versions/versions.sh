#!/bin/bash
# versions - two versions of applications, agents, viewers and queries in one folder, swapped at random: see
# versions.py.
. "$(dirname "$0")/../lib.sh"
needs python3
python3 "$NTK_SOURCE_DIR/tests/e2e/versions/versions.py"
