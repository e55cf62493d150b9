#!/bin/bash
# test_terminal - the real program in a terminal (tmux), with snapshots made by hand: keys, resizing,
# small sizes, colours, signals, and that the terminal is given back. 77 without tmux.
set -u
command -v tmux >/dev/null || exit 77
program=$NTK_BUILD_DIR/tests/tests_top_scene_program
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-top-XXXXXX")
socket=$scratch/tmux
export LC_ALL=C.UTF-8 TERM=xterm-256color
unset NO_COLOR TMUX
# A terminal that goes away hits the leak sanitizer's helper too, and what waits for it spins for ever: leaks are
# looked for in the tests without a terminal.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
failures=0

tmx() { tmux -u -f /dev/null -S "$socket" "$@"; }
finish() {
    tmx kill-server 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT

screen() { tmx capture-pane -p -t top 2>/dev/null; }
fail() {
    printf 'FAILED: %s\n' "$*"
    screen
    failures=$((failures + 1))
}
# wait_for what grep-pattern: polls until the screen shows it.
wait_for() {
    local what=$1 pattern=$2 i
    for ((i = 0; i < 300; i++)); do
        screen | grep -q -e "$pattern" && return 0
        sleep 0.05
    done
    fail "$what: no '$pattern' on the screen"
    return 1
}
# start scene columns rows [VAR=value...]: the status of the program ends on the screen it came from.
start() {
    local scene=$1 columns=$2 rows=$3
    shift 3
    tmx kill-session -t top 2>/dev/null
    tmx new-session -d -s top -x "$columns" -y "$rows" \
        "echo before; env NTK_TEST_SCENE=$scene $* '$program' -d 1; echo status=\$?; exec cat"
}
key() { tmx send-keys -t top "$@"; }
program_pid() { pgrep -P "$(tmx display-message -p -t top '#{pane_pid}')" -x tests_top_scene; }

tmx new-session -d -s keep cat # the server lives as long as a session

# keys
start trn1 80 24
wait_for "the first frame" 'ND15 .*\[ 0.00%\]'
wait_for "the title" 'neuron-top .* running on i-local (trn1.32xlarge)'
key f
wait_for "teraflops" 'Avg:    5.187TF | Total:  165.982TF'
key f
wait_for "percent again" 'Avg: 37.05%'
key Down Down Enter
wait_for "an opened model" '\[-\] mlp.neff'
key x
wait_for "the opened tree" 'of 138)'
key x
wait_for "the closed tree" '(1-4 of 9)'
key d
wait_for "the next tab" '>\[2\]:7286<'
key a a
wait_for "the tab before the first" '>\[3\]:7287<'
key 1
wait_for "a tab by number" '>\[1\]:all<'
key '?'
wait_for "the help" 'expand or collapse the entire tree'
key Escape
wait_for "the screen again" 'vCPU Utilization'

# sizes
for size in 200x60 80x24 40x8 10x3 1x1 400x100 81x25 39x50 300x9 120x40; do
    tmx resize-window -t top -x "${size%x*}" -y "${size#*x}"
done
wait_for "the last size" 'Device Memory'
[ "$(screen | sed -n 1p | sed 's/^ *//; s/ *$//')" = "$(screen | grep -o 'neuron-top .*)')" ] ||
    fail "the title is the first row after a resize storm"
tmx resize-window -t top -x 30 -y 5
wait_for "too small" 'too small'
key q
tmx resize-window -t top -x 80 -y 24
wait_for "q in a small terminal" 'status=0'
wait_for "the screen from before" 'before'

# many applications
start many 100 30
wait_for "the first of many tabs" '>\[1\]:all<'
key a
wait_for "the last of many tabs" '>\[301\]:7585<'

# a wide tag takes two cells a character: what stands behind it stays in its column
start wide 120 30
wait_for "the wide tag" '\[2\]:深層学習'
key d
wait_for "the selected wide tag" '>\[2\]:深層学習<  *\[3\]:plain'

# colours and their absence
start trn1 80 24
wait_for "a coloured frame" 'vCPU Utilization'
tmx capture-pane -e -p -t top | grep -q $'\e\[[0-9;]*4[1-7]' || fail "no colours"
start trn1 80 24 NO_COLOR=1
wait_for "a plain frame" 'ND8  \.\.\.'
tmx capture-pane -e -p -t top | grep -q $'\e\[[0-9;]*[34][0-7]' && fail "colours in spite of NO_COLOR"
start trn1 80 24 TERM=vt100
wait_for "a frame on a terminal without colours" 'ND8  \.\.\.'

# signals give the terminal back
for signal in TERM INT HUP; do
    start small 80 24
    wait_for "a frame before SIG$signal" 'vCPU Utilization'
    kill -$signal "$(program_pid)"
    wait_for "the end by SIG$signal" 'status=0'
    screen | grep -q vCPU && fail "the screen stays after SIG$signal"
done

# no terminal, an unknown one
start none 80 24
wait_for "the reason" 'no Neuron driver'
key q
wait_for "the end" 'status=0'
start small 80 24 TERM=no-such-terminal
wait_for "an unknown terminal" 'terminal type "no-such-terminal"'
wait_for "its status" 'status=1'

# nothing is sent while nothing changes
start small 80 24
wait_for "a still frame" 'vCPU Utilization'
pid=$(program_pid)
written() { awk '/^wchar/ { print $2 }' "/proc/$pid/io"; }
first=$(written)
sleep 2.2 # two refreshes: the passing of time is what is tested
[ "$(written)" = "$first" ] || fail "$(($(written) - first)) bytes were sent for the same picture"

[ $failures = 0 ] || exit 1
echo "all terminal checks passed"
