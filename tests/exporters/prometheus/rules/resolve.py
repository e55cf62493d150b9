# resolve.py FILE - tests for promtool from a table: each alert fires at one time and has resolved at another. Rows
# that begin with an alert have these two times; the indented rows below are its series and their values, one per minute.
import sys
import yaml

tests = []
for line in open(sys.argv[1]):
    words = line.split()
    if not words or words[0].startswith("#"):
        continue
    if line[0] != " ":
        name, fires, over = words
        expression = f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) > bool 0'
        tests.append({
            "name": name,
            "interval": "1m",
            "input_series": [],
            "promql_expr_test": [
                {"expr": expression, "eval_time": fires, "exp_samples": [{"labels": "{}", "value": 1}]},
                {"expr": expression, "eval_time": over, "exp_samples": []},
            ],
        })
    else:
        series, values = line.strip().split("  ", 1)
        tests[-1]["input_series"].append({"series": series, "values": values.strip()})
yaml.safe_dump({"rule_files": ["neuron.rules.yml"], "evaluation_interval": "1m",
                "group_eval_order": ["neuron-recording", "neuron-alerts"], "tests": tests}, sys.stdout)
