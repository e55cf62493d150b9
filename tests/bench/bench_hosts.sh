#!/bin/bash
# bench_hosts - the cost of showing 64 hosts for ten seconds in neuron-top, and whether every round had a new report
# from each host.
. "$(dirname "$0")/lib.sh"
needs neuron-monitor neuron-bench neuron-top python3 jq
hosts=$(size 64 4)
frames=$(size 11 2)
neuron-monitor --once --period 100ms >report
neuron-bench machine >/dev/null
neuron-monitor --once --period 100ms >machine
mapfile -t modes < <(seq "$hosts" | sed 's/.*/good/')
python3 "$NTK_SOURCE_DIR/tests/top/fake_agents.py" report machine "${modes[@]}" >ports 2>fakes.err &
fakes=$!
has_ports() { grep -qx end ports && echo yes; }
wait_with "$fakes" fakes.err has_ports
sed '/end/d; s/^/127.0.0.1:/' ports >hosts
TIMEFORMAT='%R %U %S'
{ time neuron-top --hosts hosts --json --batch --delay "$(size 1 0.2)" --count "$frames" >frames; } 2>times
read -r real user system < <(tail -1 times)
[ "$(wc -l <frames)" = "$frames" ] || fail "neuron-top wrote $(wc -l <frames) of $frames frames: $(head -1 times)"
figure "$hosts hosts, reports of $(wc -c <report) bytes, $frames frames" "$real" s
figure "$hosts hosts, CPU time" "$(awk -v u="$user" -v s="$system" 'BEGIN { print u + s }')" s
figure "$hosts hosts, reports between the first and the last" \
    "$(jq -s '[.[] | .hosts | map(.reports) | max - min] | max' frames)" ""
result
