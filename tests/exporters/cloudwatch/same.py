"""same.py EXPECTED TAKEN AGAIN - checks that TAKEN has the requests in EXPECTED, each once, except for AGAIN
requests that were accepted twice. The content of each request is compared; their order is not."""
import collections
import json
import sys


def read(name):
    with open(name) as file:
        return collections.Counter(json.dumps([json.loads(line)[key] for key in ("Namespace", "MetricData")]) for line in file)


expected, taken = read(sys.argv[1]), read(sys.argv[2])
missing, more = expected - taken, taken - expected
again = sum(more.values())
if missing or again != int(sys.argv[3]) or not expected or set(more) - set(expected) or any(count > 1 for count in more.values()):
    sys.exit(f"{sum(missing.values())} of {sum(expected.values())} requests are missing, {again} were repeated")
