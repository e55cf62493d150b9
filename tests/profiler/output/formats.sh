#!/bin/bash
# formats - view --output-format of the sample capture and of our own run, as other programs read them.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3 jq sqlite3 protoc
here=$NTK_SOURCE_DIR/tests/profiler/output
sample=$NTK_SOURCE_DIR/tests/corpus/ntff/sample_v6.ntff
cp "$sample" sample_v6.ntff
neuron-packager example mlp -o m.neff -s 128 >/dev/null
neuron-profile capture -n m.neff -s m.ntff >/dev/null 2>&1 || fail "the capture failed"

mkdir elsewhere elsewhere/tmp
# A locale with a decimal comma, if there is one.
comma=$(locale -a 2>/dev/null | grep -m 1 -E '^(de|fr|es|it|pt|nl)_' || true)

# export FORMAT FILE CAPTURE-ARGUMENT...: writes it twice; the bytes must be the same, although the second run has
# another time zone, language and folder.
export_twice() {
    local format=$1 file=$2
    shift 2
    neuron-profile view "$@" --output-format "$format" --output-file "$file" >out 2>err || fail "$format: unexpected output"
    [ ! -s out ] && [ ! -s err ] || fail "$format: expected no output"
    for argument in "$@"; do
        case $argument in -*) ;; *) cp "$argument" elsewhere/ ;; esac # JSON contains the name of its file
    done
    (cd elsewhere && env TZ=Asia/Kolkata LC_ALL="${comma:-C}" TMPDIR="$PWD/tmp" \
        neuron-profile view "$@" --output-format "$format" --output-file "$OLDPWD/again") 2>err
    [ -z "$(ls elsewhere/tmp)" ] || fail "$format leaves $(ls elsewhere/tmp)"
    diff -r "$file" again >/dev/null || fail "$format: the same capture produces different bytes"
    rm -r again
}

# ---- json ----
export_twice json sample.json -s sample_v6.ntff -n -
python3 "$here/json_rows.py" sample.json |
    sed -e 's/neuron-profile [0-9][^"]*"/VERSION"/g' -e 's/"sample_v6.ntff"/"PATH"/' >rows
diff "$NTK_SOURCE_DIR/tests/data/profile/sample_v6.rows" rows >&2 || fail "json: the rows differ from those of the sample"
[ "$(jq '(.summary_groups[0] | keys) == (.terminology[0] | keys)' sample.json)" = true ] ||
    fail "json: a metric has no meaning"
python3 -c '
import json
def once(pairs):
    assert len(dict(pairs)) == len(pairs), "a key twice"
    return dict(pairs)
json.load(open("sample.json"), object_pairs_hook=once)' || fail "json: an object has a duplicate key"
neuron-profile view -s sample_v6.ntff -n - --output-format json --output-file - 2>err | cmp -s - sample.json ||
    fail "json: the output on stdout differs"

# Our own run: layers, tensors and counts equal those of the other commands.
export_twice json m.json -s m.ntff -n m.neff
session=$(neuron-profile show-session -s m.ntff -n m.neff -j | jq '[.NeffNodes[].NodeInfo.Graphs[].TraceCount] | add')
[ "$(jq '.instruction | length' m.json)" = "$session" ] || fail "json: instructions are missing"
[ "$(jq '[.model_info[].trace_count] | add' m.json)" = "$(jq '.summary[0] | .trace_count - (.dma_transfer_count // 0)' m.json)" ] ||
    fail "json: counts differ"
[ "$(jq -c '[.neff_node[] | select(.type != "") | .type] | unique' m.json)" = '["IN","OUT","WEIGHT"]' ] ||
    fail "json: tensors are missing"
[ "$(jq '[.neff_node[] | select((.type == "IN" or .type == "OUT") and .shape == null)] | length' m.json)" = 0 ] ||
    fail "json: a tensor has no shape"
[ "$(jq '[.instruction[] | 2 * (.elements // 0)] | add == '"$(jq '.summary[0].hardware_flops' m.json)" m.json)" = true ] ||
    fail "json: the elements do not add up to the flops"
for version in 2.28 2.32; do
    neuron-profile view -s sample_v6.ntff -n - --metrics-version $version --output-format json --output-file v.json
    jq -e --arg v $version '.profile_info[0].metrics_version == $v and
        any(.warnings[]; .category == "metrics" and (.message | contains($v))) and
        ([.instruction[].raw_flops // 0] | add) == .summary[0].hardware_flops and
        ([.instruction[].flops_transpose // 0] | add) == .summary[0].transpose_flops and
        ([.instruction[].psum_write_bytes // 0] | add) == .summary[0].psum_write_bytes and
        ([.instruction[].sbuf_read_bytes // 0] | add) == .summary[0].sbuf_read_bytes' v.json >/dev/null ||
        fail "json: rows do not add up to the summary of version $version"
    neuron-profile query -s sample_v6.ntff -n - --metrics-version $version --csv \
        'select sum(psum_write_bytes) from Instruction' | tail -n 1 >queried
    [ "$(cat queried)" = "$(jq '.summary[0].psum_write_bytes' v.json)" ] || fail "query of version $version differs"
    neuron-profile lines sample_v6.ntff -n - --metrics-version $version --json >lines.json
    jq -e --slurpfile view v.json --arg v $version '(.source_line | sort) == ($view[0].source_line | sort) and
        ([.source_line[].flops // 0] | add) == $view[0].summary[0].hardware_flops and
        .profile_info == (if $v == "2.28" then $view[0].profile_info else null end)' lines.json >/dev/null ||
        fail "lines of version $version differ from view"
done
neuron-profile lines sample_v6.ntff -n - --from 1us --to 2us --json 2>err | jq -e '.profile_info[0] |
    .profile_name == "sample_v6" and .window_start == 1000 and .window_end == 2000' >/dev/null || fail "unexpected lines of a part"
code=0
neuron-profile view -s sample_v6.ntff -n - --metrics-version 2.30 --output-format summary-text 2>err || code=$?
[ $code = 2 ] || fail "an unknown version of metrics: unexpected exit code $code"

# For a user: one screen on a terminal or with --brief; every metric with --all or elsewhere.
summary=(neuron-profile view -s sample_v6.ntff -n - --output-format summary-text)
"${summary[@]}" --brief >brief
script -qec "${summary[*]}" /dev/null </dev/null 2>&1 | tr -d '\r' >screen
diff brief screen >&2 || fail "a terminal gets a summary other than --brief"
[ "$(head -n 1 brief)" = 'sample_v6 on a trn2.3xlarge' ] && grep -q '^Tensor  *|#' brief || fail "unexpected output of --brief: $(cat brief)"
"${summary[@]}" >every
"${summary[@]}" --all | cmp - every && grep -q '^trace_count  *[0-9]' every || fail "the summary lacks metrics: $(cat every)"
script -qec "${summary[*]} --all" /dev/null </dev/null >screen 2>&1
grep -q '^trace_count  *[0-9]' screen || fail "--all on a terminal lacks metrics: $(cat screen)"

for wrong in "--brief --all" "--brief --output-format json" "--all --output-format html" "--brief --output-format page"; do
    code=0
    neuron-profile view -s sample_v6.ntff -n - $wrong >out 2>err || code=$?
    [ $code = 2 ] && [ ! -s out ] && grep -qE 'mutually exclusive|requires --output-format summary-text' err ||
        fail "$wrong: unexpected exit code $code, $(cat err)"
done
for width in 50 80 132; do
    COLUMNS=$width neuron-profile view -s sample_v6.ntff -n - --brief | sed '1,/^Findings/d' >findings
    [ -s findings ] && [ "$(wc -L <findings)" -le $width ] || fail "findings are not $width columns wide: $(cat findings)"
done

# Layers that the NEFF names: each has the work of its instructions, and together they have the work of the core.
neuron-packager example attention -o attention.neff >/dev/null
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null 2>&1 || fail "the capture failed"
export_twice json attention.json -s attention.ntff -n attention.neff
jq -e '([.layer_summary[] | select(.name != "/sg00")] | length > 2 and all(.[]; .start >= 0 and .end > .start)) and
    ([.layer_summary[] | select(.name != "/sg00") | .tensor_engine_flop_count] | add) ==
        (.layer_summary[] | select(.name == "/sg00") | .tensor_engine_flop_count) and
    ([.layer_summary[] | select(.name != "/sg00")] | length) ==
        ([.instruction[].layer | select(. != "")] | unique | length) and
    (. as $all | all(.layer_summary[] | select(.name != "/sg00"); . as $layer |
        ([$all.instruction[] | select("/sg00/" + .layer == $layer.name and .subgroup == "Tensor")] | length) ==
            $layer.tensor_engine_instruction_count))' attention.json >/dev/null || fail "json: layers do not add up"

# Operands: exactly the lines of the listing, with the layer's number in a separate column.
neuron-packager disasm attention.neff | grep -E '^    [a-z]' | sed -E 's/ ;.*//; s/^ *//; s/ name=[0-9]+//' | sort -u >listing
jq -r '.instruction[] | select(.compiler_opcode) | .compiler_opcode + " " + .operands' attention.json | sed 's/ $//' | sort -u |
    diff listing - >&2 || fail "json: operands are not those of the listing"
neuron-profile show-session -s attention.ntff -i | grep -Eo '  [a-z][a-z_0-9]*( [A-Za-z0-9]+=.*)?$' | sed 's/^ *//' | sort -u |
    diff listing - >&2 || fail "show-session -i: operands are not those of the listing"

# ---- csv, sqlite, parquet: the same tables three times ----
query() { sqlite3 -readonly "$1" "$2"; }
# More packets than a row group of Parquet holds.
neuron-packager example memcpy -o big.neff -s 4096 -r 1000 >/dev/null
neuron-profile capture -n big.neff -s big.ntff >/dev/null 2>&1 || fail "the long capture failed"
for run in "sample -s sample_v6.ntff -n -" "m -s m.ntff -n m.neff" "big -s big.ntff -n big.neff"; do
    set -- $run
    name=$1
    shift
    export_twice csv "$name.csv.d" "$@"
    export_twice sqlite "$name.sqlite" "$@"
    export_twice parquet "$name.parquet.d" "$@"
    python3 "$here/tables_agree.py" "$name.sqlite" "$name.csv.d" "$name.parquet.d" >rows || fail "the tables of $name differ"
    grep -q '^41 tables, [1-9]' rows || fail "$name has $(cat rows)"
done

# ---- perfetto, chrome: the same spans and counters as the tables ----
proto() { protoc --proto_path="$NTK_SOURCE_DIR" "$1=ntk.perfetto.Trace" profiler/output/traces/perfetto.proto; }
for run in "sample -s sample_v6.ntff -n -" "m -s m.ntff -n m.neff"; do
    set -- $run
    name=$1
    shift
    export_twice perfetto "$name.pftrace" "$@"
    export_twice chrome "$name.trace.json" "$@"
    [ "$name" = big ] || export_twice html "$name.html" "$@"
    proto --decode <"$name.pftrace" >trace.txt || fail "perfetto: $name cannot be decoded"
    ! grep -q '^ *[0-9]*:' trace.txt || fail "perfetto: a field that the format does not have"
    proto --encode <trace.txt | cmp -s - "$name.pftrace" || fail "perfetto: the encoder produces different bytes"
    python3 "$here/trace_rows.py" trace.txt "$name.trace.json" "$name.sqlite" || fail "the traces of $name differ from its tables"
    neuron-profile view "$@" --output-format perfetto --output-file - | cmp -s - "$name.pftrace" ||
        fail "perfetto: the output on stdout differs"
done
query sample.sqlite "select engine, opcode, duration_ns, raw_flops, flops_transpose from Instruction where opcode = 'MATMUL'" >got
printf 'tensor|MATMUL|20000|16777216|\ntensor|MATMUL|20000|4194304|4194304\n' | cmp -s - got || fail "sqlite has unexpected rows: $(cat got)"
query sample.sqlite "select throttle_type, throttle_active_time_ns, max_achievable_util_with_throttling_percent from ThrottleSummary" >got
printf 'activity_0|20000|1.0\nactivity_1|70000|0.5\nall|70000|0.55\n' | cmp -s - got || fail "sqlite has unexpected rows: $(cat got)"

# ---- descriptions of the tables and metrics ----
neuron-profile --show-profile-schema >schema.yaml 2>err || fail "--show-profile-schema failed"
python3 -c '
import os, re, sqlite3, yaml
schema = yaml.safe_load(open("schema.yaml"))
assert schema["profile_schema_version"] == "7.4.0"
ours = {(t["name"], f["name"], f["type"], f.get("unit"), f["required"]) for t in schema["tables"] if t["profile"] == "device" for f in t["fields"]}
wanted = set(sqlite3.connect("sample.sqlite").execute("select table_name, field_name, field_type, field_unit, field_required from SchemaFields"))
assert ours == {(*r[:4], bool(r[4])) for r in wanted}, ours ^ wanted
assert {t["name"] for t in schema["tables"] if t["profile"] == "system"} >= {"SystemProfileEvents", "CpuUsage"}
page = open(os.environ["NTK_SOURCE_DIR"] + "/docs/formats/profile-tables.md").read()
rows = {name for cells in re.findall(r"(?m)^\| ([A-Z][^|]*) \|", page) for name in cells.split(", ")}
assert {t["name"] for t in schema["tables"]} <= rows, {t["name"] for t in schema["tables"]} - rows
' || fail "the schema is not that of the tables"
neuron-profile view --terminology >terms 2>err || fail "--terminology failed"
[ "$(awk 'NR > 1 { print $1 }' terms | sort)" = "$(jq -r '.terminology[0] | keys[]' sample.json | LC_ALL=C.UTF-8 sort)" ] ||
    fail "terminology has other metrics than the JSON"

# ---- a name, and the place where the original's explorer keeps its profiles ----
neuron-profile view -s sample_v6.ntff -n - --data-path store --display-name run --force 2>err >out || fail "the export to --data-path failed"
diff -qr store/profiles/global/run@latest sample.parquet.d >names || true # the name is in one file
[ "$(wc -l <names)" = 1 ] && grep -q 'Metadata.parquet differ' names || fail "unexpected differences in the store: $(cat names)"
neuron-profile view -s sample_v6.ntff -n - --output-format summary-json --display-name run | jq -e 'keys == ["run"]' >/dev/null ||
    fail "the name is not in the JSON"
neuron-profile view -s sample_v6.ntff -n - --disable-ui | cmp -s - <(neuron-profile view -s sample_v6.ntff --ingest-only) ||
    fail "a page was served"
for wrong in "--display-name a/b" "--data-path store --output-format csv" "--output-format db"; do
    code=0
    neuron-profile view -s sample_v6.ntff -n - $wrong 2>err || code=$?
    [ $code = 2 ] && [ "$(wc -l <err)" = 2 ] || fail "$wrong: unexpected exit code $code"
done
grep -q 'sqlite and parquet have the same tables' err || fail "no message about the format db"

# A folder is replaced if it is one of ours, and otherwise left alone.
neuron-profile view -s sample_v6.ntff -n - --output-format csv --output-file m.csv.d || fail "a folder of ours is not replaced"
diff -r sample.csv.d m.csv.d >/dev/null || fail "the folder was not replaced as a whole"
touch m.csv.d/notes.txt
code=0
neuron-profile view -s m.ntff --output-format csv --output-file m.csv.d 2>err || code=$?
[ $code = 1 ] && grep -q 'cannot write '\''m.csv.d'\'': the folder exists and contains other files (notes.txt)' err ||
    fail "a folder with other files: unexpected exit code $code"
rm m.csv.d/notes.txt
diff -r sample.csv.d m.csv.d >/dev/null || fail "a rejected export changed the folder"

# ---- outputs that cannot be written ---- refused WHAT TEXT ARGUMENT...: one message, exit code 1, nothing
# left.
refused() {
    local what=$1 text=$2 code=0
    shift 2
    mkdir -p empty
    (cd empty && neuron-profile view -s ../sample_v6.ntff -n - "$@" >../out 2>../err) || code=$?
    [ $code = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "$text" err || fail "$what: unexpected exit code $code"
    [ -z "$(ls -A empty)" ] || fail "$what leaves $(ls -A empty)"
}
for format in json csv sqlite parquet perfetto chrome; do
    refused "$format into no folder" 'cannot write '\''nowhere/f'\'': No such file or directory' \
        --output-format $format --output-file nowhere/f
    # A file size limit simulates a full disk.
    (
        trap '' XFSZ
        ulimit -f 1
        refused "$format on a full disk" 'cannot write '\''.*'\'': \(File too large\|Input/output error\)' \
            --output-format $format --output-file f
    ) || exit 1
done
[ ! -w /dev/full ] || refused "json on a full device" 'cannot write '\''/dev/full'\'': No space left on device' \
    --output-format json --output-file /dev/full
refused "a folder to stdout" 'cannot be written to stdout' --output-format csv --output-file -
refused "a database to stdout" 'cannot be written to stdout' --output-format sqlite --output-file -
code=0
neuron-profile view -s sample_v6.ntff -n - --output-format xml 2>err || code=$?
[ $code = 2 ] || fail "an unknown format: unexpected exit code $code"

# ---- the original's own figures, if its captures are available ----
for theirs in ${NTK_VENDOR_CAPTURES:+"$NTK_VENDOR_CAPTURES"/*.full.json}; do
    stem=${theirs%.full.json}
    [ -e "$theirs" ] || continue
    neuron-profile view -s "$stem.ntff" -n "$stem.neff" --metrics-version 2.28 --output-format json \
        --output-file ours.json
    python3 "$here/vendor_json.py" ours.json "$theirs" "$NTK_SOURCE_DIR/docs/formats/profile-json.md" >&2 || fail "$(basename "$stem") differs"
done
for capture in ${NTK_VENDOR_CAPTURES:+"$NTK_VENDOR_CAPTURES"/*.ntff}; do
    rm -rf theirs.*
    for format in sqlite csv parquet perfetto chrome; do
        neuron-profile view -s "$capture" -n "${capture%.ntff}.neff" --output-format $format --output-file theirs.$format
    done
    python3 "$here/tables_agree.py" theirs.sqlite theirs.csv theirs.parquet >&2 || fail "the tables of $(basename "$capture") differ"
    proto --decode <theirs.perfetto >trace.txt
    python3 "$here/trace_rows.py" trace.txt theirs.chrome theirs.sqlite || fail "the traces of $(basename "$capture") differ from its tables"
done
