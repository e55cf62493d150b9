#!/bin/bash
# drop - captures that are dropped onto the page of another one: which are shown, which are rejected with which
# message, and that no file remains. With a browser, also the gesture.
. "$(dirname "$0")/../lib.sh"
needs python3
for kind in attention mlp; do
    neuron-packager example $kind -o $kind.neff >/dev/null
    neuron-profile capture -n $kind.neff -s $kind.ntff >/dev/null
done
mkdir page tmp
cp attention.ntff page
is_up() { grep -q '^View profile at ' view.log && echo yes; }
# drops [BROWSER PROFILE]: runs the checks on a separate page.
drops() {
    rm -f view.log # that of the previous page
    TMPDIR=$PWD/tmp neuron-profile view page/attention.ntff --port 0 --no-open >view.log 2>view.err &
    local view=$!
    wait_for is_up
    python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/drop.py" "$(sed -n 's/^View profile at //p' view.log)" tmp "$@" || fail "see above"
    local shown
    shown=$(pgrep -P "$view") || fail "no capture is shown"
    kill -TERM "$view"
    wait "$view" || fail "neuron-profile exited with $?"
    [ -z "$(ls tmp)" ] || fail "leftover files: $(ls tmp)"
    for program in $shown; do
        are_gone "$program" || fail "$program is still running"
    done
    [ ! -s view.err ] || fail "the program printed a message"
}
drops
if browser=$(command -v chromium-headless-shell || command -v chromium); then
    drops "$browser" "$scratch/profile"
else
    echo "no Chromium, so the gesture is not tried"
fi
