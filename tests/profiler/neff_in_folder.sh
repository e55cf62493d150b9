#!/bin/bash
# neff_in_folder - a capture finds its NEFF in its folder, by uuid, without -n. A NEFF that does not fit is reported
# once and not used; -n - uses none. Also checks captures of hardware, if there are any.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
export NEURON_SOFT_INSTANCE=trn2.3xlarge
profile() { ends "$1" neuron-profile "${@:2}"; } # EXIT-CODE ARGUMENT...
summary() { profile 0 view "$@" --output-format summary-json; }
is_with() { # the output is that of the capture with its NEFF, without any message
    cmp -s printed with.json || complain "$*: the output lacks what the NEFF adds"
    [ ! -s err ] || complain "$*: printed a message"
}
is_without() { # TEXT: the output is that without a NEFF, and stderr has one line about it; "": no line
    cmp -s printed without.json || complain "$1: the output differs from that without a NEFF"
    if [ -n "$1" ]; then
        [ "$(wc -l <err)" = 1 ] && grep -q -- "$1" err || complain "no line contains: $1"
    else
        [ ! -s err ] || complain 'complains'
    fi
}

for kind in attention mlp; do
    neuron-packager example $kind -o $kind.neff >printed 2>err || complain "cannot create example $kind"
done
mkdir one
neuron-profile capture -n attention.neff -s one/run.ntff >printed 2>err || complain capture
summary -s one/run.ntff -n - --display-name run
mv printed without.json
summary -s one/run.ntff -n attention.neff --display-name run
mv printed with.json
cmp -s with.json without.json && complain 'the NEFF adds nothing to the summary, so this test shows nothing'

# No NEFF in the folder: the output without one, and no message about a missing file.
summary -s one/run.ntff
is_without ''
# NEFFs of other programs, and files that are not NEFFs: one line.
cp mlp.neff one/other.neff
echo 'no NEFF' >one/text.neff
: >one/empty.neff
mkdir one/folder.neff
mkfifo one/pipe.neff
summary -s one/run.ntff
is_without '^neuron-profile: one/run.ntff: no NEFF in one matches the capture.s uuid [0-9a-f-]*: .*-n'
# The matching file of several is found independent of its name; with a path to the file, from its folder, with
# the folder, and without -s.
cp attention.neff one/zebra.neff
summary -s one/run.ntff
is_with 'the file'
(cd one && neuron-profile view -s run.ntff --output-format summary-json) >printed 2>err
is_with 'from its folder'
summary -s one
is_with 'the folder'
summary one/run.ntff
is_with 'the operand'
# Not if -n - forbids it.
summary -s one/run.ntff -n - --display-name run
is_without ''
# A different NEFF given by name is rejected as usual.
profile 1 view -s one/run.ntff -n mlp.neff --output-format summary-json
grep -q 'do not match' err || complain 'a NEFF that was named is not checked'
# A NEFF that matches by its header but cannot be read: reported, and the capture is shown without it.
head -c 2000 attention.neff >one/zebra.neff
summary -s one/run.ntff
is_without '^neuron-profile: no NEFF used: one/zebra.neff: the file is truncated'
cp attention.neff one/zebra.neff
# Answers and the page also have the names.
profile 0 analyze -s one/run.ntff --json
mv printed found.json
profile 0 analyze -s one/run.ntff -n attention.neff --json
cmp -s printed found.json || complain 'analyze does not find the NEFF'
neuron-profile view -s one --output-format html --output-file found.html >printed 2>err || complain 'html of a folder'
neuron-profile view -s one/run.ntff -n attention.neff --output-format html --output-file named.html >printed 2>err || complain html
cmp -s found.html named.html || complain 'the page does not find the NEFF'
# Several captures in a folder: -s needs one of them, -d and an operand take all.
cp one/run.ntff one/again.ntff
profile 1 view -s one --output-format summary-json
grep -q '^neuron-profile: one is a folder with 2 captures: name one of them, such as one/again.ntff; view -d shows all' err || complain 'two captures'
profile 0 view one --output-format summary-text
[ "$(grep -c 'ntff ' printed)" = 2 ] || complain 'an operand that is a folder'
mkdir empty
profile 1 analyze -s empty
grep -q '^neuron-profile: empty is a folder without captures (\*.ntff)' err || complain 'an empty folder'
profile 2 view one two
profile 2 view -s one/run.ntff two
# diff and baseline find it too.
profile 0 diff one/run.ntff one/again.ntff --json
mv printed found.json
jq -e '[.path_layers[]?] | length > 0' found.json >/dev/null || complain 'diff does not find the NEFF'
profile 0 diff one/run.ntff one/again.ntff -n attention.neff --json
cmp -s printed found.json || complain 'diff finds another NEFF than the named one'
figures() { jq 'del(.saved, .saved_unix_ns)' "$1"; }
profile 0 baseline save found.base one/run.ntff
profile 0 baseline save named.base -n attention.neff one/run.ntff
profile 0 baseline save none.base -n - one/run.ntff
figures found.base | cmp -s - <(figures named.base) || complain 'baseline does not find the NEFF'
figures found.base | cmp -s - <(figures none.base) && complain 'the NEFF adds nothing to a baseline, so this test shows nothing'
# A NEFF for only one side would make names differ: it is not used, and one line reports it.
mkdir bare
cp one/run.ntff bare
profile 0 diff -n - one/run.ntff bare/run.ntff --json
mv printed none.json
profile 0 diff one/run.ntff bare/run.ntff --json
cmp -s printed none.json || complain 'diff uses a NEFF of one side alone'
[ "$(grep -c 'no NEFF used: only some of the captures have one' err)" = 1 ] || complain "no message about a NEFF of only one side: $(cat err)"
profile 0 baseline save some.base one/run.ntff bare/run.ntff
[ "$(grep -c 'no NEFF used: only some of the captures have one' err)" = 1 ] || complain "no message about a NEFF of only some captures: $(cat err)"

theirs=${NTK_VENDOR_CAPTURES:-}
if [ -n "$theirs" ] && [ -e "$theirs/v5_transpose_1024.neff" ]; then
    for capture in "$theirs"/*.ntff; do # the NEFFs of all four are in that folder
        neuron-profile view -s "$capture" -n "${capture%.ntff}.neff" --output-format summary-json >with.json 2>err || complain "the summary of $capture failed"
        summary -s "$capture"
        is_with "$capture"
    done
    mkdir theirs
    cp "$theirs"/v5_transpose_1024.ntff "$theirs"/v4*.neff "$theirs"/v6*.neff theirs
    neuron-profile view -s theirs/v5_transpose_1024.ntff -n - --output-format summary-json >without.json 2>err || complain 'a capture of hardware'
    summary -s theirs
    is_without '^neuron-profile: theirs/v5_transpose_1024.ntff: no NEFF in theirs matches the capture.s uuid'
fi
