#!/bin/bash
# tutorials - every command of the pages in docs/tutorials is run, and prints what the page shows;
# --update writes the pages again.
. "$(dirname "$0")/../../e2e/lib.sh"
needs jq python3
TMPDIR=$scratch python3 "$NTK_SOURCE_DIR/tests/docs/tutorials/tutorials.py" "$@"
