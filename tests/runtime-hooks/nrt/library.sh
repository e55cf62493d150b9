#!/bin/bash
# library - which libnrt.so.1 our programs use: the configured one, the one that the loader finds, the vendor's, and
# the installed software runtime only on a machine without a Neuron driver. The programs print it.
# Method: copies of the programs next to lib/neuron-soft, as in an installation. A mount namespace supplies the driver's folder in /sys and the vendor's in /opt.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
[ -z "${NTK_SANITIZE:-}" ] || { echo "the stand-in for the vendor's runtime is built without sanitizers"; exit 77; }
unset NEURON_LIBNRT LD_LIBRARY_PATH LD_PRELOAD
mkdir -p prefix/bin prefix/lib/neuron-soft prefix/lib/neuron-hooks
for program in neuron-bench neuron-monitor neuron-packager neuron-profile; do
    ln "$NTK_BIN_DIR/$program" prefix/bin/ 2>/dev/null || cp "$NTK_BIN_DIR/$program" prefix/bin/
done
cp "$NTK_LIB_DIR/libnrt.so.1" prefix/lib/neuron-soft/
cp "$NTK_LIB_DIR/libneuron-hooks.so" prefix/lib/neuron-hooks/
PATH=$scratch/prefix/bin:$PATH
soft=$scratch/prefix/lib/neuron-soft/libnrt.so.1 vendor=$NTK_LIB_DIR/vendor/libnrt.so.1
neuron-packager example memcpy -o memcpy.neff
"$NTK_BUILD_DIR/tests/tests_make_model" adder.neff
export CLIENT_NEFF=$scratch/adder.neff VENDOR_MACHINE_DIR=$scratch/machine
mkdir -m 700 "$VENDOR_MACHINE_DIR"

# uses LIBRARY SOFTWARE COMMAND...: the command runs and names the library.
bench() { neuron-bench exec memcpy.neff --count 1 --json; }
uses() {
    local library=$1 software=$2
    shift 2
    "$@" >out 2>err || fail "$*: unexpected output"
    jq -e --arg library "$library" --argjson software "$software" '.library == $library and .software == $software' out >/dev/null ||
        fail "$* uses $(jq -c '[.library, .software]' out), not $library"
}

# A machine without a driver.
uses "$soft" true bench
uses "$NTK_LIB_DIR/vendor/libnrt.so.1" false env LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor" neuron-bench exec memcpy.neff --count 1 --json
uses "$vendor" false env NEURON_LIBNRT="$vendor" neuron-bench exec memcpy.neff --count 1 --json
neuron-bench exec memcpy.neff --count 1 | greps -x "library     $soft (software)" || fail "the text has no library"
neuron-profile capture -n memcpy.neff -s memcpy.ntff 2>err >/dev/null && grep -qx "neuron-profile: library $soft (software)" err || fail "capture does not name the library"
neuron-monitor diag --json | jq -e --arg soft "$soft" '.runtime_library == $soft and .runtime_software' >/dev/null || fail "diag names no library"
# The hooks observe a program that uses another runtime, and do not wrap the software runtime, which has built-in
# hooks.
uses "$vendor" false env LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor" neuron-monitor run -- neuron-bench exec memcpy.neff --count 1 --json
[ ! -s err ] || fail "see err"
uses "$soft" true neuron-monitor run -- neuron-bench exec memcpy.neff --count 1 --json
# A wrapper finds no runtime, but the program that it starts does.
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec neuron-bench exec memcpy.neff --duration 600s --rate 20\n' "$NTK_LIB_DIR/vendor" >wrap.sh
chmod +x wrap.sh
neuron-monitor run --tag wrapped -- ./wrap.sh >wrapped 2>&1 &
wrapper=$!
is_seen() {
    neuron-monitor --once --period 100ms | jq -e --argjson pid $wrapper 'any(.neuron_runtime_data[]; .pid == $pid and .neuron_runtime_tag == "wrapped")' >/dev/null &&
        echo yes
}
wait_for is_seen
kill $wrapper

# The same machine with a driver.
cat >with_driver <<'END'
mount -t tmpfs none /sys && mkdir -p /sys/devices/virtual/neuron_device/neuron0 && mount -t tmpfs none /opt || exit 77
[ -z "$installed" ] || { mkdir -p /opt/aws/neuron/lib && cp "$installed" /opt/aws/neuron/lib/; } || exit 77
exec "$@"
END
on_hardware() { installed=${installed:-} unshare -rm sh "$scratch/with_driver" "$@"; }
on_hardware true 2>/dev/null || { echo "no mount namespaces here"; exit 0; }
# refused SENTENCE COMMAND...
refused() {
    local sentence=$1
    shift
    ! on_hardware "$@" >out 2>err || fail "$*: runs"
    greps "$sentence" <err || fail "$*: unexpected output"
}
refused 'libnrt.so.1 not found: this machine has a Neuron driver' neuron-bench exec memcpy.neff --count 1
refused 'libnrt.so.1 not found: this machine has a Neuron driver' env LD_LIBRARY_PATH="${soft%/*}" neuron-bench exec memcpy.neff --count 1
refused 'libnrt.so.1 not found: this machine has a Neuron driver' neuron-profile capture -n memcpy.neff -s memcpy.ntff
[ ! -x "$NTK_BIN_DIR/neuron-rtd" ] ||
    refused 'this machine has a Neuron driver, but this daemon serves software NeuronCores' env -u NEURON_SOFT_INSTANCE "$NTK_BIN_DIR/neuron-rtd"
installed=$soft refused 'libnrt.so.1 not found: this machine has a Neuron driver' neuron-bench exec memcpy.neff --count 1
for named in '' "$soft"; do
    ! on_hardware env NEURON_LIBNRT="$named" neuron-monitor diag -r 2 --json >out 2>err || fail "diag passes without the vendor's runtime"
    [ "$(jq '[.tests[] | select(.test == "runtime" and .result == "FAIL")] | length' out)" = 1 ] || fail "diag: the test runtime did not fail"
    [ "$(jq '[.tests[] | select(.core and .test != "findings")] | length' out)" = 0 ] || fail "diag tests software cores"
done
# The configured library is used, and the runtime reports that it is the software runtime.
uses "$soft" true on_hardware env NEURON_LIBNRT="$soft" neuron-bench exec memcpy.neff --count 1 --json
greps 'this machine has a Neuron driver, but this process uses software NeuronCores' <err || fail "see err"
# The vendor's runtime is used, although the software runtime comes first in the loader's path; the same holds for
# jobs with hooks.
for path in "" "${soft%/*}"; do
    installed=$vendor uses /opt/aws/neuron/lib/libnrt.so.1 false on_hardware env LD_LIBRARY_PATH="$path" neuron-bench exec memcpy.neff --count 1 --json
    [ ! -s err ] || fail "see err"
    installed=$vendor on_hardware env LD_LIBRARY_PATH="$path" neuron-monitor run -- "$NTK_BUILD_DIR/tests/interpose/opens" soname sync:3 >out 2>err ||
        fail "see err"
    [ ! -s err ] && greps '^client [0-9]* 0=3 ' <out || fail "run with LD_LIBRARY_PATH=$path"
    installed=$vendor uses /opt/aws/neuron/lib/libnrt.so.1 false on_hardware env LD_LIBRARY_PATH="$path" neuron-monitor run -- neuron-bench exec memcpy.neff --count 1 --json
    [ ! -s err ] || fail "see err"
done
