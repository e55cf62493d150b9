#!/bin/bash
# bad_input - every program with bad files, options, ports, permissions and full disks: one message that names the
# object, the right exit code, and no existing file lost. A row: exit code, pattern of the message, command.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export LC_ALL=C.UTF-8
unset NEURON_HOOKS NEURON_LIBNRT NEURON_RT_VISIBLE_CORES NEURON_RT_NUM_CORES
rows=0

sentence='^neuron-[a-z]+( diag| exec| hang| health| idle| machine| query| view)?: '

# row CODE PATTERN COMMAND...: OUT=FILE redirects stdout. The message is the one line that begins with the program's
# name; a usage error adds where to find help, the runtime its own log lines, and programs that run a NEFF name the
# library.
row() {
    local want=$1 pattern=$2 code said
    shift 2
    rows=$((rows + 1))
    timeout "$patience" "$@" </dev/null >"${OUT:-out}" 2>err
    code=$?
    sed -i '/^neuron-[a-z]*: library /d' err # not an error message
    [ $code = "$want" ] || complain "$*: unexpected exit code $code, not $want"
    sed -i "/^neuron-[a-z]*: library .*libnrt.so.1/d" err
    said=$(grep -Ec "$sentence" err)
    [ "$said" = 1 ] || complain "$*: expected one message, found $said"
    grep -Eq -- "$sentence.*$pattern" err || complain "$*: expected '$pattern'"
    grep -Evq "$sentence|^Try '|^[0-9]{4}-[A-Z][a-z]{2}-[0-9]{2} .* (NRT|NMGR|TDRV|KMGR):" err && complain "$*: expected no further output"
}

neuron-packager example mlp -o good.neff >/dev/null || exit 1
neuron-profile capture -n good.neff -s good.ntff >/dev/null || exit 1
head -c 1500 good.neff >cut.neff
head -c 4000 good.ntff >cut.ntff
head -c 500 good.neff >head.neff
head -c 100 good.ntff >head.ntff
printf '%4000s' foreign >foreign
printf "" >i # a name that is part of many messages
: >nothing
mkfifo waits # a FIFO that no process writes to
cp good.neff flipped.neff
printf 'XXXXXXXXXXXXXXXX' | dd of=flipped.neff bs=1 seek=3000 conv=notrunc status=none
echo '{"period": "no time"}' >bad.json
echo '{' >cut.json

# ---- options ----
for program in neuron-bench neuron-monitor neuron-packager neuron-profile neuron-top; do
    row 2 "unknown option '--no-such'" $program --no-such
    row 2 "unknown option '-Z'" $program -Z
done
row 2 "" neuron-bench
row 2 "" neuron-packager
row 2 "" neuron-profile
row 2 "unknown command 'dance'" neuron-bench dance
row 2 "dance" neuron-packager dance
row 2 "dance" neuron-profile dance
row 2 "stray" neuron-monitor stray
row 2 "--level \(-r\) must be between 1 and 4" neuron-monitor diag -r 9
row 2 "use either --pid PID or --job NAME" neuron-profile idle
row 2 "expected auto, bpf or proc" neuron-profile idle --pid 1 --method ptrace
row 1 "no process of job 'gone' found" neuron-profile idle --job gone
row 2 "stray" neuron-top stray
row 2 "--count" neuron-bench exec good.neff --count many
row 2 "--cores" neuron-bench exec good.neff --cores 3-x
row 2 "core numbers must be at most 4095" neuron-bench exec good.neff --cores 9999
row 2 "invalid value '0' for -n: expected more than 0" neuron-bench exec good.neff -n 0
row 2 "invalid value '0' for --count: expected more than 0" neuron-monitor --count 0
row 2 "invalid value '0' for --period: expected at least 100ms" neuron-monitor --period 0
row 2 "--remote-write requires a URL with http" neuron-monitor --once --remote-write ftp://x
row 2 "--otlp requires a URL with http" neuron-monitor --once --otlp=ftp://x
row 2 "--remote-write-spool requires --remote-write" neuron-monitor --once --remote-write-spool x
row 2 "--nvsentinel-store-only requires --nvsentinel" neuron-monitor --once --nvsentinel-store-only
row 2 "unknown node name: use --k8s-node" env -u NODE_NAME neuron-monitor --once --k8s-node-condition
row 2 "unknown node name: use --nvsentinel-node" env -u NODE_NAME neuron-monitor --once --nvsentinel
row 2 "invalid value '0s' for --last: expected more than 0" neuron-monitor query latency --db gone.db --last 0s
row 2 "invalid value 'foo' for --view: expected overview, tree, engines, " neuron-top --view foo
row 2 "--view hosts requires several machines" neuron-top --view hosts --once
row 2 "--compare requires --output-format page or html" neuron-profile view -s good.ntff --compare good.ntff --output-format json
row 2 "--http-host requires --http or" neuron-monitor --once --http-host a --otlp=http://127.0.0.1:9
row 2 "--period" neuron-monitor --period soon
row 2 "--delay" neuron-top --delay 1ms
row 2 "requires a value" neuron-monitor --db
row 2 "--prometheus" neuron-monitor --prometheus 127.0.0.1:99999999

# ---- files: the programs that read them, and the faults in them ----
row 1 "gone.json.*No such file" neuron-monitor --once -c gone.json
row 1 "cut.json: line 2" neuron-monitor --once -c cut.json
row 1 "bad.json" neuron-monitor --once -c bad.json
row 1 "is empty" neuron-monitor --once -c nothing
for reads_neff in "neuron-packager info" "neuron-packager unpack -o u" "neuron-profile capture -s o.ntff -n"; do
    row 1 "gone.neff.*No such file" $reads_neff gone.neff
    row 1 "$scratch.*not a regular file" $reads_neff "$scratch"
    row 1 "cut.neff: .*truncated" $reads_neff cut.neff
    row 1 "head.neff: not a NEFF" $reads_neff head.neff
    row 1 "foreign: " $reads_neff foreign
    row 1 "nothing: the file is empty" $reads_neff nothing
    row 1 "waits': not a regular file" $reads_neff waits
done
row 1 "flipped.neff: " env NEURON_RT_VALIDATE_HASH=1 neuron-packager info flipped.neff
for file in gone.neff "$scratch" cut.neff head.neff foreign nothing waits; do
    row 1 "$file" neuron-bench exec $file --count 1
done
echo '{"events":[]}      ' >other.json
gzip -c good.neff >other.gz
for reads_ntff in "neuron-profile show-session -s" "neuron-profile view --output-format summary-text -s"; do
    row 1 "gone.ntff.*No such file" $reads_ntff gone.ntff
    row 1 "$scratch.* folder" $reads_ntff "$scratch"
    # Existing parts are shown, missing ones are reported.
    $reads_ntff cut.ntff >out 2>err </dev/null
    [ $? = 1 ] || complain "$reads_ntff cut.ntff: not exit code 1"
    grep -q "^neuron-profile: cut.ntff: .*end" err && [ -s out ] || complain "$reads_ntff cut.ntff: expected a message about the end of the file, and output"
    [ "$(grep -c '^neuron-profile: cut.ntff: ' err)" -le 4 ] || complain "$reads_ntff cut.ntff: more than four warnings"
    row 1 "head.ntff: " $reads_ntff head.ntff
    row 1 "foreign: not an NTFF capture: .*at byte 0" $reads_ntff foreign
    row 1 "good.neff is a NEFF, not a capture" $reads_ntff good.neff
    row 1 "other.json is JSON, not a capture .NTFF.: pass the capture" $reads_ntff other.json
    row 1 "other.gz is compressed .gzip., not a capture .NTFF.: decompress" $reads_ntff other.gz
    row 1 "nothing: the file is empty" $reads_ntff nothing
    row 1 "waits.*not a regular file" $reads_ntff waits
    row 1 "i: the file is empty" $reads_ntff i
done
neuron-profile inspect -o traces -- neuron-bench exec good.neff -n 1 >out 2>&1 </dev/null || complain "inspect failed"
for file in $(find traces -name '*.pb'); do rm "$file" && mkfifo "$file"; done
timeout "$patience" neuron-profile analyze -d traces joined >out 2>err </dev/null
[ $? = 1 ] && grep -q "ntrace.pb': not a regular file" err || complain "analyze joined: expected a message about the FIFO"
row 1 "waits': not a regular file" env NEURON_LIBNRT=./waits neuron-bench exec good.neff -n 1
[ ! -e o.ntff ] || complain "an empty capture was left"

# Files that cannot be written are found before the observation, so before its process.
for unwritable in "--output /nonexistent/x" "--folded /nonexistent/x" "--pprof ."; do
    row 1 "cannot write '${unwritable#* }'" neuron-profile idle --pid 4194305 $unwritable
done
[ "$(ls -d *.tmp-* 2>/dev/null)" = "" ] || complain "a temporary file was left"

# ---- a full disk ----
if [ -c /dev/full ]; then
    OUT=/dev/full row 1 "cannot write to stdout" neuron-packager info good.neff
    OUT=/dev/full row 1 "cannot write to stdout" neuron-profile show-session -s good.ntff
    OUT=/dev/full row 1 "cannot write to stdout" neuron-profile view -s good.ntff --output-format summary-json
    OUT=/dev/full row 1 "cannot write to stdout" neuron-bench exec good.neff --count 1
    OUT=/dev/full row 1 "cannot write to stdout" neuron-monitor --once --period 100ms
    OUT=/dev/full row 1 "cannot write to stdout" neuron-monitor hang --json
    OUT=/dev/full row 1 "cannot write to stdout" neuron-monitor health --json
    OUT=/dev/full row 1 "cannot write to stdout" neuron-monitor diag --level 1
    OUT=/dev/full row 1 "cannot write to stdout" neuron-top --once -d 200ms
fi
# KiB: no file can grow beyond it; the signal is ignored, as it is on a full disk.
small() { (trap '' XFSZ && ulimit -f "$1" && shift && exec "$@"); }
export -f small
full() { # KiB PATTERN COMMAND...
    local kib=$1 pattern=$2
    shift 2
    row 1 "$pattern" bash -c "small $kib $*"
}
full 16 "short.ntff: .*dropped for lack of space" neuron-profile capture -n good.neff -s short.ntff
full 1 "short.ntff" neuron-profile capture -n good.neff -s short.ntff
full 16 "new.neff" neuron-packager example mlp -o new.neff
[ ! -e new.neff ] || complain "a truncated NEFF looks complete"
full 1 "new.db" neuron-monitor --once --period 100ms --db new.db

# ---- ports ----
neuron-monitor --quiet --prometheus 127.0.0.1:0 --verbose 1 2>log &
server=$!
has_port() { port=$(sed -n 's/.*serving metrics on port //p' log) && [ -n "$port" ] && echo yes; }
wait_for has_port
port=$(sed -n 's/.*serving metrics on port //p' log)
row 1 "port $port: the port is in use" neuron-monitor --once --prometheus "127.0.0.1:$port"
row 1 "port $port: the port is in use" neuron-monitor --once --http "127.0.0.1:$port"
kill -TERM $server
wait $server

# ---- no permission; root must become another user first ----
if [ "$(id -u)" != 0 ]; then
    as_nobody=()
else
    open_to_others "$scratch"
fi
mkdir -m 000 denied
cp good.neff secret.neff
chmod 000 secret.neff
row 1 "secret.neff': Permission denied" "${as_nobody[@]}" neuron-packager info secret.neff
row 1 "denied/o.neff': Permission denied" "${as_nobody[@]}" neuron-packager example mlp -o denied/o.neff
hooks=$NEURON_HOOKS_DIR
export NEURON_HOOKS_DIR=$scratch/denied
row 1 "" "${as_nobody[@]}" neuron-bench exec good.neff --count 1
grep -q "$scratch/denied/.*Permission denied" err || complain "neuron-bench does not name the folder"
# Programs that watch continue with the data that they can read.
row 0 "$scratch/denied': Permission denied" "${as_nobody[@]}" neuron-monitor --once --period 100ms
row 0 "$scratch/denied': Permission denied" "${as_nobody[@]}" neuron-top --once -d 200ms
export NEURON_HOOKS_DIR=$hooks
chmod 700 denied # so that it can be removed

# ---- not a terminal ----
row 1 "is not a terminal: use --once or --batch" neuron-top
row 1 "cannot|no " env NEURON_LIBNRT=/nowhere/libnrt.so.1 neuron-bench exec good.neff --count 1

echo "$rows rows, all as expected"
