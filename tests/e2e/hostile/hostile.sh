#!/bin/bash
# hostile - three users attack the folders of segments at full effort (see hostile_user.c), and one runs honest jobs,
# long and short. Reports, page and database have each of its executions exactly once, and the attackers cost bounded
# memory and time.
. "$NTK_SOURCE_DIR/tests/support/apart.sh"
. "$(dirname "$0")/../lib.sh"
needs jq sqlite3 setpriv curl
open_to_others "$scratch"
seconds=${NTK_HOSTILE_SECONDS:-2}

neuron-packager example memcpy -o memcpy.neff
# A valid segment for others to forge: from a killed job.
neuron-bench exec memcpy.neff --duration 600s --rate 100 >/dev/null 2>&1 &
template_job=$!
has_executions() { neuron-top --once -d 200ms --json | jq -e '.models[0].executions > 20' >/dev/null && echo yes; }
wait_for has_executions
cp "$(segment)" template
kill -9 "$template_job"
wait "$template_job" 2>/dev/null || true
honest() { # USER TAG ARGUMENT...
    env -u NEURON_HOOKS_DIR NEURON_SOFT_INSTANCE=trn1.2xlarge NEURON_PROCESS_TAG="$2" \
        setpriv --reuid "$1" --regid "$1" --clear-groups neuron-bench exec "$scratch/memcpy.neff" "${@:3}"
}

( # the agent has to raise its limit of descriptors
    ulimit -Sn 256
    exec env -u NEURON_HOOKS_DIR neuron-monitor --period 500ms --db t.db --prometheus 127.0.0.1:0 --verbose 1 >reports.jsonl 2>agent.log
) &
agent=$!
is_up() { [ -s reports.jsonl ] && grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for is_up
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
honest 1001 long -n $((seconds * 200)) --rate 200 >long.out 2>&1 &
long=$!
sees_long() { grep -q '"neuron_runtime_tag":"long"' reports.jsonl && echo yes; }
wait_for sees_long # from now on the agent's mark is in that user's folder
hostile=()
for uid in 65534 65533 65532; do
    "$NTK_BUILD_DIR/tests/hostile_user" "$uid" template &
    hostile+=($!)
done
for i in 1 2 3 4; do
    honest 1001 short -n 50 >>short.out 2>&1 || fail "a short job failed: $(tail -3 short.out)"
done
wait "$long" || fail "the long job exited with $?: $(tail -3 long.out)"
sum_of() { jq -s --arg tag "$1" '[.[].neuron_runtime_data[] | select(.neuron_runtime_tag == $tag).report.execution_stats.execution_summary.completed] | add // 0' reports.jsonl; }
mb=$(awk '$1 == "RssAnon:" { print int($2 / 1024) }' "/proc/$agent/status") # its mappings belong to the other users
kill -9 "${hostile[@]}"
wait "${hostile[@]}" 2>/dev/null || true
all_there() { [ "$(sum_of long)" = $((seconds * 200)) ] && [ "$(sum_of short)" = 200 ] && echo yes; }
wait_for all_there
# Scrapes the page for Prometheus until it agrees with the reports. Its totals outlive their jobs for only a few
# scrapes, so the highest value of all scrapes counts.
page_sum() { awk -v tag="runtime_tag=\"$1\"" '/^execution_status_total[{]/ && index($0, tag) && /status_type="completed"/ { all += $NF }
    END { print all + 0 }' metrics; }
highest() { sort -n "$1.seen" | tail -1; }
page_agrees() {
    curl -sf "http://127.0.0.1:$port/metrics" >metrics || fail "cannot get the page"
    page_sum long >>long.seen
    page_sum short >>short.seen
    [ "$(highest long) $(highest short)" = "$(sum_of long) $(sum_of short)" ] && echo yes
}
at_failure() { # the count of each
    echo "page: long $(highest long), short $(highest short); reports: long $(sum_of long), short $(sum_of short)"
    grep -E '^(neuron_monitor_other_applications|execution_status_total[{].*runtime_tag="(long|short|other)".*"completed")' metrics || true
} >seen.log
wait_for page_agrees
invented=$(find /dev/shm/neuron-6553? -type f -name '[1-9]*-*' | wc -l)
kill -TERM "$agent"
wait "$agent" || fail "the agent exited with $?"

[ "$(all_there)" = yes ] || fail "reports have more executions than occurred"
for tag in long short; do
    expected=$([ $tag = long ] && echo $((seconds * 200)) || echo 200)
    stored=$(sqlite3 -readonly t.db "SELECT (SELECT coalesce(sum(completed), 0) FROM execution_sample JOIN process USING (process_id)
        WHERE tag = '$tag' AND uid = 1001) + (SELECT coalesce(sum(completed), 0) FROM unwatched JOIN process USING (process_id)
        WHERE tag = '$tag' AND uid = 1001)")
    [ "$stored" = "$expected" ] || fail "the database has $stored of $expected executions of $tag"
done
[ "$(sqlite3 -readonly t.db 'SELECT count(*) FROM process WHERE uid = 1001')" = 5 ] || fail "the database has other jobs than those five"
rows=$(sqlite3 -readonly t.db 'SELECT count(*) FROM process WHERE uid <> 1001')
# Each of three users may have 1024 processes at once and one new per second, plus a row for the rest in each period
# of half a second.
lasted=$(sqlite3 -readonly t.db 'SELECT (max(time_ns) - min(time_ns)) / 1000000000 + 1 FROM machine_sample')
[ "$rows" -le $((3 * (1024 + 3 * lasted + 60))) ] || fail "$rows processes of other users are stored"
[ "$mb" -le 512 ] || [ -n "$NTK_SANITIZE" ] || fail "the agent has $mb MB"
echo "$lasted s, $invented files of others left, $rows processes of others stored, agent: $mb MB, reports $(stat -c %s reports.jsonl) bytes"
