# test_crowd - the real program in a terminal (tmux) next to 300 applications with their own segments: all of them
# are shown, keys and sizes work, and one that dies under the cursor disappears. 77 without tmux.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/terminal.sh"

NEURON_HOOKS_MEMORY=64K "$NTK_BUILD_DIR/tests/tests_top_segment_writer" 0 1 300 >ready &
ready() { greps ready ready && echo yes; }
wait_for ready
tmx new-session -d -s top -x 120 -y 40 \
    "env NEURON_HOOKS_DIR='$NEURON_HOOKS_DIR' '$NTK_BUILD_DIR/bin/neuron-top' --layout vendor -d 500ms; echo status=\$?; exec cat"

# The first screen: sums over all, and a tab for each.
sees "all cores at work" 'NeuronCore v2 Utilization (Avg: .*100%)'
sees "device memory of all" '^Device  *2.3GB  *1.5GB '
key a
sees "the last of 300 tabs" '>\[301\]:app'
sees "only its memory" '^Device  *8.0MB  *5.0MB '
key 1
sees "all again" '>\[1\]:all<'

# A list of them: its end, one found by its name, and one that dies under the cursor.
key p
sees "the list" '1-3[0-9] of 300'
at_its_end() { # the cursor stays on its application when the order changes
    key End
    shows '[0-9]-300 of 300'
}
wait_for at_its_end
key Home /
key -l app217
key Enter
sees "one of many" ' app217 '
key Escape '\'
key -l 'app21[789]'
key Enter
sees "three of them" '3 of 300'
key Home Down
pid=$(screen | awk '$3 == "app218" { print $1 }')
kill -KILL "$pid"
is_gone() { ! screen | greps ' app218 ' && screen | greps '2 of 299' && echo yes; }
wait_for is_gone
key i
sees "the neighbour is followed" 'only app21[79]'

# One of them gets a signal, after a second key press.
key Escape 1 '\'
key -l app100
key Enter
sees "one row" '1 of 299'
pid=$(screen | awk '$3 == "app100" { print $1 }')
key k
sees "the question" "signal app100 ($pid)? t:TERM"
key Escape
sees "no answer" 'no signal was sent'
kill -0 "$pid"
key k t
sees "the signal" "sent TERM to app100 ($pid)"
sees "its end" '0 of 298'
key Escape T
sees "the first screen" 'vCPU Utilization'
key k
sees "whom" 'no application selected'

# Without a tag, the question has the name of the program.
env -u NEURON_PROCESS_TAG NEURON_HOOKS_MEMORY=64K "$NTK_BUILD_DIR/tests/tests_top_segment_writer" 0 1 >ready.plain &
pid=$!
is_ready() { grep -qs ready ready.plain && echo yes; }
wait_for is_ready
key p '\'
key -l "$pid"
key Enter
sees "one row" '1 of 299'
key k
sees "its program" "signal tests_top_segme[a-z_]* ($pid)? t:TERM"
key Escape Escape T

# Many size changes in quick succession.
for size in 200x60 80x24 40x8 10x3 1x1 400x100 81x25 39x50 300x9 120x40; do
    tmx resize-window -t top -x "${size%x*}" -y "${size#*x}"
    key T e p
done
key T
sees "the last size" '^Device  *2.3GB  *1.5GB '
key q
sees "the end" 'status=0'
