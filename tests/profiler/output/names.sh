#!/bin/bash
# names - the compiler's names of instructions, in every format: a run of a NEFF with .dbg members that are made here.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3 protoc sqlite3 jq
here=$NTK_SOURCE_DIR/tests/profiler/output
neuron-packager example mlp -o plain.neff -s 128 >/dev/null
neuron-packager unpack -o plain plain.neff >/dev/null
python3 "$here/debug_members.py" write plain >&2 || fail "cannot write the debug members"
neuron-packager create -i plain -o m.neff -n mlp >/dev/null || fail "cannot create the NEFF"
neuron-profile capture -n m.neff -s m.ntff >/dev/null 2>&1 || fail "the capture failed"
python3 "$here/debug_members.py" damage plain
neuron-packager create -i plain -o damaged.neff -n mlp >/dev/null || fail "cannot create the damaged NEFF"
neuron-profile capture -n damaged.neff -s damaged.ntff >/dev/null 2>&1 || fail "the capture of the damaged NEFF failed"

for format in json csv sqlite parquet chrome; do
    neuron-profile view -s m.ntff -n m.neff --enable-memory-tracker --output-format $format --output-file names.$format 2>err || fail "$format: unexpected output"
done
python3 "$here/debug_members.py" check names.json names.sqlite names.csv names.chrome >&2 || fail "the names differ from those in the NEFF"
neuron-profile view -s m.ntff -n m.neff --output-format perfetto --output-file names.pftrace 2>err || fail "the export to Perfetto failed"
protoc --proto_path="$NTK_SOURCE_DIR" --decode=ntk.perfetto.Trace profiler/output/traces/perfetto.proto <names.pftrace >names.txt
python3 "$here/debug_members.py" perfetto names.txt names.json >&2 || fail "the names in the Perfetto trace differ from those in the NEFF"
twice=$(grep -E 'str: "(.*\.py:[0-9]+|h=[0-9].*)"$' names.txt | sort | uniq -d)
[ -z "$twice" ] || fail "positions of the Perfetto trace are duplicated: $twice"
python3 "$here/source_tables.py" names.json names.sqlite names.chrome names.txt >&2 || fail "tables of the source are not the profile's"
python3 "$here/tables_agree.py" names.sqlite names.csv names.parquet >&2 || fail "tables differ"

# Lines and loops: the same rows as in the profile, in the requested order, with the text of lines.
mkdir -p src/k
seq 1 150 | sed 's/.*/\tload(&)/' >src/k/a.py
touch -d 2000-01-01 src/k/a.py
for by in stall time bytes; do
    neuron-profile lines -s m.ntff -n m.neff --by $by --json --nki-source-root src >lines.json 2>err || fail "lines --by $by failed"
    grep -q 'does not match the NEFF: the file has no line' err || fail "expected a message that a.py is too short"
    python3 "$here/debug_members.py" lines names.json lines.json $by >&2 || fail "lines --by $by are not those of the profile"
done
neuron-profile lines -s m.ntff -n m.neff --loops --json >loops.json 2>err || fail "lines --loops failed"
jq -e --slurpfile all names.json '. == ($all[0] | {source_loop, source_iteration})' loops.json >&2 || fail "loops are not those of the profile"
neuron-profile lines m.ntff --nki-source-root src >lines.txt 2>err || fail "lines failed"
share=$(python3 -c '
import json
rows = json.load(open("lines.json"))["source_line"]
total, known = (sum(row["duration"] for row in rows if "reason" not in row or all_) for all_ in (1, 0))
print("%.1f" % (100 * known / total))')
head -1 lines.txt | grep -F " instructions have a source line ($share% of the instruction time)" >/dev/null ||
    fail "not $share% of the time have a line: $(head -1 lines.txt)"
grep -qE '^a\.py:2  +#+ .* load\(2\)$' lines.txt || fail "no line with its bar and text: $(cat lines.txt)"
neuron-profile lines m.ntff --loops >loops.txt 2>err || fail "lines --loops failed"
grep -qE '^a\.py:7  +h > t  ' loops.txt || fail "no inner loop: $(cat loops.txt)"
neuron-profile lines m.ntff -n - >lines.txt 2>err || fail "lines -n - failed"
grep -q 'No source lines: pass the NEFF' lines.txt || fail "expected a message that names the place of lines"

# Without a NEFF, and with a damaged one, everything else is shown.
for case in "-s m.ntff -n -" "-s damaged.ntff -n damaged.neff"; do
    # shellcheck disable=SC2086
    neuron-profile view $case --output-format json --output-file none.json 2>err || fail "$case: unexpected output"
    python3 "$here/debug_members.py" none none.json >&2 || fail "$case has names"
done
grep -q 'Instruction names are omitted: sg00/debug_info_backend_PE.dbg: truncated inside a field' none.json ||
    fail "expected a message that names are damaged"
