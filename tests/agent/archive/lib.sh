# lib.sh - what the tests of archives share, after tests/e2e/lib.sh.
here=$NTK_SOURCE_DIR/tests/agent/archive
tools=$NTK_SOURCE_DIR/build/tools/npm

needs_readers() {
    needs node sqlite3 jq
    [ -d "$tools/node_modules/hyparquet-compressors" ] || {
        echo "skipped: DuckDB and hyparquet are not below build/tools/npm (./dev test gets them)"
        exit 77
    }
}

# ask SQL...: answers of DuckDB.
ask() { node "$here/ask.mjs" "$tools" "$@"; }

# make_history FILE: what an agent stored of software cores at work.
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
    kill $agent && wait $agent || fail "the agent: $(cat agent.err)"
}
has_history() {
    [ "$(sqlite3 -readonly "$history_file" 'select coalesce(sum(completed), 0) >= 50 from execution_sample')" = 1 ] && echo yes
}

# start_s3 FOLDER: a service that speaks S3, its address in $AWS_ENDPOINT_URL_S3 and its keys in the environment.
start_s3() {
    /usr/bin/python3 -c 'import botocore' 2>/dev/null || exit 77
    mkdir -p "$1"
    echo 'AKIDEXAMPLE wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' >"$1/keys"
    s3_port_file=$1/port
    /usr/bin/python3 "$NTK_SOURCE_DIR/tests/exporters/transport/fake_s3.py" "$1" >"$1/port" 2>"$1/err" &
    pids+=($!)
    wait_for s3_listens
    export AWS_ENDPOINT_URL_S3=http://127.0.0.1:$(cat "$1/port") AWS_EC2_METADATA_DISABLED=true AWS_REGION=eu-west-1
    export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
    export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
}
s3_listens() { [ -s "$s3_port_file" ] && echo yes; }
