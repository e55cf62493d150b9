# lib.sh - what test scripts share; sourced first: a scratch folder as working folder, its own
# hooks folder and a small software machine. At the end, whatever ends the script, both are gone
# with every process that was started with this hooks folder.
set -euo pipefail
. "$NTK_SOURCE_DIR/tests/support/others.sh"
export PATH=$NTK_BIN_DIR:$PATH
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-test-XXXXXX")
# Hooks folders are in memory if there is some to spare, as in test_scratch_in_memory(): device
# trees are hundreds of small files.
memory=$scratch
[ ! -w /dev/shm ] || [ "$(df --output=avail -B1M /dev/shm | tail -1)" -le 1024 ] ||
    memory=$(mktemp -d /dev/shm/ntk-test-XXXXXX)
export NEURON_HOOKS_DIR=$memory/hooks NEURON_SOFT_INSTANCE=trn1.2xlarge
export XDG_CONFIG_HOME=$scratch/config # nobody's settings
mkdir -m 700 "$NEURON_HOOKS_DIR"
pids=()
# Kills whatever was started with a hooks folder of ours; a server that became a daemon, too.
end_processes() {
    local file
    for file in $(grep -lsz -e "^NEURON_HOOKS_DIR=$memory/" -e "^NEURON_HOOKS_DIR=$scratch/" /proc/[0-9]*/environ); do
        file=${file#/proc/}
        kill -9 "${file%/environ}" 2>/dev/null || true
    done
}
# A time-out kills this script and its children, and no trap runs: who cleans up then is not a
# child of it and knows no hooks folder.
(
    unset NEURON_HOOKS_DIR
    setsid bash -c 'tail -s 0.2 --pid="$2" -f /dev/null
        scratch=$1 memory=$3
        '"$(declare -f end_processes)"'
        end_processes
        rm -rf "$scratch" "$memory"' watch "$scratch" $$ "$memory" </dev/null >/dev/null 2>&1 &
)
# The last lines of what programs left in files named like logs, or like the output of the last one.
logs() {
    local file
    find "$scratch" -maxdepth 2 -type f -size +0 \( -name '*.err' -o -name '*.log' -o -name err -o -name log -o -name out -o -name printed \) |
        LC_ALL=C sort | while read -r file; do
        ! grep -Iq . "$file" || { echo "--- ${file#"$scratch"/}" && tail -n 20 "$file" | cut -c 1-500; }
    done
}
# blame LINE SENTENCE...: all that a failed test prints: what failed, the line of the script that asked for it, the logs.
# Where a log does not tell the state of what is tested, a script defines at_failure to leave that in a file named like one.
this_script=$0
[[ $this_script == /* ]] || this_script=$PWD/$0
is_polling=
blame() {
    [ -z "$is_polling" ] || return 0 # wait_for looks again
    echo "$(basename "$this_script" .sh): ${*:2}"
    [ "$1" = 0 ] || sed -n "$1s/^ */    line $1: /p" "$this_script"
    ! declare -F at_failure >/dev/null || (set +e && at_failure) >/dev/null 2>&1
    logs
    : >"$scratch/.failed" # in a file, so that a subshell can do it
} >&2
# fail SENTENCE: ends the test. complain SENTENCE: the test continues, and has failed at its end.
fail() {
    complain "$@"
    exit 1
}
complain() {
    blame "${BASH_LINENO[${#BASH_LINENO[@]} - 2]}" "$@"
}
failed_at=
failed_line=0
set -E
trap 'failed_at=$BASH_COMMAND failed_line=${BASH_LINENO[${#BASH_LINENO[@]} - 2]:-0} && [ "$failed_line" != 0 ] || failed_line=$LINENO' ERR
finish() {
    local code=$?
    trap - ERR
    [ $code = 0 ] || [ $code = 77 ] || [ -e "$scratch/.failed" ] || blame "$failed_line" "exit code $code of: $failed_at"
    [ ! -e "$scratch/.failed" ] || { [ $code != 0 ] && [ $code != 77 ]; } || code=1
    exec 2>/dev/null # no notices of what is killed here
    kill -9 "${pids[@]}" 2>/dev/null || true # a process with another environment
    end_processes
    rm -rf "$scratch" "$memory" 2>/dev/null || rm -rf "$scratch" "$memory" # the last words of one that is being killed
    exit $code
}
trap finish EXIT
cd "$scratch"

# skip REASON: ends the test as skipped; ./dev test prints the reason at its end.
skip() {
    echo "skipped: $*"
    exit 77
}

# needs PROGRAM...: skips the test where one is missing.
needs() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || skip "$program is missing"; done
}

# needs_python MODULE...: $python is an interpreter of the path that has them all.
needs_python() {
    local IFS=,
    while read -r python; do
        ! "$python" -c "import $*" 2>/dev/null || return 0
    done < <(type -aP python3)
    skip "no Python with $*"
}

# needs_npm PACKAGE...: $tools is a folder of node modules that has them all.
needs_npm() {
    local package
    needs node
    tools=$NTK_SOURCE_DIR/build/tools/npm
    for package in "$@"; do
        [ -d "$tools/node_modules/$package" ] || skip "$package is not below build/tools/npm (./dev test installs it)"
    done
}

# skip_sanitized: where a job preloads our library, or loads one that is not the program's first.
skip_sanitized() { [ -z "${NTK_SANITIZE:-}" ] || skip "a sanitizer's runtime must be the first library of a process"; }

# $browser is a Chromium that needs no screen; skips the test if there is none.
needs_browser() {
    browser=$(command -v chromium-headless-shell || command -v chromium) || {
        skip "Chromium is missing"
    }
}

# greps GREP-ARGUMENT...: as grep -q behind a pipe, but it reads to the end, so that the writer does not fail.
greps() { grep -c "$@" >/dev/null; }

# pause SECONDS: as sleep, without a process: nothing ever comes out of this pipe.
exec {silence}<> <(:)
pause() { read -r -t "$1" -u "$silence" || true; }

# Polls a command until it prints yes. When patience has run out the run is broken; it never decides whether something
# is fast enough. Between two looks it waits for as long as a look takes, so that those who wait leave processors to those who
# work. A command that prints "never: REASON" ends the test at once.
patience=$((120 * ${NTK_TEST_PATIENCE:-1}))
wait_for() {
    local end=$((SECONDS + patience)) begun took said
    while :; do
        begun=${EPOCHREALTIME/[.,]/}
        said=$(is_polling=1 && "$@" 2>/dev/null) || true # also where it calls fail
        [ "$said" != yes ] || return 0
        [[ $said != never:* ]] || fail "$*: $said"
        [ $SECONDS -lt $end ] || fail "waited $patience s in vain for: $*$(! declare -F "$1" >/dev/null || printf '\n' && declare -f "$1")"
        took=$((${EPOCHREALTIME/[.,]/} - begun + 1000000))
        [ $took -gt 1050000 ] || took=1050000
        [ $took -lt 3000000 ] || took=3000000
        pause "$((took / 1000000 - 1)).${took: -6}"
    done
}

# jq 1.6 succeeds with -e on no input at all, so that a file which is not written yet passes every check.
jq() {
    local option out
    for option; do
        [[ $option =~ ^-[a-z]*e[a-z]*$ ]] || continue
        out=$(command jq "$@") || return
        [ -n "$out" ] || return 4
        printf '%s\n' "$out"
        return
    done
    command jq "$@"
}

# segment: the first one of the folder. has_segment: it is whole; one without its magic is being
# made, which is fine.
segment() { find "$NEURON_HOOKS_DIR" -maxdepth 1 -type f -name '[1-9]*-[0-9]*' | head -1; }
has_segment() { [ "$(head -c 8 "$(segment)" | tr -d '\0' | wc -c)" != 0 ] && echo yes; }

# has_executed PID COUNT: as neuron-top shows it; what it showed is in top.json.
has_executed() {
    kill -0 "$1" || echo "never: process $1 has ended"
    neuron-top --once --json >top.json && [ "$(jq --argjson pid "$1" '[.models[] | select(.pid == $pid) | .executions] | add // 0' top.json)" -ge "$2" ] &&
        echo yes
}

# free_ports COUNT: for servers that cannot choose one. The system gives none of them to whoever asks for any port.
free_ports() {
    python3 -c 'import random, socket, sys
free = []
while len(free) < int(sys.argv[1]):
    free.append(socket.socket())
    try:
        free[-1].bind(("127.0.0.1", random.randrange(10000, 32768)))
    except OSError:
        free.pop()
print(*[s.getsockname()[1] for s in free])' "$1"
}

# tmux with a server of this script's own.
tmx() { env -u TMUX tmux -u -f /dev/null -S "$scratch/tmux" "$@"; }

# has_reports FILE: what ran before an agent first looked is in none of its reports, so who counts waits for one.
has_reports() { [ -s "$1" ] && echo yes; }

# The executions that completed, summed over files of JSON lines.
completed_in_reports() {
    jq -s '[.[].neuron_runtime_data[].report.execution_stats.execution_summary.completed] | add // 0' "$@"
}

# valid_reports FILE...: each line is what the schema of reports says; not checked where its
# validator is missing.
valid_reports() {
    local code=0
    neuron-monitor --schema >report.schema.json || fail "there is no schema"
    "${python:-python3}" "$NTK_SOURCE_DIR/tests/support/valid_reports.py" report.schema.json "$@" >schema.out ||
        code=$?
    [ $code = 0 ] || [ $code = 77 ] || fail "$(head -5 schema.out)"
}
