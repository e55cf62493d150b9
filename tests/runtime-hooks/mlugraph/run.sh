#!/bin/bash
# neuron-graph run: a network of several devices compared with numpy, in both modes; parameters in every form; errors
# are reported.
here=$PWD
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
graph=$NTK_BIN_DIR/neuron-graph
export NEURON_SOFT_INSTANCE=mlu270x4
unset NEURON_LIBCNML NEUWARE_HOME MLU_VISIBLE_DEVICES
needs_python numpy
mkdir -m 700 one
network() { "$python" "$here/network.py" "$@" || complain "cannot create the network: $*"; }

network make .
[ "$("$graph" segments net-symbol.json)" = "device=mlu0 ops=0,1,2,3,4 inputs=0 outputs=4 fire=0
device=mlu1 ops=7,8,9,10 inputs=7 outputs=10 fire=7" ] || complain "unexpected segments: $("$graph" segments net-symbol.json)"

"$graph" params net.npz -o net.params || complain "params -o failed"
[ "$("$graph" params net.npz)" = "$("$graph" params net.params)" ] || complain "the arrays of the raw form differ"
[ "$("$graph" params net.npz)" = "$("$graph" params packed.npz)" ] || complain "the arrays of the deflated archive differ"
for params in net.npz packed.npz net.params; do
    for mode in imperative symbolic; do
        for mlu in host cnml; do
            "$graph" run net-symbol.json --params $params --input data=x.npy --mode $mode --mlu $mlu --output $mlu-$mode >out 2>err ||
                complain "$mlu $mode: the run failed"
            [ ! -s err ] || complain "$mlu $mode: unexpected message"
            grep -q '^softmax_output float32 (2,10) ' out || complain "$mlu $mode: unexpected output line"
        done
        network compare host-$mode/softmax_output.npy want.npy 1e-6
        network compare cnml-$mode/softmax_output.npy want.npy 1e-5
    done
    for mlu in host cnml; do
        cmp $mlu-imperative/softmax_output.npy $mlu-symbolic/softmax_output.npy || complain "$params: the modes of $mlu differ"
    done
    rm -r host-* cnml-*
done
"$graph" run --mlu host net-symbol.json -p net.npz -i data=fortran.npy -o f >/dev/null || complain "an input in Fortran order fails"
network compare f/softmax_output.npy want.npy 1e-6
"$graph" run --mlu host net-symbol.json -p net.npz -i data=x.npy -o f --json >out || complain "run --json failed"
"$python" -c '
import json, sys
(output,) = json.load(open("out"))
assert (output["name"], output["dtype"], output["shape"], output["file"]) == ("softmax_output", "float32", [2, 10], "f/softmax_output.npy"), output
assert abs(output["mean"] - 0.1) < 1e-6 and 0 < output["min"] < output["max"] < 1, output' || complain "unexpected output of run --json"

# refused CODE SENTENCE COMMAND...
refused() {
    local code=$1 sentence=$2 got
    shift 2
    "$@" >out 2>err
    got=$?
    [ $got = "$code" ] || complain "$*: exit code $got"
    grep -q -- "$sentence" err || complain "$*: unexpected output"
    [ ! -s out ] && [ "$(wc -l <err)" = "$code" ] || complain "$*: unexpected output"
}
"$python" -c '
import numpy as np
np.savez("few.npz", **{k: v for k, v in np.load("net.npz").items() if k != "fc_bias"})
np.savez("wide.npz", **{k: (np.zeros((9, 3, 3, 3), np.float32) if k == "c1_weight" else v) for k, v in np.load("net.npz").items()})
np.savez("object.npz", a=np.array([{}], dtype=object))
np.savez("big.npz", a=np.zeros(3, ">f4"))
np.save("half.npy", np.load("x.npy").astype(np.float16))
np.save("flat.npy", np.load("x.npy").reshape(-1))'
head -c 3000 net.npz >cut.npz
head -c 1000 net.params >cut.params
refused 1 'node '\''c1'\'' requires the variable '\''data'\'', which has no value' "$graph" run --mlu host net-symbol.json -p net.npz
refused 1 'node '\''fc'\'' requires the variable '\''fc_bias'\'', which has no value' "$graph" run --mlu host net-symbol.json -p few.npz -i data=x.npy
refused 1 'the weight does not match' "$graph" run --mlu host net-symbol.json -p wide.npz -i data=x.npy
refused 1 'input 1 is float32, but input 0 is float16' "$graph" run --mlu host net-symbol.json -p net.npz -i data=half.npy
refused 1 'expected four dimensions' "$graph" run --mlu host net-symbol.json -p net.npz -i data=flat.npy
refused 1 'object.npz: a: ' "$graph" params object.npz
refused 1 'big.npz: a: unsupported element type' "$graph" params big.npz
refused 1 'cut.npz: the archive is damaged' "$graph" params cut.npz
refused 1 'cut.params: the file has 1000 bytes' "$graph" params cut.params
refused 1 'x.npy: neither' "$graph" params x.npy
refused 1 'unknown variable' "$graph" run --mlu host net-symbol.json -p net.npz -i dta=x.npy
refused 1 'duplicate array '\''data'\''' "$graph" run --mlu host net-symbol.json -p net.npz -i data=x.npy -i data=x.npy
refused 1 "gone.npy': No such file" "$graph" run --mlu host net-symbol.json -p net.npz -i data=gone.npy
refused 1 "net.npz/out': " "$graph" run --mlu host net-symbol.json -p net.npz -i data=x.npy -o net.npz/out
refused 1 'cannot open libcnml' env NEURON_LIBCNML=/nowhere/libcnml.so "$graph" run net-symbol.json -p net.npz -i data=x.npy
refused 1 'mlu1 does not exist on this machine' env NEURON_SOFT_INSTANCE=mlu270 NEURON_HOOKS_DIR=$scratch/one "$graph" run net-symbol.json -p net.npz -i data=x.npy
refused 2 "invalid value 'gpu' for --mlu" "$graph" run net-symbol.json --mlu gpu
refused 2 "invalid value 'both' for --mode" "$graph" run net-symbol.json --mode both
refused 2 'NAME=FILE' "$graph" run net-symbol.json -i data

# Two heads with the same name, and a name that is a path: files stay in the folder and separate.
cat >names.json <<'JSON'
{"nodes": [{"op": "null", "name": "x", "inputs": []},
 {"op": "relu", "name": "../../up", "inputs": [[0, 0]]}, {"op": "relu", "name": "../../up", "inputs": [[1, 0]]},
 {"op": "split", "name": "s", "attrs": {"num_outputs": "2"}, "inputs": [[0, 0]]}],
 "arg_nodes": [0], "heads": [[1, 0], [2, 0], [0, 0], [3, 1]]}
JSON
"$python" -c 'import numpy as np; np.save("y.npy", np.array([[1, -2]], np.float32))'
"$graph" run --mlu host names.json -i x=y.npy -o names >out || complain "the run of a network with special names failed"
[ "$(ls names | tr '\n' ' ')" = "_._.._up_output.1.npy _._.._up_output.npy s_output1.npy x.npy " ] || complain "unexpected files: $(ls names)"
[ "$(grep '^s_output1' out)" = "s_output1 float32 (1,1) -2 -2 -2" ] || complain "unexpected output with special names"
