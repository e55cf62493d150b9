# lib.sh - common functions of test scripts; sourced first. Creates a scratch folder as working folder, a private hooks
# folder and a small software machine. However the script ends, both are removed, and every process that was started
# with this hooks folder is killed.
set -euo pipefail
. "$NTK_SOURCE_DIR/tests/support/others.sh"
export PATH=$NTK_BIN_DIR:$PATH
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-test-XXXXXX")
# Hooks folders are in memory if there is enough of it, as in test_scratch_in_memory(): device trees are hundreds of
# small files.
memory=$scratch
[ ! -w /dev/shm ] || [ "$(df --output=avail -B1M /dev/shm | tail -1)" -le 1024 ] ||
    memory=$(mktemp -d /dev/shm/ntk-test-XXXXXX)
export NEURON_HOOKS_DIR=$memory/hooks NEURON_SOFT_INSTANCE=trn1.2xlarge
export XDG_CONFIG_HOME=$scratch/config # no user's settings
mkdir -m 700 "$NEURON_HOOKS_DIR"
# Kills every process that was started with one of our hooks folders, including daemons.
end_processes() {
    local file
    for file in $(grep -lsz -e "^NEURON_HOOKS_DIR=$memory/" -e "^NEURON_HOOKS_DIR=$scratch/" /proc/[0-9]*/environ); do
        file=${file#/proc/}
        kill -9 "${file%/environ}" 2>/dev/null || true
    done
}
# runs PID: the job of this shell has not exited.
runs() { jobs -pr | grep -x "$1" >/dev/null; }
# are_gone PID...: none of them runs. Orphans can stay as zombies, because process 1 of a container may never wait for them.
are_gone() {
    local pid
    for pid in "$@"; do ! grep -q '^State:.[^ZX]' "/proc/$pid/status" 2>/dev/null || return 1; done
}
# end_jobs PID...: kills those that still run. The pid of one that has ended may be another test's process by now.
end_jobs() {
    local pid
    for pid in "$@"; do ! runs "$pid" || kill -9 "$pid" 2>/dev/null || true; done # it may exit meanwhile
    wait "$@" 2>/dev/null || true
}
# A time-out kills this script and its children, and no trap runs. So the process that cleans up then is not a child
# of the script and does not carry the hooks folder.
(
    unset NEURON_HOOKS_DIR
    setsid bash -c 'while kill -0 "$2" 2>/dev/null; do tail -s 0.2 --pid="$2" -f /dev/null || sleep 1; done
        scratch=$1 memory=$3
        '"$(declare -f end_processes)"'
        end_processes
        rm -rf "$scratch" "$memory"' watch "$scratch" $$ "$memory" </dev/null >/dev/null 2>&1 &
)
# The last lines of files named like logs, or like the output of the last program.
logs() {
    local file
    find "$scratch" -maxdepth 2 -type f -size +0 \( -name '*.err' -o -name '*.log' -o -name err -o -name log -o -name out -o -name printed \) |
        LC_ALL=C sort | while read -r file; do
        ! grep -Iq . "$file" || { echo "--- ${file#"$scratch"/}" && tail -n 20 "$file" | cut -c 1-500; }
    done
}
# blame LINE SENTENCE...: prints what failed, the line of the script that asked for it, and the logs. If a log does
# not show the state of the tested object, a script defines at_failure to write that to a file named like one.
this_script=$0
[[ $this_script == /* ]] || this_script=$PWD/$0
is_polling=
blame() {
    [ -z "$is_polling" ] || return 0 # wait_for polls again
    echo "$(basename "$this_script" .sh): ${*:2}"
    [ "$1" = 0 ] || sed -n "$1s/^ */    line $1: /p" "$this_script"
    ! declare -F at_failure >/dev/null || (set +e && at_failure) >/dev/null 2>&1 || true # the object may be gone
    logs
    : >"$scratch/.failed" # in a file, so that a subshell can do it
} >&2
# fail SENTENCE: ends the test. complain SENTENCE: marks the test as failed and continues.
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
    exec 2>/dev/null # no shell notices about killed jobs
    kill -9 $(jobs -pr) 2>/dev/null || true # a process with another environment
    end_processes
    rm -rf "$scratch" "$memory" 2>/dev/null || rm -rf "$scratch" "$memory" # the last output of a process that is being killed
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

# sets $browser to a Chromium that needs no screen; skips the test if there is none.
needs_browser() {
    browser=$(command -v chromium-headless-shell || command -v chromium) || {
        skip "Chromium is missing"
    }
}

# greps GREP-ARGUMENT...: like grep -q after a pipe, but reads to the end, so that the writer does not fail.
greps() { grep -c "$@" >/dev/null; }

# pause SECONDS: like sleep, without a process: no data ever arrives in this pipe.
exec {silence}<> <(:)
pause() { read -r -t "$1" -u "$silence" || true; }

# Polls a command until it prints yes. Running out of patience means that the run is broken; it never decides whether
# something is fast enough. Between two polls it waits eight times as long as a poll takes, so that waiting tests leave
# processors to working ones. A command that prints "never: REASON" ends the test at once.
patience=$((120 * ${NTK_TEST_PATIENCE:-1}))
wait_for() {
    local end=$((SECONDS + patience)) begun took said
    while :; do
        begun=${EPOCHREALTIME/[.,]/}
        said=$(is_polling=1 && "$@" 2>/dev/null) || true # also if it calls fail
        [ "$said" != yes ] || return 0
        [[ $said != never:* ]] || fail "$*: $said"
        [ $SECONDS -lt $end ] || fail "timed out after $patience s, waiting for: $*$(! declare -F "$1" >/dev/null || printf '\n' && declare -f "$1")"
        took=$(((${EPOCHREALTIME/[.,]/} - begun) * 8 + 1000000))
        [ $took -gt 1050000 ] || took=1050000
        [ $took -lt 3000000 ] || took=3000000
        pause "$((took / 1000000 - 1)).${took: -6}"
    done
}

# jq 1.6 -e succeeds on empty input, so a file that is not written yet would pass every check.
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

# segment: the first one of the folder. has_segment: it is complete; one without its magic is still being created.
segment() { find "$NEURON_HOOKS_DIR" -maxdepth 1 -type f -name '[1-9]*-[0-9]*' | head -1; }
has_segment() { [ "$(head -c 8 "$(segment)" | tr -d '\0' | wc -c)" != 0 ] && echo yes; }

# has_executed PID COUNT: as neuron-top shows it; its output is in top.json.
has_executed() {
    kill -0 "$1" || echo "never: process $1 has ended"
    neuron-top --once -d 200ms --json >top.json && [ "$(jq --argjson pid "$1" '[.models[] | select(.pid == $pid) | .executions] | add // 0' top.json)" -ge "$2" ] &&
        echo yes
}

# free_ports COUNT: for servers that cannot choose a port themselves. The system does not assign these ports to
# programs that ask for any port.
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

# tmux with a private server for this script.
tmx() { env -u TMUX tmux -u -f /dev/null -S "$scratch/tmux" "$@"; }

# has_reports FILE: executions before an agent's first poll are in none of its reports, so tests that count wait for
# a report.
has_reports() { [ -s "$1" ] && echo yes; }

# The number of completed executions, summed over files of JSON lines.
completed_in_reports() {
    jq -s '[.[].neuron_runtime_data[].report.execution_stats.execution_summary.completed] | add // 0' "$@"
}

# valid_reports FILE...: every line conforms to the schema of reports; not checked if its validator is missing.
valid_reports() {
    local code=0
    neuron-monitor --schema >report.schema.json || fail "cannot print the schema"
    "${python:-python3}" "$NTK_SOURCE_DIR/tests/support/valid_reports.py" report.schema.json "$@" >schema.out ||
        code=$?
    [ $code = 0 ] || [ $code = 77 ] || fail "unexpected output: $(head -5 schema.out)"
}
