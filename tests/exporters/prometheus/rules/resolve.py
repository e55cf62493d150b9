# resolve.py FILE - writes tests for promtool from a table: each alert fires at one time and is resolved at another.
# Rows that start with an alert have these two times; the indented rows below are its series and their values, one
# per minute. Writes resolve.test.yml, evaluated every minute, and resolve-hours.test.yml, every five minutes, for
# alerts that take hours.
import sys
import yaml

tests = {"resolve.test.yml": [], "resolve-hours.test.yml": []}
for line in open(sys.argv[1]):
    words = line.split()
    if not words or words[0].startswith("#"):
        continue
    if line[0] != " ":
        name, fires, over = words
        expression = f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) > bool 0'
        series = []
        tests["resolve-hours.test.yml" if int(over.removesuffix("m")) >= 100 else "resolve.test.yml"].append({
            "name": name,
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [
                {"expr": expression, "eval_time": fires, "exp_samples": [{"labels": "{}", "value": 1}]},
                {"expr": expression, "eval_time": over, "exp_samples": []},
            ],
        })
    else:
        name, values = line.strip().split("  ", 1)
        series.append({"series": name, "values": values.strip()})
for path, rows in tests.items():
    with open(path, "w") as file:
        yaml.safe_dump({"rule_files": ["neuron.rules.yml"], "evaluation_interval": "5m" if "hours" in path else "1m",
                        "group_eval_order": ["neuron-recording", "neuron-alerts"], "tests": rows}, file)
