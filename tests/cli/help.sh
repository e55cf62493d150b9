#!/bin/bash
# help - every program and subcommand as one family: help on stdout within 80 columns, a version, a wrong option
# told in one line with exit code 2, and a man page that names each option of the program.
set -u
export PATH=$NTK_BIN_DIR:$PATH LC_ALL=C.UTF-8
failures=0
complain() {
    printf 'FAILED: %s\n' "$*"
    failures=$((failures + 1))
}

# check PAGE COMMAND...
check() {
    local page=$NTK_SOURCE_DIR/$1 help said option
    shift
    help=$("$@" --help 2>&1 >/dev/null) && [ -z "$help" ] || complain "$* --help: exit code or stderr: $help"
    help=$("$@" --help)
    [[ $help == "Usage: $*"* ]] || complain "$* --help begins with $(head -1 <<<"$help")"
    said=$(awk 'length($0) > 80' <<<"$help")
    [ -z "$said" ] || complain "$* --help is wider than 80 columns: $said"
    said=$("$@" --version 2>&1)
    [[ $said =~ ^"$*"\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || complain "$* --version says $said"
    said=$("$@" --no-such-option 2>&1 >/dev/null)
    [ $? = 2 ] || complain "$* --no-such-option: not exit code 2"
    [ "$said" = "$*: unknown option '--no-such-option'"$'\n'"Try '$* --help'." ] || complain "$*: says $said"
    for option in $(grep -oE '^ +(-., )?--[a-z0-9.-]+' <<<"$help" | grep -oE -- '--[a-z0-9.-]+'); do
        sed 's/\\-/-/g' "$page" | grep -q -- "$option" || complain "$(basename "$page") does not tell $option of $*"
    done
}

check agent/neuron-monitor.1 neuron-monitor
check agent/neuron-monitor.1 neuron-monitor query
check exporters/prometheus/neuron-monitor-prometheus.1 neuron-monitor-prometheus
check exporters/cloudwatch/neuron-monitor-cloudwatch.1 neuron-monitor-cloudwatch
check exporters/kubernetes/neuron-monitor-k8s-info.1 neuron-monitor-k8s-info
check exporters/otlp/neuron-monitor-otlp.1 neuron-monitor-otlp
check profiler/neuron-profile.1 neuron-profile
for command in capture view analyze diff show-session inspect; do
    check profiler/neuron-profile.1 neuron-profile $command
done
check profiler/packager/neuron-packager.1 neuron-packager
for command in info unpack create optimize example asm disasm; do
    check profiler/packager/neuron-packager.1 neuron-packager $command
done
check runtime-hooks/bench/neuron-bench.1 neuron-bench
for command in exec machine; do
    check runtime-hooks/bench/neuron-bench.1 neuron-bench $command
done
check top/neuron-top.1 neuron-top
check top/ls/neuron-ls.1 neuron-ls
[ $failures = 0 ]
