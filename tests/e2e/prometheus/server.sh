# server - a real Prometheus for tests, sourced after lib.sh. It reads server.yml of the folder of the test.

server=server # the name of its log, $server.log, and of its data
# server_starts [OPTION...]: waits until it is ready; $server_pid is its process.
server_starts() {
    prometheus --config.file=server.yml --storage.tsdb.path="$server.data" --web.listen-address=127.0.0.1:0 \
        --log.level=info "$@" >"$server.log" 2>&1 &
    server_pid=$!
    wait_for server_is_up
}
server_port() { sed -n 's/.*msg="Listening on" address=[^ ]*:\([0-9]*\).*/\1/p' "$server.log" | head -1; }
server_is_up() { [ -n "$(server_port)" ] && curl -sf "http://127.0.0.1:$(server_port)/-/ready" >/dev/null && echo yes; }
# server_answers QUERY: prints the JSON response to a PromQL query.
server_answers() { curl -sfG "http://127.0.0.1:$(server_port)/api/v1/query" --data-urlencode "query=$1"; }
