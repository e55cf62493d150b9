# test_replay - neuron-top shows what the agent stored: from the beginning, from a given time, paused, stepped and
# sped up with keys.
. "$(dirname "$0")/../e2e/lib.sh"
needs neuron-top neuron-monitor neuron-bench neuron-packager tmux sqlite3
export COLUMNS=120 LC_ALL=C.UTF-8 TZ=UTC

# A recording: an application runs for a while, then none does.
neuron-monitor --quiet --db history.db &
agent=$!
neuron-packager example conv -s 4 -o conv.neff
stored() { sqlite3 -readonly history.db "select $1" 2>/dev/null; }
has_begun() { [ "$(stored 'count(*) from machine_sample')" -ge 1 ] && echo yes; }
wait_for has_begun
NEURON_PROCESS_TAG=yesterday neuron-bench exec conv.neff --cores 0 --rate 20 --duration 900 >/dev/null 2>&1 &
bench=$!
has_run() { [ "$(stored 'count(distinct time_ns) from execution_sample')" -ge 3 ] && echo yes; }
wait_for has_run
kill "$bench"
wait "$bench" || true
has_ended() { ended_ns=$(stored 'max(ended_ns) from process') && [ -n "$ended_ns" ] && echo yes; }
wait_for has_ended
ended_ns=$(stored 'max(ended_ns) from process')
# A late sample may be the first one for seconds: the third one after the end shows a machine without the
# application.
quiet() { [ "$(stored "count(*) from machine_sample where time_ns > $ended_ns")" -ge 5 ] && echo yes; }
wait_for quiet
after_s=$(stored "time_ns / 1000000000 + 1 from machine_sample where time_ns > $ended_ns order by time_ns limit 1 offset 2")
kill "$agent" && wait "$agent" || fail "the agent fails"

# Hardware errors are reported by name.
neuron-monitor --quiet --period 200ms --db hurt.db &
agent=$!
knows() { [ "$(sqlite3 -readonly hurt.db 'select count(*) from machine_sample' 2>/dev/null)" -ge 1 ] && echo yes; }
wait_for knows
NEURON_PROCESS_TAG=hurt NEURON_SOFT_FAULT=mem-ecc-corrected:at=1 neuron-bench exec conv.neff --cores 0 --duration 1s >/dev/null
hurts() { neuron-top --from hurt.db --at "$(date +%s)" --once --view events | greps ' error  *hurt .* HBM ECC corrected' && echo yes; }
wait_for hurts
kill "$agent" && wait "$agent" || fail "the second agent fails"

# At a moment after an error, the start times are those that were shown live: of the core's first error, and of the
# verdict, even when another reason is added. `query health` has one row for the reason that continues.
neuron-monitor --quiet --period 200ms --db dead.db 2>dead.log &
agent=$!
dead() { sqlite3 -readonly dead.db "select $1" 2>/dev/null; }
observes() { [ "$(dead 'count(*) from machine_sample')" -ge 1 ] && echo yes; }
wait_for observes
neuron-packager example deadlock -o deadlock.neff >/dev/null
NEURON_PROCESS_TAG=dying NEURON_RT_EXEC_TIMEOUT=1 neuron-bench exec deadlock.neff --cores 0 --duration 900 >dying.log 2>&1 &
bench=$!
has_failed() { [ "$(dead "count(*) from error_log")" -ge 1 ] && echo yes; }
wait_for has_failed
NEURON_PROCESS_TAG=other NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec conv.neff --cores 1 --duration 1s >/dev/null 2>&1 || true
has_two() { [ "$(dead "count(distinct reason) from device_health where verdict = 'unhealthy'")" -ge 2 ] && echo yes; }
wait_for has_two
later_s=$(dead "max(time_ns) / 1000000000 + 3 from device_health")
has_new_samples() { [ "$(dead "max(time_ns) / 1000000000 from machine_sample")" -gt "$later_s" ] && echo yes; }
wait_for has_new_samples
kill -KILL "$bench" && wait "$bench" 2>/dev/null || true
is_over() { [ "$(dead "count(ended_ns) from process where tag = 'dying'")" = 1 ] && echo yes; }
wait_for is_over
kill "$agent" && wait "$agent" || fail "the third agent fails"
# Newer kernels report the signal.
killed='killed \(by SIGKILL\|or crashed\)'
neuron-monitor query events --db dead.db --csv --kind end | greps ",end,dying,.*,$killed," || fail "no signal in query events"
over_ns=$(dead "ended_ns from process where tag = 'dying'")
frames=$(dead "count(*) from machine_sample where time_ns between $over_ns / 1000000000 * 1000000000 and $over_ns")
neuron-top --from dead.db --at "$((over_ns / 1000000000))" --batch --count "$frames" --view events >frames || fail "--from --at fails"
grep -q " end  *-* *dying .* $killed" frames || fail "no signal in --view events: $(cat frames)"
failed=$(dead "strftime('%H:%M:%S', min(time_ns) / 1000000000, 'unixepoch') from error_log")
unhealthy=$(dead "strftime('%H:%M:%S', min(time_ns) / 1000000000, 'unixepoch') from device_health where verdict = 'unhealthy'")
COLUMNS=240 neuron-top --from dead.db --at "$later_s" --once >frame || fail "--at fails"
grep -q "dead since $failed" frame || fail "the core is not dead since $failed: $(cat frame)"
grep -q "unhealthy since $unhealthy" frame || fail "the device is not unhealthy since $unhealthy: $(cat frame)"
neuron-monitor query health --db dead.db --csv >health
[ "$(grep -c ',unhealthy,execution_timeout,' health)" = 1 ] || fail "unexpected output: $(cat health)"
grep -q ',unhealthy,hbm_uncorrectable,replace_instance,1,[01],' health || fail "no core: $(cat health)"

neuron-top --from history.db --batch --count 3 >frames || fail "--from fails"
[ "$(grep -c 'neuron-top' frames)" -ge 3 ] || fail "unexpected result for the first frames: $(cat frames)"
began_s=$(stored 'min(time_ns) / 1000000000 + 1 from execution_sample')
neuron-top --from history.db --at "$began_s" --batch --count 3 >frames || fail "--from --at fails"
grep -q yesterday frames || fail "the application is not in the frames of its time: $(cat frames)"
neuron-top --from history.db --at "$after_s" --once >frame || fail "--at fails"
! grep -q yesterday frame || fail "the application is shown after its exit"
grep -q 'neuron-top' frame || fail "no frame"
# The time before the first shown moment is available: in the graphs and in the log.
neuron-top --from history.db --at "$after_s" --once --view graphs >frame || fail "cannot show graphs"
grep -q 'Executions/s .* to [1-9]' frame || fail "the graphs begin at the moment that is shown: $(cat frame)"
neuron-top --from history.db --at "$after_s" --once --view events >frame || fail "cannot show events"
grep -q ' load  *yesterday ' frame || fail "the log begins at the moment that is shown: $(cat frame)"
# A list that a recording cannot fill names the command that has the answer; an --at far away is not silent.
neuron-top --from history.db --at "$after_s" --once --view ranks >frame || fail "cannot show ranks"
grep -q 'recordings contain no ranks: use neuron-monitor query ranks' frame || fail "no reason for missing ranks: $(cat frame)"
grep -q -e '--at' frame && fail "a moment of the recording is reported as missing: $(cat frame)"
for far in 1000000000 4000000000; do
    neuron-top --from history.db --at $far --once --layout overview >frame || fail "--at $far fails"
    grep -q 'recorded at .*; nothing was recorded at the time of --at' frame || fail "--at $far: no message: $(cat frame)"
done
for wrong in "--from nothing.db" "--from conv.neff"; do
    code=0
    neuron-top $wrong --once >/dev/null 2>err || code=$?
    [ $code = 1 ] && [ "$(wc -l <err)" = 1 ] || fail "$wrong: unexpected exit code $code"
done
for usage in "--at 2026-01-01" "--from history.db --at yesterday" "--from history.db --stdin"; do
    code=0
    neuron-top $usage --once >/dev/null 2>err || code=$?
    [ $code = 2 ] || fail "$usage: unexpected exit code $code"
done

tmx new-session -d -s keep cat
tmx new-session -d -s top -x 120 -y 40 "neuron-top --from history.db; echo status=\$?; exec cat"
shows() { tmx capture-pane -p -t top | greps -e "$1" && echo yes; }
moment() { tmx capture-pane -p -t top | sed -n 's/.*recorded at \([0-9: -]*\).*/\1/p'; }
wait_for shows 'recorded at 20.*UTC'
tmx send-keys -t top Space
wait_for shows paused
# A recording plays until it is paused, and a step of a minute may not reach an end: the test moves to both ends.
first=$(neuron-top --from history.db --once | sed -n 's/.*recorded at \([0-9: -]*\).*/\1/p')
moved() { [ "$(moment)" != "$first" ] && [ -n "$(moment)" ] && echo yes; }
is_first() { [ "$(moment)" = "$first" ] && echo yes; }
goes_to_first() { is_first || tmx send-keys -t top '{'; }
goes_to_end() { shows 'end of the recording' || tmx send-keys -t top '}'; }
wait_for goes_to_first
tmx send-keys -t top ']'
wait_for moved
tmx send-keys -t top '['
wait_for is_first
tmx send-keys -t top '>' '>'
wait_for shows ', 4 x'
tmx send-keys -t top '<' '<' '<'
wait_for shows ', 1/2 x'
wait_for goes_to_end
wait_for goes_to_first
wait_for goes_to_end
tmx send-keys -t top l
wait_for shows ' load  *yesterday '
log_of() { tmx capture-pane -p -t top | sed -n 's/^\([0-9]*\) events.*/\1/p'; }
all=$(log_of)
wait_for goes_to_first
wait_for goes_to_end
has_all() { [ "$(log_of)" = "$all" ] && echo yes; }
wait_for has_all # no event twice, and none missing
wait_for goes_to_first
tmx send-keys -t top '>' Space # continues playing; the log keeps what the screen shows only for a moment
wait_for shows ' load  *yesterday '
tmx send-keys -t top q
wait_for shows status=0

# Space also freezes the present.
tmx kill-session -t top
tmx new-session -d -s top -x 120 -y 40 "neuron-top --layout vendor; echo status=\$?; exec cat"
wait_for shows 'vCPU'
tmx send-keys -t top Space
wait_for shows frozen
tmx send-keys -t top Space
thawed() { [ "$(shows frozen)" = yes ] || echo yes; }
wait_for thawed
tmx send-keys -t top q
wait_for shows status=0
