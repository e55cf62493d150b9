#!/bin/bash
# neuron-graph segments: lines and JSON for graphs worked out by hand, devices from the command line, and files that
# are not symbol files.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
graph=$NTK_BIN_DIR/neuron-graph

# symbol WORD...: writes net.json with operators DEVICE:INPUTS, such as m0:e m1:0,e cpu:1H.
symbol() {
    python3 - "$@" >net.json <<'PYTHON'
import json, sys
nodes, place, heads = [], [], []
def add(op, name, inputs, attrs):
    nodes.append({"op": op, "name": name, "attrs": attrs, "inputs": inputs})
    return len(nodes) - 1
for number, word in enumerate(sys.argv[1:]):
    device, inputs = word.split(":")
    is_head = inputs.endswith("H")
    entries = []
    for text in inputs.rstrip("H").split(","):
        if text == "e":
            entries.append([add("null", f"x{len(nodes)}", [], {}), 0, 0])
        elif text:
            entries.append([place[int(text)], 0, 0])
    weight = [[add("null", f"w{number}", [], {}), 0, 0]] if device.endswith("w") else []
    op = "Convolution" if weight else "_CrossDeviceCopy" if device == "copy" else "Concat"
    ctx = {} if device in ("any", "copy") else {"ctx": device.rstrip("w").replace("m", "mlu") if device[0] == "m" else device}
    place.append(add(op, f"n{number}", entries + weight, ctx))
    if is_head:
        heads.append([place[-1], 0, 0])
json.dump({"nodes": nodes, "arg_nodes": [i for i, n in enumerate(nodes) if n["op"] == "null"], "heads": heads}, sys.stdout)
PYTHON
}

# cuts "LINES" WORD...
cuts() {
    local want=$1
    shift
    symbol "$@"
    "$graph" segments net.json >out 2>err || complain "$*: unexpected output"
    [ "$(cat out)" = "$want" ] || complain "$*: unexpected output"
}

cuts "device=mlu0 ops=0,1 inputs=0 outputs=1 fire=0
device=mlu0 ops=3,4 inputs=3 outputs=4 fire=3
device=mlu1 ops=6,7 inputs=6 outputs=7 fire=6" m0:e m0:0 cpu:1 m0:2 m0:3 copy:4 m1:5 m1:6H
cuts "device=mlu0 ops=0,1,2,3,4 inputs=0 outputs=4 fire=0" m0:e m0:0 m0:1 m0:2 m0:3,0H
cuts "" m0:e m0:0 cpu:0 m0:1,2H
cuts "device=mlu0 ops=0,1,2 inputs=0 outputs=2 fire=0" m0w:e m0:0 m0w:1H
cuts "device=mlu0 ops=0,1,2,3 inputs=0 outputs=1,3 fire=0" m0:e m0:0H m0:1 m0:2H
cuts "device=mlu0 ops=0,1,3,4 inputs=0,3 outputs=4 fire=3" m0:e m0:0 cpu:e m0:1,2 m0:3H
cuts "device=mlu0 ops=0,1 inputs=0 outputs=1 fire=0" any:e any:0H

symbol any:e any:0H
[ -z "$("$graph" segments --ctx cpu net.json)" ] || complain "unexpected segments with --ctx cpu"
[ "$("$graph" segments -c mlu3 net.json)" = "device=mlu3 ops=0,1 inputs=0 outputs=1 fire=0" ] || complain "unexpected segments with -c mlu3"
sed -i 's/"attrs": {}, "inputs": \[\[/"attrs": {"ctx_group": "stage"}, "inputs": [[/g' net.json
[ "$("$graph" segments --group stage=mlu2 net.json)" = "device=mlu2 ops=0,1 inputs=0 outputs=1 fire=0" ] || complain "unexpected segments with --group"

symbol m0:e m0:0H
[ "$("$graph" segments --json net.json)" = '{"operators":[{"name":"n0","op":"Concat","device":"mlu0"},{"name":"n1","op":"Concat","device":"mlu0"}],"segments":[{"device":"mlu0","ops":[0,1],"inputs":[0],"outputs":[1],"fire":0}]}' ] ||
    complain "unexpected output with --json: $("$graph" segments --json net.json)"

# Unknown operators run on the CPU, even if they name another device, and have the outputs that are read.
cat >warp.json <<'JSON'
{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "relu", "name": "a", "inputs": [[0,0]]},
 {"op": "relu", "name": "b", "inputs": [[1,0]]}, {"op": "Warp", "name": "w", "attrs": {"ctx": "mlu0"}, "inputs": [[2,0]]},
 {"op": "relu", "name": "c", "inputs": [[3,2]]}, {"op": "relu", "name": "d", "inputs": [[4,0]]}], "heads": [[5,0], [3,0]]}
JSON
[ "$("$graph" segments warp.json 2>err)" = "device=mlu0 ops=0,1 inputs=0 outputs=1 fire=0
device=mlu0 ops=3,4 inputs=3 outputs=4 fire=3" ] || complain "unexpected segments with an unknown operator: $("$graph" segments warp.json 2>&1)"
[ "$(cat err)" = 'neuron-graph: unknown operators run on the CPU: 1; the first is '\''w'\'' (Warp)' ] || complain "unexpected message about an unknown operator"
"$graph" segments --json warp.json 2>/dev/null | grep '{"name":"w","op":"Warp","device":"cpu"}' >/dev/null || complain "the JSON lacks the unknown operator"
sed 's/\[3,2\]/[3,1024]/' warp.json >far.json

# refused CODE SENTENCE COMMAND...: one line on stderr (a usage error has a second), nothing on stdout.
refused() {
    local code=$1 sentence=$2 got
    shift 2
    "$@" >out 2>err
    got=$?
    [ $got = "$code" ] || complain "$*: exit code $got"
    grep -q -- "$sentence" err || complain "$*: unexpected output"
    [ ! -s out ] && [ "$(wc -l <err)" = "$code" ] || complain "$*: unexpected output"
}
echo '{"nodes": [{"op": "relu", "name": "a", "inputs": [[1,0]]}, {"op": "relu", "name": "b", "inputs": [[0,0]]}], "heads": []}' >cycle.json
echo '{"nodes": [{"op": "Warp", "name": "w", "inputs": []}], "heads": []}' >unknown.json
printf '{"nodes": [{"op": "\\u001b[31mWarp", "name": "w", "inputs": []}], "heads": []}' >escape.json
head -c 100 net.json >cut.json
head -c 100000 /dev/zero | tr '\0' '[' >deep.json
: >empty.json
refused 1 "cycle.json: node 0 'a': depends on itself" "$graph" segments cycle.json
refused 1 "unknown.json: node 0 'w': unknown operator 'Warp'" "$graph" run unknown.json
refused 1 "escape.json: node 0" "$graph" run escape.json
grep -q $'\033' err && complain "an escape sequence reached the terminal"
refused 1 "far.json: node 4 'c': input 0 refers to a missing output of node 3" "$graph" segments far.json
refused 1 "cut.json: line 1" "$graph" segments cut.json
refused 1 "deep.json: line 1" "$graph" segments deep.json
refused 1 "empty.json: the file is empty" "$graph" segments empty.json
refused 1 "gone.json': No such file" "$graph" segments gone.json
refused 1 "not a regular file" "$graph" segments .
refused 2 "missing argument FILE" "$graph" segments
refused 2 "unexpected argument 'net.json'" "$graph" segments net.json net.json
refused 2 "a device such as" "$graph" segments --ctx moon net.json
refused 2 "NAME=DEVICE" "$graph" segments --group moon net.json
refused 2 "unknown command 'dance': use segments, run or params" "$graph" dance
refused 2 "no command: use segments, run or params" "$graph"
if [ -c /dev/full ]; then
    "$graph" segments net.json >/dev/full 2>err && complain "segments succeeded on a full disk"
    grep -q "cannot write to stdout" err || complain "no message about the full disk"
fi
