#!/bin/bash
# bench_agent_idle - what the agent takes on 128 cores that nobody uses (trn2.48xlarge, LNC 1), health looked at, with every
# exporter: a database, a page scraped each 15 s, the browser's page, remote write, OTLP, conditions of Kubernetes. Target: 1 % of
# a CPU, 16 MiB of its own memory. NTK_BENCH_SECONDS (60).
set -euo pipefail
seconds=${NTK_BENCH_SECONDS:-60}
export PATH=$NTK_BIN_DIR:$PATH
command -v neuron-bench curl python3 >/dev/null || exit 77
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-XXXXXX")
export NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn2.48xlarge NEURON_RT_VIRTUAL_CORE_SIZE=1
mkdir -m 700 "$NEURON_HOOKS_DIR"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"
ticks=$(getconf CLK_TCK)
cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

# Takes whatever is sent, and has a node.
python3 -c '
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b"{}" if "/v1/" in self.path and "metrics" not in self.path else b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_PATCH = answer
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()' >sink &
pids+=($!)
until [ -s sink ]; do sleep 0.05; done
sink=http://127.0.0.1:$(cat sink)
neuron-bench machine >/dev/null
neuron-monitor --no-imds --db x.db --prometheus 127.0.0.1:0 --http 127.0.0.1:0 --remote-write "$sink/api/v1/write" --otlp="$sink" \
    --k8s-node-condition --k8s-node n --k8s-api "$sink" --verbose 1 2>agent.log >/dev/null &
agent=$!
pids+=("$agent")
port() { sed -n 's/.*serving metrics at port //p' agent.log; }
until [ -n "$(port)" ] && [ "$(curl -s "http://127.0.0.1:$(port)/metrics" | grep -c '^neuron_device_health_status')" = 16 ]; do sleep 0.2; done
(while sleep 15; do curl -s -H 'Accept-Encoding: gzip' "http://127.0.0.1:$(port)/metrics" >/dev/null || true; done) &
pids+=($!)
sleep 10 # everything was used once
from=$(cpu_ticks "$agent")
sleep "$seconds"
awk -v d=$(($(cpu_ticks "$agent") - from)) -v t="$ticks" -v s="$seconds" -v k="$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$agent/status")" 'BEGIN {
    cpu = 100 * d / t / s
    mib = k / 1024
    printf "128 idle cores, every exporter   %.2f %% of a CPU, target 1: %s   %.1f MiB of its own, target 16: %s\n",
        cpu, cpu <= 1 ? "good" : cpu <= 1.3 ? "within noise" : "MISSED", mib, mib <= 16 ? "good" : "MISSED"
    exit cpu > 1.3 || mib > 16 }'
