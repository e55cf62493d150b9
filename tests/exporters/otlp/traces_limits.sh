#!/bin/bash
# traces_limits - spans of two users on a machine with 128 cores, while the collector is down and the disk of the spool
# is full: each span that the rules choose arrives or is counted as lost, no user takes the room of another, and each
# user's agent sends that user's spans only.
. "$NTK_SOURCE_DIR/tests/support/apart.sh"
. "$(dirname "$0")/../../e2e/lib.sh"
needs neuron-monitor neuron-bench neuron-packager jq curl setpriv
needs_python grpc
skip_sanitized
. "$(dirname "$0")/collector.sh"
open_to_others "$scratch"
export LD_LIBRARY_PATH=$NTK_LIB_DIR NEURON_RT_LOG_LEVEL=QUIET NEURON_SOFT_INSTANCE=trn2.48xlarge NEURON_LOGICAL_NC_CONFIG=1
export -n NEURON_HOOKS_DIR # each user has a folder

neuron-packager example memcpy -o memcpy.neff >/dev/null
chmod 644 memcpy.neff
# job USER TAG ARGUMENT...: executions of that user.
job() {
    as_user "$1" env -u NEURON_HOOKS_DIR NEURON_PROCESS_TAG="$2" neuron-bench exec "$scratch/memcpy.neff" "${@:3}" >"$scratch/$2.log" 2>&1 ||
        fail "the job of user $1 fails: $(tail -3 "$scratch/$2.log")"
}
agent() { # NAME OPTION...: root's agent; sets $agent
    env -u NEURON_HOOKS_DIR OTEL_METRICS_EXPORTER=none neuron-monitor --period 500ms --quiet --no-imds --otlp="http://127.0.0.1:$port" \
        --otlp-traces=every=1 --prometheus 127.0.0.1:0 --verbose 1 "${@:2}" 2>"$1.err" &
    agent=$!
    log=$1.err
    wait_for eval 'page >/dev/null && echo yes'
    watched 1001 1002
}
page() { curl -sf --max-time "$patience" "http://127.0.0.1:$(sed -n 's/.*serving metrics on port //p' "$log")/metrics"; }
count() { page | sed -n 's/^neuron_monitor_output_items_total{output="otlp traces",result="'"$1"'"} //p'; }
waiting() { page | awk '/^neuron_monitor_output_waiting_items\{output="otlp traces"/ { sum += $NF } END { print sum + 0 }'; }
overwritten() { page | awk '/^neuron_monitor_events_lost_total/ { sum += $NF } END { print sum + 0 }'; }
spans() { find "$1" -name '*.traces' | sort | xargs -r "$python" "$here/decode.py"; }
of_tag() { spans "$1" | jq -s "map(select(.attributes[\"neuron.runtime_tag\"] == \"$2\" and .attributes[\"neuron.execution.id\"])) | length"; }

at_failure() { page | grep -E 'output_items|waiting_items|events_lost|segments' >page.log; }

# 128 cores of two users, in one period: every core has its spans.
collector receiver.py cores
agent cores
job 1001 many --cores 0-127 --count 1280
job 1002 few --cores 0-3 --count 20
chosen=$((1280 + 128 + 20 + 4)) # and a load for each core
all_are_sent() { [ $(($(count sent) + $(overwritten))) -ge $chosen ] && echo yes; }
wait_for all_are_sent
kill $agent && wait $agent || fail "the agent fails"
spans cores >cores.jsonl
jq -se 'map(select(.attributes["neuron.runtime_tag"] == "many") | .attributes["neuron.core"]) | unique == [range(0; 128)]' \
    cores.jsonl >/dev/null || fail "not every core has spans"
[ "$(of_tag cores few)" = 20 ] || fail "$(of_tag cores few) of 20 spans of the second user"
kill $last && wait $last 2>/dev/null || true

# The collector is down and the disk of the spool is full; one user floods. What is chosen waits, is sent or is counted.
mkdir disk
mount -t tmpfs -o size=512k,mode=700 tmpfs disk || skip "cannot mount a tmpfs"
agent full --otlp-spool disk/spool
job 1001 flood --cores 0 --count 9000 --threads 1
job 1002 calm --cores 1 --count 30 --threads 1
chosen=$((9000 + 1 + 30 + 1))
sum() { echo $(($(count sent) + $(count lost) + $(waiting) + $(overwritten))); }
all_are_counted() { [ "$(sum)" -ge $chosen ] && echo yes; }
wait_for all_are_counted
has_lost() { [ "$(count lost)" -gt 0 ] && echo yes; }
wait_for has_lost # the disk is smaller than the flood
greps 'cannot write to the spool: No space left on device' <full.err || fail "the disk is not full"
[ "$(sum)" -le $((chosen + $(overwritten))) ] || fail "$(sum) of $chosen are counted"
as_user 1002 ls disk/spool >/dev/null 2>&1 && fail "another user reads the spool"
# The same address again.
export NTK_RECEIVER_PORT=$port
collector receiver.py later
unset NTK_RECEIVER_PORT
nothing_waits() { [ "$(waiting)" = 0 ] && echo yes; }
wait_for nothing_waits
job 1002 after --cores 1 --count 7 --threads 1
chosen=$((chosen + 8))
has_after() { [ "$(of_tag later after)" = 7 ] && echo yes; } # overwritten events can make the sum larger than expected
wait_for has_after
wait_for all_are_counted
sent=$(count sent) lost=$(count lost) gone=$(overwritten)
kill $agent && wait $agent || fail "the agent fails: $(tail -3 full.err)"
[ $((sent + lost)) -le $chosen ] && [ $((sent + lost + gone)) -ge $chosen ] || fail "$sent sent, $lost lost, $gone overwritten of $chosen"
[ "$(spans later | wc -l)" = "$sent" ] || fail "$(spans later | wc -l) of $sent spans arrive"
spans later | jq -se '(map(.span_id) | unique | length) == length' >/dev/null || fail "a span arrived twice"

# An agent of the second user sends that user's spans only, and cannot take root's spool.
code=0
as_user 1002 env -u NEURON_HOOKS_DIR neuron-monitor --once --no-imds --quiet --otlp="http://127.0.0.1:$port" --otlp-spool "$scratch/disk/spool" 2>refused.err || code=$?
[ $code = 1 ] && grep -q 'Permission denied' refused.err || fail "root's spool: code $code, $(cat refused.err)"
kill $last && wait $last 2>/dev/null || true
collector receiver.py own
setpriv --reuid 1002 --regid 1002 --clear-groups env -u NEURON_HOOKS_DIR OTEL_METRICS_EXPORTER=none neuron-monitor --period 300ms --quiet --no-imds --otlp="http://127.0.0.1:$port" --otlp-traces=every=1 2>own.err &
agent=$!
watched 1002
job 1001 theirs --cores 0 --count 5
job 1002 mine --cores 1 --count 5
has_mine() { [ "$(of_tag own mine)" = 5 ] && echo yes; }
wait_for has_mine
kill $agent && wait $agent || fail "the user's agent fails: $(cat own.err)"
[ "$(of_tag own theirs)" = 0 ] || fail "a user's agent sends spans of another user"
umount disk
