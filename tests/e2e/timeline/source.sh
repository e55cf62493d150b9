#!/bin/bash
# source - a real browser shows the source of a kernel next to its capture: the costs of lines and loops are those of
# `neuron-profile lines`, a line marks its instructions, and a selected instruction marks its line. Served and as a
# file. With a kernel that is made here, and with a capture of hardware if there is one.
. "$(dirname "$0")/../lib.sh"
needs_browser
needs python3
here=$NTK_SOURCE_DIR/tests/e2e/timeline

address_is_there() { grep -q '^View profile at ' "$1" && echo yes; }
show() { # NAME NTFF NEFF SOURCES: what source.py needs of a capture, and its page both as files and from a server
    neuron-profile lines -s "$2" -n "$3" --json >"$1.lines"
    neuron-profile lines -s "$2" -n "$3" --loops --json >"$1.loops"
    neuron-profile view -s "$2" -n "$3" --nki-source-root "$4" --output-format html --output-file "$1.html" 2>html.err ||
        fail "cannot write the file"
    neuron-profile view -s "$2" -n "$3" --nki-source-root empty --output-format html --output-file "$1-bare.html"
    neuron-profile view -s "$2" -n "$3" --nki-source-root "$4" --port 0 --no-open >"$1.log" 2>"$1.err" &
    wait_for address_is_there "$1.log"
    pages+=("$1" "file://$PWD/$1-bare.html" "$(sed -n 's/^View profile at //p' "$1.log")" "file://$PWD/$1.html")
}
kernel() { # NAME EXAMPLE OPTION...: creates a capture of NAME.neff, which has positions of slots
    local name=$1
    shift
    neuron-packager example "$@" -o plain.neff >/dev/null
    neuron-packager unpack -o "$name.members" plain.neff >/dev/null
    python3 "$here/kernel_members.py" "$name.members" src
    neuron-packager create -i "$name.members" -o "$name.neff" -n "$name" >/dev/null
    neuron-profile capture -n "$name.neff" -s "$name.ntff" >/dev/null
}

pages=()
mkdir empty
kernel made attention
show made made.ntff made.neff src

# Many slices, with details in chunks: their lines are shown too, or the page reports that they are missing.
kernel long memcpy -s 4096 -r 300
mkdir -p big/attention
{
    cat src/attention/kernel.py
    seq 4500 | sed "s/.*/#$(printf '%1000s' '')/" # more text than the page shows
} >big/attention/kernel.py
touch -d 2000-01-01 big/attention/kernel.py
neuron-profile view -s long.ntff -n long.neff --nki-source-root big --output-format html --output-file long.html 2>err
[ ! -s err ] || fail "expected no omissions"
[ "$(grep -c 'id="data-positions"' long.html)" = 1 ] && grep -q 'id="data-details-' long.html || fail "the long page lacks positions or details"
neuron-profile view -s long.ntff -n long.neff --output-format html --html-size 350K --output-file short.html 2>err
grep -q '^neuron-profile: short.html does not show the source lines of slices; use a larger --html-size' err ||
    fail "omissions are not reported"

theirs=${NTK_VENDOR_CAPTURES:+$NTK_VENDOR_CAPTURES/v6_attn_tkg}
if [ -n "$theirs" ] && [ -e "$theirs.ntff" ]; then
    mkdir -p theirs/agents
    for ((i = 1; i <= 640; i++)); do
        echo "    text_of($i)"
    done >theirs/agents/v6_ultimate.py
    show hardware "$theirs.ntff" "$theirs.neff" theirs
fi
python3 "$here/source.py" "$browser" "$scratch/profile" "file://$PWD/long.html" "file://$PWD/short.html" "${pages[@]}" || fail "see above"
