#!/bin/bash
# demo - shows everything live: example NEFFs, load on a software trn1.32xlarge, the agent with database and HTTP,
# neuron-top, and a capture. Usage: demo.sh BUILD. Uses a private hooks folder and leaves no process running. The
# page of the capture, and its picture if there is a browser, stay in BUILD/demo.
set -euo pipefail
build=$(readlink -f "$1")
export PATH=$build/bin:$PATH
shm=/dev/shm
[ -d $shm ] && [ -w $shm ] || shm=${TMPDIR:-/tmp}
NEURON_HOOKS_DIR=$(mktemp -d "$shm/neuron-demo-XXXXXX")
work=$(mktemp -d "${TMPDIR:-/tmp}/neuron-demo-XXXXXX")
export NEURON_HOOKS_DIR NEURON_SOFT_INSTANCE=trn1.32xlarge OPENBLAS_NUM_THREADS=1
started=$SECONDS

cleanup() {
    trap - EXIT INT TERM
    kill $(jobs -pr) 2>/dev/null || true
    wait
    rm -rf "$NEURON_HOOKS_DIR" "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

show() {
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        printf '\n\033[1m%s\033[0m\n' "$*"
    else
        printf '\n%s\n' "$*"
    fi
}

free_port() {
    local port
    for port in $(seq 18000 18100); do
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
}

cd "$work"
show '$ neuron-packager example mlp -o mlp.neff; neuron-packager info mlp.neff'
neuron-packager example mlp -o mlp.neff
neuron-packager example attention -o attention.neff
neuron-packager info mlp.neff

show '$ neuron-bench exec mlp.neff --cores 0-3 &  neuron-bench exec attention.neff --cores 8-9 &'
NEURON_PROCESS_TAG=mlp-serving neuron-bench exec mlp.neff --cores 0-3 --threads 4 --rate 60 \
    --duration 60 >mlp.txt 2>&1 &
NEURON_PROCESS_TAG=attention neuron-bench exec attention.neff --cores 8-9 --threads 2 --rate 200 \
    --duration 60 >attention.txt 2>&1 &
port=$(free_port)
show "\$ neuron-monitor --period 1s --db demo.db --prometheus 127.0.0.1:$port >reports.jsonl &"
neuron-monitor --period 1s --db demo.db --prometheus "127.0.0.1:$port" >reports.jsonl &

if [ -t 1 ] && [ -t 0 ]; then
    timeout --foreground 12 neuron-top || [ $? = 124 ]
else
    show '$ neuron-top --batch -n 3 -d 1'
    neuron-top --batch -n 3 -d 1
    while [ $((SECONDS - started)) -lt 9 ]; do sleep 0.2; done
fi

show '$ tail -n 1 reports.jsonl'
tail -n 2 reports.jsonl | sed -n 1p

show "\$ curl http://127.0.0.1:$port/metrics"
curl -fsS "http://127.0.0.1:$port/metrics" >metrics
grep -E '^neuroncore_utilization_ratio.*neuroncore="[0-3]"|^execution_status_total.*"completed"' metrics
grep -E '^execution_latency_seconds.*percentile="p(50|99)"' metrics

show '$ sqlite3 -box demo.db'
for query in 'SELECT * FROM process_overview' 'SELECT * FROM core_overview'; do
    printf '%s;\n' "$query"
    sqlite3 -readonly -box demo.db "$query"
done

show '$ neuron-profile capture -n mlp.neff -s mlp.ntff; neuron-profile view -s mlp.ntff --output-format summary-text --brief'
NEURON_RT_VISIBLE_CORES=31 neuron-profile capture -n mlp.neff -s mlp.ntff
neuron-profile view -s mlp.ntff --output-format summary-text --brief

kept=$build/demo
mkdir -p "$kept"
rm -f "$kept"/*.html "$kept"/*.png
show "\$ neuron-profile view -s mlp.ntff --output-format html --output-file $kept/mlp.html"
neuron-profile view -s mlp.ntff --output-format html --output-file "$kept/mlp.html"
browser=
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    browser=${browser:-$(command -v $name || true)}
done
if [ -n "$browser" ]; then
    # A browser that does not work is not a failure of the demo.
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --window-size=1600,1000 \
        --virtual-time-budget=5000 --screenshot="$kept/mlp.png" "file://$kept/mlp.html" >browser.txt 2>&1 || true
fi

show "That was the demo: $((SECONDS - started)) s. It leaves no process behind."
printf 'The page of the capture, to open in a browser: %s\n' "$kept/mlp.html"
[ ! -s "$kept/mlp.png" ] || printf 'Its picture: %s\n' "$kept/mlp.png"
