# test_terminal - the real program in a terminal (tmux), with hand-made snapshots: keys, resizing, small sizes,
# colours, signals, and restoring the terminal. 77 without tmux.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/terminal.sh"
# keys
start trn1 80 24
sees "the first frame" 'ND15 .*\[ 0.00%\]'
sees "the title" 'neuron-top .* running on i-local (trn1.32xlarge)'
key f
sees "teraflops" 'Avg:    5.187TF | Total:  165.982TF'
key f
sees "percent again" 'Avg: 37.05%'
key Down Down Enter
sees "an opened model" '\[-\] mlp.neff'
key x
sees "the opened tree" 'of 138)'
key x
sees "the closed tree" '(1-3 of 9)'
key d
sees "the next tab" '>\[2\]:7286<'
key a a
sees "the tab before the first" '>\[3\]:7287<'
key 1
sees "a tab by number" '>\[1\]:all<'
key '?'
sees "the help" 'engine utilization of each core'
key Escape
sees "the screen again" 'vCPU Utilization'

# refresh
key -
sees "a shorter time" 'every 500ms *$'
key + +
sees "a longer time" 'every 2s *$'

# back in time, from the present
start moving 120 40
sees "a frame that moves" 'vCPU Utilization'
row() { screen | grep 'ND0 '; }
has_moved() { [ "$(row)" != "$before" ] && echo yes; }
for _ in 1 2; do
    before=$(row)
    wait_for has_moved
done
key '['
sees "a moment ago" '[0-9][0-9]:[0-9][0-9]:[0-9][0-9], [0-9]* s ago; navigate with \[ \] { }, space: now'
age() { screen | sed -n 's/.*, \([0-9]*\) s ago.*/\1/p'; }
age=$(age)
is_older() { [ "$(age)" -ge $((age + $1)) ] && echo yes; }
wait_for is_older 1
before=$(row)
wait_for is_older 2
[ "$(row)" = "$before" ] || fail "the history changes"
key ' '
is_now() { ! screen | greps 's ago' && echo yes; }
wait_for is_now
key '[' '[' ']' ']' ']' ']' ']' ']'
wait_for is_now

# a message reports an application that cannot be signalled or profiled from outside
key k
sees "not available for this machine" 'only applications on this machine can be signalled'
key P
sees "the same of a profile" 'only applications on this machine can be recorded'

# the mouse
start trn1 170 34 TERM=xterm-256color
sees "a frame for the mouse" 'vCPU Utilization'
[ "$(tmx display-message -p -t top '#{mouse_any_flag}')" = 1 ] || fail "the mouse is not requested"
click_on '\[2\]:7286'
sees "a tab that was clicked on" '>\[2\]:7286<'
click_on '\[1\]:all'
sees "the first tab, clicked on" '>\[1\]:all<'
click_on 'x: expand'
sees "an entry of the key bar" 'of 138)'
click_on 'x: expand'
sees "the same again" '\[+\] ND 7'
click_on 'next tab' # the right half of a/d
sees "half an entry" '>\[2\]:7286<'
click_on '\[1\]:all'
sees "the first tab again" '>\[1\]:all<'
click_on '\[+\] ND 1'
sees "a mark" '\[-\] ND 1'
click_on 'ND 1 '
sees "the selected row" '\[+\] ND 1'
mouse 65 10 10
mouse 65 10 10
key Enter
sees "the wheel down" '\[-\] ND 3'
mouse 64 10 10
key Enter
sees "the wheel up" '\[-\] ND 2'
mouse 0 1 1
mouse 2 10 10
mouse 0 500 500
click_on 'ND 0 '
click_on 'q: quit'
sees "the quit entry" 'status=0'
[ "$(tmx display-message -p -t top '#{mouse_any_flag}')" = 0 ] || fail "the mouse is not released"
options=--no-mouse start trn1 80 24
sees "a frame without a mouse" 'vCPU Utilization'
[ "$(tmx display-message -p -t top '#{mouse_any_flag}')" = 0 ] || fail "the mouse is requested despite --no-mouse"

# settings: the page, the changes that it applies at once, the file that it writes
kept=$XDG_CONFIG_HOME/neuron-toolkit/neuron-top.conf
start trn1 80 24 TERM=xterm-256color
sees "a frame before the settings" 'vCPU Utilization'
key F2
sees "the page of settings" 'refresh *< 1s > '
sees "the path of the settings" 'saved in .*neuron-top.conf'
key Right
sees "a longer time" 'every 2s *$'
key Down Down Down Down Right
sees "another choice" 'values *< flops >'
key Down Down Down Right
sees "no mouse" 'mouse *< off >'
[ "$(tmx display-message -p -t top '#{mouse_any_flag}')" = 0 ] || fail "the mouse is not released at once"
key Up Up Right Right Right
sees "no colours" 'colors *< none >'
tmx capture-pane -e -p -t top | greps $'\e\[[0-9;]*[34][0-7]' && fail "colours are used despite the setting"
key Escape
sees "the screen below the page" 'Utilization (Avg: .*TF'
saved() { [ "$(sort "$kept")" = $'colors = none\nmouse = off\nrefresh = 2s\nvalues = flops' ] && echo yes; }
wait_for saved
key q
sees "the exit with settings" 'status=0'
printf '# mine\nfuture.thing = 7\nvalues = flops\nrefresh = 1ms\nview = engines\n' >"$kept"
options=--ascii start trn1 80 24
sees "the view of the settings" 'Engines'
sees "an invalid line" "neuron-top.conf:2: unknown setting .future.thing."
key F2 Down Down Right Left Left
sees "the last view" 'view *< '
key q
sees "the exit from the page" 'status=0'
[ "$(grep -v '^view = ' "$kept")" = $'# mine\nfuture.thing = 7\nvalues = flops\nrefresh = 1ms' ] || fail "unexpected output: $(cat "$kept")"
greps '^view = engines$' "$kept" && fail "the view was not saved on exit with q"
code=0
"$program" --config "$kept" --once >out 2>err || code=$?
[ $code = 2 ] && [ "$(cat err)" = "neuron-top: $kept:2: unknown setting 'future.thing'" ] || fail "--config: unexpected exit code $code"
"$program" --once -d 200ms >out || fail "an invalid default file stops a script"
greps 'TF' out && fail "a script uses the user's settings"
echo 'values = flops' >good.conf
"$program" --config good.conf --once -d 200ms | greps 'Avg: .*TF' || fail "--config is not read"
rm "$kept"

# sizes
start trn1 80 24
sees "a frame before the sizes" 'vCPU Utilization'
for size in 200x60 80x24 40x8 10x3 1x1 400x100 81x25 39x50 300x9 120x40; do
    tmx resize-window -t top -x "${size%x*}" -y "${size#*x}"
done
sees "the last size" 'Device Memory'
[ "$(screen | sed -n 1p | sed 's/^ *//; s/ *$//')" = "$(screen | grep -o 'neuron-top .*)')" ] ||
    fail "the title is the first row after a resize storm"
tmx resize-window -t top -x 30 -y 5
sees "too small" 'too small'
key q
tmx resize-window -t top -x 80 -y 24
sees "q in a small terminal" 'status=0'
sees "the screen from before" 'before'

# many applications
start many 100 30
sees "the first of many tabs" '>\[1\]:all<'
key a
sees "the last of many tabs" '>\[301\]:7585<'

# a wide tag takes two cells per character: the text after it stays in its column
start wide 120 30
sees "the wide tag" '\[2\]:深層学習'
key d
sees "the selected wide tag" '>\[2\]:深層学習<  *\[3\]:plain'

options=--ascii start wide 120 30
sees "the wide tag in ASCII" '\[2\]:????  '

# colours, and a terminal without them
start trn1 80 24
sees "a coloured frame" 'vCPU Utilization'
tmx capture-pane -e -p -t top | greps $'\e\[[0-9;]*4[1-7]' || fail "no colours"
start trn1 80 24 NO_COLOR=1
sees "a plain frame" 'ND8  \.\.\.'
! tmx capture-pane -e -p -t top | greps $'\e\[[0-9;]*[34][0-7]' || fail "colours are used despite NO_COLOR"
start trn1 80 24 TERM=vt100
sees "a frame on a terminal without colours" 'ND8  \.\.\.'

# the terminal is restored after signals
for signal in TERM INT HUP; do
    start small 80 24
    sees "a frame before SIG$signal" 'vCPU Utilization'
    kill -$signal "$(program_pid)"
    sees "the exit on SIG$signal" 'status=0'
    ! screen | greps vCPU || fail "the screen stays after SIG$signal"
done

# not a terminal, an unknown one
start none 80 24
sees "the reason" 'no Neuron driver'
key q
sees "the end" 'status=0'
start small 80 24 TERM=no-such-terminal
sees "a frame on an unknown terminal" 'vCPU Utilization'
tmx capture-pane -e -p -t top | greps $'\e\[[0-9;]*4[1-7]' || fail "no colours on an unknown terminal"
key q
sees "its status" 'status=0'
! screen | greps 'terminal type' || fail "the terminal type is reported without --verbose"
options=--verbose start small 80 24 TERM=no-such-terminal
sees "a frame on an unknown terminal" 'vCPU Utilization'
key q
sees "its status" 'status=0'
sees "the assumed terminal type" 'unknown terminal type '\''no-such-terminal'\''; using xterm-256color'

start small 80 24 TERM=dumb
sees "a terminal without the capability" 'terminal type '\''dumb'\'' is unknown or lacks required capabilities'
sees "its status" 'status=1'

# nothing is sent while nothing changes
start small 80 24
sees "a still frame" 'vCPU Utilization'
pid=$(program_pid)
written() { awk '/^wchar/ { print $2 }' "/proc/$pid/io"; }
woken() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$pid/status"; }
first=$(written) slept=$(woken)
has_refreshed() { [ "$(woken)" -ge $((slept + 3)) ] && echo yes; } # it wakes only to refresh
wait_for has_refreshed
[ "$(written)" = "$first" ] || fail "$(($(written) - first)) bytes were sent for the same picture"
