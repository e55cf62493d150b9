# openmetrics.py FILE - reads a page with the reference parser of OpenMetrics, which is strict about order, grouping
# and names; prints what it found, or fails with the parser's message.
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as file:
    families = list(text_string_to_metric_families(file.read()))
for family in families:
    if not family.samples:
        sys.exit(f"{family.name} has no samples")
print(" ".join(sorted({family.type for family in families})))
