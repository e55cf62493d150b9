# test_samples - neuron-top --json and --csv next to a running model: the format's page has the printed names, JSON
# and CSV have the same values, unknown values are empty, and several samples have one header.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq python3

page=$NTK_SOURCE_DIR/docs/formats/top-samples.md
tables="machine devices cores applications models"
columns_of() { # the names that the page has for a table, one per line
    sed -n "/^## $1\$/,/^## /p" "$page" | grep '^| `' | cut -d'|' -f2 | grep -o '`[a-z0-9_]*`' | tr -d '`'
}

# The names, without a machine: a header, and rows of the machine only.
for table in $tables; do
    env -u NEURON_SOFT_INSTANCE neuron-top --csv=$table --once -d 200ms >"$table.csv"
    head -1 "$table.csv" | tr ',' '\n' >names
    [ $table = machine ] || [ "$(head -1 names)" = time ] || fail "$table does not begin with the time"
    [ $table = machine ] || sed -i 1d names
    columns_of $table | diff - names >differ || fail "$table: page (<) and header (>) differ: $(cat differ)"
    [ "$(wc -l <"$table.csv")" = $([ $table = machine ] && echo 2 || echo 1) ] || fail "$table: expected no rows"
done
env -u NEURON_SOFT_INSTANCE neuron-top --json --once -d 200ms >none.json
if [ ! -e /sys/devices/virtual/neuron_device ]; then
    jq -e '.format == 1 and .instance_type == null and .utilization_percent == null and .application_count == 0 and
        .executions == 0 and .cores == [] and (.notice | startswith("no Neuron driver"))' none.json >/dev/null ||
        fail "unexpected result without a machine: $(cat none.json)"
fi

neuron-packager example conv -s 4 -o conv.neff >/dev/null
NEURON_PROCESS_TAG=$'say "hi",\tall' neuron-bench exec conv.neff --cores 1 --rate 20 --duration 900 >bench.out 2>&1 &
bench=$!
running() { neuron-top --json --once -d 200ms | jq -r 'if (.models | length) == 1 and .models[0].executions > 0 then "yes" else "no" end'; }
wait_for running

# One object per line with consistent numbers. Waits for samples in which the application had a processor.
works() {
    neuron-top --json -n 3 -d 100ms >three.json
    jq -s -e 'any(.[]; .cores[1].pe_busy_percent > 0)' three.json >/dev/null && echo yes
}
wait_for works
[ "$(wc -l <three.json)" = 3 ] || fail "-n 3 are $(wc -l <three.json) lines"
jq -s -e --argjson pid "$bench" '
    ([.[].time] | . == sort and (unique | length) == 3) and
    all(.[]; (.period_seconds > 0) and .neuroncore_count == 2 and (.cores | length) == 2 and (.devices | length) == 1
        and .cores[0].utilization_percent == 0 and .cores[0].total_latency_p50_seconds == null
        and .cores[0].executions == 0 and .cores[1].device_memory_bytes == .applications[0].device_memory_bytes
        and (.utilization_percent * 2 - .cores[1].utilization_percent | fabs < 1e-6)
        and .applications[0].pid == $pid and .applications[0].neuroncores == "1"
        and .executions == .applications[0].executions and .executions == .models[0].executions
        and .device_memory_bytes == ([.device_tensors_bytes, .device_constants_bytes, .device_model_code_bytes,
            .device_runtime_memory_bytes, .device_model_shared_scratchpad_bytes] | add)
        and .host_memory_bytes == .applications[0].host_memory_bytes and .models[0].name == "conv" and .notice == null)' three.json >/dev/null ||
    fail "unexpected output: $(cat three.json)"
jq -s -e 'any(.[].cores[1]; .pe_busy_percent > 0 and .effective_flops_per_second > 0 and .peak_flops_percent > 0 and
    .peak_flops_percent < 100 and .total_latency_p99_seconds >= .total_latency_p50_seconds and .total_latency_p50_seconds > 0)' three.json >/dev/null ||
    fail "a busy core has no work: $(cat three.json)"

# Each sample covers a period, also the first one, and states its length. A late sample covers more.
neuron-top --json --once | jq -e '.period_seconds >= 0.99' >/dev/null || fail "--once does not measure a second"
neuron-top --json -n 2 -d 300ms | jq -s -e 'length == 2 and all(.[]; .period_seconds >= 0.29)' >/dev/null ||
    fail "the first sample is shorter than -d"

# CSV, as a reader of CSV reads it: one header, the same names, the tag whole, the time in each row.
neuron-top --csv=applications -n 3 -d 100ms >applications.csv
neuron-top --csv=cores -n 2 -d 100ms >cores.csv
python3 - "$bench" <<'PYTHON' || fail "unexpected output: $(cat applications.csv cores.csv)"
import csv, sys
rows = list(csv.DictReader(open("applications.csv", newline="")))
assert len(rows) == 3, rows
assert all(r["pid"] == sys.argv[1] and r["tag"].startswith('say "hi",') and r["ended"] == "false" for r in rows), rows
assert all(None not in r and None not in r.values() for r in rows), rows
assert len({r["time"] for r in rows}) == 3
rows = list(csv.DictReader(open("cores.csv", newline="")))
assert [r["neuroncore"] for r in rows] == ["0", "1", "0", "1"], rows
assert rows[0]["total_latency_p50_seconds"] == "" and float(rows[0]["utilization_percent"]) == 0
PYTHON

# From a report: the same names; values that it lacks are absent.
reports() { # FILE OPTION...: a report of a period with executions, as neuron-top reads it
    neuron-monitor --once "${@:2}" >report.json
    neuron-top --stdin --json <report.json 2>/dev/null >"$1"
    jq -e '.cores[1].utilization_percent > 0 and .applications[0].total_latency_p50_seconds > 0' "$1" >/dev/null && echo yes
}
wait_for reports stdin.json
jq -e '.cores[0].utilization_percent == 0 and .cores[1].utilization_percent > 0 and (.time | endswith("Z")) and .applications[0].neuroncores == "1" and .models[0].name == "conv"' stdin.json >/dev/null || fail "unexpected output: $(cat stdin.json)"
diff <(jq -S 'del(.[] | arrays) | keys' stdin.json) <(jq -S 'del(.[] | arrays) | keys' none.json) >differ || fail "unexpected output: $(cat differ)"
wait_for reports vendor.json --vendor-keys-only
jq -e '.models[0].executions == null and .cores[1].pe_busy_percent == null and .models[0].in_flight == null and
    .applications[0].in_flight == null and .applications[0].total_latency_p50_seconds > 0' vendor.json >/dev/null ||
    fail "a report of the vendor: $(cat vendor.json)"

# Wrong usage.
for wrong in "--csv=words" "--csv --json" "--json=x"; do
    code=0
    neuron-top $wrong >out 2>err || code=$?
    [ $code = 2 ] && [ ! -s out ] && [ "$(wc -l <err)" = 2 ] || fail "$wrong: unexpected exit code $code"
done
