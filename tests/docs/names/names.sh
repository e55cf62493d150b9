#!/bin/bash
# names - every name that the pages mention exists; others.txt lists names that they mention because they do not
# exist.
exec python3 "$NTK_SOURCE_DIR/tests/docs/names/names.py"
