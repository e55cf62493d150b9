#!/bin/bash
# commands - every command that README.md and the pages below show succeeds. A job runs and an agent serves meanwhile, as the
# pages say. Programs that serve until ctrl-c print once; paths of the installation are those of one in the scratch folder;
# commands that need root or a cluster are skipped and say so.
. "$(dirname "$0")/../../e2e/lib.sh"
needs cmake curl jq python3 sqlite3
pages="README.md docs/README.md docs/start.md docs/programs.md docs/operate.md docs/alerts.md docs/kubernetes.md"
root=$scratch/root state=$scratch/state
mkdir "$state" work backups
export NEURON_SOFT_INSTANCE=trn1.32xlarge

DESTDIR=$root cmake --install "$NTK_BUILD_DIR" --prefix /usr >install.log || fail "the installation fails"
neuron-packager example conv -s 4 -o conv.neff
NEURON_PROCESS_TAG=trainer neuron-bench exec conv.neff --cores 31 --rate 20 --duration 1h >bench.log 2>&1 &
pids+=($!)
loaded() { neuron-top --json --once | jq -r 'if any(.models[]; .executions > 0) then "yes" else "no" end'; }
wait_for loaded
neuron-monitor --quiet --db "$state/monitor.db" --http 127.0.0.1:0 --prometheus 127.0.0.1:0 --verbose 1 2>agent.log &
pids+=($!)
page_port() { sed -n 's/.*http: listening on port //p' agent.log; }
metrics_port() { sed -n 's/.*serving metrics on port //p' agent.log; }
is_up() { [ -n "$(page_port)" ] && [ -n "$(metrics_port)" ] && curl -sf "http://127.0.0.1:$(page_port)/-/ready" >/dev/null && echo yes; }
wait_for is_up
has_history() { neuron-monitor query latency --db "$state/monitor.db" --csv | greps conv && echo yes; }
wait_for has_history
is_judged() { neuron-monitor health >/dev/null && echo yes; } # each device has a verdict
wait_for is_judged

# The command as it is run here.
here() {
    sed -E 's/^ *sudo //; s/ +# .*//
        s#/var/lib/neuron-monitor#'"$state"'#g; s#/var/backups#'"$scratch"'/backups#g; s#(^|[^/])/usr/share/#\1'"$root"'/usr/share/#g
        /neuron-monitor .*--(prometheus|http) /s/--(prometheus :|http )[0-9]+/--once --\1127.0.0.1:0/; s/:127/127/
        s#(localhost|127\.0\.0\.1):9482#127.0.0.1:'"$(page_port)"'#g; s#(localhost|127\.0\.0\.1):8000#127.0.0.1:'"$(metrics_port)"'#g
        s/^neuron-top$/neuron-top --once/; s/^neuron-top (--(hosts|from|connect|view) .*)/neuron-top --once \1/
        s/^(neuron-profile view (-n [^ ]+ )?-s [^ ]+)$/\1 --output-format summary-text/
        s/^(neuron-profile view -d [^ ]+)$/\1 --output-format summary-text/
        s/diag -r 3/diag -r 1/; s/^neuron-monitor slow$/neuron-monitor slow --for 1s/
        s/^(neuron-monitor (hang|health) 127.*)/\1 --timeout '"$patience"'s/'
}
# run COMMAND: in the working folder; it stops at the first line that fails, and names it.
run() {
    bash -c "cd work; set -eo pipefail; trap 'echo \"failed: \$BASH_COMMAND\" >&2' ERR; $1" >out 2>err </dev/null
}
count=0 skipped=0
for page in $pages; do
    [ -f "$NTK_SOURCE_DIR/$page" ] || fail "$page is missing"
    of_page=0
    while IFS= read -r -d '' reason && IFS= read -r -d '' command; do
        of_page=$((of_page + 1))
        if [ -n "$reason" ]; then
            skipped=$((skipped + 1))
            echo "not run, $reason: ${command%%$'\n'*}"
            continue
        fi
        command=$(here <<<"$command")
        run "$command" || fail "$page: exit code $?: $(tail -n 3 err out): $command"
        count=$((count + 1))
    done < <(python3 "$NTK_SOURCE_DIR/tests/docs/commands/commands.py" "$NTK_SOURCE_DIR/$page")
    [ $of_page -gt 0 ] || fail "$page shows no command"
done
greps 'runbook_url: https://runbooks.example.com/alerts.md#neuronmonitordown$' <work/neuron.rules.yml || fail "docs/alerts.md changes no runbook_url"
echo "$count commands run, $skipped not"
