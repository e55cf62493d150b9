# page.py promtool [WATTS] - prints a test for promtool from the pages *.prom next to this file, on host a with
# different ports: counters grow by their value every second.
# page.py serve FILE PORT_FILE - serves a page like this; counters grow by their value every second.
import glob
import http.server
import os
import re
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))


def read(path):
    kinds = dict(re.findall(r"^# TYPE (\S+) (\w+)$", open(path).read(), re.M))
    for line in open(path):
        if line[0] != "#":
            series, value = line.rsplit(" ", 1)
            yield series, float(value), kinds[series.split("{")[0]] == "counter"


def serve(path, port_file):
    began = time.monotonic()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            seconds = time.monotonic() - began
            body = "".join(f"{series} {value * seconds if grows else value}\n" for series, value, grows in read(path)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    open(port_file + ".new", "w").write(str(server.server_port))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


# From the pages: 200 tokens and 10 requests per second, two cores held, one core's worth of work, half of 400 W.
EXPECTED = {
    'host:neuroncores_held:count{host="a"}': 2,
    'host:neuroncores_busy:sum{host="a"}': 1,
    'host_model:vllm_generation_tokens:rate5m{host="a",model_name="llama"}': 200,
    'host_model:vllm_prompt_tokens:rate5m{host="a",model_name="llama"}': 800,
    'host_model:vllm_requests_waiting:sum{host="a",model_name="llama"}': 3,
    'host:vllm_tokens_per_second_per_core:rate5m{host="a"}': 100,
    'host:vllm_core_seconds_per_token:rate5m{host="a"}': 0.005,
    'host:vllm_joules_per_token:rate5m{host="a"}': 1,
    'host_deployment:ray_serve_requests:rate5m{application="app",deployment="Chat",host="a"}': 10,
    'application_deployment:ray_serve_queued:sum{application="app",deployment="Chat"}': 2,
    'host:ray_serve_core_seconds_per_request:rate5m{host="a"}': 0.1,
}


def promtool(watts=400):
    print("rule_files: [serving.rules.yml]\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:")
    for port, path in enumerate(sorted(glob.glob(FOLDER + "/*.prom")), 8000):
        for series, value, grows in read(path):
            series = series.replace("{", f'{{instance="a:{port}",')
            print(f"      - series: '{series}'\n        values: '{0 if grows else value}+{value * 15 if grows else 0}x40'")
    print("    promql_expr_test:")
    for series, value in EXPECTED.items():
        name = series.split("{")[0]
        known = int(watts) > 0 or "joules" not in name
        print(f"      - expr: '{name}'\n        eval_time: 8m\n        exp_samples: " +
              (f"\n          - labels: '{series}'\n            value: {value}" if known else "[]"))


{"serve": serve, "promtool": promtool}[sys.argv[1]](*sys.argv[2:])
