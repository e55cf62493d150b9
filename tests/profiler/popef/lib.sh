# For the scripts next to it: a scratch folder, and checks that go on after a failure.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export PATH=$NTK_BIN_DIR:$PATH LC_ALL=C.UTF-8
unset POPEF_LOG_LEVEL POPEF_LOG_DEST
here=$PWD
cd "$scratch" || exit 1
failed=0
bad() { echo "FAILED: $*"; failed=1; }
# code CODE COMMAND...: its exit code; stdout and stderr stay in the files out and err.
code() {
    local expected=$1 got
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ $got = "$expected" ] || bad "exit $got, not $expected: $* ($(cat err))"
}
says() { grep -qF -- "$1" err || bad "expected '$1': $(cat err)"; }
has() { grep -qF -- "$1" out || bad "does not print '$1': $(cat out)"; }
lacks() { ! grep -qF -- "$1" out || bad "prints '$1'"; }
