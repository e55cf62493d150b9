# release.sh [--make] - today's programs read the files of each release correctly. --make writes the files of this
# release, once when its version is new:
#   ./dev build dev; tests/release/release.sh --make
here=$(cd "$(dirname "$0")" && pwd)
export NTK_SOURCE_DIR=${NTK_SOURCE_DIR:-$(cd "$here/../.." && pwd)}
export NTK_BUILD_DIR=${NTK_BUILD_DIR:-$NTK_SOURCE_DIR/build/dev}
export NTK_BIN_DIR=${NTK_BIN_DIR:-$NTK_BUILD_DIR/bin} NTK_LIB_DIR=${NTK_LIB_DIR:-$NTK_BUILD_DIR/lib}
. "$here/../e2e/lib.sh"
version=$(neuron-monitor --version | sed -n '1s/.* //p')
data=$NTK_SOURCE_DIR/tests/data
if [ "${1:-}" = --make ]; then
    bash "$here/make.sh" "$data/release-$version"
    exit
fi
needs jq sqlite3 python3
skip_sanitized
[ -d "$data/release-$version" ] || fail "no files of $version: run tests/release/release.sh --make"

# fact FILTER: a number of this release's files.
fact() { jq -r "$1" "$release/facts.json"; }
# is WHAT EXPECTED ACTUAL
is() { [ "$2" = "$3" ] || complain "${release##*/}: $1 is $3, not $2"; }

# A receiver of remote write that keeps each body in a file.
cat >receiver.py <<'TEXT'
import http.server, itertools
numbers = itertools.count()
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open(f"received-{next(numbers)}", "wb") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
TEXT
python3 receiver.py >port 2>receiver.log &
has_port() { [ -s port ] && echo yes; }
wait_for has_port
was_received() { grep -qs . received-* && find . -maxdepth 1 -name 'received-*' -exec cmp -s {} message \; -print | grep . >/dev/null && echo yes; }

for release in "$data"/release-*; do
    # The database: queries are answered, and an agent continues it.
    gunzip -c "$release/monitor.db.gz" >monitor.db
    if [ "$release" = "$data/release-$version" ]; then
        neuron-monitor --once --quiet --period 100ms --db new.db 2>agent.err || fail "no agent writes a database"
        different=$(comm -3 <(sqlite3 monitor.db .schema | sort) <(sqlite3 new.db .schema | sort))
        [ "$different" = "" ] || complain "${release##*/} is older than today's format: run tests/release/release.sh --make: $different"
    fi
    is "executions in the database" "$(fact .completed)" \
        "$(neuron-monitor query latency --db monitor.db --json --model attention | jq '[.[].completed] | add')"
    is "cores in the database" "$(fact .cores)" "$(neuron-monitor query cores --db monitor.db --json | jq length)"
    neuron-top --from monitor.db --json --once >top.json 2>top.err || complain "${release##*/}: neuron-top does not play the database"
    # The archive of this program contains the parts of the older one, in addition to its own.
    cp -r "$release/archive" archive
    neuron-monitor export --db monitor.db --output-folder again --host release >export.log
    (cd archive && find . -type f | sort) >parts
    [ -s parts ] || fail "no archive"
    while read -r part; do
        [ -s "again/$part" ] || complain "${release##*/}: $part of the archive has moved"
    done <parts
    neuron-monitor export --db monitor.db --output-folder archive --host release >export.log
    is "parts of the archive" "$(cat parts)" "$(cd archive && find . -type f | sort)"
    before=$(sqlite3 monitor.db 'SELECT max(time_ns) FROM machine_sample')
    neuron-monitor --once --quiet --period 100ms --db monitor.db 2>agent.err || complain "${release##*/}: no agent continues the database"
    [ "$(sqlite3 monitor.db "SELECT count(*) FROM machine_sample WHERE time_ns > $before")" -gt 0 ] ||
        complain "${release##*/}: the agent adds nothing to the database"

    # The report.
    neuron-top --stdin --once --json <"$release/report.jsonl" >top.json 2>top.err || complain "${release##*/}: neuron-top does not read the report"
    is "the model in the report" attention "$(jq -r '[.models[].name] | first' top.json)"
    valid_reports "$release/report.jsonl"

    # The message is sent unchanged.
    cp -r "$release/spool" spool
    tail -c +33 "$(find spool -name '*.msg' | sort | head -1)" >message
    neuron-monitor --once --quiet --period 100ms --remote-write "http://127.0.0.1:$(cat port)/" --remote-write-spool spool 2>push.err ||
        complain "${release##*/}: the message is not sent"
    wait_for was_received

    # The segment of a killed job.
    mkdir -m 700 segments
    segment=$(basename "$release"/*.segment.gz)
    (umask 077 && gunzip -c "$release/$segment" >"segments/${segment%.segment.gz}")
    is "the segment" "$(fact .segment | jq -cS .)" "$("$NTK_BUILD_DIR/tests/release_segment" segments | jq -cS .)"

    # Model, capture and baseline.
    cp "$release"/attention.*.gz .
    gunzip attention.*.gz
    neuron-bench exec attention.neff --count 1 >bench.log || complain "${release##*/}: the model does not run"
    neuron-profile view -n attention.neff -s attention.ntff --output-format summary-json --output-file summary.json >view.log ||
        complain "${release##*/}: the capture is not read"
    jq -n --slurpfile old "$release/summary.json" --slurpfile new summary.json \
        '[$old[0], $new[0]] | map([paths(scalars) as $p | {($p | map(tostring) | join(".")): getpath($p)}] | add) as [$o, $n]
        | $o | to_entries | map(select(.key | test("version|time_?stamp|path|file") | not) | select(.value != $n[.key]) | .key)' >changed
    is "figures that changed in the summary" '[]' "$(cat changed)"
    neuron-profile baseline check "$release/baseline.json" attention.ntff >check.log || complain "${release##*/}: the baseline is exceeded"
    rm -rf archive again spool segments attention.* monitor.db* received-*
done
