#!/usr/bin/env python3
"""json_rows FILE - prints a profile in JSON as lines "array {row}", for comparison with known rows."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    profile = json.load(file)
for name, rows in profile.items():
    if name == "terminology":
        continue  # prose
    for row in rows:
        if name == "summary_groups":
            row = {"count": len(row)}
        print(name, json.dumps(row))
    if not rows:
        print(name, "-")
