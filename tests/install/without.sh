# without.sh CMAKE - on a system without gRPC and without the test-only dependencies, the rest is configured, and the
# summary lists the omitted parts.
. "$(dirname "$0")/../e2e/lib.sh"
[ "${NTK_PACKAGE_CHECK:-0}" = 1 ] || skip "takes long: run ./dev package --check"
needs pkg-config
pkg-config --variable pc_path pkg-config | tr ':' '\n' | while read -r folder; do
    [ ! -d "$folder" ] || find "$folder" -name '*.pc'
done | grep -vE '/(grpc|cmocka)[^/]*$' >files
mkdir pc
tac files | while read -r file; do ln -sf "$file" pc/; done
PKG_CONFIG_LIBDIR=$scratch/pc "$1" -S "$NTK_SOURCE_DIR" -B made -G Ninja -DCMAKE_BUILD_TYPE=Release >configure.log 2>&1 || fail "see configure.log"
for name in grpc_unsecure cmocka; do
    greps "missing package: $name " configure.log || fail "$name is not named as missing"
done
greps 'omitted: neuron-rtd: needs' configure.log || fail "neuron-rtd is not omitted"
! greps -E 'omitted: (neuron-monitor|neuron-top|neuron-bench|agent|top|profiler):' configure.log || fail "more parts are omitted than expected"
