# decode.py FILE... - requests of OTLP as JSON lines, one per data point (.pb), log record (.logs) or span (.traces), read
# from the wire by a table of the standard's fields that shares nothing with the exporter. An unknown field is an error.
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
    "LogsRequest": {1: ("resource_logs", ["ResourceLogs"])},
    "ResourceLogs": {1: ("resource", "Resource"), 2: ("scope_logs", ["ScopeLogs"]), 3: ("schema_url", "string")},
    "ScopeLogs": {1: ("scope", "Scope"), 2: ("log_records", ["LogRecord"]), 3: ("schema_url", "string")},
    "LogRecord": {1: ("time", "fixed64"), 2: ("severity", "varint"), 3: ("severity_text", "string"), 5: ("body", "AnyValue"),
                  6: ("attributes", ["KeyValue"]), 7: ("dropped_attributes", "varint"), 8: ("flags", "fixed32"),
                  9: ("trace_id", "bytes"), 10: ("span_id", "bytes"), 11: ("observed", "fixed64"), 12: ("event_name", "string")},
    "TracesRequest": {1: ("resource_spans", ["ResourceSpans"])},
    "ResourceSpans": {1: ("resource", "Resource"), 2: ("scope_spans", ["ScopeSpans"]), 3: ("schema_url", "string")},
    "ScopeSpans": {1: ("scope", "Scope"), 2: ("spans", ["Span"]), 3: ("schema_url", "string")},
    "Span": {1: ("trace_id", "bytes"), 2: ("span_id", "bytes"), 3: ("trace_state", "string"), 4: ("parent_span_id", "bytes"),
             5: ("name", "string"), 6: ("kind", "varint"), 7: ("start", "fixed64"), 8: ("end", "fixed64"),
             9: ("attributes", ["KeyValue"]), 10: ("dropped_attributes", "varint"), 12: ("dropped_events", "varint"),
             14: ("dropped_links", "varint"), 15: ("status", "Status"), 16: ("flags", "fixed32")},
    "Status": {2: ("message", "string"), 3: ("code", "varint")},
    "Buckets": {1: ("offset", "sint"), 2: ("bucket_counts", "packed varint")},
}
FIXED = {"fixed64": "<Q", "sfixed64": "<q", "double": "<d", "fixed32": "<I"}
WIRE = {"varint": 0, "sint": 0, "fixed64": 1, "sfixed64": 1, "double": 1, "fixed32": 5}


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
        elif wire == 5:
            value, at = scalar(of, data[at : at + 4]), at + 4
        else:
            size, at = varint(data, at)
            content, at = data[at : at + size], at + size
            if len(content) != size:
                sys.exit("decode.py: %s.%s is truncated" % (message, name))
            if of == "string":
                value = content.decode("utf-8")
            elif of == "bytes":
                value = content.hex()
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
        (result[row["key"]],) = row["value"].values()
    return result


def items(file):
    """Returns log records or spans."""
    message, resources, scopes, rows = {
        "logs": ("LogsRequest", "resource_logs", "scope_logs", "log_records"),
        "traces": ("TracesRequest", "resource_spans", "scope_spans", "spans"),
    }[file.rpartition(".")[2]]
    with open(file, "rb") as data:
        request = decode(message, data.read())
    for resource in request[resources]:
        attributes = pairs(resource["resource"]["attributes"])
        for scope in resource[scopes]:
            for item in scope[rows]:
                row = dict(item)
                row.update(file=file, resource=attributes, scope=scope["scope"], attributes=pairs(item.get("attributes", [])))
                if "body" in row:
                    (row["body"],) = row["body"].values()
                yield row


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
        for point in points(name) if name.endswith(".pb") else items(name):
            print(json.dumps(point))
