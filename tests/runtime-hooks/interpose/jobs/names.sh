#!/bin/bash
# For every name of the runtime, a client gets the same as without our library: by dlsym, dlvsym and hasattr, by weak
# references of C, of C++ and of plug-ins, from each stand-in, by each means. A call of an absent name ends it in the
# same way.
# shellcheck source=tests/e2e/lib.sh
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
skip_sanitized
hooks=$NTK_LIB_DIR/libneuron-hooks.so
clients=$NTK_BUILD_DIR/tests/interpose
calls=$NTK_SOURCE_DIR/runtime-hooks/nrt/nrt_calls.def
preload=("LD_PRELOAD=$hooks")
audit=("LD_PRELOAD=$hooks" "LD_AUDIT=$NTK_LIB_DIR/libneuron-hooks-audit.so")
watched=("LD_PRELOAD=$clients/watcher.so:$hooks") # relocated and started after our library

# as COMMAND...: prints the exit code and all output, without the lines that match $aside.
aside='^$'
as() {
    local code=0
    env "$@" >out 2>err || code=$?
    cat err out | sed "/$aside/d"
    echo "exit code $code"
}

# alike NAME MEANS LIBRARY-FOLDER COMMAND...
alike() {
    local name=$1 means=$2 folder=$3 mean place
    shift 3
    place=("LD_LIBRARY_PATH=$NTK_LIB_DIR/neuron-hooks" "NEURON_HOOKS_LIBNRT=$folder/libnrt.so.1")
    as "LD_LIBRARY_PATH=$folder" "$@" >plain
    for mean in $means; do
        local -n settings=$mean
        as "LD_LIBRARY_PATH=$folder" "${settings[@]}" "$@" >hooked
        diff plain hooked >difference || fail "$name, $mean: the hooks change the output: $(head -20 difference)"
    done
}

# The hooks have symbol versions where a runtime has none.
for vendor in vendor vendor-{unversioned,node2,no-model-info,newer,missing,few} .; do
    case $vendor in *node2 | *unversioned | *few) form=_2 ;; *) form= ;; esac
    case $vendor in *unversioned) aside='^dlvsym\|no version information' ;; *) aside='^$' ;; esac
    folder=$(realpath "$NTK_LIB_DIR/$vendor")
    alike "C++, $vendor" "preload audit place" "$folder" "$clients/names$form"
    greps '^weak nrt_init 1$' <plain || fail "$vendor: no names were found: $(head -5 plain)"
    alike "C, bound at once, $vendor" "preload watched" "$folder" "$clients/names_now$form"
    [[ $vendor =~ ^(vendor|vendor-few|\.)$ ]] || continue # Python starts slowly
    alike "python, $vendor" preload "$folder" python3 -IS \
        "$NTK_SOURCE_DIR/tests/runtime-hooks/interpose/client/names_plugin.py" "$calls" "$clients/names_plugin$form.so"
    greps '^hasattr nrt_get_status_as_str' <plain || fail "$vendor: Python did not request the name: $(head -5 plain)"
done
[ "$(grep -c ' True$' plain)" -gt 163 ] || fail "our own runtime lacks names"

alike "a name that is absent is called" "preload audit place" "$NTK_LIB_DIR/vendor-missing" "$clients/strong"
greps 'symbol lookup error' <plain || fail "no lookup error: $(cat plain)"
alike "a name that is absent is bound" "preload audit" "$NTK_LIB_DIR/vendor-missing" "$clients/strong_now"
alike "a name that is there is called" preload "$NTK_LIB_DIR/vendor" "$clients/strong"

# Without a library that needs the runtime, the program's weak references stay unbound until the runtime is opened.
alike "a program without the runtime" "preload audit" "$NTK_LIB_DIR/vendor" "$clients/names_unlinked"
# The loader binds the references of a library before our library starts: the calls answer, and do no harm.
as LD_PRELOAD="$hooks" LD_LIBRARY_PATH="$NTK_LIB_DIR/vendor-few" "$clients/names_of_library" >hooked
[ ! -s err ] && [ "$(tail -1 hooked)" = "exit code 0" ] || fail "a library that does not name the runtime: unexpected result: $(tail -3 hooked)"

# One of two runtimes belongs to a plug-in alone: only one path.
alike "a plug-in with a path" preload "$NTK_LIB_DIR/vendor-few" python3 -IS -c \
    'import ctypes, sys; p = ctypes.CDLL(sys.argv[1]); p.names_print_weak(); p.names_print_symbols()' "$clients/names_own.so"
greps '^dlsym nrt_execute .* 1$' <plain || fail "the plug-in does not get the runtime of its path"
