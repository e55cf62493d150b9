#!/bin/bash
# alerts - alerts about ranks in a real Prometheus. A working job causes none, even if its page continues for ten
# minutes. A rank that hangs, is lost or is slow is named with its job, rank, host and cause, and the alert ends with
# its cause.
. "$(dirname "$0")/../lib.sh"
. "$NTK_SOURCE_DIR/tests/e2e/prometheus/server.sh"
needs prometheus promtool jq curl

export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_NUM_CORES=1 NEURON_RT_ROOT_COMM_ID=127.0.0.1:46825
export NEURON_RT_LOG_LEVEL=QUIET
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank

start() { # start RANKS STEP_MS [FAULT RANK]
    local i
    ranks=()
    for ((i = 0; i < $1; i++)); do
        "$rank" "$i" "$1" 100000 "$2" "$([ "$i" != "${4:--1}" ] || echo "$3")" 2>"rank$i.err" &
        ranks[i]=$!
    done
}
# All ranks end after the same step, so no rank is missing.
end_job() {
    touch world.end
    wait "${ranks[@]}" || fail "a rank failed: $(cat rank?.err)"
    rm world.end
}

mkdir jobs
neuron-monitor --period 500ms --prometheus 127.0.0.1:0 --verbose 1 --quiet --db alerts.db --hpc-job-mapping-dir jobs 2>agent.log &
agent_is_up() { grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for agent_is_up
agent=127.0.0.1:$(sed -n 's/.*serving metrics on port //p' agent.log)
cp "$NTK_SOURCE_DIR/exporters/prometheus/rules/neuron.rules.yml" .
cat >server.yml <<END
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [ neuron.rules.yml ]
scrape_configs: [ { job_name: neuron, static_configs: [ { targets: [ "$agent" ] } ] } ]
END
server_starts

# As Alertmanager gets them: "name job rank host cause". A scrape may fail while the machine is busy.
alerts() {
    curl -sf "http://127.0.0.1:$(server_port)/api/v1/alerts" >alerts.json || return
    jq -r '.data.alerts[].labels as $l | $l.alertname + " " + ([$l.job, $l.rank, $l.host, $l.cause] | join(" "))' alerts.json |
        grep -v '^NeuronMonitorDown ' | sort
}
fires() { [ "$(alerts | paste -sd';')" = "$1" ] && [ "$(jq -r '.data.alerts[].state' alerts.json | grep -c firing)" = 1 ] && echo yes; }
is_quiet() { alerts >quiet.log || true; [ -s alerts.json ] && [ ! -s quiet.log ] && echo yes; }
at_failure() { alerts >alerts.log; }
answer() { server_answers "$1" | jq -r '.data.result[0].value[1] // "none"'; }
host=$(hostname)

# A working job. Its page is continued for ten more minutes: gauges stay, counters keep rising at the same rate.
start 4 20
at_work() { [ "$(answer 'sum(neuron_collective_operations_total) > bool 100')" = 1 ] && echo yes; }
wait_for at_work
wait_for is_quiet # a busy machine may have slow ranks at first
page() { curl -sf "http://$agent/metrics" | grep -v '^#'; }
page >first
later() {
    page >second && [ "$(grep -c . second)" -gt 100 ] && ! grep -q '^neuron_rank_trouble' second &&
        ! cmp -s <(grep '^neuron_collective_operations' first) <(grep '^neuron_collective_operations' second) && echo yes
}
wait_for later
{
    printf 'rule_files: [ neuron.rules.yml ]\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n'
    awk -v scraped="job=\"neuron\",instance=\"$agent\"" '
        { match($0, / [^ ]*$/); name = substr($0, 1, RSTART - 1); value = substr($0, RSTART + 1) }
        NR == FNR { before[name] = value; next }
        {
            step = name ~ /_(total|bucket|sum|count)[{]/ && name in before ? value - before[name] : 0
            if (name ~ /_lost_total[{]/) step = 0 # a loss at one moment is not a continuous loss
            series = name
            if (series !~ /[}]$/) { series = series "{" scraped "}" } else { sub(/[{]/, "{" scraped ",", series) }
            gsub(/\047/, "\047\047", series)
            printf "      - series: \047%s\047\n        values: \047%.9g%+.9gx40\047\n", series, value, step
        }' first second
    printf '    promql_expr_test:\n'
    for minute in 1 5 10; do
        printf '      - { expr: "count_over_time(ALERTS[10m])", eval_time: %sm, exp_samples: [] }\n' $minute
    done
    # Without a job at work the rest would prove nothing.
    printf '      - { expr: "sum(rate(neuron_collective_operations_total[5m])) > bool 0", eval_time: 10m, exp_samples: [ { value: 1 } ] }\n'
} >healthy.yml
promtool test rules healthy.yml >healthy.log 2>&1 || fail "alerts while a job works"
end_job
# The page has the state of the database.
of_store='{output="store"'
wait_for eval "[ \"\$(answer 'neuron_monitor_output_items_total$of_store,result=\"sent\"} > bool 0')\" = 1 ] && echo yes"
[ "$(answer "abs(time() - neuron_monitor_output_complete_timestamp_seconds$of_store}) < bool 600")" = 1 ] || fail "no time of the last commit"
[ "$(answer "neuron_monitor_output_free_bytes$of_store} > bool 0")" = 1 ] || fail "no free bytes"
[ "$(answer "neuron_monitor_output_items_total$of_store,result=\"lost\"}")" = 0 ] || fail "periods were lost"

# A rank that hangs, in a batch job.
printf '42\nuser=alice\n' >jobs/0
start 3 5 sleep@20 1
wait_for fires "NeuronRanksHang 42 1 $host elsewhere"
jq -e '.data.alerts[] | select(.labels.alertname == "NeuronRanksHang") | .annotations.runbook_url | endswith("alerts.md#neuronrankshang")' \
    alerts.json >/dev/null || fail "unexpected annotations: $(cat alerts.json)"
# Every panel of the dashboard of ranks and jobs has data for this job.
dashboard=$NTK_BIN_DIR/../share/neuron-toolkit/grafana/neuron-ranks.json
if [ -e "$dashboard" ]; then
    has_data() {
        server_answers "$1" | greps -E '"value":\[[0-9.]+,"[^N]' && echo yes
    }
    jq -r '.panels[].targets[].expr' "$dashboard" | sed 's/\$__rate_interval/5m/g; s/\$instance/.*/g' >queries
    [ "$(wc -l <queries)" -ge 8 ] || fail "only $(wc -l <queries) queries"
    while IFS= read -r query; do wait_for has_data "$query"; done <queries
fi
# It is killed, and the scheduler removes the job: a different alert for the same job.
rm jobs/0
kill -9 "${ranks[1]}"
wait_for fires "NeuronRankLost 42 1 $host lost"
wait "${ranks[@]}" 2>/dev/null || true
# The job starts again.
start 3 5
wait_for is_quiet
end_job
wait_for is_quiet

# A rank that the others wait for.
NEURON_RT_ROOT_COMM_ID=127.0.0.1:46826
start 4 20 slow@20 2
wait_for fires "NeuronRankSlow 127.0.0.1:46826 2 $host host"
end_job
wait_for is_quiet
# At once, together with the verdict.
[ "$(answer 'count(last_over_time(ALERTS{alertname=~"NeuronRank.*",alertstate="pending"}[1h]))')" = none ] || fail "an alert was pending"
