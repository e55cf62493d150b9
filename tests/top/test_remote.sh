# test_remote - neuron-top shows the reports of neuron-monitor, from a pipe and over HTTP, as text and in a terminal;
# a connection that breaks and comes back; the end of the stream, and errors.
. "$(dirname "$0")/../e2e/lib.sh"
needs neuron-top neuron-monitor neuron-bench neuron-packager jq tmux python3
export COLUMNS=120 LC_ALL=C.UTF-8

neuron-packager example conv -s 4 -o conv.neff
NEURON_PROCESS_TAG=faraway neuron-bench exec conv.neff --cores 0 --rate 20 --duration 10m >/dev/null &
runs() { neuron-monitor --once --period 100ms | jq -e '.neuron_runtime_data[0].report.execution_stats.execution_summary.completed > 0' >/dev/null && echo yes; }
wait_for runs

# A pipe: each report is a frame with its numbers; the end of the pipe ends it.
both_have() { # both reports have executions
    neuron-monitor --count 2 --period 300ms | jq -c "del(.time_ns)" >reports
    jq -es 'length == 2 and all(.[]; .neuron_runtime_data[0].report.execution_stats.execution_summary.completed > 0)' reports >/dev/null && echo yes
}
wait_for both_have
neuron-top --stdin --batch --count 1 <reports >frame || fail "--stdin fails"
grep -q 'faraway' frame || fail "the application is not shown: $(cat frame)"
expected=$(jq -rs '.[1].neuron_runtime_data[0].report.neuroncore_counters.neuroncores_in_use["0"].neuroncore_utilization' reports)
shown=$(printf '[%5.2f%%]' "$expected")
grep -qF "${shown/'[100.00%]'/'[  100%]'}" frame || fail "utilization is not $expected: $(cat frame)"
shown() { [ -s frames ] && echo yes; }
: >frames
(cat reports && wait_for shown && cat reports) | neuron-top --stdin --batch >frames || fail "the end of the input: expected a failure"
# A report without a time gets the time of its arrival.
neuron-top --stdin --once --view graphs <reports >frame
grep -q 'Executions/s .* to [1-9]' frame || fail "no graphs of reports without a time: $(cat frame)"
neuron-top --stdin --once --view errors <reports >frame
! grep -q '00:00:00' frame || fail "a time in 1970: $(cat frame)"
code=0
echo nonsense | neuron-top --stdin --once >/dev/null 2>err || code=$?
[ $code = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'ended without a neuron-monitor report' err || fail "unexpected exit code $code"

# Events are in the reports; if a report has none, the view shows a note.
neuron-monitor --period 100ms >loud &
loud=$!
wait_for has_reports loud
NEURON_PROCESS_TAG=briefly neuron-bench exec conv.neff --cores 1 --rate 20 --duration 1s >/dev/null
tells() { jq -r '.neuron_ext.events[]?.kind' loud | greps '^unload$' && echo yes; }
wait_for tells
kill "$loud" && wait "$loud" || true
neuron-top --stdin --once --view events <loud >frame
grep -q ' load  *[^ ]* .* conv ' frame || fail "no events over --stdin: $(cat frame)"
# An application that was killed, in a report that another one follows at once; also indented and in an array.
jq -s '[(.[0] | .neuron_runtime_data[0] += {ended: true, killed: true}), (.[1] | .neuron_runtime_data = [])]' reports >killed
neuron-top --stdin --once --view events <killed >frame
grep -q ' end  *faraway .* killed or crashed' frame || fail "an application that was killed is missing: $(cat frame)"
jq -c 'del(.neuron_ext.events)' loud >silent
neuron-top --stdin --once --view events <silent >frame
grep -q 'these reports contain no events' frame || fail "expected the reason for missing events: $(cat frame)"

# HTTP.
port_of() { sed -n 's/.*http.*port //p' "$1" | head -1; }
port=$(free_ports 1) # no other client gets it while no agent listens
neuron-monitor --period 200ms --quiet --verbose 1 --http "127.0.0.1:$port" 2>agent.log &
agent=$!
is_up() { [ -n "$(port_of agent.log)" ] && echo yes; }
wait_for is_up
neuron-top --connect "http://127.0.0.1:$port" --once | greps faraway || fail "--connect shows nothing"
neuron-top --connect "http://127.0.0.1:$port/api/v1/stream" --once | greps faraway || fail "a whole URL shows nothing"
# Complete reports, even if lines for programs are truncated.
neuron-monitor --period 200ms --quiet --verbose 1 --max-line 1 --http 127.0.0.1:0 2>cut.log &
cut=$!
has_port() { [ -n "$(port_of cut.log)" ] && echo yes; }
wait_for has_port
COLUMNS=250 neuron-top --connect "http://127.0.0.1:$(port_of cut.log)" --once --view processes | greps 'faraway .* neuron-bench' ||
    fail "a report that exceeds a line is not shown"
kill "$cut" && wait "$cut" || true
code=0
neuron-top --connect "http://127.0.0.1:$port/nothing" --once >/dev/null 2>err || code=$?
[ $code = 1 ] && grep -q 'returned HTTP 404' err || fail "a wrong path: unexpected exit code $code"
code=0
neuron-top --connect ftp://nonsense --once >/dev/null 2>err || code=$?
[ $code = 2 ] && grep -q 'invalid URL' err || fail "no URL: unexpected exit code $code"
neuron-top --connect "127.0.0.1:$port" --once | greps faraway || fail "--connect HOST:PORT shows nothing"
code=0
neuron-top --connect "http://127.0.0.1:$port" --stdin >/dev/null 2>err || code=$?
[ $code = 2 ] || fail "two sources: unexpected exit code $code"

tmx new-session -d -s keep cat # the tmux server lives as long as a session
# A terminal: keys work, a lost connection is reported, and a new one is used.
tmx new-session -d -s top -x 120 -y 40 "neuron-top --layout vendor --connect http://127.0.0.1:$port; echo status=\$?; exec cat"
shows() { tmx capture-pane -p -t top | greps -e "$1" && echo yes; }
wait_for shows faraway
tmx send-keys -t top f
wait_for shows 'Total: .*TF'
# Events are listed from now on, although each report has only those of its period.
tmx send-keys -t top l
wait_for shows '>Events<'
shows ' load ' >/dev/null && fail "an event is shown before it happened"
NEURON_PROCESS_TAG=briefly neuron-bench exec conv.neff --cores 1 --rate 20 --duration 1s >/dev/null
wait_for shows 'unload .* briefly .* conv '
wait_for shows ' load .* briefly .* conv '
tmx send-keys -t top l
wait_for shows 'Total: .*TF'
kill "$agent" && wait "$agent" || true
wait_for shows 'no connection, data is [1-9][0-9]*s old: '
neuron-monitor --period 200ms --quiet --http "127.0.0.1:$port" &
is_back() { [ "$(shows 'no connection')" = yes ] || echo yes; }
wait_for is_back
wait_for shows faraway
tmx send-keys -t top q
wait_for shows status=0

# stdin is the stream, keys come from the terminal.
tmx kill-session -t top
tmx new-session -d -s top -x 120 -y 40 "neuron-monitor --period 200ms | neuron-top --stdin; echo status=\$?; exec cat"
wait_for shows faraway
tmx send-keys -t top q
wait_for shows status=0
