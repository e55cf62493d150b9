#!/bin/bash
# pages - documents are reachable from docs/README.md, every alert has a section, and lines and sentences are not too
# long.
exec python3 "$NTK_SOURCE_DIR/tests/docs/pages/pages.py"
