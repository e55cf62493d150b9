#!/bin/bash
# pages - documents are reachable from docs/README.md, alerts have a section, and lines and sentences have a limit.
exec python3 "$NTK_SOURCE_DIR/tests/docs/pages/pages.py"
