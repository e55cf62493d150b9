# test_reads - latencies and CPU times are read from the first view on that shows them: they appear at once although
# refreshes are rare, are still there after another view, and for an earlier moment the view shows the reason for its
# dashes.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/terminal.sh"
needs neuron-top neuron-bench neuron-packager
export NEURON_SOFT_INSTANCE=trn1.2xlarge OPENBLAS_NUM_THREADS=1
neuron-packager example conv -s 4 -o conv.neff
NEURON_PROCESS_TAG=serving neuron-bench exec --cores 0 --rate 40 --duration 10m conv.neff >serving.log 2>&1 &
serves() { neuron-top --csv=models --once -d 200ms | greps ',serving,.*,conv,' && echo yes; }
wait_for serves

start() { # options of neuron-top; not hand-made snapshots
    tmx kill-session -t top 2>/dev/null || true
    tmx new-session -d -s top -x 140 -y 30 "neuron-top $*; exec cat"
}

# A refresh comes only every hour.
start -d 1h
wait_for shows '^  *[0-9]* .* serving '
key m
wait_for shows '^conv  *serving  *0  *[0-9.]*  *[0-9.]*[mu]s '
key p
wait_for shows 'p>Processes<'
key Enter
wait_for shows ' CPU  *[0-9.]*%'

# A screen that was frozen before the first value was read shows a note, and one that was frozen later has the values.
start -d 200ms --view engines
wait_for shows 'ND0 NC0 .* serving'
key Space
wait_for shows '^frozen$'
key m
wait_for shows '^frozen; no latencies before [0-9][0-9]:[0-9][0-9]:[0-9][0-9]$'
wait_for shows '^conv  *serving  *0  *[0-9.]*  *-  *- '
key p
wait_for shows '^frozen; no latencies before '
key Space # to the present
key m
wait_for shows '^conv  *serving  *0  *[0-9.]*  *[0-9.]*[mu]s '
key e
wait_for shows 'ND0 NC0 .* serving'
key Space
wait_for shows '^frozen$'
key m
has_latency_without_note() { # on one screen
    screen >now && greps '^frozen$' now && greps '^conv  *serving  *0  *[0-9.]*  *[0-9.]*[mu]s ' now && echo yes
}
wait_for has_latency_without_note
key q
