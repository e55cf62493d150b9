#!/bin/bash
# popef_make: the file matches the description; producers; errors in a description.
. ./lib.sh

blobs() { # the kinds and names in the order of the file
    popef_dump --json "$1" | jq -r '.files[0] | [(.executables[] | {o: .offset, n: "executable \(.name)"}),
        (.metadata[] | {o: .offset, n: "metadata"}), (.tensors[] | {o: .offset, n: "tensor \(.name)"}),
        (.feeds[] | {o: .offset, n: "feed \(.name)"}), (.opaques[] | {o: .offset, n: "opaque \(.name)"})]
        | sort_by(.o) | map(.n) | join(", ")'
}
make() { printf '%s' "$1" >d.json; code 0 popef_make create -o f.popef d.json; }
refused() { # sentence, description
    printf '%s' "$2" >d.json
    rm -f gone.popef
    code 1 popef_make create -o gone.popef d.json
    says "$1"
    [ ! -e gone.popef ] || complain "a file was not removed: $2"
}
is() { [ "$1" = "$2" ] || complain "'$1' is not '$2'"; }

# ---- arrays, raw bytes, values ----
python3 - <<'END'
import struct
def npy(name, descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data)
npy("w.npy", "<f4", "(2, 3)", struct.pack("<6f", *range(6)))
npy("x.npy", "<i2", "(4, 3)", struct.pack("<12h", *range(12)))
npy("e.npy", "|u1", "(5,)", bytes(range(5)))
npy("columns.npy", "<f4", "(2, 3)", bytes(24))
data = open("columns.npy", "rb").read().replace(b"False", b"True ")
open("columns.npy", "wb").write(data)
npy("text.npy", "<U4", "(1,)", bytes(16))
open("raw.bin", "wb").write(bytes(range(24)))
END
make '{"tensors": [{"name": "w", "file": "w.npy"}, {"name": "e", "file": "e.npy", "dataType": "F8143"},
    {"name": "r", "file": "raw.bin", "dataType": "U64", "shape": [3]}, {"name": "v", "dataType": "S16", "shape": [2], "values": [-1, 258]}],
  "feeds": [{"name": "x", "file": "x.npy"}, {"name": "r", "file": "raw.bin", "dataType": "F32", "shape": [2]}]}'
code 0 popef_dump f.popef --json
jq -e '.files[0] | (.tensors | map([.name, .dtype, .shape])) == [["w", "F32", [2, 3]], ["e", "F8143", [5]], ["r", "U64", [3]], ["v", "S16", [2]]]
    and (.feeds | map([.name, .dtype, .shape, .num_tensors])) == [["x", "S16", [3], 4], ["r", "F32", [2], 3]]' out >/dev/null || complain "unexpected tensors or feeds"
at=$(jq '.files[0].tensors[3] | .offset + .size - .available_read_size' out)
is "$(od -An -tx1 -j"$at" -N4 f.popef)" " ff ff 02 01"
at=$(jq '.files[0].tensors[0] | .offset + .size - .available_read_size' out)
cmp <(tail -c 24 w.npy) <(tail -c +$((at + 1)) f.popef | head -c 24) || complain "the array has different bytes"

# ---- producers ----
neuron-packager example memcpy -s 1 -o m.neff || exit 1
model='"executable": {"name": "7", "programs": {"5": {"kind": "neff", "file": "m.neff"}}}, "tensors": [{"name": "w", "file": "w.npy"}],
  "metadata": {"seedHandle": "d2h_seed", "rngState": true, "cycleCounters": true, "anchors": [
    {"name": "x", "type": "input", "dataType": "F32", "shape": [1]}, {"name": "w", "type": "input", "dataType": "F32", "shape": [2, 3]},
    {"name": "w", "type": "output", "dataType": "F32", "shape": [2, 3]}, {"name": "y", "type": "output", "dataType": "F32", "shape": [1]},
    {"name": "k", "type": "unknown", "dataType": "F32", "shape": [1]}'
make "{\"producer\": \"popart\", $model ]}}"
is "$(blobs f.popef)" "metadata, executable 7, opaque popart, tensor w"
code 0 popef_dump f.popef
has '    load: [0, 1, 2, 4]'
has '    main: [5]'
has '    save: [7, 3, 6, 8]'
has '    9: CustomProgramsStart'
is "$(grep -E '^      (Handle|Programs)' out | tr -s ' \n' ' ')" " Programs: [5] Handle: h2d_x Programs: [0] Handle: h2d_w Programs: [5] Handle: anchor_d2h_y Programs: [7] Handle: weight_d2h_w Programs: [] Handle: "
make "{\"producer\": \"poptorch\", $model ]}}"
is "$(blobs f.popef)" "metadata, executable 7, opaque popart, tensor w, opaque poptorch"
make "{\"producer\": \"tensorflow\", $(sed 's/"name": "7", //' <<<"$model"), {\"name\": \"x\", \"type\": \"input\", \"dataType\": \"F32\", \"shape\": [1]}]}}"
is "$(blobs f.popef)" "opaque tensorflow, executable UNHASHED_EXECUTABLE, metadata, tensor w"
code 0 popef_dump f.popef
has '    0: load_program'
has '    load: [0]'
has '    main: [1]'
has '    save: [2]'
has 'Name: "x0":' # a name used twice
make "{\"producer\": \"popart\", $(sed 's/"name": "7", //' <<<"$model") ]}}"
popef_dump -e f.popef | grep -E '^  Name: "[0-9]{10,20}":$' >/dev/null || complain "no hash for a name"

# ---- shapes, compression, the archive ----
make '{"executable": {"name": "c", "compress": true, "programs": {"3": {"kind": "neff", "file": "m.neff"}, "0": {"kind": "copy_in"}}},
  "metadata": {"replicationFactor": 2, "anchors": [{"name": "a", "type": "input", "dataType": "F32", "shape": [8, 3, 1],
  "isPerReplica": true, "useRemoteBuffers": true, "repeats": 3, "handle": "h", "programs": [0]}]}}'
code 0 popef_dump f.popef
has 'shape [2, 3, 8, 3, 1] }'
has 'sizeInBytes: 576'
has 'Is compressed: True'
python3 - <<'END' || complain "unexpected archive of programs"
import io, json, struct, sys, tarfile, zlib
data = open("f.popef", "rb").read()
size, info, stored, full = struct.unpack_from("<4Q", data, 16)
archive = zlib.decompress(data[size - stored:size])
tar = tarfile.open(fileobj=io.BytesIO(archive))
programs = json.load(tar.extractfile("programs.json"))
assert len(archive) == full and tar.getnames() == ["programs.json", "3.neff"], tar.getnames()
assert programs == {"version": 1, "programs": {"0": {"kind": "copy_in"}, "3": {"kind": "neff", "file": "3.neff"}}}, programs
assert tar.extractfile("3.neff").read() == open("m.neff", "rb").read()
END

# ---- appending ----
before=$(popef_dump f.popef)
cp f.popef before.popef
printf '{"opaques": [{"name": "poptorch", "executable": "c", "text": "more"}]}' >d.json
code 0 popef_make append d.json f.popef
cmp -n "$(stat -c %s before.popef)" before.popef f.popef || complain "appending changed earlier rows"
is "$(popef_dump f.popef)" "$before
Opaques:
  Name: \"poptorch\":
    Executable: c
    Version: ours-1
    Available read size: 4"
printf '{"executable": {"name": "c", "file": "raw.bin"}}' >d.json
cp f.popef before.popef
code 1 popef_make append d.json f.popef
says 'duplicate executable '\''c'\'''
cmp before.popef f.popef || complain "a rejected append changed the file"

# ---- errors ----
refused 'line 1' '{'
refused "unknown key 'tensor'" '{"tensor": []}'
refused "unknown producer 'caffe'" '{"producer": "caffe"}'
refused 'executable: expected either "file" or "programs"' '{"executable": {"name": "a"}}'
refused 'executable without a name' '{"executable": {"file": "raw.bin"}}'
refused 'program 5: missing "file"' '{"executable": {"name": "a", "programs": {"5": {}}}}'
refused "'five' is not a program number" '{"executable": {"name": "a", "programs": {"five": {"kind": "copy_in"}}}}'
refused 'nowhere.neff' '{"executable": {"name": "a", "programs": {"5": {"file": "nowhere.neff"}}}}'
refused 'w: expected either "file" or "values"' '{"tensors": [{"name": "w"}]}'
refused 'stored in column-major order' '{"tensors": [{"name": "w", "file": "columns.npy"}]}'
refused 'unsupported element type '\''<U4'\''' '{"tensors": [{"name": "w", "file": "text.npy"}]}'
printf 'no array at all' >fake.npy
refused 'not a NumPy array file' '{"tensors": [{"name": "w", "file": "fake.npy"}]}'
refused 'data size 24, expected 12' '{"tensors": [{"name": "w", "file": "raw.bin", "dataType": "U8", "shape": [12]}]}'
refused 'not a multiple of the tensor size' '{"feeds": [{"name": "w", "file": "raw.bin", "dataType": "U8", "shape": [7]}]}'
refused 'w: data size 8, expected 4' '{"tensors": [{"name": "w", "dataType": "F32", "shape": [1], "values": [1, 2]}]}'
refused 'w: shape or type differs from its anchor' '{"tensors": [{"name": "w", "file": "w.npy"}],
  "metadata": {"anchors": [{"name": "w", "type": "input", "dataType": "F32", "shape": [3, 2]}]}}'
refused 'duplicate tensor '\''w'\''' '{"tensors": [{"name": "w", "file": "w.npy"}, {"name": "w", "file": "w.npy"}]}'
refused 'missing or unknown "dataType": F33' '{"tensors": [{"name": "w", "file": "raw.bin", "dataType": "F33", "shape": [1]}]}'
refused '"type" must be unknown, input or output' '{"metadata": {"anchors": [{"name": "w", "type": "both"}]}}'
refused 'two names for one program' '{"metadata": {"programsMap": {"1": "a", "01": "b"}}}'
code 1 popef_make create -o x nowhere.json
code 2 popef_make create d.json
code 2 popef_make create -o x
code 2 popef_make append d.json
code 2 popef_make example none -o x
code 2 popef_make dance
code 2 popef_make
