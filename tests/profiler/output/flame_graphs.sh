#!/bin/bash
# flame_graphs - view --output-format pprof and folded: a decoder made from the published description can read them,
# and their sums are the busy times of the summary, for each engine and core. 
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
needs python3 protoc jq gzip
check=$NTK_SOURCE_DIR/tests/profiler/output/flame_rows.py
# proto/profile.proto of github.com/google/pprof, without its comments.
cat >profile.proto <<'PROTO'
syntax = "proto3";
package perftools.profiles;
message Profile {
  repeated ValueType sample_type = 1;
  repeated Sample sample = 2;
  repeated Mapping mapping = 3;
  repeated Location location = 4;
  repeated Function function = 5;
  repeated string string_table = 6;
  int64 drop_frames = 7;
  int64 keep_frames = 8;
  int64 time_nanos = 9;
  int64 duration_nanos = 10;
  ValueType period_type = 11;
  int64 period = 12;
  repeated int64 comment = 13;
  int64 default_sample_type = 14;
  int64 doc_url = 15;
}
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Mapping {
  uint64 id = 1;
  uint64 memory_start = 2;
  uint64 memory_limit = 3;
  uint64 file_offset = 4;
  int64 filename = 5;
  int64 build_id = 6;
  bool has_functions = 7;
  bool has_filenames = 8;
  bool has_line_numbers = 9;
  bool has_inline_frames = 10;
}
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5; }
message Line { uint64 function_id = 1; int64 line = 2; int64 column = 3; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
PROTO

# agrees NAME -s CAPTURE ARGUMENT...: writes both formats of a capture twice with the same bytes, and compares them
# with the summary.
agrees() {
    local name=$1
    shift
    for format in pprof folded; do
        neuron-profile view "$@" --output-format $format --output-file "$name.$format" >out 2>err || fail "$name: cannot write $format"
        [ ! -s out ] || fail "$name: $format prints"
        neuron-profile view "$@" --output-format $format --output-file - 2>err | cmp -s - "$name.$format" ||
            fail "$name: $format on stdout differs"
    done
    gzip -dc "$name.pprof" | protoc --decode=perftools.profiles.Profile profile.proto >"$name.txt" || fail "$name cannot be decoded"
    protoc --encode=perftools.profiles.Profile profile.proto <"$name.txt" | cmp -s - <(gzip -dc "$name.pprof") ||
        fail "$name: the encoder produces different bytes"
    neuron-profile view "$@" --output-format summary-json >"$name.json" 2>err || fail "$name: the summary failed"
    python3 "$check" "$name.txt" "$name.folded" "$name.json" >said || fail "$name: the check failed"
    grep -qE '^[1-9][0-9]* samples$' said || fail "$name: unexpected figures: $(cat said)"
}

# ---- our own: a sample, layers, a loop, source lines ----
agrees sample -s "$NTK_SOURCE_DIR/tests/corpus/ntff/sample_v6.ntff" -n -
for kind in attention mlp; do
    neuron-packager example $kind -o $kind.neff >out || fail "cannot create example $kind"
    neuron-profile capture -n $kind.neff -s $kind.ntff >out 2>err || fail "the capture of $kind failed"
    agrees $kind -s $kind.ntff
done
grep -qE '^Scalar;softmax;build_attention;softmax;attention[.]c:[0-9]+;ACTIVATE [0-9]+$' attention.folded ||
    fail "no stack of layer, functions, line and operation: $(cat attention.folded)"
agrees part -s attention.ntff --from 1us --to 9us

# ---- errors ----
neuron-profile view -s attention.ntff --output-format pprof >out 2>err || fail "the export with the default name failed"
says out 'wrote ntff.pb.gz' || fail "unexpected output: $(cat out)"
cmp -s ntff.pb.gz attention.pprof || fail "the file with the default name differs"
mkdir folder && cp attention.ntff folder
for format in pprof folded; do
    ends 2 neuron-profile view -d folder --output-format $format
    says err "$format requires one capture: pass it with -s"
    ends 1 neuron-profile view -s attention.ntff --output-format $format --output-file nowhere/f
    [ "$(wc -l <err)" = 1 ] || fail "$format into a missing folder: expected one message: $(cat err)"
    says err "cannot write 'nowhere/f': No such file or directory"
done

# ---- captures of hardware, if there are any ----
for capture in ${NTK_VENDOR_CAPTURES:+"$NTK_VENDOR_CAPTURES"/*.ntff}; do
    name=$(basename "$capture" .ntff)
    agrees "$name" -s "$capture"
    for core in $(neuron-profile show-session -s "$capture" -j 2>err | jq '.NeffNodes[].NodeInfo.Graphs[].NC'); do
        agrees "$name.$core" -s "$capture" --core "$core"
    done
done
[ ! -e v6_attn_tkg.folded ] || says v6_attn_tkg.folded ';v6_ultimate.py:278;'
