#!/bin/bash
# popef_run: results of feeds, files, replicas, iterations, repeats and persistent weights; and files that cannot
# run.
here=$PWD
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_LOG_LEVEL=QUIET
unset NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES NEURON_LIBNRT POPEF_LOG_LEVEL POPEF_LOG_DEST
code() {
    local expected=$1 got
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ $got = "$expected" ] || complain "exit $got, not $expected: $*"
}
# array FILE SHAPE VALUES: what NumPy would load, as floats.
array() {
    python3 - "$@" <<'END' || complain "$1 is not $2 $3"
import ast, struct, sys
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x93NUMPY\1\0"
size = struct.unpack_from("<H", data, 8)[0]
head = ast.literal_eval(data[10:10 + size].decode())
values = struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size:])
print(head, values) if (head["descr"], head["fortran_order"], list(head["shape"]), list(values)) != (
    "<f4", False, ast.literal_eval(sys.argv[2]), [float(v) for v in sys.argv[3].split()]) else sys.exit(0)
sys.exit(1)
END
}

# ---- the examples ----
code 0 popef_make example add -o add.popef
code 0 popef_make example accumulate -o sum.popef
python3 -c 'import struct; open("in.raw", "wb").write(struct.pack("<6f", 1, 2, 3, 4, 5, 6))'
code 0 popef_run add.popef -i user_input=in.raw -o o
array o/Add:0.npy '[3, 2]' '2 4 4 6 6 8'
array o/input_parameter.npy '[2]' '1 2'
grep -qx 'calls       3, 3 iterations, 3 executions' out || complain "unexpected number of calls"
grep -qx 'output      o/Add:0.npy  F32 \[3, 2\]' out || complain "unexpected output line"
# An array with two items.
code 0 popef_run add.popef -i user_input=o/Add:0.npy -o o --calls 2 --json
array o/Add:0.npy '[2, 2]' '3 6 5 8'
jq -e '.calls == 2 and .executions == 2 and .replicas == 1 and .outputs[0].shape == [2, 2] and .outputs[0].name == "Add:0"' out >/dev/null ||
    complain "unexpected JSON"
code 0 popef_run sum.popef
array weight.npy '[2]' '14 28' # 10 20, and four times 1 2
rm weight.npy
code 0 popef_make example accumulate --compress --replicas 3 -o sum3.popef
code 0 popef_run sum3.popef -o p
array p/weight.npy '[2]' '14 28'
grep -q 'on 3 cores' out && grep -qx 'calls       4, 4 iterations, 12 executions' out || complain "unexpected cores or calls of replicas"

# ---- by hand: the bytes described on the page, the NEFF of the example ----
python3 - <<'END'
import io, tarfile
data = open("add.popef", "rb").read()
at = data.index(b"programs.json")
tar = tarfile.open(fileobj=io.BytesIO(data[at:]))
neff = tar.extractfile("5.neff").read()
open("add.neff", "wb").write(neff)
END
neuron-packager unpack -o chain add.neff >/dev/null || complain "unpack failed"
grep -rlZ 'h2d_user_input\|anchor_d2h_Add:0' chain | xargs -0 sed -i 's/anchor_d2h_Add:0/out_z/g; s/h2d_user_input/anchor_d2h_Add:0/g'
neuron-packager create -i chain -o chain.neff >/dev/null || complain "create failed"
python3 "$here/models.py" || complain "models.py failed"

code 0 popef_run plain.popef -o plain
array plain/y.npy '[3, 2]' '101 202 103 204 105 206'
code 0 popef_run repeats.popef -o repeats
array repeats/y.npy '[4, 2]' '10 11 22 23 34 35 16 17'
for kind in plain extended; do
    code 0 popef_run replicas_$kind.popef -o replicas_$kind
    array replicas_$kind/y.npy '[3, 2, 2]' '10 21 32 43 14 25 36 47 18 29 40 51'
    array replicas_$kind/w.npy '[2, 2]' '10 20 30 40'
    grep -qx 'calls       2, 3 iterations, 6 executions' out || complain "$kind: unexpected output"
done
code 0 popef_run half.popef -o half # the second replica has no data in the last iteration
array half/y.npy '[2, 2, 2]' '10 21 32 43 14 25 30 40'
code 0 popef_run chain.popef -o chained
array chained/z.npy '[2, 2]' '201 402 203 404'
code 0 popef_run seed.popef --seed 4611686018427387904 -o seeded # the bits of 0 and of 2.0
array seeded/y.npy '[1, 2]' '100 202'
code 0 popef_run two.popef -e m -o two
array two/y.npy '[1, 2]' '101 202'
# Several files form one model.
head -c "$(popef_dump --json plain.popef | jq '.files[0].tensors[0].offset')" plain.popef >model.popef
tail -c +"$(($(stat -c %s model.popef) + 1))" plain.popef >variables.popef
code 0 popef_run model.popef variables.popef -o split
cmp plain/y.npy split/y.npy || complain "the result with two files differs"
# Given inputs override those in the file.
code 0 popef_run plain.popef -i x=in.raw -i w=in.raw -o given
array given/y.npy '[3, 2]' '2 4 4 6 6 8'

# ---- the same NEFF on the same inputs by another program ----
neuron-packager example mlp -o mlp.neff --dtype float32 || exit 1
input=x output=y
size_of() { neuron-packager info --json mlp.neff | jq "[.tensors[] | select(.type == \"$1\")][0].size"; }
bytes=$(size_of IN)
x_shape="[$((bytes / 4))]" y_shape="[$(($(size_of OUT) / 4))]"
for i in 0 1; do
    python3 -c "
import random, struct, sys
random.seed($i)
open('x$i', 'wb').write(b''.join(struct.pack('<f', random.uniform(-1, 1)) for _ in range($bytes // 4)))"
    code 0 run_neff mlp.neff $input x$i
    mv $output.out y$i
done
cat x0 x1 >both.raw
cat >mlp.json <<END
{ "executable": { "name": "mlp", "compress": true, "programs": { "0": { "kind": "neff", "file": "mlp.neff" } } },
  "metadata": { "programFlow": { "main": [0] }, "anchors": [
    { "name": "in", "handle": "$input", "type": "input", "dataType": "F32", "shape": $x_shape, "programs": [0] },
    { "name": "result", "handle": "$output", "type": "output", "dataType": "F32", "shape": $y_shape, "programs": [0] } ] },
  "feeds": [ { "name": "in", "file": "both.raw", "dataType": "F32", "shape": $x_shape } ] }
END
code 0 popef_make create -o mlp.popef mlp.json
code 0 popef_run mlp.popef -o mlp
cmp <(tail -c +513 mlp/result.npy) <(cat y0 y1) || complain "mlp: the result differs from that of run_neff"
code 0 neuron-bench exec mlp.neff -n 2 --json
grep -q '"executions":2,' out || complain "neuron-bench does not run it"

# ---- errors: one message, no output ----
refused() { # file, sentence
    code 1 popef_run "$1.popef" -o refused
    [ "$(grep -c '^popef_run: ' err)" = 1 ] && [ "$(wc -l <err)" = 1 ] || complain "$1: expected one message"
    grep -qF -- "$2" err || complain "$1: unexpected output"
    [ -z "$(ls -A refused 2>/dev/null)" ] || complain "$1: leaves $(ls -A refused)"
}
refused unfed 'the input '\''x'\'' (h2d_user_input) has no source'
refused unlisted 'input h2d_input_parameter of program 5 has no source'
refused no_anchor 'input h2d_input_parameter of program 5 has no source'
refused flow 'program 0 of the flow is missing from the executable'
refused size "x: the program's tensor 'h2d_user_input' has 8 bytes, but the anchor has 12 per replica"
refused uneven "'x' has data for 3 iterations, but 'w' has data for 2"
refused output "output 'q': no program has a tensor 'nowhere'"
refused processes 'is part of a model with 4 processes'
refused many '1099511627776 replicas'
refused never '0 device iterations'
refused empty 'the data for the input '\''x'\'' is empty'
refused two "2 executables: select one: '"
for file in opaque_data no_list climbing; do refused $file 'executable '\''m'\'': it contains no programs for NeuronCores'; done
refused no_file 'the file for program 5 (b.neff) is not in the archive'
refused kind 'program 5 has an unknown kind: spell'
refused number "invalid program number 'five'"
refused version 'programs.json is not version 1'
refused json 'programs.json: line 1'
refused inflates 'more than the'
refused nested 'more than the members of one file may have in total'
refused no_neff 'cannot load program 5 on core 0'
head -c 3000 plain.popef >cut.popef
refused cut 'truncated blob at offset 0'
code 1 popef_run plain.popef -i z=in.raw -o refused
grep -qF 'no program in the flow uses an input '\''z'\''' err || complain "no message about a wrong input name"
printf 12345 >odd
code 1 popef_run plain.popef -i x=odd -o refused
grep -qF 'odd has 5 bytes, not a multiple of the tensor size 8 for x' err || complain "no message about a wrong size"
code 1 popef_run plain.popef -i x=nowhere -o refused
grep -qF "cannot open 'nowhere" err || complain "see err"
NEURON_LIBNRT=/nowhere/libnrt.so code 1 popef_run plain.popef -o refused
grep -qF 'cannot open libnrt.so.1' err || complain "see err"
code 2 popef_run
code 2 popef_run plain.popef -i x
code 2 popef_run plain.popef --cores 0,2
code 2 popef_run half.popef --cores 1
code 0 popef_run half.popef --cores 4-5 -o half
[ -z "$(find . -name '.*.npy*' -o -name '*.npy.*')" ] || complain "temporary files were not removed: $(find . -name '*.npy.*')"

# ---- an early end: what was computed is saved ----
head -c 8000000 /dev/zero >long.raw # a million iterations
popef_run sum.popef -i step=long.raw -o stopped >out 2>err &
run=$!
wait_for has_executed $run 1
kill -INT $run
wait $run
[ -e stopped/weight.npy ] || complain "nothing saved after SIGINT"
array stopped/weight.npy '[2]' '10 20'
