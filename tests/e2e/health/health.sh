#!/bin/bash
# health - a fault of one device appears everywhere: the early report, the metrics page, the HTTP interface, the
# database, neuron-top and neuron-ls. Healthy devices are reported as healthy.
. "$(dirname "$0")/../lib.sh"
needs jq curl
export NEURON_SOFT_INSTANCE=inf2.24xlarge

neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
# No report is due for an hour: an earlier one is caused by the fault.
neuron-monitor --period 1h --db t.db --http 0 --verbose 1 >reports.jsonl 2>agent.log &
agent=$!
is_up() { [ "$(wc -l <reports.jsonl)" = 1 ] && grep -q 'listening on port' agent.log && echo yes; }
wait_for is_up
port=$(sed -n 's/.*http: listening on port //p' agent.log)
health() { jq -c '[.neuron_ext.devices[] | .health | [.verdict, .action]] | unique'; }
[ "$(health <reports.jsonl)" = '[["healthy","none"]]' ] || fail "unexpected output: $(cat reports.jsonl)"

# Successful runs cause no report.
neuron-bench exec memcpy.neff --cores 0-5 --count 500 >/dev/null
neuron-bench exec memcpy.neff --cores 6 --duration 600s --rate 50 >/dev/null 2>&1 &
[ "$(wc -l <reports.jsonl)" = 1 ] || fail "a report for a healthy run: $(tail -1 reports.jsonl | health)"

NEURON_SOFT_FAULT=hbm-ue-repairable:at=3 neuron-bench exec memcpy.neff --cores 4 --count 5 >/dev/null 2>&1 &&
    fail "an invalid fault was accepted"
is_reported() {
    tail -n 1 reports.jsonl >report.json
    jq -e '.neuron_ext.devices[2].health |
        .verdict == "unhealthy" and .action == "reload_driver" and .reasons[0].reason == "hbm_repairable"' report.json >/dev/null && echo yes
}
wait_for is_reported
[ "$(jq -c '[.neuron_ext.devices[] | select(.health.verdict != "healthy") | .index]' report.json)" = '[2]' ] ||
    fail "healthy devices are reported as unhealthy: $(health <report.json)"
is_logged() { grep -q 'device 2 is unhealthy (hbm_repairable)' agent.log && echo yes; }
wait_for is_logged

# The page may be 250 ms older than the report; until then it may show only the failed execution.
is_on_page() {
    curl -sf "http://127.0.0.1:$port/metrics" >metrics
    grep -q '^neuron_device_health_reason_since_seconds{action="reload_driver",.*neuron_device_index="2",.*reason="hbm_repairable",.*verdict="unhealthy"} ' metrics && echo yes
}
wait_for is_on_page
grep -q '^neuron_device_health_status{.*neuron_device_index="2".*} 2$' metrics || fail "unexpected output: $(grep health metrics)"
[ "$(grep -c '^neuron_device_health_status{.*} 0$' metrics)" = 5 ] || fail "unexpected output: $(grep health metrics)"
curl -sf "http://127.0.0.1:$port/" | grep 'id="health"' >/dev/null || fail "the page has no table of health"
is_stored() { neuron-monitor query health --db t.db --csv 2>/dev/null | greps '^2,.*,unhealthy,hbm_repairable,reload_driver,' && echo yes; }
wait_for is_stored

neuron-top --once -d 200ms >top
grep -q 'ND2 unhealthy since .* (hbm_repairable: reload the driver' top || fail "unexpected output: $(head -5 top)"
neuron-ls | greps '^Device 2 is unhealthy (hbm_repairable): ' || fail "unexpected output: $(neuron-ls)"

kill -TERM "$agent"
wait "$agent" || fail "neuron-monitor exited with $?"

# The next agent continues: the fault started when the previous agent found it.
neuron-monitor --period 200ms --db t.db >again.jsonl 2>again.log &
agent=$!
since_of() { tail -n 1 "$1" | jq '.neuron_ext.devices[2].health | select(.verdict == "unhealthy") | .since_ns, .reasons[0].since_ns'; }
is_reported_again() { [ -n "$(since_of again.jsonl)" ] && echo yes; }
wait_for is_reported_again
[ "$(since_of again.jsonl)" = "$(since_of report.json)" ] || fail "the verdict starts at $(since_of again.jsonl), not at $(since_of report.json)"
kill -TERM "$agent"
wait "$agent" || fail "the next neuron-monitor exited with $?"
valid_reports reports.jsonl
