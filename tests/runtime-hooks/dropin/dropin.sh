#!/bin/bash
# Programs written like the runtime's clients compile against the installed headers alone, without a warning,
# link or open libnrt.so.1 and do their work. With a sanitizer they are only compiled.
set -u
cc=$1 cxx=$2 include=$3 lib=$4 make_model=$5
here=$PWD
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0
bad() { echo "FAILED: $*"; failed=1; }
unset $(compgen -v | grep '^NEURON_')
export NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn1.2xlarge NEURON_RT_LOG_LEVEL=QUIET
cd "$scratch" || exit 1

sanitized=${NTK_SANITIZE:-}
build() { # program, compiler and flags...: one source of this folder
    local name=$1 source
    shift
    source=$(ls "$here/$name".c*)
    local link=(-o "$name" "$source" "$lib/libnds.a" -L"$lib" -lnrt -lpthread -ldl)
    [ -z "$sanitized" ] || link=(-fsyntax-only "$source")
    "$@" -Wall -Werror -I"$include" "${link[@]}" || bad "$name: $*"
}
prints() { # expected, program...
    local expected=$1 got
    shift
    [ -z "$sanitized" ] || return 0
    got=$(LD_LIBRARY_PATH=$lib "$@" 2>&1) || bad "$1 fails"
    [ "$got" = "$expected" ] || bad "$1 prints '$got', not '$expected'"
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
[ -n "$sanitized" ] || [ -s capture.ntff ] || bad "spike_like has no capture"
prints 'y 0 4' ./adaptor_like adder.neff
exit $failed
