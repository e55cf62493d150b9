"""reports.py FILE COUNT STEP - writes COUNT reports, repeating those in FILE, STEP seconds apart, to standard
output. The last report is a minute old."""
import json
import sys
import time

with open(sys.argv[1]) as file:
    reports = [json.loads(line) for line in file]
count, step = int(sys.argv[2]), float(sys.argv[3])
first = time.time() - 60 - count * step
for i in range(count):
    report = reports[i % len(reports)]
    report["time_ns"] = int((first + i * step) * 1e9)
    report["instance_info"]["error"] = "not requested"  # so that no program waits for a response
    report["neuron_ext"]["period_ns"] = int(step * 1e9)
    print(json.dumps(report), flush=True)
