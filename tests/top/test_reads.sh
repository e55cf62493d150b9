# test_reads - latencies and CPU times are read from the first view on that shows them: they appear at once although
# refreshes are rare, are still there after another view, and for an earlier moment the view shows the reason for its
# dashes.
. "$(dirname "$0")/../e2e/lib.sh"
needs tmux neuron-top neuron-bench neuron-packager
export LC_ALL=C.UTF-8 TERM=xterm-256color NEURON_SOFT_INSTANCE=trn1.2xlarge OPENBLAS_NUM_THREADS=1
neuron-packager example mlp -s 128 -o mlp.neff
NEURON_PROCESS_TAG=serving neuron-bench exec --cores 0 --rate 40 --duration 10m mlp.neff >serving.log 2>&1 &
serves() { neuron-top --csv=models --once -d 200ms | greps ',serving,.*,mlp,' && echo yes; }
wait_for serves

screen() { tmx capture-pane -p -t top; }
shows() { screen | greps -e "$1" && echo yes; }
start() { # options of neuron-top
    tmx kill-session -t top 2>/dev/null || true
    tmx new-session -d -s top -x 140 -y 30 "neuron-top $*; exec cat"
}
press() { tmx send-keys -t top "$@"; }
at_failure() { screen >screen.log; }

# A refresh comes only every hour.
start -d 1h
wait_for shows '^  *[0-9]* .* serving '
press m
wait_for shows '^mlp  *serving  *0  *[0-9.]*  *[0-9.]*[mu]s '
press p
wait_for shows 'p>Processes<'
press Enter
wait_for shows ' CPU  *[0-9.]*%'

# A screen that was frozen before the first value was read shows a note, and one that was frozen later has the values.
start -d 200ms --view engines
wait_for shows 'ND0 NC0 .* serving'
press Space
wait_for shows '^frozen$'
press m
wait_for shows '^frozen; no latencies before [0-9][0-9]:[0-9][0-9]:[0-9][0-9]$'
shows '^mlp  *serving  *0  *[0-9.]*  *-  *- ' >/dev/null || fail "a frozen screen does not show a dash"
press p
wait_for shows '^frozen; no latencies before '
press Space # to the present
press m
wait_for shows '^mlp  *serving  *0  *[0-9.]*  *[0-9.]*[mu]s '
press e
wait_for shows 'ND0 NC0 .* serving'
press Space
wait_for shows '^frozen$'
press m
wait_for shows '^mlp  *serving  *0  *[0-9.]*  *[0-9.]*[mu]s '
shows '^frozen$' >/dev/null || fail "latencies are there, and the note says they are not"
press q
