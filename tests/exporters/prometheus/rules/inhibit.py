# inhibit.py INHIBIT config - prints a configuration of Alertmanager with these rules.
# inhibit.py INHIBIT alerts - prints for each rule its sources, and each of its targets twice: with the labels of the
# source, and with other labels.
# inhibit.py INHIBIT check ANSWER - checks that the first of each two is silenced, the second is not, and no source
# is.
import json
import re
import sys
import yaml

rules = yaml.safe_load(open(sys.argv[1]))["inhibit_rules"]


def names(matchers):
    text = matchers[0].split("=", 1)[1].strip(' ~"')
    return text.split("|")


LABELS = ["instance", "job", "neuron_device_index"]


def alerts():
    for number, rule in enumerate(rules):
        for source in names(rule["source_matchers"]):
            # Rules are separated by their machines, devices and jobs. Labels that are not compared differ.
            def alert(name, place):
                own = {label: f"{number}-{source}-{name}-{place}" for label in LABELS}
                return {"alertname": name, **own, **{label: f"{number}-{source}-{place}" for label in rule["equal"]}}

            yield alert(source, "here"), False
            for target in names(rule["target_matchers"]):
                yield alert(target, "here"), True
                yield alert(target, "not " + target), False


if sys.argv[2] == "config":
    json.dump({"route": {"receiver": "none", "group_wait": "1s"}, "receivers": [{"name": "none"}], "inhibit_rules": rules}, sys.stdout)
elif sys.argv[2] == "alerts":
    seen = {json.dumps(labels, sort_keys=True): labels for labels, _ in alerts()}
    json.dump([{"labels": labels} for labels in seen.values()], sys.stdout)
else:
    answer = {json.dumps(row["labels"], sort_keys=True): row["status"] for row in json.load(open(sys.argv[3]))}
    wanted = {json.dumps(labels, sort_keys=True): silent for labels, silent in alerts()}
    wrong = [text for text, silent in wanted.items() if bool(answer[text]["inhibitedBy"]) != silent]
    silenced = sum(wanted.values())
    if wrong or silenced < 15:
        sys.exit(f"{len(wrong)} of {len(wanted)} alerts are wrong, {silenced} should be silent: " + "; ".join(wrong[:5]))
