# serving.sh - the rules that join vLLM and Ray Serve with the cores of their host, on pages of both: exact values
# with promtool, and every panel of the dashboard has data in a real Prometheus.
. "$(dirname "$0")/../../../e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/e2e/prometheus/server.sh"
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source=$NTK_SOURCE_DIR/exporters/prometheus
dashboard=$NTK_BIN_DIR/../share/neuron-toolkit/grafana/neuron-serving.json
needs prometheus promtool python3 jq curl

promtool check rules "$source/rules/serving.rules.yml" >check.log 2>&1 || fail "see check.log"
# Without the power of a device, only the energy is absent.
cp "$source/rules/serving.rules.yml" .
python3 "$here/page.py" promtool 0 >serving.test.yml
promtool test rules serving.test.yml >check.log 2>&1 || fail "see check.log"
sed -i 's/vector(0)/vector(400)/' serving.rules.yml
python3 "$here/page.py" promtool 400 >serving.test.yml
promtool test rules serving.test.yml >check.log 2>&1 || fail "see check.log"
for record in $(sed -n 's/ *- record: //p' serving.rules.yml | grep -E 'vllm|ray'); do
    grep -q "$record" serving.test.yml || fail "no value of $record is tested"
done

targets=
listens() { [ -s "$1" ] && echo yes; }
for page in vllm ray neuron; do
    python3 "$here/page.py" serve "$here/$page.prom" $page.port 2>$page.log &
    wait_for listens $page.port
    targets+="\"127.0.0.1:$(cat $page.port)\", "
done
cat >server.yml <<END
global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }
rule_files: [ serving.rules.yml ]
scrape_configs: [ { job_name: serving, static_configs: [ { targets: [ $targets ] } ] } ]
END
server_starts
has_data() {
    server_answers "$1" | greps -E '"value":\[[0-9.]+,"[^N]' && echo yes
}
jq -r '.panels[].targets[].expr' "$dashboard" | sed 's/\$host/.*/g' >queries
[ "$(wc -l <queries)" -ge 9 ] || fail "only $(wc -l <queries) queries"
while IFS= read -r query; do wait_for has_data "$query"; done <queries
