"""same.py EXPECTED TAKEN AGAIN - whether the requests in TAKEN are those in EXPECTED, each once, but for AGAIN that
were taken twice; what each request carried is compared, not its order."""
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
