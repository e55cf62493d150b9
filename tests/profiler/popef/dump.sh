#!/bin/bash
# popef_dump: the listing of the guide's sample to the byte, several files as one set, and damaged or hostile files.
. ./lib.sh
corpus=$NTK_SOURCE_DIR/tests/corpus/popef

# ---- the sample of the format's guide, with data of the sizes in the guide ----
head -c 63682 /dev/zero >executable.bin
head -c 1536 /dev/zero >popart.bin
cat >sample.json <<'END'
{ "producer": "popart",
  "executable": { "name": "3284579348837926701", "file": "executable.bin" },
  "metadata": { "ipuVersion": 2, "isInference": true,
    "engineOptions": { "target.deterministicWorkers": "false", "debug.retainDebugInformation": "true",
      "exchange.streamBufferOverlap": "hostRearrangeOnly", "exchange.enablePrefetch": "true" },
    "programFlow": { "load": [0, 1], "main": [5], "save": [7] },
    "anchors": [
      { "name": "user_input", "type": "input", "dataType": "F32", "shape": [2], "isPerReplica": true },
      { "name": "input_parameter", "type": "input", "dataType": "F32", "shape": [2] },
      { "name": "Add:0", "type": "output", "dataType": "F32", "shape": [2], "isPerReplica": true },
      { "name": "input_parameter", "type": "output", "dataType": "F32", "shape": [2] } ] },
  "tensors": [ { "name": "input_parameter", "dataType": "F32", "shape": [2], "values": [1, 2] } ],
  "opaques": [ { "name": "popart", "file": "popart.bin" } ] }
END
code 0 popef_make create -o executable.popef sample.json
code 0 popef_dump -a -t -e -o executable.popef
diff "$here/listing.txt" out || complain "the listing differs from the guide"
code 0 popef_dump -ateo executable.popef # grouped into one word
diff "$here/listing.txt" out || complain "the listing with grouped options differs"
code 0 popef_dump --metadata executable.popef
diff "$here/metadata.txt" out || complain "the metadata differ from the guide"
code 0 popef_dump --all executable.popef
(cat "$here/metadata.txt"; tail -n +2 "$here/listing.txt") | diff - out || complain "the text of --all differs"
cp out all
code 0 popef_dump executable.popef
diff all out || complain "without options, expected everything"
code 0 popef_dump -u executable.popef
grep -E '^(PopEF file|Anchors|  (Inputs|Outputs)|    Name)' out | diff - <(printf '%s\n' 'PopEF file: executable.popef' Anchors: \
    '  Inputs (User provided):' '    Name: "user_input":' '  Outputs (User provided):' '    Name: "Add:0":') || complain "unexpected output of --user-anchors"
code 0 popef_dump --color executable.popef
grep -q $'\x1b\[' out && sed 's/\x1b\[[0-9;]*m//g' out | diff all - || complain "colours change the text"
lacks EXEC

# ---- all kinds of blobs, as text and JSON ----
code 0 popef_dump "$corpus/all"
has 'Feeds:'
has '    Number of tensors: 2'
has '  Programs Map:'
has '  Engine Options: <empty>'
code 0 popef_dump "$corpus/compressed"
has '    Is compressed: True'
has 'Unknown: type 99 at offset 96'
code 0 popef_dump "$corpus/all" "$corpus/compressed" --json
jq -e '.files | length == 2 and (.[0].executables[0] == {name: "42", offset: 0, size: 68, version: "ours-1",
    available_read_size: 4, is_compressed: false, data_size: 4}) and .[0].feeds[0].num_tensors == 2 and
    .[0].metadata[0].anchors[0].handle == "h2d_a" and .[0].metadata[0].program_flow == {load: [0], main: [5], save: []} and
    .[1].unknown[0].type == 99 and .[1].executables[0].data_size == 800' out >/dev/null || complain "unexpected JSON"

# ---- several files ----
printf '{"tensors":[{"name":"user_input","dataType":"F32","shape":[2],"values":[3,4]}]}' >variables.json
code 0 popef_make create -o variables.popef variables.json
code 0 popef_dump -u executable.popef variables.popef
lacks 'Inputs (User provided)'
has '"Add:0"'
[ "$(grep -c '^PopEF file: ' out)" = 2 ] || complain "expected a heading for each of the two files"
code 1 popef_dump executable.popef nowhere.popef variables.popef
says 'cannot open '\''nowhere.popef'\'': No such file or directory'
[ "$(grep -c '^PopEF file: ' out)" = 2 ] || complain "the others are not listed"
code 1 popef_dump "$corpus/executable" "$corpus/executable"
says 'duplicate executable '\''42'\'''
[ "$(grep -c '^PopEF file: ' out)" = 1 ] || complain "a duplicate is listed"
code 0 popef_dump "$corpus/opaque"
says "opaque blob 'popart' refers to the missing executable '42'"
code 0 popef_dump "$corpus/opaque" "$corpus/executable"
[ ! -s err ] || complain "a valid link is reported"

# ---- damaged, empty, hostile ----
: >empty.popef
code 0 popef_dump empty.popef
[ "$(cat out)" = 'PopEF file: empty.popef' ] || complain "unexpected output for an empty file"
printf 'OPE' >short.popef
code 1 popef_dump short.popef
says 'short.popef: not an OPEF file (Graphcore'"'"'s own encoding is not supported)'
head -c 500 executable.popef >cut.popef
code 1 popef_dump cut.popef
says 'cut.popef: truncated blob at offset 0'
[ "$(wc -l <err)" = 1 ] && [ ! -s out ] || complain "a truncated file: expected no further output"
printf '{"tensors":[{"name":"a\\n\\u001b[31mb\\u202e\\"\\u00e9","dataType":"U8","shape":[],"values":[1]}]}' >names.json
code 0 popef_make create -o $'new\nline.popef' names.json
code 0 popef_dump $'new\nline.popef'
has '  Name: "a\n\x1b[31mb\xe2\x80\xae"é":'
has 'PopEF file: new\nline.popef'
has 'TensorInfo: { dtype: U8, sizeInBytes: 1, shape [] }'
[ "$(wc -l <out)" = 6 ] || complain "a name spans several lines"
python3 - <<'END' # not UTF-8
import struct
info = struct.pack("<I", 3) + b"\xff\xc3x"
open("latin.popef", "wb").write(b"OPEF" + struct.pack("<HHIIQQQQ", 1, 0, 0, 0, 48 + 8, len(info), 0, 0) + info + bytes(1))
END
code 0 popef_dump latin.popef
has '  Name: "\xff\xc3x":'
has '    Version:'

# ---- options, log ----
code 2 popef_dump
code 2 popef_dump --nothing executable.popef
code 0 popef_dump --verbose executable.popef
says 'popef: DEBUG: executable.popef: OPEF 1, '
diff all out || complain "--verbose changes the listing"
POPEF_LOG_LEVEL=TRACE POPEF_LOG_DEST=log code 0 popef_dump executable.popef
[ ! -s err ] && grep -q '^popef: TRACE: executable.popef: tensor blob ' log || complain "POPEF_LOG_DEST has no effect"
code 1 bash -c 'popef_dump executable.popef >/dev/full'
says 'cannot write to stdout'
