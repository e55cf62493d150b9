#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""valid_reports SCHEMA FILE... - checks that every line of the files is a report according to the schema.

Prints file, line and path of errors, and exits with 1; exits with 77 if python3-jsonschema is missing."""
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)


def main(schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong = reports = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    continue  # its writer was killed
                reports += 1
                for error in validator.iter_errors(json.loads(line)):
                    place = ".".join(str(part) for part in error.absolute_path)
                    print(f"{path}:{number}: {place}: {error.message[:300]}")
                    wrong += 1
    if reports == 0:
        print("no report to check")
    return 1 if wrong or reports == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
