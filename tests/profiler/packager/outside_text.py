#!/usr/bin/env python3
"""outside_text - a NEFF with escape sequences, line ends, C1 controls and directional controls in its names:
no program prints one of them, and none of their output lines is forged by the file. Usage: outside_text.py
FOLDER, with the programs in PATH."""
import json
import os
import subprocess
import sys

EVIL = "e\x1b[2J\n.engine PE forged\u009bx\u202ey"
UNSAFE = [chr(c) for c in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
failures = 0


def run(*command):
    done = subprocess.run(command, capture_output=True)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def check(what, text, forged=None):
    global failures
    bad = [c for c in UNSAFE if c != "\n" and c in text]
    if bad or (forged and any(line.startswith(forged) for line in text.splitlines())):
        print(f"FAILED: {what}: {bad} in {text[:400]!r}")
        failures += 1


def rename(value):
    """Makes the name of each variable, queue and graph malicious."""
    if isinstance(value, dict):
        return {rename(k): rename(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rename(v) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


os.chdir(sys.argv[1])
assert run("neuron-packager", "example", "mlp", "-o", "plain.neff")[0] == 0
assert run("neuron-packager", "unpack", "-o", "members", "plain.neff")[0] == 0
os.remove("members/neff.tgz")
with open("members/sg00/def.json", encoding="utf-8") as file:
    definition = json.load(file)
names = {name: name + EVIL for name in definition["var"]}
names |= {name: name + EVIL for name in definition["dma_queue"]}
for name in ("neff.json", "kelf-0.json", "info.json", *("sg00/" + n for n in os.listdir("members/sg00") if n.endswith(".json"))):
    path = os.path.join("members", name)
    with open(path, encoding="utf-8") as file:
        value = rename(json.load(file))
    if name == "info.json":
        value["tool_version"] = EVIL
    if name == "kelf-0.json":
        value["target"] = EVIL
        value["graphs"][0]["name"] = EVIL
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
code, out, err = run("neuron-packager", "create", "-i", "members", "-o", "evil.neff")
if code != 0:
    print("FAILED: create:", err)
    sys.exit(1)

for command in (("info", "-s", "-w"), ("info", "--json"), ("disasm",)):
    code, out, err = run("neuron-packager", *command, "evil.neff")
    check(" ".join(command), out, ".engine PE forged")
    check(" ".join(command), err)
    if code != 0 or not out:
        print(f"FAILED: {command}: {code} {err}")
        failures += 1
if json.loads(run("neuron-packager", "info", "--json", "evil.neff")[1])["target"] != EVIL:
    print("FAILED: JSON does not match the contents of the file")
    failures += 1

# A member with a name that ends the line of a listing, and a message about it.
definition = json.load(open("members/sg00/def.json", encoding="utf-8"))
os.rename("members/sg00/" + definition["pe_instr"], "members/sg00/" + "a\n.engine PE x\x1b")
definition["pe_instr"] = "a\n.engine PE x\x1b"
json.dump(definition, open("members/sg00/def.json", "w", encoding="utf-8"))
assert run("neuron-packager", "create", "-i", "members", "-o", "line.neff")[0] == 0
code, out, err = run("neuron-packager", "disasm", "line.neff")
check("disasm of a malicious member", out + err)
if code != 1 or err.count("\n") != 1 or "has a name that a listing cannot contain" not in err:
    print(f"FAILED: disasm of a malicious member: {code} {err!r}")
    failures += 1
sys.exit(1 if failures else 0)
