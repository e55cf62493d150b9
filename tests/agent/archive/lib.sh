# lib.sh - common functions of the archive tests; source it after tests/e2e/lib.sh.
here=$NTK_SOURCE_DIR/tests/agent/archive

needs_readers() {
    needs sqlite3 jq
    needs_npm @duckdb/node-api hyparquet-compressors
}

# ask SQL...: prints answers of DuckDB.
ask() { node "$here/ask.mjs" "$tools" "$@"; }

# move_history FILE NS: moves everything that much earlier.
move_history() {
    sqlite3 "$1" "$(for column in machine_sample.time_ns device_sample_packed.time_ns process_sample_packed.time_ns core_sample_packed.time_ns \
        execution_sample.time_ns model_sample.time_ns memory_sample.time_ns memory_log.time_ns error_log.time_ns model_log.time_ns \
        mark_log.time_ns device_health.time_ns unwatched.time_ns machine.since_ns device.since_ns process.first_seen_ns process.last_seen_ns \
        model.first_seen_ns model.last_seen_ns; do
        echo "update ${column%.*} set ${column#*.} = ${column#*.} - $2;"
    done)" || fail "cannot create an old database"
}

# make_history FILE: writes a database of an agent about busy software cores, all within one hour of the clock.
make_history() {
    local agent
    history_file=$1
    rm -f reports
    neuron-packager example attention -o a.neff >/dev/null
    neuron-monitor --db "$1" --no-imds --period 1s >reports 2>agent.err &
    agent=$!
    wait_for has_reports reports
    NEURON_PROCESS_TAG='jöb, "1"' neuron-bench exec a.neff --count 50 >/dev/null 2>&1 || fail "no run"
    wait_for has_history
    kill $agent && wait $agent || fail "the agent failed"
    [ "$(sqlite3 -readonly "$1" 'select min(time_ns) / 3600000000000 = max(time_ns) / 3600000000000 from core_sample')" = 1 ] ||
        move_history "$1" 600000000000
}
has_history() {
    [ "$(sqlite3 -readonly "$history_file" 'select coalesce(sum(completed), 0) >= 50 from execution_sample')" = 1 ] && echo yes
}

# start_s3 FOLDER: starts a service that speaks S3, and sets $AWS_ENDPOINT_URL_S3 and the keys in the environment.
start_s3() {
    needs_python botocore
    mkdir -p "$1"
    echo 'AKIDEXAMPLE wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' >"$1/keys"
    s3_port_file=$1/port
    "$python" "$NTK_SOURCE_DIR/tests/shared/aws/fake_s3.py" "$1" >"$1/port" 2>"$1/err" &
    wait_for s3_listens
    export AWS_ENDPOINT_URL_S3=http://127.0.0.1:$(cat "$1/port") AWS_EC2_METADATA_DISABLED=true AWS_REGION=eu-west-1
    export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
    export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
}
s3_listens() { [ -s "$s3_port_file" ] && echo yes; }
