# dashboards.sh - every query of every dashboard, every variable and every recording rule returns data from a live
# machine in a real Prometheus, with classic buckets and with native histograms.
. "$(dirname "$0")/../../../e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/e2e/prometheus/server.sh"
here=$(dirname "$(readlink -f "$BASH_SOURCE")")
source=$NTK_SOURCE_DIR/exporters/prometheus
dashboards=$NTK_BIN_DIR/../share/neuron-toolkit/grafana
needs prometheus promtool jq curl neuron-monitor neuron-bench neuron-packager

for dashboard in "$dashboards"/neuron-*.json; do
    name=$(basename "$dashboard")
    jq -es '.[0] | [.panels[].id] | length == (unique | length)' "$dashboard" >/dev/null || fail "$name: two panels have the same id"
    jq -e '[.panels[].gridPos | .x + .w] | max <= 24' "$dashboard" >/dev/null || fail "$name: a panel is too wide"
done

cp "$source/rules/neuron.rules.yml" .
agent_is_up() { grep -q 'serving metrics on port' agent.log && echo yes; }
# Whether a query returns at least one number or native histogram.
has_data() {
    server_answers "$1" |
        greps -E '"histogram":|"value":\[[0-9.]+,"[^N]' && echo yes
}

neuron-monitor --period 500ms --prometheus 127.0.0.1:0 --verbose 1 --quiet 2>agent.log &
wait_for agent_is_up
cat >server.yml <<END
global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }
rule_files: [ neuron.rules.yml ]
scrape_configs:
  - { job_name: neuron, static_configs: [ { targets: [ "127.0.0.1:$(sed -n 's/.*serving metrics on port //p' agent.log)" ] } ] }
END
neuron-packager example conv -s 4 -o conv.neff
# An unhealthy device, so that the panels about unhealthy devices have data.
NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec conv.neff --count 1 >/dev/null 2>&1 && fail 'a fault that is none'
NEURON_PROCESS_TAG=shown neuron-bench exec conv.neff --cores 0-1 --rate 50 --duration 10m >/dev/null &

# All dashboards. Those of ranks and jobs are tested in tests/e2e/hang/alerts.sh, with ranks that hang, and those of
# serving in ../serving.
mapfile -t tried < <(ls "$dashboards"/neuron-*.json | grep -vE '/neuron-(ranks|serving).json$')
try_all() {
    local features=$1 count=0 query record
    rm -rf server.data server.log
    server_starts --enable-feature="$features"
    wait_for has_data 'rate(neuron_executions_total[10s]) > 0'
    while IFS= read -r query; do
        wait_for has_data "$query"
        count=$((count + 1))
    done < <(jq -r '(.panels[].targets[].expr), (.templating.list[] |
        select(.type == "query") | "count by (\(.name)) (\(.query.query | capture("label_values\\((?<of>[^,]*),").of))")' \
        "${tried[@]}" | sed 's/\$__rate_interval/10s/g; s/\$[a-z_]*/.*/g' | sort -u)
    # The lists of unhealthy devices omit devices of unknown health.
    while IFS= read -r query; do
        [[ $query == *'verdict="unhealthy"'* ]] || fail "the query is not limited to unhealthy devices: $query"
    done < <(jq -r '.panels[] | select(.title == "Unhealthy devices").targets[].expr' "$dashboards"/neuron-*.json)
    [ $count -ge 39 ] || fail "only $count queries were tried"
    # Verdicts on ranks are in tests/e2e/hang/alerts.sh.
    for record in $(sed -n 's/ *- record: //p' neuron.rules.yml | grep -v '^job_rank:'); do wait_for has_data "$record"; done
    kill "$server_pid" && wait "$server_pid" 2>/dev/null || true
}
try_all promql-at-modifier
try_all native-histograms
