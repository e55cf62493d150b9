#!/bin/bash
# Programs written like the runtime's clients compile against only the installed headers, without a warning, link or
# open libnrt.so.1, and work. With a sanitizer they are only compiled.
cc=$1 cxx=$2 include=$3 lib=$4 make_model=$5
here=$PWD
unset $(compgen -v | grep '^NEURON_')
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export NEURON_RT_LOG_LEVEL=QUIET

sanitized=${NTK_SANITIZE:-}
build() { # program, compiler and flags...: one source of this folder
    local name=$1 source
    shift
    source=$(ls "$here/$name".c*)
    local link=(-o "$name" "$source" "$lib/libnds.a" -L"$lib" -lnrt -lpthread -ldl)
    [ -z "$sanitized" ] || link=(-fsyntax-only "$source")
    "$@" -Wall -Werror -I"$include" "${link[@]}" || complain "cannot compile $name: $*"
}
prints() { # expected, program...
    local expected=$1 got
    shift
    [ -z "$sanitized" ] || return 0
    got=$(LD_LIBRARY_PATH=$lib "$@" 2>&1) || complain "$1 fails"
    [ "$got" = "$expected" ] || complain "$1 prints '$got', not '$expected'"
}

"$make_model" adder.neff || exit 1
for program in seed_program seed_program_status fabric_like monitor_like; do
    build "$program" "$cc" -std=c11
done
build seed_program "$cc" -std=gnu17
prints 'y 0 4' ./seed_program adder.neff
prints '' ./seed_program_status
prints moved ./fabric_like
prints 2.31 ./monitor_like
for program in spike_like adaptor_like; do
    build "$program" "$cxx" -std=c++17
done
prints '2 2.31' ./spike_like adder.neff capture.ntff
[ -n "$sanitized" ] || [ -s capture.ntff ] || complain "spike_like has no capture"
prints 'y 0 4' ./adaptor_like adder.neff
