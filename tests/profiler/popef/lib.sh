# For the scripts next to it: checks that continue after a failure.
here=$PWD
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export LC_ALL=C.UTF-8
unset POPEF_LOG_LEVEL POPEF_LOG_DEST
# code CODE COMMAND...: checks its exit code; stdout and stderr are in the files out and err.
code() {
    local expected=$1 got
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ $got = "$expected" ] || complain "exit $got, not $expected: $*"
}
says() { grep -qF -- "$1" err || complain "expected '$1'"; }
has() { grep -qF -- "$1" out || complain "does not print '$1'"; }
lacks() { ! grep -qF -- "$1" out || complain "prints '$1'"; }
