#!/bin/bash
# formats - keys of reports and tables of the database are on their pages.
exec python3 "$NTK_SOURCE_DIR/tests/docs/formats/formats.py"
