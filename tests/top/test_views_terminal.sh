# test_views_terminal - the views of the real program in a terminal (tmux): keys, boxes, the mouse, resizing, wide
# characters, many processes, and one that dies under the cursor. 77 without tmux.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/terminal.sh"

line() { screen | sed -n "$1p"; }
own_settings=yes

# views by their keys
start trn1 100 30
sees "the first frame" 'vCPU Utilization'
key e
sees "engines" 'e>Engines<'
sees "an engine" '^ND0 NC0 .*100%  90.0%  80.0%'
key b
sees "memory of the devices" '^16 devices: 185.9GB of 512.0GB'
key m
sees "models" '^mlp.neff '
key p
sees "processes" '7287 bob '
key l
sees "events" '10 events'
key w
sees "errors" '^7287  *timed-out executions  *1 '
key g
sees "graphs" '^>Busy 37.0%'
key z
sees "a shorter time" 'the last 1m (z/Z),'
key v
sees "another quantity" '^ HBM used of each core'
key t
sees "the map" '─ ND1  *77.2% ─'
key v
sees "the memory use of devices" '^ HBM used of each device, a torus'
key Tab
sees "the next view" 'y>Ranks<'
key Tab
sees "the view after the last" 'o>Overview<'
key BTab
sees "the view before the first" 'y>Ranks<'
key y
sees "the key of the open view" 'vCPU Utilization'

# the overview: the first screen of a new user
layout=overview options= start trn1 80 24
sees "the overview" 'o>Overview<'
sees "a device" '^ND0  *100% '
sees "a process, with its command" '^ *7287 bob  *python3 serve'
key T
sees "the vendor's screen" 'vCPU Utilization'
key e
sees "engines from that view" 'e>Engines<'
key Escape
sees "the overview again" 'o>Overview<'
key u
sees "the message that this user has no processes" 'mine'
lacks "processes of others" '^ *7287 bob '
key u Enter
sees "the page of the busiest" 'Application 7287'
key Escape '?'
sees "the help, views first" '^  o  *devices with their cores'
key Escape
sees "the screen below the help" 'o>Overview<'
key F2
sees "the setting" 'layout *< overview >'
key Escape q
sees "the exit from the overview" 'status=0'
start trn1 100 30
sees "the vendor's screen by an option" 'vCPU Utilization'

# pages of an application and of a model
key p Enter
sees "the page of an application" 'Application 7287'
sees "what failed" 'outcome timed_out: 1.0/s'
key End
sees "its last lines" '^ *no events recorded'
key Escape
sees "the list again" '7287 bob '
key m Enter
sees "the page of a model" '^Model .*mlp.neff'
key Enter
sees "the list of models again" '^mlp.neff '

# boxes
key e
sees "engines again" 'e>Engines<'
key F4
key -l 'nd1[45]q'
sees "a filter that nothing matches" 'no matching rows'
key BSpace
sees "the filter without its last letter" 'filter nd1\[45\].* 4 of 32'
key Enter s
sees "a key while the box is open" 'BUSY▼'
key Escape
sees "all rows" '1-24 of 32'
key F3
key -l 'nd9 nc1'
key Enter
sees "a search that continues on the next page" '^ND9 NC1'
key Escape c Down Space Escape
sees "another column hidden" 'BUSY▼  *ACT  *POOL'
! screen | grep 'BUSY▼' | greps ' PE ' || fail "the column is still there"
key '?'
sees "the help" 'engine utilization of each core' # the length of a page is known only after drawing
key NPage NPage
sees "the last line of the help" 'play a recording slower or faster'
key Escape q
sees "the end" 'status=0'

# columns and order are restored; unknown lines of the file are reported
kept=$XDG_CONFIG_HOME/neuron-toolkit/neuron-top.conf
[ "$(cat "$kept")" = $'engines.columns = -pe\nengines.sort = busy' ] || fail "saved settings: $(cat "$kept")"
own_settings=
options='--view engines' start trn1 100 30
sees "the saved order" 'BUSY▼  *ACT  *POOL'
! screen | grep 'BUSY▼' | greps ' PE ' || fail "the column that was hidden is shown again"
key c Down Space Home Enter q
sees "the exit after another choice" 'status=0'
[ "$(cat "$kept")" = $'engines.columns = \nengines.sort = ' ] || fail "saved settings: $(cat "$kept")"
printf 'engines.sort = busy reversed\nengines.columns = +what\n' >"$kept"
options='--view engines' start trn1 100 30
sees "a valid line" 'BUSY▲'
sees "an invalid line" 'neuron-top.conf:2: invalid value for engines.columns .+what.'
key q
sees "the exit with an invalid line" 'status=0'
own_settings=yes

# a single application
start trn1 100 30
sees "a frame" 'vCPU Utilization'
key p
sees "two processes" '7286 alice'
key i
sees "only the busiest" 'only 7287'
lacks "the other process" '7286 alice'
key e
sees "its cores" '1-8 of 8\|^ND4 NC0'
lacks "cores of the other process" '^ND0'
key p i
sees "all again" '7286 alice'

# the mouse
start trn1 100 30 TERM=xterm-256color
sees "a frame for the mouse" 'vCPU Utilization'
key p
sees "processes to click on" '7287 bob'
click_on 'bob'
click_on 'bob'
sees "a row, and again" "^Application 7287"
click_on 'e:Engines'
sees "a name in the strip" 'e>Engines<'
click_on 'BUSY  *PE'
sees "a title" 'BUSY▼'
click_on 'BUSY▼'
sees "the title again" 'BUSY▲'

# sizes
for size in 200x60 80x24 40x8 10x3 1x1 400x100 81x25 39x50 300x9 120x40; do
    tmx resize-window -t top -x "${size%x*}" -y "${size#*x}"
    key l e p
done
sees "the last size" 'p>Processes<'
key c
tmx resize-window -t top -x 40 -y 8
sees "the box in a small terminal" '\[x\] v BUSY'
key Escape q
tmx resize-window -t top -x 80 -y 24
sees "its last line" 'status=0'

# a wide tag takes two cells per character: the text after it stays in its column
options='--view processes' start wide 120 12
sees "the wide tag" '7286 .* 深層学習  *python3 serve.py …  *0 '
start_of() { line "$1" | sed 's/[^ -~]/xx/g' | grep -ob '100%\|0.0%' | head -1; }
[ -n "$(start_of 4)" ] && [ "$(start_of 4 | cut -d: -f1)" = "$(start_of 5 | cut -d: -f1)" ] || fail "columns after a wide tag are shifted"
options='--view processes --ascii' start wide 120 12
sees "the wide tag in ASCII" '7286 .* ????  *python3 serve.py ~  *0 '

# many applications
options='--view processes' start many 100 30
sees "the first of many" '1-25 of 300'
key End
sees "the last of many" '^ *7585 '
key Home /
key -l 75[0]1
key Enter
sees "one of many" '^ *7501 '

# no colours
start trn1 100 30 NO_COLOR=1
sees "a plain frame" 'vCPU Utilization'
key b
sees "letters for the parts" '^16 devices: .*  m*s*o*\.*$'
! tmx capture-pane -e -p -t top | greps $'\e\[[0-9;]*[34][0-7]' || fail "colours are used despite NO_COLOR"

# a process dies under the cursor: the real program and real segments
unset NTK_TEST_SCENE
writer() {
    NEURON_HOOKS_MEMORY=128K NEURON_PROCESS_TAG=$2 "$NTK_BUILD_DIR/tests/tests_top_segment_writer" "$1" 1 >"ready.$2" &
    writers[$1]=$!
}
ready() { grep -qs ready "ready.$1" && echo yes; }
for i in 0 1 2; do
    writer $i "app$i"
    wait_for ready "app$i"
done
tmx kill-session -t top 2>/dev/null || true
echo 'processes.sort = pid' >by_pid.conf # all are busy, so the default order would change
tmx new-session -d -s top -x 160 -y 24 \
    "env NEURON_HOOKS_DIR='$NEURON_HOOKS_DIR' '$NTK_BUILD_DIR/bin/neuron-top' --config '$PWD/by_pid.conf' -d 100ms --view processes; echo status=\$?; exec cat"
sees "three processes" 'app2 '
key End
key Up # in the middle for any pids
first=$(line 4 | awk '{print $3}')
middle=$(line 5 | awk '{print $3}')
last=$(line 6 | awk '{print $3}')
kill -KILL "${writers[${middle#app}]}"
wait "${writers[${middle#app}]}" 2>/dev/null || true
# A screen may be half drawn from the top: a missing row proves nothing, but rows that moved up do.
two_left() { [ "$(screen | awk '$3 ~ /^app[0-9]/ { print $3 }' | xargs)" = "$first $last" ] && echo yes; }
wait_for two_left
# Newer kernels report the signal.
sees "the killed process" "^$middle (pid [0-9]*) killed \(by SIGKILL\|or crashed\) at "
key i
sees "the neighbour is selected" "only $last"
key l
sees "the remaining records" 'load .*forever.neff'
key q
sees "the exit of the real process" 'status=0'
