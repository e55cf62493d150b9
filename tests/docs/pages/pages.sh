#!/bin/bash
# pages - each document is reachable from docs/README.md, and each alert has its section of docs/alerts.md.
exec python3 "$NTK_SOURCE_DIR/tests/docs/pages/pages.py"
