#!/bin/bash
# Jobs in places with little or no room for the files of hooks: they end as without our library, except for one
# message. In a PID namespace they are observed from outside. What the machine does not allow is reported and
# skipped.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq unshare
skip_sanitized
client=$NTK_BUILD_DIR/tests/interpose/linked
"$NTK_BUILD_DIR/tests/tests_make_model" adder.neff
export CLIENT_NEFF=$scratch/adder.neff LD_LIBRARY_PATH=$NTK_LIB_DIR/vendor VENDOR_MACHINE_DIR=$scratch/machine
mkdir -m 700 "$VENDOR_MACHINE_DIR" place

without_pid() { sed 's/^client [0-9]*/client/' "$1"; }

# unharmed NAME COMMAND...: exit code and output are the same with and without the hooks.
unharmed() {
    local name=$1 plain=0 code=0 means
    shift
    "$@" "$client" init-close:3 sync:4 tensors:2 >plain.out 2>plain.err || plain=$?
    [ $plain = 0 ] || fail "$name: the job does not run without us"
    for means in "" --audit; do
        code=0
        "$@" neuron-monitor run $means -- "$client" init-close:3 sync:4 tensors:2 >out 2>err || code=$?
        [ "$code" = 0 ] || fail "$name $means: unexpected exit code $code"
        cmp <(without_pid plain.out) <(without_pid out) || fail "$name $means: prints"
        [ "$(grep -c '^libneuron-hooks: ' err || true)" -le 1 ] || fail "$name $means: expected one message"
        { grep -v '^libneuron-hooks: ' err || true; } | cmp - plain.err || fail "$name $means: the hooks change stderr"
    done
}

unharmed "a folder that cannot be made" env NEURON_HOOKS_DIR=/proc/1/nowhere
unharmed "a folder that is a file" env NEURON_HOOKS_DIR="$CLIENT_NEFF"
unharmed "no hooks" env NEURON_HOOKS=0
unharmed "few descriptors" bash -c 'ulimit -n 24; exec "$@"' -
unharmed "small files" bash -c 'trap "" XFSZ; ulimit -f 4096; exec "$@"' -
if unshare -rm mount -t tmpfs none place 2>/dev/null; then
    in_place() { # OPTIONS SCRIPT: in a mount namespace, with a tmpfs as the folder
        printf '%s\n' "mount -t tmpfs -o $1 none $scratch/place && $2"' && exec "$@"' >in_place
        unharmed "$3" env NEURON_HOOKS_DIR="$scratch/place" unshare -rm sh "$scratch/in_place"
    }
    in_place size=64k true "a small folder"
    in_place size=1m "! cat /dev/zero >$scratch/place/full 2>/dev/null" "a full folder"
    in_place ro true "a read-only folder"
    printf '%s\n' 'mount -t tmpfs -o ro none /dev/shm && unset NEURON_HOOKS_DIR && exec "$@"' >no_memory
    unharmed "a read-only /dev/shm" unshare -rm sh "$scratch/no_memory"
    printf '%s\n' 'mount -t tmpfs -o size=4k none /dev/shm && unset NEURON_HOOKS_DIR && exec "$@"' >small_memory
    unharmed "a full /dev/shm" unshare -rm sh "$scratch/small_memory"

    # Only the loader's cache leads to the runtime.
    ldconfig=$(PATH=$PATH:/usr/sbin:/sbin command -v ldconfig || true)
    { echo "$NTK_LIB_DIR/vendor"; cat /etc/ld.so.conf; } >cache.conf
    if [ -n "$ldconfig" ] && "$ldconfig" -X -C "$scratch/cache" -f "$scratch/cache.conf" 2>/dev/null; then
        printf '%s\n' "mount --bind $scratch/cache /etc/ld.so.cache" 'exec "$@"' >with_cache
        for means in "" --audit; do
            env -u LD_LIBRARY_PATH unshare -rm sh with_cache neuron-monitor run $means -- \
                "$NTK_BUILD_DIR/tests/interpose/opens" soname sync:3 >out 2>err || fail "the job fails if only the loader's cache has the runtime: run $means"
            [ ! -s err ] && greps '^client [0-9]* 0=3 ' <out || fail "the job fails if only the loader's cache has the runtime: run $means"
        done
    else
        echo "no cache can be made here"
    fi

    # It is in a default folder of this machine's loader.
    default=$(dirname "$(readlink -f "$(ldd "$client" | awk '$1 == "libc.so.6" { print $3 }')")")
    mkdir default
    cp "$NTK_LIB_DIR/vendor/libnrt.so.1" default
    printf '%s\n' "mount -t overlay -o lowerdir=$scratch/default:$default overlay $default" 'exec "$@"' >by_default
    if unshare -rm sh by_default true 2>/dev/null; then
        env -u LD_LIBRARY_PATH unshare -rm sh by_default env LD_PRELOAD="$NTK_LIB_DIR/libneuron-hooks.so" \
            "$NTK_BUILD_DIR/tests/interpose/opens" soname sync:3 >out 2>err || fail "the job fails with the runtime in a default folder"
        [ ! -s err ] && greps '^client [0-9]* 0=3 ' <out || fail "the job fails with the runtime in a default folder"
    else
        echo "no overlays here"
    fi
else
    echo "no mount namespaces here"
fi

# Children for which the loader ignores our library.
if [ "$(id -u)" = 0 ]; then
    cp "$NTK_BUILD_DIR/tests/tests_run_still" privileged
    chown nobody privileged
    chmod 4755 privileged
    chmod 755 "$scratch"
    unharmed "a child with the rights of others" sh -c './privileged || "$@"' -
fi

# A policy that kills processes which make the system calls of debuggers and profilers.
for means in "" --audit; do
    neuron-monitor run $means -- "$client" restrict sync:4 >out 2>err || fail "the job fails under seccomp: run $means"
    greps '^client [0-9]* 0=4 ' <out || fail "the job fails under seccomp: run $means"
    [ "$(grep -c '^libneuron-hooks: ' err || true)" = "$(wc -l <err)" ] || fail "unexpected lines on stderr under seccomp: run $means"
    [ "$(wc -l <err)" -le 1 ] || fail "seccomp $means: expected one message"
done

if unshare -rpf --mount-proc true 2>/dev/null; then
    unshare -rpf --mount-proc neuron-monitor run --tag inside -- "$client" sync:7 stay:600000 >out 2>err &
    run=$!
    has_answered() { greps '^client [0-9]* 0=7' <out && echo yes; }
    wait_for has_answered
    neuron-monitor --once >report
    seen=$(jq -r '.neuron_runtime_data[] | select(.neuron_runtime_tag == "inside") | .pid' report)
    outside=$(pgrep -P $run)
    [ "$(awk '{ print $2 }' out)" != "$outside" ] || fail "the client is in no namespace"
    [ "$seen" = "$outside" ] || fail "the process is $outside and is seen as '$seen'"
else
    echo "no pid namespaces here"
fi
