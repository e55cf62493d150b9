# test_hosts - many machines in one neuron-top: four agents (hooks folders), and hosts that are silent, send nonsense
# or die, as text, for programs and on a terminal; 64 hosts at once; ranks of a job over two of them.
. "$(dirname "$0")/../e2e/lib.sh"
needs neuron-top neuron-monitor neuron-bench neuron-packager jq tmux python3
export COLUMNS=160 LC_ALL=C.UTF-8

port_of() { sed -n 's/.*http.*port //p' "$1" | head -1; }
has_port() { [ -n "$(port_of "$1")" ] && echo yes; }
names=("")
for i in 1 2 3 4; do
    mkdir -m 700 "$memory/machine$i"
    NEURON_HOOKS_DIR=$memory/machine$i neuron-monitor --period 200ms --quiet --verbose 1 --http 127.0.0.1:0 2>"agent$i.log" &
    agents[i]=$!
done
for i in 1 2 3 4; do
    wait_for has_port "agent$i.log"
    names[i]=127.0.0.1:$(port_of "agent$i.log")
done
neuron-packager example conv -s 4 -o conv.neff
NEURON_PROCESS_TAG=faraway NEURON_HOOKS_DIR=$memory/machine3 neuron-bench exec conv.neff --cores 0 --rate 20 --duration 10m >/dev/null &
neuron-monitor --once --period 100ms >report
mkdir -m 700 "$memory/machine"
NEURON_HOOKS_DIR=$memory/machine neuron-bench machine >/dev/null
NEURON_HOOKS_DIR=$memory/machine neuron-monitor --once --period 100ms >machine

# fakes MODE...: starts fake agents; their names are in fakes[].
fakes() {
    rm -f ports # an earlier file would be there until the background shell has started
    python3 "$NTK_SOURCE_DIR/tests/top/fake_agents.py" report machine "$@" >ports &
    fake=$!
    wait_for eval 'grep -x end ports >/dev/null && echo yes'
    mapfile -t fakes < <(sed '/end/d; s/^/127.0.0.1:/' ports)
}
fakes silent garbage endless old ahead vendor doubtful

# Hosts that answer are shown even if others do not, worst first, then the busiest; an unknown value is never
# zero.
{
    echo '# machines'
    printf '%s # an agent\n' "${names[@]:1}"
    printf '  %s\n' "${fakes[@]}"
} >hosts.txt
state() { jq -r --arg host "$1" '.hosts[] | select(.host == $host) | .'"$2" list.json; }
busy() { neuron-top --connect "${names[3]}" --json --once | jq -e '.machine.executions_per_second > 0 or (.applications | length) > 0' >/dev/null && echo yes; }
wait_for busy
# An agent that gets no processor for a while does not answer in time; the accuracy of clocks depends on quick
# answers.
is_listed() {
    neuron-top --hosts hosts.txt --json --once >list.json
    [ "$(jq -r '[.hosts[].state] | join(" ")' list.json)" = "unreachable unreachable unreachable late unknown no devices no devices no devices no devices good good" ] &&
        [ "$(state "${fakes[4]}" '| (.clock_ahead_seconds - 3600 | fabs) <= .clock_error_seconds and .clock_error_seconds < 1800')" = true ] &&
        [ "$(state "${names[1]}" 'clock_error_seconds < 1800')" = true ] && echo yes # the first report of an agent may be of any age
}
wait_for is_listed
for i in 0 1 2; do
    [ "$(state "${fakes[i]}" 'state + " \(.utilization_percent) \(.age_seconds)"')" = "unreachable null null" ] || fail "fake host $i is not unreachable: $(cat list.json)"
done
[ "$(state "${fakes[0]}" error)" != null ] && greps 'longer than' <<<"$(state "${fakes[2]}" error)" || fail "unexpected messages: $(cat list.json)"
[ "$(state "${fakes[5]}" state)" = good ] && [ "$(state "${fakes[6]}" state)" = unknown ] || fail "reports of the vendor, and of a doubtful device: $(cat list.json)"
jq -e '[.hosts[] | select(.state == "no devices") | .device_memory_used_bytes] | length == 4 and all(. == null)' list.json >/dev/null || fail "unexpected result for memory of no device: $(cat list.json)"
[ "$(jq -r '.hosts[9].host' list.json)" = "${names[3]}" ] || fail "the busiest is not the first of the reachable hosts: $(cat list.json)"
[ "$(state "${fakes[3]}" 'clock_ahead_seconds')" = null ] || fail "expected no clock, found: $(cat list.json)"
in_text() {
    neuron-top $(printf -- "--connect %s " "${names[@]:1}" "${fakes[4]}") --once >frame
    greps ': 5 hosts' frame && greps "${names[3]} .*good" frame && greps '3\(599\|60[01]\)s ahead' frame && echo yes
}
wait_for in_text

# An invalid list is reported with one message.
code=0
echo 'ftp://x' >bad.txt
neuron-top --hosts bad.txt --once 2>err || code=$?
[ $code = 1 ] && [ "$(wc -l <err)" = 1 ] && greps "bad.txt, line 1: invalid URL 'ftp://x'" err || fail "an invalid list: unexpected exit code $code"
code=0
: >none.txt
neuron-top --hosts none.txt --once 2>err || code=$?
[ $code = 1 ] && greps 'none.txt contains no hosts' err || fail "an empty list: unexpected exit code $code"
code=0
mkfifo silent # without a writer
neuron-top --hosts silent --once 2>err || code=$?
[ $code = 1 ] && greps 'silent contains no hosts' err || fail "a FIFO: unexpected exit code $code"

# A terminal: a host opens and closes; one that dies keeps its last data, with their age.
tmx new-session -d -s keep cat
tmx new-session -d -s top -x 120 -y 30 "neuron-top --layout vendor --hosts hosts.txt; echo status=\$?; exec cat"
shows() { tmx capture-pane -p -t top | greps -e "$1" && echo yes; }
wait_for shows "${names[3]} *good "
kill -9 "${agents[3]}"
wait_for shows "${names[3]} *unreachable .*[1-9][.0-9]*s "
tmx send-keys -t top / "${names[3]}" Enter Enter
wait_for shows "running on ${names[3]}"
wait_for shows 'no response, data is [1-9][0-9]*s old: '
wait_for shows faraway
tmx send-keys -t top p
wait_for shows '>Processes<'
tmx send-keys -t top Escape
wait_for shows 'vCPU'
# Only the user's processes: the choice also applies to the host that is opened next.
tmx send-keys -t top p u
wait_for shows '>Processes<.* mine'
tmx send-keys -t top Escape
wait_for shows 'vCPU'
tmx send-keys -t top Escape
wait_for shows '>Hosts<'
tmx send-keys -t top Home / "${names[1]}" Enter Enter
wait_for shows "running on ${names[1]}"
tmx send-keys -t top p
wait_for shows '>Processes<.* mine'
tmx send-keys -t top Escape
wait_for shows 'vCPU'
tmx send-keys -t top Escape
wait_for shows '>Hosts<'
tmx send-keys -t top q
wait_for shows status=0
kill "$fake"

# 64 hosts: each frame has all of them, and later frames have newer reports of each.
fakes $(yes good | head -64)
printf '%s\n' "${fakes[@]}" >many.txt
neuron-top --hosts many.txt --json --batch >many.json &
many=$!
all_report_again() { jq -s -e 'length >= 3 and ([.[] | .hosts | sort_by(.host) | [.[].reports]] | transpose | all((.[0] < .[-1]) and . == sort))' many.json >/dev/null && echo yes; }
wait_for all_report_again
kill "$many"
[ "$(jq -s '[.[] | .hosts | length] | unique' -c <(sed '$d' many.json))" = "[64]" ] || fail "a frame does not have 64 hosts"
