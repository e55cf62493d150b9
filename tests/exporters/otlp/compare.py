# compare.py PAGE PUSH... - the last pushed value of every series, by the translation to Prometheus, against a
# page of neuron-monitor-prometheus made from the same reports. Both must have the same series and values.
import re
import sys

from decode import points

INSTANCE = {"availability_zone", "instance_id", "instance_name", "instance_type", "region", "subnet_id", "ultraserver_id"}
OWN = ("process_", "neuron_monitor_output_", "neuron_monitor_report_")  # of the serving programs, which are two different ones
UNITS = {"s": "seconds", "By": "bytes", "1": "ratio"}


def translated(point):
    name, unit = point["name"], point["unit"]
    assert re.fullmatch(r"[a-z_]+", name), name
    if unit in UNITS and not name.endswith("_" + UNITS[unit]) and (unit != "1" or point["kind"] == "gauge"):
        name += "_" + UNITS[unit]
    return name + "_total" if point["kind"] == "sum" else name


def page_series(file):
    series = {}
    for line in open(file, encoding="utf-8"):
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)\n", line).groups()
        if name.startswith(OWN) or name.endswith("_created"):
            continue
        found = re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels or "")
        kept = {k: re.sub(r"\\(.)", r"\1", v) for k, v in found if v and k not in INSTANCE}
        kept = {k: "%.12g" % float(v) if k == "le" else v for k, v in kept.items()}
        series[(name, tuple(sorted(kept.items())))] = float(value)
    return series


def pushed_series(files):
    last, times, own = {}, {}, set()
    for file in files:
        for point in points(file):
            if point["name"].startswith(OWN):
                own.add((point["name"], point["attributes"].get("output"), point["attributes"].get("result")))
                continue
            name = translated(point)
            kept = {k: v for k, v in point["attributes"].items() if k not in INSTANCE}
            if point["flags"] & 1 and name == "instance_info":
                continue  # the facts of the instance arrived later: another info series replaced this one
            key = (name, tuple(sorted(kept.items())))
            for what, value in values(point, kept):
                if point["flags"] & 1:
                    if (name + what[0], what[1]) not in last and point["kind"] not in ("histogram", "exponential"):
                        sys.exit("compare.py: %s ends twice, or did not exist before" % (key,))
                    last.pop((name + what[0], what[1]), None)
                else:
                    last[(name + what[0], what[1])] = value
            if point["flags"] & 1 and point["kind"] in ("histogram", "exponential"):
                ours = [k for k in last if k[0].startswith(name + "_") and
                        tuple(p for p in k[1] if p[0] != "le") == key[1]]
                if not ours:
                    sys.exit("compare.py: %s ends twice, or did not exist before" % (key,))
                for k in ours:
                    del last[k]
            if point["kind"] != "gauge":
                if not 0 < point["start"] <= point["time"]:
                    sys.exit("compare.py: %s starts at %d, after %d" % (key, point["start"], point["time"]))
                if point["temporality"] != 2:
                    sys.exit("compare.py: %s is not cumulative" % (key,))
            whole = (name, tuple(sorted(point["attributes"].items())))
            if times.get(whole, 0) >= point["time"]:
                sys.exit("compare.py: %s does not continue in time" % (whole,))
            times[whole] = point["time"]
    if ("neuron_monitor_output_items", "otlp", "sent") not in own:
        sys.exit("compare.py: the count of sent data is not pushed")
    return last


def values(point, labels):
    if point["kind"] not in ("histogram", "exponential"):
        value = point.get("int", point.get("double"))
        if (value is None) != bool(point["flags"] & 1):
            sys.exit("compare.py: %s has a contradictory flag and value" % point["name"])
        yield ("", tuple(sorted(labels.items()))), value
        return
    if point["flags"] & 1:
        return
    yield ("_sum", tuple(sorted(labels.items()))), point["sum"]
    yield ("_count", tuple(sorted(labels.items()))), point["count"]
    if point["kind"] == "exponential":
        buckets = point["positive"].get("bucket_counts", [])
        if sum(buckets) + point.get("zero_count", 0) != point["count"] or len(buckets) > 160:
            sys.exit("compare.py: buckets of %s do not add up to its count, or are too many" % point["name"])
        return
    below, bounds = 0, point["bounds"] + [float("inf")]
    if len(point["bucket_counts"]) != len(bounds):
        sys.exit("compare.py: %s does not have one bucket more than bounds" % point["name"])
    for bound, count in zip(bounds, point["bucket_counts"]):
        below += count
        yield ("_bucket", tuple(sorted({**labels, "le": "%.12g" % bound}.items()))), below


page, pushed = page_series(sys.argv[1]), pushed_series(sys.argv[2:])
if not any(k[0].endswith("_bucket") for k in pushed): # exponential buckets have no boundaries to compare
    page = {k: v for k, v in page.items() if not k[0].endswith("_bucket")}
for key in sorted(set(page) | set(pushed)):
    if key not in page or key not in pushed:
        sys.exit("compare.py: %s is only %s" % (key, "on the page" if key in page else "pushed"))
    if abs(page[key] - pushed[key]) > 1e-12 * max(1.0, abs(page[key])):
        sys.exit("compare.py: %s: %r on the page, %r pushed" % (key, page[key], pushed[key]))
print(len(page))
