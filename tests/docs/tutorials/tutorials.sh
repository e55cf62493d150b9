#!/bin/bash
# tutorials - runs every command of the pages in docs/tutorials, which must print what the page shows; --update
# rewrites the pages.
. "$(dirname "$0")/../../e2e/lib.sh"
needs jq python3
TMPDIR=$scratch python3 "$NTK_SOURCE_DIR/tests/docs/tutorials/tutorials.py" "$@"
