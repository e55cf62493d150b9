# terminal - for tests of neuron-top in a terminal: the program with hand-made snapshots runs in tmux, as the session
# `top`. Sourced after lib.sh.
needs tmux
program=$NTK_BUILD_DIR/tests/tests_top_scene_program
export LC_ALL=C.UTF-8 TERM=xterm-256color
unset NO_COLOR NEURON_SOFT_INSTANCE
# A closing terminal also signals the helper of the leak sanitizer, and the process that waits for it never exits. So
# leaks are searched for in the tests without a terminal.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

screen() { tmx capture-pane -p -t top 2>/dev/null; }
at_failure() { screen >screen.log; }
# sees WHAT GREP-PATTERN: waits until the screen shows it.
shows() { screen | greps -e "$1" && echo yes; }
sees() { wait_for shows "$2"; }
# lacks WHAT GREP-PATTERN: waits until the screen does not show it, because a screen may be half drawn.
is_without() { screen >without && [ -s without ] && ! greps -e "$1" without && echo yes; }
lacks() { wait_for is_without "$2"; }
# The first screen is the vendor's, unless layout=overview.
# start scene columns rows [VAR=value...]: the exit status of the program appears at the end of the original screen.
# With own_settings=yes it has private settings instead of those of an earlier run.
starts=0
start() {
    local scene=$1 columns=$2 rows=$3
    shift 3
    tmx kill-session -t top 2>/dev/null || true
    [ "${own_settings-}" = "" ] || XDG_CONFIG_HOME=$scratch/config.$((++starts))
    tmx new-session -d -s top -x "$columns" -y "$rows" \
        "echo before; env XDG_CONFIG_HOME='$XDG_CONFIG_HOME' NTK_TEST_SCENE=$scene $* '$program' -d 1 --layout ${layout-vendor} ${options-}; echo status=\$?; exec cat"
}
key() { tmx send-keys -t top "$@"; }
program_pid() { pgrep -P "$(tmx display-message -p -t top '#{pane_pid}')" -x tests_top_scene; }

# the mouse: presses as an xterm sends them, with cells counted from 1
mouse() { tmx send-keys -t top -l $'\e['"<$1;$2;$3M"$'\e['"<$1;$2;$3m"; }
click_on() { # pattern: the first cell of its first match
    local at
    screen >clicked
    at=$(grep -no -e "$1" clicked | sed 1q) || fail "nothing to click on: $1"
    mouse 0 "$(sed -n "${at%%:*}p" clicked | awk -v p="${at#*:}" '{ print index($0, p) }')" "${at%%:*}"
}

tmx new-session -d -s keep cat # the tmux server lives as long as a session
