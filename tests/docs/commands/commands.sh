#!/bin/bash
# commands - every command in a document or man page succeeds. Meanwhile a job runs and an agent serves, as the pages
# state. Programs that serve until ctrl-c print once. Paths of the installation point into the scratch folder.
# Commands that need root or a cluster are skipped, for the reason given in their page.
. "$(dirname "$0")/../../e2e/lib.sh"
needs cmake curl jq python3 sqlite3
root=$scratch/root state=$scratch/state
mkdir "$state" work backups bin
export PATH=$scratch/bin:$PATH
export NEURON_SOFT_INSTANCE=trn1.32xlarge

DESTDIR=$root cmake --install "$NTK_BUILD_DIR" --prefix /usr >install.log || fail "the installation fails"
cd "$NTK_SOURCE_DIR"
mapfile -t pages < <(find . \( -path ./build -o -path ./.git -o -path ./tests/corpus \) -prune -o \( -name '*.md' -o -name '*.1.in' \) -print |
    sed 's#^\./##' | LC_ALL=C sort)
mapfile -t pages < <(python3 tests/docs/commands/commands.py --pages "${pages[@]}" || echo unmarked)
cd "$scratch"
[[ " ${pages[*]} " != *" unmarked "* ]] || fail "a block of commands is not marked sh"
[[ " ${pages[*]} " == *" README.md "*" docs/operate.md "*" top/neuron-top.1.in "* ]] || fail "pages with commands are missing: ${pages[*]}"

# Files that the pages mention but do not create.
(
    cd work
    neuron-packager example memcpy -s 64 -o model.neff
    neuron-profile capture -n model.neff -s run.ntff
    cp model.neff run.neff
    popef_make example add -o executable.popef
    popef_make example accumulate -o variables.popef
    python3 "$NTK_SOURCE_DIR/docs/graph-example.py"
    for name in resnet two-devices net; do cp net.json $name-symbol.json; done
    echo 'import sys' | tee train.py >serve.py
    python3 - <<'PYTHON'
import struct
head = str({"descr": "<f4", "fortran_order": False, "shape": (1, 128, 64)})
head += " " * (-(len(head) + 11) % 64) + "\n"
with open("images.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + bytes(4 * 128 * 64))
PYTHON
) >prepare.log 2>&1
# Other programs. A stub reads its input, and fails if that is not what the program accepts.
stub() {
    printf '#!/bin/bash\nset -eo pipefail\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}
stub ssh 'shift; timeout 2 "$@" || [ $? = 124 ]'
stub pprof 'gzip -dc "${!#}" | grep -c . >/dev/null'
stub flamegraph.pl 'grep -E "^[^ ].* [0-9]+$"'

neuron-packager example conv -s 4 -o conv.neff
NEURON_PROCESS_TAG=trainer neuron-bench exec conv.neff --cores 31 --rate 20 --duration 1h >bench.log 2>&1 &
loaded() { neuron-top --json --once -d 200ms | jq -r 'if any(.models[]; .executions > 0) then "yes" else "no" end'; }
wait_for loaded
neuron-monitor --quiet --db "$state/monitor.db" --http 127.0.0.1:0 --prometheus 127.0.0.1:0 --verbose 1 2>agent.log &
page_port() { sed -n 's/.*http: listening on port //p' agent.log; }
metrics_port() { sed -n 's/.*serving metrics on port //p' agent.log; }
is_up() { [ -n "$(page_port)" ] && [ -n "$(metrics_port)" ] && curl -sf "http://127.0.0.1:$(page_port)/-/ready" >/dev/null && echo yes; }
wait_for is_up
has_history() { neuron-monitor query latency --db "$state/monitor.db" --csv | greps conv && echo yes; }
wait_for has_history
is_judged() { neuron-monitor health >/dev/null && echo yes; } # each device has a verdict
wait_for is_judged

# The command in the form that runs here.
here() {
    sed -E 's/^ *sudo //; s/ +# .*//
        s#/var/lib/neuron-monitor#'"$state"'#g; s#/var/backups#'"$scratch"'/backups#g; s#(^|[^/])/usr/share/#\1'"$root"'/usr/share/#g
        /neuron-monitor .*--(prometheus|http) /s/--(prometheus :|http )[0-9]+/--once --\1127.0.0.1:0/; s/:127/127/
        s#(localhost|127\.0\.0\.1):9482#127.0.0.1:'"$(page_port)"'#g; s#(localhost|127\.0\.0\.1):8000#127.0.0.1:'"$(metrics_port)"'#g
        s/^neuron-top$/neuron-top --once -d 200ms/; s/^neuron-top (--(hosts|from|connect|view) .*)/neuron-top --once -d 200ms \1/
        s/^(neuron-profile view (-n [^ ]+ )?-s [^ ]+)$/\1 --output-format summary-text/
        s/^(neuron-profile view -d [^ ]+)$/\1 --output-format summary-text/
        s/diag -r 3/diag -r 1/; s/^neuron-monitor slow$/neuron-monitor slow --for 1s/
        s/^(neuron-monitor (hang|health) 127.*)/\1 --timeout '"$patience"'s/
        s/(neuron-top --stdin|--connect trn[12])$/\1 --once/; s#--connect trn[12]#--connect 127.0.0.1:'"$(page_port)"'#g
        s/^(neuron-top --csv=.*) -d 10/\1 -d 200ms --count 1/
        / query |^sqlite3 /s#(neuron|file)\.db#'"$state"'/monitor.db#; s/--model resnet/--model conv/; s/--duration 5s/--duration 1s/; s/--count 3 \|/--count 3 --period 200ms |/; s/^NEURON_SOFT_FAULT=.hbm-ue.*/& || [ $? = 1 ]/
        s#unix:/(tmp|run)/#unix:'"$scratch"'/#; s#0\.0\.0\.0:5555#unix:'"$scratch"'/neuron.sock1#; s#10\.0\.0\.7:5555#unix:'"$scratch"'/cli.sock#
        s#^(neuron-rtd .*unix:([^ ]+)) *&#\1 \& until [ -S \2 ]; do kill -0 $!; sleep 0.1; done#'
}
# run COMMAND: runs it in the working folder; it stops at the first line that fails, and prints that line. Background
# processes of the command are ended.
run() {
    env "${machine[@]}" bash -c "cd work; set -eo pipefail; trap 'echo \"failed: \$BASH_COMMAND\" >&2' ERR
        trap 'kill \$(jobs -pr) 2>/dev/null || :; wait' EXIT; $1" >out 2>err </dev/null
}
count=0 skipped=0
for page in "${pages[@]}"; do
    machine=()
    case $page in # these need all cores, break devices or select a machine, so no other job may run
        docs/faults.md | */neuron-bench.1.in | */neuron-graph.1.in) machine=(NEURON_HOOKS_DIR="$(mktemp -d "$memory/alone-XXXXXX")") ;;
        */neuron-rtd.1.in | */neuron-cli.1.in)
            machine=(NEURON_HOOKS_DIR="$(mktemp -d "$memory/alone-XXXXXX")" NEURON_SOFT_INSTANCE=inf1.6xlarge) ;;
    esac
    case $page in */neuron-cli.1.in)
        machine+=(NEURON_RTD_ADDRESS="unix:$scratch/cli.sock")
        env "${machine[@]}" neuron-rtd -x -g "unix:$scratch/cli.sock" 2>rtd.log &
        listens() { [ ! -S "$scratch/cli.sock" ] || echo yes; }
        wait_for listens ;;
    esac
    while IFS= read -r -d '' reason && IFS= read -r -d '' command; do
        if [ -n "${NTK_SANITIZE:-}" ] && greps '^neuron-monitor run ' <<<"$command"; then
            reason="a sanitizer's runtime must be the first library of a process"
        fi
        if [ -n "$reason" ]; then
            skipped=$((skipped + 1))
            echo "not run, $reason: ${command%%$'\n'*}"
            continue
        fi
        command=$(here <<<"$command")
        run "$command" || fail "$page: unexpected exit code $?: $(tail -n 3 err out): $command"
        count=$((count + 1))
    done < <(python3 "$NTK_SOURCE_DIR/tests/docs/commands/commands.py" "$NTK_SOURCE_DIR/$page")
done
greps 'runbook_url: https://runbooks.example.com/alerts.md#neuronmonitordown$' <work/neuron.rules.yml || fail "docs/alerts.md changes no runbook_url"
echo "$count commands run, $skipped not"
