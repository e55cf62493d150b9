#!/bin/bash
# capture_reason - capturing a NEFF for hardware without hardware prints one line with the reason, and no log of the
# runtime.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
unset NEURON_RT_LOG_LEVEL
refused() { # NEFF
    ends 1 neuron-profile capture -n "$1" -s refused.ntff
    [ ! -s printed ] && [ "$(wc -l <err)" = 1 ] || complain "$1: expected one line: $(cat printed err)"
    says err "neuron-profile: $1: compiled for Neuron hardware, which software NeuronCores cannot run"
    [ ! -e refused.ntff ] || complain "$1: a capture was written"
}

# A NEFF of ours that is treated as a vendor's, because its engine code lacks the mark of the open encoding.
neuron-packager example mlp -o ours.neff >printed 2>err || fail 'no example'
neuron-packager unpack -o unpacked ours.neff >printed 2>err || fail 'not unpacked'
sed -i 's/"nsx"/"vendor"/' unpacked/sg00/*.json
neuron-packager create -i unpacked -o theirs.neff >printed 2>err || fail 'not created'
refused theirs.neff
NEURON_SOFT_OPAQUE=0 refused theirs.neff
NEURON_SOFT_OPAQUE=1 ends 0 neuron-profile capture -n theirs.neff -s opaque.ntff
[ -s opaque.ntff ] || complain 'no capture of an opaque program'
ends 0 neuron-profile capture -n ours.neff -s ours.ntff
[ -s ours.ntff ] || complain 'no capture of an open program'

# The runtime reports a damaged NEFF, but not a file that is not a NEFF.
head -c 2000 ours.neff >cut.neff
ends 1 neuron-profile capture -n cut.neff -s cut.ntff
says err 'cut.neff'
echo text >text.neff
ends 1 neuron-profile capture -n text.neff -s text.ntff
[ "$(wc -l <err)" = 1 ] || complain "expected one line for a text file: $(cat err)"

for neff in ${NTK_VENDOR_CAPTURES:+"$NTK_VENDOR_CAPTURES"/*.neff}; do
    refused "$neff"
done
