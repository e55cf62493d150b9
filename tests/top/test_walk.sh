# test_walk - ten questions of a first-time user, each answered from the first screen with at most three keys: the
# real program in a terminal, with jobs that work, hold cores without work, fail, and break a device.
. "$(dirname "$0")/../e2e/lib.sh"
needs tmux neuron-top neuron-bench neuron-packager
export LC_ALL=C.UTF-8 TERM=xterm-256color NEURON_SOFT_INSTANCE=trn1.32xlarge OPENBLAS_NUM_THREADS=1
unset NO_COLOR
neuron-packager example conv -s 4 -o conv.neff
neuron-packager example nan -o nan.neff
job() { # tag, variables and options of neuron-bench
    local tag=$1
    shift
    env NEURON_PROCESS_TAG="$tag" "${@:1:$#-1}" --duration 10m "${!#}" >"$tag.log" 2>&1 &
}
job holder neuron-bench exec --cores 8-9 --rate 0.005 conv.neff
job serving neuron-bench exec --cores 4-7 --rate 40 conv.neff
job broken NEURON_SOFT_FAULT=hbm-ue:from=3 neuron-bench exec --cores 20 --rate 5 conv.neff
job wrong neuron-bench exec --cores 30 --rate 5 nan.neff

screen() { tmx capture-pane -p -t top; }
shows() { screen | greps -e "$1" && echo yes; }
tmx new-session -d -s top -x 120 -y 40 "neuron-top; echo status=\$?; exec cat"
wait_for shows 'o>Overview<'
wait_for shows ' serving .* 4-7 '
wait_for shows ' holder .* 8-9 '
# The broken job has ended; the marked line may have belonged to it.
is_gone() { screen >now && ! grep -q ' broken  ' now && grep -q ' serving  ' now && echo yes; }
wait_for is_gone
tmx send-keys -t top Home

# answer QUESTION KEYS PATTERN...: presses the keys and checks the screen; then returns to the first screen.
keys_most=0
answer() {
    local question=$1 keys=$2 pattern
    shift 2
    [ "$(wc -w <<<"$keys")" -le 3 ] || fail "$question takes $(wc -w <<<"$keys") keys"
    [ -z "$keys" ] || tmx send-keys -t top $keys
    for pattern in "$@"; do wait_for shows "$pattern"; done
    echo "$question ${keys:-no key}"
}
# back KEYS: returns to the first screen in its initial state.
back() {
    [ -z "$1" ] || tmx send-keys -t top $1
    wait_for shows 'o>Overview<'
}

answer "Which process uses core 5?" "S" 'CORES *▲' ' serving .* 4-7 '
tmx send-keys -t top s
wait_for shows 'BUSY *▼'
back ""
answer "Why is it slow?" "Enter" 'TAG  *serving' 'P99 ' 'QUEUE '
back Escape
answer "Is a device sick?" "" 'health 1 of 16 unhealthy' '^ND10!'
answer "What is wrong with it?" "!" '^ND10 .*HBM ECC uncorrected'
back Escape
answer "What happened a minute ago?" "{" '[1-9][0-9]* s ago; navigate with'
tmx send-keys -t top Space
wait_for shows 'busy [0-9]'
back ""
answer "What happened two minutes ago?" "{ {" '[1-9][0-9]* s ago; navigate with'
tmx send-keys -t top Space
wait_for shows 'busy [0-9]'
back ""
answer "Which model is the slowest?" "m" ' P99▼' '^conv  *serving '
back Escape
tmx send-keys -t top '?' # the length of a page is known only after drawing
wait_for shows 'Keys of a view'
answer "How do I record? (after the key of the help)" "NPage" 'record  *neuron-monitor --db FILE'
back Escape
answer "What ended, and why?" "l" ' end  *- *broken '
back Escape
answer "How much HBM is left on device 2?" "b" ' FREE ' '^ND2 '
back Escape
answer "What failed last?" "l" ' error  *[0-9]*  *wrong '
back Escape
answer "Which are my processes?" "u" 'o>Overview<.* mine' ' serving '
back u
answer "What about other hosts?" "H" 'only one machine is shown: use --connect or --hosts'
back "" # the next key removes the message
answer "Who holds cores but is idle?" "" ' holder .* idle [1-9]'
tmx send-keys -t top q
wait_for shows status=0
