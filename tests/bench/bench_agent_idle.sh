#!/bin/bash
# bench_agent_idle - the agent's cost on 128 unused cores (trn2.48xlarge, LNC 1), with every
# exporter: health, a database, a page scraped every 15 s, the browser's page, remote write, OTLP,
# conditions of Kubernetes. Target: 1 % of a CPU, 16 MiB of private memory. NTK_BENCH_SECONDS (60).
. "$(dirname "$0")/lib.sh"
needs neuron-monitor neuron-bench curl python3
seconds=${NTK_BENCH_SECONDS:-$(size 60 0.2)}
export NEURON_SOFT_INSTANCE=$(size trn2.48xlarge trn2.3xlarge) NEURON_RT_VIRTUAL_CORE_SIZE=1

# Accepts all requests, and pretends to have a node.
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
wait_for has_reports sink
sink=http://127.0.0.1:$(cat sink)
neuron-bench machine >/dev/null
neuron-monitor --no-imds --db x.db --prometheus 127.0.0.1:0 --http 127.0.0.1:0 --remote-write "$sink/api/v1/write" --otlp="$sink" \
    --k8s-node-condition --k8s-node n --k8s-api "$sink" --verbose 1 2>agent.log >/dev/null &
agent=$!
wait_for shows "$(size 16 1)" agent.log '^neuron_device_health_status'
(while sleep 15; do curl -s -H 'Accept-Encoding: gzip' "http://127.0.0.1:$(port_of agent.log)/metrics" >/dev/null || true; done) &
sleep "$(size 10 0)" # everything has been used once
figure "128 idle cores, every exporter" "$(measure_cpu "$agent" "$seconds")" "% of a CPU" most 1
figure "128 idle cores, private memory" "$(memory_mib "$agent" RssAnon)" MiB exact 16
result
