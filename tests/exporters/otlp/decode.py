# decode.py FILE... - requests of OTLP metrics as JSON lines, one per data point, read from the wire by a
# table of the standard's fields that shares nothing with the exporter. An unknown field is an error.
import json
import struct
import sys

PAIR = {1: ("key", "string"), 2: ("value", "AnyValue")}
NUMBER = {2: ("start", "fixed64"), 3: ("time", "fixed64"), 4: ("double", "double"), 6: ("int", "sfixed64"),
          7: ("attributes", ["KeyValue"]), 8: ("flags", "varint")}
MESSAGES = {
    "Request": {1: ("resource_metrics", ["ResourceMetrics"])},
    "ResourceMetrics": {1: ("resource", "Resource"), 2: ("scope_metrics", ["ScopeMetrics"]), 3: ("schema_url", "string")},
    "Resource": {1: ("attributes", ["KeyValue"])},
    "ScopeMetrics": {1: ("scope", "Scope"), 2: ("metrics", ["Metric"]), 3: ("schema_url", "string")},
    "Scope": {1: ("name", "string"), 2: ("version", "string")},
    "KeyValue": PAIR,
    "AnyValue": {1: ("string", "string"), 2: ("bool", "varint"), 3: ("int", "varint"), 4: ("double", "double")},
    "Metric": {1: ("name", "string"), 2: ("description", "string"), 3: ("unit", "string"), 5: ("gauge", "Gauge"),
               7: ("sum", "Sum"), 9: ("histogram", "Histogram"), 10: ("exponential", "Exponential")},
    "Gauge": {1: ("points", ["Number"])},
    "Sum": {1: ("points", ["Number"]), 2: ("temporality", "varint"), 3: ("monotonic", "varint")},
    "Histogram": {1: ("points", ["HistogramPoint"]), 2: ("temporality", "varint")},
    "Exponential": {1: ("points", ["ExponentialPoint"]), 2: ("temporality", "varint")},
    "Number": NUMBER,
    "HistogramPoint": {2: ("start", "fixed64"), 3: ("time", "fixed64"), 4: ("count", "fixed64"), 5: ("sum", "double"),
                       6: ("bucket_counts", "packed fixed64"), 7: ("bounds", "packed double"),
                       9: ("attributes", ["KeyValue"]), 10: ("flags", "varint"), 11: ("min", "double"), 12: ("max", "double")},
    "ExponentialPoint": {1: ("attributes", ["KeyValue"]), 2: ("start", "fixed64"), 3: ("time", "fixed64"),
                         4: ("count", "fixed64"), 5: ("sum", "double"), 6: ("scale", "sint"), 7: ("zero_count", "fixed64"),
                         8: ("positive", "Buckets"), 9: ("negative", "Buckets"), 10: ("flags", "varint"),
                         12: ("min", "double"), 13: ("max", "double"), 14: ("zero_threshold", "double")},
    "Buckets": {1: ("offset", "sint"), 2: ("bucket_counts", "packed varint")},
}
FIXED = {"fixed64": "<Q", "sfixed64": "<q", "double": "<d"}
WIRE = {"varint": 0, "sint": 0, "fixed64": 1, "sfixed64": 1, "double": 1}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def scalar(kind, value):
    if kind in FIXED:
        return struct.unpack(FIXED[kind], value)[0]
    return (value >> 1) ^ -(value & 1) if kind == "sint" else value


def packed(kind, data):
    if kind in FIXED:
        return [scalar(kind, data[i : i + 8]) for i in range(0, len(data), 8)]
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def decode(message, data):
    result, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number not in MESSAGES[message]:
            sys.exit("decode.py: field %d of %s is unknown" % (number, message))
        name, kind = MESSAGES[message][number]
        of = kind[0] if isinstance(kind, list) else kind
        if wire != WIRE.get(of, 2):
            sys.exit("decode.py: %s.%s has wire type %d" % (message, name, wire))
        if wire == 0:
            value, at = varint(data, at)
            value = scalar(of, value)
        elif wire == 1:
            value, at = scalar(of, data[at : at + 8]), at + 8
        else:
            size, at = varint(data, at)
            content, at = data[at : at + size], at + size
            if len(content) != size:
                sys.exit("decode.py: %s.%s is cut" % (message, name))
            if of == "string":
                value = content.decode("utf-8")
            elif of.startswith("packed "):
                value = packed(of[7:], content)
            else:
                value = decode(of, content)
        if isinstance(kind, list):
            result.setdefault(name, []).append(value)
        elif name in result:
            sys.exit("decode.py: %s.%s appears twice" % (message, name))
        else:
            result[name] = value
    return result


def pairs(rows):
    result = {}
    for row in rows:
        if row["key"] in result:
            sys.exit("decode.py: attribute %s appears twice" % row["key"])
        result[row["key"]] = row["value"]["string"]
    return result


def points(file):
    with open(file, "rb") as data:
        request = decode("Request", data.read())
    for resource in request["resource_metrics"]:
        attributes = pairs(resource["resource"]["attributes"])
        for scope in resource["scope_metrics"]:
            for metric in scope["metrics"]:
                (kind,) = {"gauge", "sum", "histogram", "exponential"} & set(metric)
                for point in metric[kind]["points"]:
                    row = dict(point)
                    row.update(file=file, resource=attributes, scope=scope["scope"], name=metric["name"],
                               unit=metric.get("unit", ""), description=metric["description"], kind=kind,
                               temporality=metric[kind].get("temporality"), monotonic=metric[kind].get("monotonic"),
                               attributes=pairs(point.get("attributes", [])), flags=point.get("flags", 0))
                    yield row


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for point in points(name):
            print(json.dumps(point))
