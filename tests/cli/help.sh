#!/bin/bash
# help - all programs and subcommands behave alike: help on stdout within 80 columns, a version, and one line with
# exit code 2 for a wrong option.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export LC_ALL=C.UTF-8
# The version that the build recorded: the source tree may be at another commit by now.
commit=$(sed -n 's/.*ntk_build_commit.*"\(.*\)".*/\1/p' "$NTK_BUILD_DIR/generated/build_commit.c")
[[ $commit =~ ^([0-9a-f]{12}(-modified)?|unknown)$ ]] || fail "the build recorded the commit '$commit'"

# check COMMAND...
check() {
    local help said
    help=$("$@" --help 2>&1 >/dev/null) && [ -z "$help" ] || complain "$* --help: exit code or stderr: $help"
    help=$("$@" --help)
    [[ $help == "Usage: $*"* ]] || complain "$* --help begins with $(head -1 <<<"$help")"
    for said in "print this help and exit" "print the version and exit"; do
        [[ $help == *" $said"* ]] || complain "$* --help lacks '$said'"
    done
    said=$(awk 'length($0) > 80' <<<"$help")
    [ -z "$said" ] || complain "$* --help is wider than 80 columns: $said"
    if [ -c /dev/full ]; then
        said=$("$@" --help 2>&1 >/dev/full) && complain "$* --help succeeds on a full disk"
        [[ $said == *"cannot write to stdout"* ]] || complain "$* --help on a full disk says $said"
    fi
    said=$("$@" --version 2>&1)
    [[ $said =~ ^"$*"\ [0-9]+\.[0-9]+\.[0-9]+$'\n'commit:\ $commit$'\n'build:\ [A-Z][A-Za-z]+,\ $(uname -m),\ .*attach$ ]] ||
        complain "$* --version says $said"
    said=$("$@" --no-such-option 2>&1 >/dev/null)
    [ $? = 2 ] || complain "$* --no-such-option: not exit code 2"
    [ "$said" = "$*: unknown option '--no-such-option'"$'\n'"Try '$* --help'." ] || complain "$*: says $said"
}

check neuron-monitor
check neuron-monitor query
check neuron-monitor run
check neuron-monitor attach
for command in hang slow health diag job; do
    check neuron-monitor $command
done
check neuron-monitor-prometheus
check neuron-monitor-cloudwatch
check neuron-monitor-k8s-info
check neuron-monitor-otlp
check neuron-profile
for command in capture view query analyze lines diff baseline show-session inspect trigger idle start-session stop-session; do
    check neuron-profile $command
done
check neuron-packager
for command in info unpack create optimize example asm disasm; do
    check neuron-packager $command
done
check popef_dump
check popef_run
check popef_make
for command in create append example; do
    check popef_make $command
done
check neuron-bench
for command in exec machine; do
    check neuron-bench $command
done
check neuron-graph
for command in segments run params; do
    check neuron-graph $command
done
check neuron-top
check neuron-ls
check neuron-rtd
check neuron-cli
