#!/bin/bash
# neuron-monitor run: its requests to the loader, which programs run unchanged with one message, and exit codes.
# Method: a copy of the program next to libraries that do nothing, so that only the environment matters.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
cc=$1 nothing=$2 still=$3 old_libc=$4
mkdir bin lib runtime empty
cp "$NTK_BIN_DIR/neuron-monitor" bin/
cp "$nothing" lib/libneuron-hooks.so
cp "$nothing" lib/libneuron-hooks-audit.so
cp "$nothing" runtime/libnrt.so.1
cp "$still" still
monitor=$scratch/bin/neuron-monitor hooks=$scratch/lib/libneuron-hooks.so
unset LD_PRELOAD LD_AUDIT NEURON_HOOKS_LIBNRT NEURON_PROCESS_TAG
export LD_LIBRARY_PATH=$scratch/runtime

# runs CODE OUTPUT SENTENCE COMMAND...: SENTENCE is all that standard error has after the program's name; "":
# nothing.
runs() {
    local want=$1 output=$2 sentence=$3 code=0
    shift 3
    "$@" >out 2>err </dev/null || code=$?
    [ $code = "$want" ] || fail "$*: unexpected exit code $code, not $want"
    [ "$(cat out)" = "$output" ] || fail "$*: prints '$(cat out)', not '$output'"
    case $sentence in
    '') [ ! -s err ] || fail "$*: unexpected output" ;;
    *) [ "$(wc -l <err)" = 1 ] && greps -E "^neuron-monitor run: $sentence" <err || fail "$*: found $(cat err), not $sentence" ;;
    esac
}
skip_sanitized

# ---- the variables ----
runs 7 "$hooks" '' $monitor run ./still
runs 7 "$hooks" '' $monitor run -- ./still
runs 7 "$nothing:$hooks" '' env LD_PRELOAD="$nothing" $monitor run ./still
runs 7 "$nothing $nothing:$hooks" '' env LD_PRELOAD="$nothing $nothing" $monitor run ./still
runs 7 "$hooks" '' $monitor run -- $monitor run -- ./still
runs 0 "$scratch/lib/libneuron-hooks-audit.so $hooks" '' $monitor run --audit -- sh -c 'echo $LD_AUDIT $LD_PRELOAD'
runs 126 '' '--audit requires glibc 2\.36 or later: with glibc 2\.31, programs that call dlmopen can crash$' \
    env LD_PRELOAD="$old_libc" $monitor run --audit -- echo started
runs 0 started '' env LD_PRELOAD="$old_libc" $monitor run -- echo started
runs 0 'a tag' '' $monitor run --tag 'a tag' -- sh -c 'echo $NEURON_PROCESS_TAG'
runs 0 "$nothing" '' $monitor run --libnrt "$nothing" -- sh -c 'echo $NEURON_HOOKS_LIBNRT'
runs 0 "$scratch/runtime/libnrt.so.1" '' $monitor run --libnrt runtime/libnrt.so.1 -- sh -c 'echo $NEURON_HOOKS_LIBNRT'
runs 7 "$hooks" '' env -u LD_LIBRARY_PATH NEURON_HOOKS_LIBNRT="$nothing" $monitor run ./still
printf '#!%s/still\n' "$scratch" >script
printf 'exec ./still\n' >shell
chmod +x script shell
runs 7 "$hooks" '' $monitor run ./script
runs 7 "$hooks" '' $monitor run ./shell
"$cc" -o origin -Wl,-rpath,'$ORIGIN/runtime' "$NTK_SOURCE_DIR/tests/agent/run/still.c"
runs 7 "$hooks" '' env -u LD_LIBRARY_PATH $monitor run ./origin
runs 0 "--once" '' $monitor run echo --once
# If the runtime has calls that the hooks lack, hooks and runtime are preloaded from the start.
runs 7 "$NTK_LIB_DIR/libneuron-hooks.so:$(readlink -f "$NTK_LIB_DIR/vendor-newer/libnrt.so.1")" '' \
    env LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor-newer" neuron-monitor run ./still
# The folders of a DT_RPATH come before those of LD_LIBRARY_PATH, those of a DT_RUNPATH after them.
newer=$(readlink -f "$NTK_LIB_DIR/vendor-newer/libnrt.so.1")
still_source=$NTK_SOURCE_DIR/tests/agent/run/still.c
"$cc" -o rpath -Wl,-rpath,"$NTK_LIB_DIR/vendor" -Wl,--disable-new-dtags "$still_source"
"$cc" -o runpath -Wl,-rpath,"$NTK_LIB_DIR/vendor" -Wl,--enable-new-dtags "$still_source"
runs 7 "$NTK_LIB_DIR/libneuron-hooks.so" '' env LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor-newer" neuron-monitor run ./rpath
runs 7 "$NTK_LIB_DIR/libneuron-hooks.so:$newer" '' env LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor-newer" neuron-monitor run ./runpath
# The command replaces the program in the process.
sh -c 'echo $$; exec "$0" run -- sh -c "echo \$\$"' "$monitor" >out
[ "$(uniq out | wc -l)" = 1 ] || fail "the command is another process"

# ---- only child processes find a runtime ----
nowhere='libnrt.so.1 not found for .*: the program and its child processes get hooks only if they find this library \(or use --libnrt\)$'
runs 7 "$hooks" "$nowhere" env LD_LIBRARY_PATH=empty $monitor run ./still
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/runtime exec ./still\n' "$scratch" >wrap.sh
chmod +x wrap.sh
runs 7 "$hooks" "$nowhere" env -u LD_LIBRARY_PATH $monitor run -- ./wrap.sh
ln "$hooks" empty/libnrt.so.1
runs 7 "$hooks" "$nowhere" env LD_LIBRARY_PATH=empty $monitor run ./still
"$cc" -shared -o other.so -x c - </dev/null
mkdir no_runtime
cp other.so no_runtime/libnrt.so.1
runs 7 "$hooks" "$nowhere" env LD_LIBRARY_PATH=no_runtime $monitor run ./still
if "$cc" -static -o static "$NTK_SOURCE_DIR/tests/agent/run/still.c" 2>/dev/null; then
    runs 7 "$hooks" './static is statically linked: only processes that it starts get hooks$' $monitor run ./static
fi

# ---- programs that run without hooks ----
cp "$NTK_LIB_DIR/libneuron-hooks.so" copy.so
runs 7 nothing "copy.so is not a libnrt.so.1: ./still runs without hooks$" $monitor run --libnrt copy.so ./still
runs 7 nothing "other.so is not a libnrt.so.1: ./still runs without hooks$" $monitor run --libnrt other.so ./still
runs 7 nothing "$scratch/out is not a libnrt.so.1: ./still runs without hooks$" $monitor run --libnrt "$scratch/out" ./still
if musl-gcc -o musl_own "$NTK_SOURCE_DIR/tests/agent/run/still.c" 2>/dev/null; then
    runs 7 nothing './musl_own is a musl program, .*: it runs without hooks$' $monitor run ./musl_own
fi
python3 - <<'END'
bytes = open("still", "rb").read()
start = bytes.index(b"/lib64/ld-linux") if b"/lib64/ld-linux" in bytes else bytes.index(b"/lib/ld-linux")
name = b"/lib/ld-musl-x.so.1"
open("musl", "wb").write(bytes[:start] + name + b"\0" + bytes[start + len(name) + 1:])
open("other", "wb").write(bytes[:18] + b"\x28\x00" + bytes[20:])
END
chmod +x musl other
"$monitor" run ./musl >out 2>err || code=$?
[ "${code:-0}" = 127 ] || fail "unexpected exit code of a program without its loader: ${code:-0}"
greps '^neuron-monitor run: ./musl is a musl program, .*: it runs without hooks$' <err || fail "no message about the musl program"
"$monitor" run ./other >out 2>err && fail "a program of another machine runs"
greps '^neuron-monitor run: ./other is a program for a different architecture: it runs without hooks$' <err || fail "no message about the program of another architecture"
if [ "$(id -u)" = 0 ]; then
    cp still privileged
    chown nobody privileged
    chmod 4755 privileged
else
    privileged=$(find /usr/bin /bin -maxdepth 1 -perm -4000 -user root 2>/dev/null | head -1)
    [ -z "$privileged" ] || ln -s "$privileged" privileged
fi
if [ -e privileged ]; then
    "$monitor" run ./privileged >out 2>err </dev/null || true
    greps '^neuron-monitor run: ./privileged runs with different privileges .*: it runs without hooks$' <err ||
        fail "no message about the setuid program"
fi
mkdir "with blank" "with blank/bin" "with blank/lib"
cp bin/neuron-monitor "with blank/bin"
cp "$hooks" "with blank/lib"
runs 7 nothing 'the loader does not accept paths with blanks' "with blank/bin/neuron-monitor" run ./still
rm lib/libneuron-hooks.so
runs 7 nothing 'libneuron-hooks.so is not installed: ./still runs without hooks$' $monitor run ./still

# ---- no command to run ----
runs 127 '' 'cannot run '\''no-such'\'': No such file or directory$' $monitor run no-such
runs 127 '' 'cannot run '\''./no-such'\'': No such file or directory$' $monitor run ./no-such
runs 126 '' 'cannot run '\''./err'\'': Permission denied$' $monitor run ./err
runs 126 '' 'cannot run '\''./lib'\'': Permission denied$' $monitor run ./lib
"$monitor" run 2>err && fail "expected a usage error without a command"
[ "$(head -1 err)" = 'neuron-monitor run: missing argument COMMAND' ] || fail "no message about the missing command"
