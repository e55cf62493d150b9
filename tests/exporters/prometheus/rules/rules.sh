# rules.sh - tests the alert rules with promtool: each fires, and each is resolved. A real Alertmanager shows which
# alerts it inhibits. tests/e2e/hang/alerts.sh runs a healthy job for ten minutes without an alert.
. "$(dirname "$0")/../../../e2e/lib.sh"
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source=$NTK_SOURCE_DIR/exporters/prometheus
needs promtool jq curl
needs_python yaml

cp "$source/rules/neuron.rules.yml" "$here"/{neuron,hours}.test.yml .
promtool check rules neuron.rules.yml >check.log 2>&1 || fail "see check.log"
promtool test rules {neuron,hours}.test.yml >check.log 2>&1 || fail "see check.log"
# Every alert has a case in which it fires.
for alert in $(sed -n 's/ *- alert: //p' neuron.rules.yml); do
    grep -A 3 "alertname: $alert" {neuron,hours}.test.yml | greps exp_labels || fail "no case in which $alert fires"
done
# Alertmanager inhibits only alerts that exist, and actions are those of the health page.
for alert in $(grep -o 'Neuron[A-Za-z]*' "$source/rules/inhibit.yml" | sort -u); do
    greps "alert: $alert\$" neuron.rules.yml || fail "inhibit.yml names no alert: $alert"
done
actions() { grep -oE "$1" "$2" | grep -oE '[a-z]+_[a-z]+' | sort -u; }
diff <(actions '(action="|What to do: )[a-z_]+' neuron.rules.yml) \
    <(sed -n '/actions:begin/,/actions:end/p' "$NTK_SOURCE_DIR/docs/health.md" | grep -oE '^\| `[a-z]+_[a-z]+' | grep -oE '[a-z]+_[a-z]+' | sort -u) ||
    fail "the rules have other actions than docs/health.md"


alerts=$(sed -n 's/ *- alert: //p' neuron.rules.yml)
# Every alert links to its section of the runbook, with the severity of that section.
"$python" - <<'END' || fail "see above"
import os, re, sys, yaml
runbook = open(os.environ["NTK_SOURCE_DIR"] + "/docs/alerts.md").read()
sections = dict(re.findall(r"^## (Neuron\w+)\n\nSeverity: (\w+)", runbook, re.M))
rules = [rule for group in yaml.safe_load(open("neuron.rules.yml"))["groups"] for rule in group["rules"] if "alert" in rule]
for rule in rules:
    name, url = rule["alert"], rule["annotations"].get("runbook_url", "")
    if not url.endswith("alerts.md#" + name.lower()) or sections.get(name) != rule["labels"]["severity"]:
        sys.exit(f"{name}: {url or 'no runbook_url'}, severity {rule['labels']['severity']}, in the runbook {sections.get(name)}")
END

# Each fires when it should and is resolved afterwards: a row of resolve.txt has an alert, when it fires, when it is
# resolved, and the series that cause both.
"$python" "$here/resolve.py" "$here/resolve.txt" || fail "see resolve.txt"
diff <(sort <<<"$alerts") <(grep -o '^Neuron[A-Za-z]*' "$here/resolve.txt" | sort) || fail "resolve.txt lacks an alert"
promtool test rules {resolve,resolve-hours}.test.yml >check.log 2>&1 || fail "see check.log"

# Inhibition.
command -v prometheus-alertmanager >/dev/null || skip "prometheus-alertmanager is missing; everything else passed"
"$python" "$here/inhibit.py" "$source/rules/inhibit.yml" config >alertmanager.yml
amtool check-config alertmanager.yml >check.log 2>&1 || fail "see check.log"
port=$(free_ports 1)
# Debian's package reads its template from a fixed place. If the package is only unpacked, a private namespace
# provides that place.
template=/usr/share/prometheus/alertmanager
unpacked=$NTK_SOURCE_DIR/build/tools$template
in_place=()
if [ ! -e $template/default.tmpl ]; then
    in_place=(unshare -rm sh -c 'mkdir copy && cp "$1"/*.tmpl copy && mount -t tmpfs tmpfs /usr/share && mkdir -p "$0" && cp copy/* "$0" && shift && exec "$@"'
        $template "$unpacked")
    "${in_place[@]}" true 2>/dev/null || skip "no place for the template of Alertmanager; everything else passed"
    rm -r copy
fi
"${in_place[@]}" prometheus-alertmanager --config.file=alertmanager.yml --storage.path=alerts --web.listen-address="127.0.0.1:$port" \
    --cluster.listen-address= >alertmanager.log 2>&1 &
is_up() { curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null && echo yes; }
wait_for is_up
"$python" "$here/inhibit.py" "$source/rules/inhibit.yml" alerts >alerts.json
curl -sf -H 'Content-Type: application/json' -d @alerts.json "http://127.0.0.1:$port/api/v2/alerts" || fail "Alertmanager rejects the alerts"
# Alerts with a different device, machine or job than the source stay; all others are silenced.
answered() {
    curl -sf "http://127.0.0.1:$port/api/v2/alerts" >answer.json &&
        [ "$(jq '[.[] | select(.status.state != "unprocessed")] | length' answer.json)" = "$(jq length alerts.json)" ] && echo yes
}
wait_for answered
"$python" "$here/inhibit.py" "$source/rules/inhibit.yml" check answer.json || fail "see answer.json"
