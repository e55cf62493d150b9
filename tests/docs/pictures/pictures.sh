#!/bin/bash
# pictures - docs/neuron-top.png is a screen of neuron-top while two jobs run on software cores. --update takes it
# again; without it, the screen must still show the same parts. tests/docs/tutorials creates the picture of the
# profiler's page.
. "$(dirname "$0")/../../e2e/lib.sh"
needs tmux jq python3
needs_browser
export NEURON_SOFT_INSTANCE=trn1.32xlarge TERM=xterm-256color
png=$NTK_SOURCE_DIR/docs/neuron-top.png

neuron-packager example mlp -o mlp.neff
neuron-packager example attention -o attention.neff
NEURON_PROCESS_TAG=mlp-serving neuron-bench exec mlp.neff --cores 0-3 --threads 4 --rate 8 --duration 10m >mlp.log 2>&1 &
NEURON_PROCESS_TAG=attention neuron-bench exec attention.neff --cores 8-9 --threads 2 --rate 20 --duration 10m >attention.log 2>&1 &
models_run() { neuron-top --json --once -d 200ms | jq -r 'if ([.models[] | select(.executions > 0) | .name] | unique | length) == 2 then "yes" else "no" end'; }
wait_for models_run
tmx new-session -d -s top -x 120 -y 34 neuron-top
screen() { tmx capture-pane -p -t top "$@"; }
is_drawn() { screen | greps -E 'ND0 .*[1-9][0-9.]*% .*[1-9][0-9.]*%' && screen | greps 'mlp-serving' && screen | greps 'attention' && echo yes; }
wait_for is_drawn
screen -eN >screen.ansi
tmx send-keys -t top q
python3 "$NTK_SOURCE_DIR/tests/docs/pictures/terminal.py" "$browser" screen.ansi fresh.png
if [ "${1:-}" = --update ]; then
    cp fresh.png "$png"
fi
[ "$(($(stat -c %s fresh.png) * 2))" -ge "$(stat -c %s "$png")" ] || fail "the screen shows less than docs/neuron-top.png"
