#!/bin/bash
# lib.sh - common functions of test scripts of the profiler; sources tests/e2e/lib.sh.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export LC_ALL=C.UTF-8 NEURON_RT_LOG_LEVEL=QUIET
unset NEURON_HOOKS NEURON_LIBNRT NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES
ends() { # EXIT-CODE COMMAND...: stdout goes to printed, stderr to err
    local wanted=$1
    shift
    "$@" >printed 2>err
    local got=$?
    [ $got = "$wanted" ] || complain "$*: exit code $got, not $wanted"
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || complain "$1 does not say: $2"
}
