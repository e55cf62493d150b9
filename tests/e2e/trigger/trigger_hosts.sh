#!/bin/bash
# trigger_hosts - processes of one job on three machines (a hooks folder and an agent each) record the same
# executions when one user asks the agents, and their files are transferred. Then agents that reject, vanish or lie,
# and servers that are not agents.
. "$(dirname "$0")/../lib.sh"
needs jq python3 curl
export NEURON_SOFT_INSTANCE=trn1.32xlarge NEURON_RT_NUM_CORES=1 NEURON_RT_LOG_LEVEL=QUIET
rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank
neuron-packager example conv -s 4 -o m.neff >/dev/null
printf 'a-token-of-these-machines\n' >token
printf 'another-token-of-no-machine\n' >wrong
agents=()
hosts=()
# Machine K: its folder, its agent, and a process of the job that only this machine sees.
for k in 0 1 2; do
    mkdir -m 700 "$memory/m$k"
    NEURON_HOOKS_DIR=$memory/m$k NEURON_PROCESS_TAG=train "$rank" 0 1 1000000 40 '' m.neff 2>"rank$k.err" &
    ranks[k]=$!
    NEURON_HOOKS_DIR=$memory/m$k neuron-monitor --quiet --period 500ms --http 127.0.0.1:0 --http-token-file token --capture-folder "kept$k" --capture-remote \
        --verbose 1 2>"agent$k.log" &
    agents[k]=$!
done
port_of() { sed -n 's/.*http: listening on port //p' "agent$1.log"; }
are_up() { [ -n "$(port_of 0)" ] && [ -n "$(port_of 1)" ] && [ -n "$(port_of 2)" ] && echo yes; }
wait_for are_up
for k in 0 1 2; do hosts+=(--host "127.0.0.1:$(port_of $k)"); done
trigger() { neuron-profile trigger --job train --token-file token "${@}"; }

# Lists the processes.
looks() { trigger "${hosts[@]}" --look --json >look.json 2>err && jq -e '[.hosts[].processes[].execution | . > 5] == [true, true, true]' look.json >/dev/null && echo yes; }
wait_for looks

# Records the same four executions on all machines, and transfers their files.
# An agent that gets no processor does not answer in time, so the request is repeated.
all_are_recorded() { rm -rf out && trigger "${hosts[@]}" --executions 4 -o out --json >all.json 2>err && echo yes; }
wait_for all_are_recorded
jq -e '(.hosts | length) == 3 and .execution_count == 4 and ([.hosts[].error] | unique) == [""] and
    ([.hosts[].processes[] | [.first_execution, .last_execution]] | unique | length) == 1 and
    (.hosts[0].processes[0] | .last_execution - .first_execution == 3) and ([.hosts[].file_count | . > 1] | unique) == [true]' all.json >/dev/null ||
    fail "the machines have different executions: $(cat all.json)"
first=$(jq .first_execution all.json)
for k in 0 1 2; do
    folder=out/127.0.0.1_$(port_of $k)
    capture=$(ls "$folder"/pid_"${ranks[k]}"_nc_*_exec_"$first".ntff) || fail "machine $k: no capture of execution $first: $(find out)"
    neuron-profile query -s "$capture" -n m.neff --json 'SELECT count(*) AS n FROM Instruction' >"n$k.json"
    cmp "$capture" kept$k/*asked*/"${capture##*/}" || fail "machine $k: another file was downloaded"
    before=$(find "$folder" -name '*.ntrace*' -o -type d -name '*pid*' | head -1)
    [ -n "$before" ] || fail "machine $k: no events before the request: $(find "$folder")"
done
[ "$(jq -s '[.[][0].n] | unique | length' n?.json)" = 1 ] && [ "$(jq '.[0].n' n0.json)" -gt 0 ] || fail "the captures have different numbers of instructions: $(cat n?.json)"
# The text output has the same facts; also one process alone, by its number.
are_recorded() { rm -rf readable && trigger "${hosts[@]}" -o readable >text 2>err && echo yes; }
wait_for are_recorded
for k in 0 1 2; do greps "^127.0.0.1:$(port_of $k): process ${ranks[k]} (.*), rank 0: execution [0-9]*$" text || fail "machine $k: no line in the output: $(cat text)"; done
# With the host threads: one execution, and a file of them per process.
idle_is_recorded() { rm -rf idle && trigger "${hosts[@]}" --idle -o idle >text 2>err && echo yes; }
wait_for idle_is_recorded
for k in 0 1 2; do
    greps "^127.0.0.1:$(port_of $k): process ${ranks[k]} (.*), rank 0: execution [0-9]*$" text || fail "machine $k: no line in the output: $(cat text)"
    jq -e --argjson pid "${ranks[k]}" '.processes[0].pid == $pid' idle/127.0.0.1_"$(port_of $k)"/*/*/idle.json >/dev/null || fail "machine $k: no host threads: $(find idle)"
done
grep -q 'neuron-profile analyze -d idle host-threads$' err || fail "the next command is not named: $(cat err)"
neuron-profile analyze -d idle host-threads >text 2>err || fail "the host threads cannot be read: $(cat err)"
for k in 0 1 2; do greps "^ *${ranks[k]} " text || fail "machine $k: no row of host threads: $(cat text)"; done
is_recorded() { rm -rf one && neuron-profile trigger --pid "${ranks[1]}" --token-file token --host "127.0.0.1:$(port_of 1)" -o one >text 2>err && echo yes; }
wait_for is_recorded

# refused STATUS SENTENCE ARGUMENT...
is_refused() {
    local code=0
    neuron-profile trigger -o refused "${@:3}" >text 2>err || code=$?
    [ $code = "$1" ] && grep -qF -- "$2" err && echo yes
}
refused() { wait_for is_refused "$@"; }
refused 1 'authentication failed: check --token-file' --job train --host "127.0.0.1:$(port_of 0)" --token-file wrong
refused 1 "no process of job 'absent' found" --job absent --host "127.0.0.1:$(port_of 0)" --token-file token
refused 1 'is in the past: the processes have reached' --job train --host "127.0.0.1:$(port_of 0)" --token-file token --at-execution 1
refused 2 'require --host' --job train --token-file token
[ ! -e refused ] || [ -z "$(find refused -type f)" ] || fail "files of a rejected request: $(find refused)"
api=http://127.0.0.1:$(port_of 0)/api/v1/captures
asks() { curl -s -o said -w '%{http_code}' -H 'Authorization: Bearer a-token-of-these-machines' "$@"; }
[ "$(asks -X PUT -d '{}' "$api?job=train")" = 400 ] || fail "a request without a first execution: expected HTTP 400: $(cat said)"
{ [ "$(asks -X PUT -d '{}' "$api?job=train&pid=1&look=1")" = 400 ] && grep -qF 'expected either job=NAME or pid=PID' said; } || fail "a request with job and pid: expected HTTP 400: $(cat said)"
[ "$(asks -X PUT -d '{}' "$api?job=train&at=5&executions=100001")" = 400 ] || fail "a request for too many executions: expected HTTP 400: $(cat said)"
[ "$(asks -X POST -d '{}' "$api?job=train&look=1")" = 405 ] || fail "POST: expected HTTP 405: $(cat said)"
[ "$(curl -s -o said -w '%{http_code}' -X PUT -d '{}' "$api?job=train&look=1")" = 401 ] || [ "$(curl -s -o said -w '%{http_code}' -X PUT -d '{}' "$api?job=train&look=1")" = 403 ] || fail "a request without a token: expected HTTP 401 or 403: $(cat said)"
id=$(basename "$(ls -d kept0/*asked* | head -1)")
for name in ../../token ../../../etc/passwd /etc/passwd "x/../../../token" .; do
    code=$(asks -G --data-urlencode "name=$name" "$api/$id/file")
    [ "$code" = 404 ] || fail "$name: unexpected status $code"
done
ln -s /etc/passwd "kept0/$id/link"
[ "$(asks "$api/$id/file?name=link")" = 404 ] || fail "a link is followed"
[ "$(asks "$api/../captures/$id")" != 500 ] && [ "$(asks "$api/nothing")" = 404 ] || fail "a request with an invalid id: expected HTTP 404: $(cat said)"

# One agent does not allow recordings by others, and one has exited; the others still record.
NEURON_HOOKS_DIR=$memory/m1 neuron-monitor --quiet --http 127.0.0.1:0 --http-token-file token --verbose 1 2>agent3.log &
closed_is_up() { [ -n "$(port_of 3)" ] && echo yes; }
wait_for closed_is_up
kill -9 "${agents[2]}"
some_are_recorded() {
    local code=0
    rm -rf some
    trigger "${hosts[@]}" --host "127.0.0.1:$(port_of 3)" -o some --json >some.json 2>err || code=$?
    [ $code = 1 ] || echo "never: without two of them: $code"
    jq -e '[.hosts[] | (.error == "" and .file_count > 1)] == [true, true, false, false] and (.hosts[3].error | contains("--capture-remote")) and .hosts[2].processes == []' some.json >/dev/null && echo yes
}
wait_for some_are_recorded
grep -q "127.0.0.1:$(port_of 3): the agent returned HTTP" err || fail "no message about the agent that rejects"

# A malicious peer: names outside the folder, endless sizes, an id that is a path, invalid JSON.
cat >liar.py <<'END'
import http.server, json, sys
word = sys.argv[1]
class Liar(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def say(self, body):
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.say(json.dumps({"id": "../../x" if word == "id" else "good-1"}).encode())
    def do_GET(self):
        if "/file" in self.path: return self.say(b"x" * 100)
        if word == "noise": return self.say(b"\xff\x00{")
        files = {"name": [{"name": "../../escaped", "bytes": 100}], "dot": [{"name": ".bashrc", "bytes": 100}], "size": [{"name": "a", "bytes": 1 << 62}],
                 "short": [{"name": "a", "bytes": 1000000}], "shape": [7, None, {"name": 5}]}.get(word, [])
        answer = {"execution": 5, "executions_per_second": 1e300 if word == "rate" else 1, "first_execution": 6,
                  "processes": [{"pid": 1, "command": "\x1b[31mred", "first_execution": 6, "last_execution": 6, "error": ""}, 7, None]}
        self.say(json.dumps({"state": "done", "exit_code": 0, "answer": answer, "files": files}).encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
print(server.server_address[1], flush=True)
server.serve_forever()
END
# Last one that ignores the request for host threads, as an older agent does.
for word in id name dot size short shape noise rate older; do
    python3 liar.py $word >liar.port &
    liar=$!
    has_liar() { [ -s liar.port ] && echo yes; }
    wait_for has_liar
    code=0
    timeout "$patience" neuron-profile trigger --job train --host "127.0.0.1:$(cat liar.port)" --idle -o "liar/deep/$word" >text 2>err || code=$?
    [ $code = 1 ] || fail "unexpected exit code with a peer that sends a false $word: $code: $(cat text err)"
    ! cat text err | greps $'\x1b' || fail "escape sequences of a peer reach the terminal"
    kill "$liar"
    rm liar.port
done
grep -q 'no record of host threads: the agent is too old' err || fail "no message about an older agent: $(cat err)"
[ -z "$(find liar . -name escaped -o -name .bashrc)" ] || fail "a file was written outside of the folder: $(find liar)"
