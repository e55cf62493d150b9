#!/bin/bash
# tutorials - every command of the pages in docs/tutorials is run, and prints what the page shows; --update writes the pages
# anew.
exec python3 "$NTK_SOURCE_DIR/tests/docs/tutorials/tutorials.py" "$@"
