# live - neuron-ls as a program: while neuron-bench runs, on both layouts of the tree, many at once, without a
# machine, and its exit codes.
. "$(dirname "$0")/../../e2e/lib.sh"
needs jq

code() { # expected, command...: stdout to out, stderr to err
    local want=$1 got=0
    shift
    "$@" >out 2>err || got=$?
    [ "$got" = "$want" ] || fail "'$*' exited with $got, not $want"
}

# Without a machine: the vendor's words, nothing on stdout.
if [ ! -e /sys/devices/virtual/neuron_device ]; then
    code 1 env -u NEURON_SOFT_INSTANCE neuron-ls
    [ ! -s out ] || fail "stdout is not empty without devices"
    grep -q '^FATA\[0000\] Failed to discover neuron devices             error="Unable to read device information from the driver\. Make sure aws-neuronx-dkms is installed and the neuron driver is accessible\."$' err ||
        fail "see err"
    # The machine that the variable names exists at the first look.
    mkdir -m 700 first second
    NEURON_HOOKS_DIR=$scratch/first code 0 env NEURON_SOFT_INSTANCE=inf2.8xlarge neuron-ls
    grep -q 'instance-type: inf2.8xlarge' out || fail "unexpected instance type at first"
    NEURON_HOOKS_DIR=$scratch/second code 0 env NEURON_SOFT_INSTANCE=trn1.2xlarge neuron-top --once -d 200ms
    grep -q 'trn1.2xlarge' out && ! grep -q 'no Neuron device' out || fail "unexpected first screen"
    # A machine that cannot be built has the reason of neuron-bench.
    mkdir -m 700 third
    for command in neuron-ls "neuron-top --once" "neuron-monitor diag"; do
        NEURON_HOOKS_DIR=$scratch/third code 1 env NEURON_SOFT_INSTANCE=foo $command
        [ ! -s out ] && grep -q "^${command% --once}: cannot create the software machine: .*unknown machine 'foo'" err ||
            fail "$command: $(cat out err)"
    done
fi
# Missing permission is not absence: every program names the folder that this user may not read.
if [ ! -e /sys/devices/virtual/neuron_device ] && [ "$(id -u)" = 0 ] && "${as_nobody[@]}" true; then
    mkdir -m 700 private
    NEURON_HOOKS_DIR=$scratch/private neuron-bench machine >/dev/null
    (
        open_to_others "$scratch"
        export NEURON_HOOKS_DIR=$scratch/private
        denied="permission denied for '$scratch/private/soft/sys'"
        "${as_nobody[@]}" neuron-ls >out 2>err && fail "neuron-ls succeeds without permission"
        grep -qF "$denied" err || fail "unexpected result for neuron-ls: $(cat err)"
        "${as_nobody[@]}" neuron-monitor diag >out 2>err || true
        grep -qF "$denied" out || fail "unexpected result for diag: $(cat out err)"
        ! grep -q 'neuron-bench machine' out || fail "diag advises to create a machine"
        "${as_nobody[@]}" env COLUMNS=200 neuron-top --once -d 200ms >out 2>err
        grep -qF "$denied" out || fail "unexpected result for neuron-top: $(cat out err)"
        ! grep -q 'neuron-bench machine' out || fail "neuron-top advises to create a machine"
        "${as_nobody[@]}" neuron-monitor --no-imds --once --period 100ms >out 2>err
        jq -e --arg denied "$denied" '[.neuron_hardware_info, .system_data.neuron_hw_counters] |
            all(.error | contains($denied))' out >/dev/null || fail "report: $(cat out err)"
    )
fi
mkdir -p empty/devices/virtual/neuron_device
code 1 neuron-ls --sysfs-root empty
grep -q '^FATA\[0000\] No neuron device available$' err || fail "see err"
code 2 neuron-ls --no-such-option
code 2 neuron-ls word
code 2 neuron-ls --output-format yaml
code 2 neuron-ls -j --json
code 2 neuron-ls --count 3
code 2 neuron-ls --watch --delay 1ms
code 2 neuron-ls --delay 5s
code 0 neuron-ls --help
[ "$(wc -L <out)" -le 80 ] || fail "--help is wider than 80 columns"

# The names in the JSON are those of its page, in the array and in the object.
page=$NTK_SOURCE_DIR/docs/formats/ls-json.md
golden=$NTK_SOURCE_DIR/tests/top/ls/golden
sed -n 's/^| \(`[^|]*`\) |.*/\1/p' "$page" | tr -d '`,' | tr ' ' '\n' | sort -u >documented
jq -r '.. | objects | keys[]' "$golden"/*_object.txt | sort -u >written
diff documented written || fail "the page and the object differ"
sed -n '/^## A/,$s/^| \(`[^|]*`\) | yes .*/\1/p' "$page" | tr -d '`,' | tr ' ' '\n' | sort -u >documented
jq -r '.. | objects | keys[]' "$golden"/*_array.txt | grep -vxE 'instance_(type|id)|logical_neuroncore_config' | sort -u >written
diff documented written || fail "the page and the array differ"

# While a model runs.
neuron-packager example memcpy -o memcpy.neff >/dev/null
neuron-bench exec memcpy.neff --cores 1 --rate 20 --duration 900 >bench.out 2>&1 &
bench=$!
listed() { neuron-ls -j | jq -r 'if (.[0].neuron_processes | length) > 0 then "yes" else "no" end'; }
wait_for listed
whole() { # the tree of a machine that is being created gets its numbers one by one
    neuron-ls >table && grep -q "^| 0 .*| $bench *| neuron-bench exec memcpy.neff --cores\.\.\. |.*| -1 *| 2\.31\.24\.0 |$" table && echo yes
}
wait_for whole
[ "$(head -2 table)" = $'instance-type: trn1.2xlarge\ninstance-id: i-local' ] || fail "unexpected output: $(cat table)"
neuron-ls --json | jq -e --argjson pid "$bench" '.neuron_devices[0].neuron_processes[0] |
    .pid == $pid and .neuroncore_ids == [1] and (.command_line | endswith("--duration 900"))' >/dev/null ||
    fail "unexpected output: $(neuron-ls --json)"
# Which process holds a core, before a start and in its error message.
code 3 neuron-ls --why 0-1
printf 'core 0 free\ncore 1 held by process %s (neuron-bench) of %s since T\nneuron-bench exec memcpy.neff --cores 1 --rate 20 --duration 900\n' \
    $bench "$(id -un)" >expected
sed 's/  */ /g; s/^ //; s/since 20.*Z$/since T/' out | diff expected - || fail "unexpected output of --why 0-1"
code 3 neuron-ls --why 1 --json
jq -e --argjson pid $bench '.neuroncores[0] | .core == 1 and .state == "held" and (.holders[0] | .pid == $pid and .known_by == "lock" and .stale == null)' out >/dev/null ||
    fail "see out"
code 0 neuron-ls --why 0
for wrong in '--why 2' '--why x' '--why 0 --watch'; do
    # shellcheck disable=SC2086
    code 2 neuron-ls $wrong
done
code 1 neuron-bench exec memcpy.neff --cores 0-1 --count 1
grep -qE "NeuronCore\\(s\\) not available - Requested:nc0-nc1 Available:1; nc1: process $bench \\(neuron-bench\\) of $(id -un) since 20[0-9T:-]*Z " err || fail "see err"
kill -STOP $bench
is_stopped() { { neuron-ls --why 1 || true; } | greps 'stale? stopped$' && echo yes; }
wait_for is_stopped
kill -CONT $bench
neuron-ls -a | greps "| neuron-ls -a  *| NA  *|" || fail "-a does not show itself: $(neuron-ls -a)"
neuron-ls -a -j | jq -e '.[0].neuron_processes | map(.neuron_runtime_version) | sort == ["2.31.24.0", "NA"]' >/dev/null ||
    fail "unexpected result for -a -j: $(neuron-ls -a -j)"
code=0
neuron-ls >/dev/full 2>err || code=$?
[ $code = 1 ] && grep -q '^neuron-ls: cannot write to stdout: ' err || fail "a full disk: unexpected exit code $code"
neuron-monitor --period 100ms >/dev/null &
agent=$!
agent_listed() { neuron-ls -a | greps "| $agent *| neuron-monitor" && echo yes; }
wait_for agent_listed
kill "$agent"

# Many concurrent calls print the same output.
neuron-ls -j >one
many=()
for i in {1..24}; do
    neuron-ls -j >"many.$i" &
    many+=($!)
done
for i in {1..24}; do
    wait "${many[$((i - 1))]}" || fail "one of many failed"
    cmp -s one "many.$i" || fail "one of many differs: $(diff one "many.$i" | head -3)"
done

# --watch: the requested number of outputs, and the end by a signal.
neuron-ls --watch --delay 100ms --count 3 >watched
[ "$(grep -c '^instance-type: ' watched)" = 3 ] || fail "--watch --count 3: $(grep -c '^instance-type: ' watched) outputs"
neuron-ls --watch --delay 100ms >again &
watcher=$!
twice() { [ "$(grep -c '^instance-type: ' again)" -ge 2 ] && echo yes; }
wait_for twice
kill -INT "$watcher"
wait "$watcher" || fail "--watch exited with $?"
neuron-ls --watch --delay 100ms | head -1 >/dev/null || fail "a closed pipe counts as an error"
kill "$bench"
wait "$bench" 2>/dev/null || true

# On a terminal a table replaces the previous one. A machine that disappears is reported once and waited for.
script -qec 'neuron-ls --watch --delay 100ms --count 2' /dev/null </dev/null >terminal
[ "$(grep -c $'^\e\[H\e\[2Jinstance-type: ' terminal)" = 2 ] || fail "unexpected output: $(cat -v terminal)"
rm again
neuron-ls --watch --delay 100ms >again 2>err &
watcher=$!
wait_for twice
neuron-bench machine --remove
has_message() { [ -s err ] && echo yes; }
[ -e /sys/devices/virtual/neuron_device ] || wait_for has_message
neuron-bench machine >/dev/null
outputs=$(grep -c '^instance-type: ' again)
more() { [ "$(grep -c '^instance-type: ' again)" -gt "$outputs" ] && echo yes; }
wait_for more
kill -INT "$watcher"
wait "$watcher" || fail "--watch exited with $? after the machine disappeared and returned"
[ "$(grep -c ^FATA err)" -le 2 ] || fail "a message is repeated"
neuron-bench machine --remove

# Logical cores have the size that the running process reports, independent of the environment of neuron-ls.
NEURON_SOFT_INSTANCE=trn2.3xlarge NEURON_RT_VIRTUAL_CORE_SIZE=1 \
    neuron-bench exec memcpy.neff --cores 3 --rate 20 --duration 900 >bench.out 2>&1 &
bench=$!
# neuron-ls builds the machine that NEURON_SOFT_INSTANCE names if none exists yet.
NEURON_SOFT_INSTANCE=trn2.3xlarge wait_for listed
NEURON_RT_VIRTUAL_CORE_SIZE=2 neuron-ls --json >lnc
jq -e '.logical_neuroncore_config == 1 and .neuron_devices[0].nc_count == 8 and
    .neuron_devices[0].neuron_processes[0].neuroncore_ids == [3]' lnc >/dev/null || fail "unexpected output: $(cat lnc)"
kill "$bench"
wait "$bench" 2>/dev/null || true
NEURON_RT_VIRTUAL_CORE_SIZE=2 neuron-ls --json | jq -e '.logical_neuroncore_config == 2' >/dev/null ||
    fail "the size of logical cores comes from a process that exited"

# Unreadable files are reported. Root may read everything, unless it drops that capability.
unprivileged() { "$@"; }
if [ "$(id -u)" = 0 ]; then
    unprivileged() { setpriv --bounding-set=-dac_override,-dac_read_search "$@"; }
fi
if unprivileged true 2>/dev/null; then
    chmod 0 "$NEURON_HOOKS_DIR/soft"
    code 1 unprivileged neuron-ls
    chmod 700 "$NEURON_HOOKS_DIR/soft"
    [ -e /sys/devices/virtual/neuron_device ] || grep -q "permission denied for '$NEURON_HOOKS_DIR/soft/sys'" err || fail "see err"
    mkdir -p closed/devices/virtual/neuron_device
    chmod 0 closed/devices
    code 1 unprivileged neuron-ls --sysfs-root closed
    chmod 700 closed/devices
    grep -q 'permission denied for '\''closed/devices/virtual/neuron_device'\''' err || fail "see err"
else
    echo "root cannot give up its rights here: what may not be looked at was not tried"
fi
neuron-bench machine --remove

# A device with a fault has a line below the table while the fault lasts; its neighbour has none.
NEURON_SOFT_INSTANCE=inf2.24xlarge neuron-packager example memcpy -o fault.neff
NEURON_SOFT_INSTANCE=inf2.24xlarge NEURON_SOFT_FAULT=sram-ue:at=1 neuron-bench exec fault.neff --cores 2 --count 1 >/dev/null 2>&1 &&
    fail "an invalid fault was accepted"
neuron-ls >out
[ "$(grep '^Device ' out)" = 'Device 1 is unhealthy (sram_uncorrectable): on-chip memory has errors that cannot be corrected; terminate the instance and start another one' ] ||
    fail "see out"
[ "$(neuron-ls --json | jq -c '[.neuron_devices[0, 1].health]')" = '[{"verdict":"healthy","action":"none","reasons":[]},{"verdict":"unhealthy","action":"replace_instance","reasons":["sram_uncorrectable"]}]' ] ||
    fail "unexpected output: $(neuron-ls --json)"
neuron-bench machine --remove

# Both layouts, a named tree, and the same without the hooks folder.
for layout in old new; do
    NEURON_SOFT_SYSFS=$layout NEURON_SOFT_INSTANCE=inf2.24xlarge neuron-bench machine >/dev/null
    neuron-ls -t >"table.$layout"
    neuron-ls --json | jq 'del(.driver_version)' >"json.$layout"
    neuron-ls --sysfs-root "$NEURON_HOOKS_DIR/soft/sys" >named
    grep -q '| 5 .*| 4 .*| 0000:20:1d.0 |' named || fail "unexpected output: $(cat named)"
    NEURON_HOOKS_DIR=$scratch/elsewhere neuron-ls --sysfs-root "$NEURON_HOOKS_DIR/soft/sys" | greps '| 5 .*| 4 ' ||
        fail "a named tree is not read"
    [ $layout = new ] || cp -r "$NEURON_HOOKS_DIR/soft/sys" copy
    neuron-bench machine --remove
done
cmp table.old table.new || fail "the layouts differ"
cmp json.old json.new || fail "the layouts differ in JSON"
# A copy is like a driver's tree: with several devices, the addresses cannot be assigned.
neuron-ls --sysfs-root copy >table
grep -q '^    0000:20:1d\.0  CPUs 24-47,72-95  NUMA node 1$' table && ! grep '^|' table | greps BDF || fail "unexpected output: $(cat table)"
neuron-ls --sysfs-root copy --json | jq -e '(.pci_devices | length) == 6 and .neuron_devices[0].bdf == ""' >/dev/null ||
    fail "unexpected output: $(neuron-ls --sysfs-root copy --json)"
grep -q '◄––►\[ 4 \]◄––►\[ 5 \]$' table.old || fail "unexpected output: $(cat table.old)"
