#!/bin/bash
# html - view --output-format html: a real browser opens the single file from disk; it shows the same as the served
# page and requests nothing else. Pictures are saved in $NTK_SCREENSHOTS if it is set.
. "$(dirname "$0")/../lib.sh"
needs_browser
needs python3

address_is_there() { grep -q '^View profile at ' view.log && echo yes; }
neuron-packager example attention -o attention.neff
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null
neuron-packager example memcpy -o long.neff -s 4096 -r 3500 >/dev/null
neuron-profile capture -n long.neff -s long.ntff >/dev/null
mkdir mail
neuron-profile view -s attention.ntff -n attention.neff --output-format html --output-file mail/a.html >out 2>err
[ ! -s out ] || fail "html expected no output"
neuron-profile view -s attention.ntff -n attention.neff --output-format html --output-file - | cmp -s - mail/a.html ||
    fail "the same capture produces a different file"
[ ! -s err ] || fail "html printed a message"
neuron-profile view -s long.ntff -n long.neff --output-format html --output-file mail/long.html 2>err
[ "$(stat -c %s mail/long.html)" -lt 16777216 ] || fail "the file is too large to mail: $(ls -l mail/long.html)"
grep -Eq '^neuron-profile: mail/long.html shows operands, names and waits of [0-9]+ of [0-9]+ slices; use a larger --html-size' err ||
    fail "omitted details are not reported"
neuron-profile view -s long.ntff -n long.neff --output-format html --html-size 1M --output-file mail/short.html 2>err
[ "$(stat -c %s mail/short.html)" -lt 1048576 ] || fail "the file is larger than its limit: $(ls -l mail/short.html)"
grep -q '^neuron-profile: mail/short.html shows no detail below [0-9.]*us where slices are dense; use a larger --html-size' err ||
    fail "omissions are not reported"
neuron-profile view -s attention.ntff -n attention.neff --output-format html --html-size 100K --output-file tiny.html 2>err
grep -q '^neuron-profile: tiny.html has [0-9.]*[KM]B, more than --html-size 100.0KB' err || fail "a page above its limit is not reported"
code=0
neuron-profile view -s attention.ntff --output-format html --output-file nowhere/a.html 2>err || code=$?
[ $code = 1 ] && grep -q 'cannot write '\''nowhere/a.html'\'': No such file or directory' err || fail "unexpected exit code $code"
(
    trap '' XFSZ
    ulimit -f 8
    ! neuron-profile view -s attention.ntff --output-format html --output-file mail/full.html 2>err
    grep -q 'cannot write '\''mail/full.html'\'': File too large' err || fail "no message about the limit of file sizes"
) || exit 1
[ "$(ls mail)" = $'a.html\nlong.html\nshort.html' ] || fail "a failed export left files: $(ls mail)"

neuron-profile view -s attention.ntff -n attention.neff --port 0 --no-open >view.log &
wait_for address_is_there
address=$(sed -n 's/^View profile at //p' view.log)
details=$NTK_SOURCE_DIR/tests/e2e/timeline/html_details.py
python3 "$details" mail/a.html "$address" wait releases layer >&2 || fail "details of the file differ from those of the server"
# Two captures in one file: the comparison is the same as that of diff.
neuron-profile view -s attention.ntff -n attention.neff --compare long.ntff --compare-neff long.neff --output-format html --output-file both.html 2>err
neuron-profile diff attention.ntff long.ntff -n attention.neff --neff-after long.neff --json >diff.json
theirs=${NTK_VENDOR_CAPTURES:+$NTK_VENDOR_CAPTURES/v6_fused_fp32_s512}
if [ -n "$theirs" ] && [ -e "$theirs.ntff" ]; then
    neuron-profile view -s "$theirs.ntff" -n "$theirs.neff" --output-format html --output-file theirs.html
    neuron-profile view -s "$theirs.ntff" -n "$theirs.neff" --port 0 --no-open >theirs.log &
    theirs_are_there() { grep -q '^View profile at ' theirs.log && echo yes; }
    wait_for theirs_are_there
    python3 "$details" theirs.html "$(sed -n 's/^View profile at //p' theirs.log)" \
        operands compiler_opcode compiler_operands name tensor predecessors >&2 || fail "unexpected details of a capture of hardware"
fi
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/html.py" "$browser" "$scratch/profile" mail/a.html mail/long.html mail/short.html "$address" both.html diff.json || fail "see above"
