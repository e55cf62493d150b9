#!/bin/bash
# names - what the pages name exists; others.txt has what they name because it does not.
exec python3 "$NTK_SOURCE_DIR/tests/docs/names/names.py"
