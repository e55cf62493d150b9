#!/bin/bash
# readers - exported profiles in the programs that people read them with (docs/decisions/0215).
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
here=$NTK_SOURCE_DIR/tests/profiler/output
tools=$NTK_SOURCE_DIR/build/tools/npm
needs node jq
if [ ! -d "$tools/node_modules/hyparquet" ]; then
    echo "readers: skipped: DuckDB, hyparquet and the trace processor are not below build/tools/npm (./dev test gets them)"
    exit 77
fi
cp "$NTK_SOURCE_DIR/tests/corpus/ntff/sample_v6.ntff" .
neuron-packager example memcpy -o big.neff -s 4096 -r 1000 >/dev/null
neuron-profile capture -n big.neff -s big.ntff >/dev/null 2>&1 || fail "no capture"

for run in "sample -s sample_v6.ntff" "big -s big.ntff -n big.neff"; do
    set -- $run
    name=$1
    shift
    neuron-profile view "$@" --output-format parquet --output-file "$name.parquet.d"
    neuron-profile view "$@" --output-format csv --output-file "$name.csv.d"
    node "$here/readers.mjs" "$tools" "$name.parquet.d" "$name.csv.d" >out 2>err || fail "$name: $(cat err)"
    grep -q '^1[0-9] files$' out || fail "$name: $(cat out)"
done
