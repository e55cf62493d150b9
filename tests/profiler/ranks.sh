#!/bin/bash
# ranks - a generated job of 70 ranks on three machines: what analyze reports about it. For this many processes the
# page has only the rows of ranks, and for few it has all rows.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
set +e +o pipefail # exit codes are checked where they matter
export LC_ALL=C.UTF-8
holds() { jq -es ".[0] | $1" out >/dev/null || complain "not true: $1"; }
serves() { grep -q '^View profile at ' log && echo yes; }
# Puts the data of the page into out.
meta() { # FOLDER
    rm -f log err # so that the previous server's line does not count
    neuron-profile view -d "$1" --no-open --port 0 >log 2>err &
    local pid=$!
    wait_for serves
    local address
    address=$(sed -n 's/^View profile at //p' log)
    curl -sf "${address}api/v1/meta" >out || complain "cannot get the meta of $1"
    curl -sf "${address}api/v1/host?name=joined" >joined || complain "cannot get the answer about ranks of $1"
    kill $pid
    wait $pid 2>/dev/null
}

"$NTK_BIN_DIR/../tests/tests_profiler_rank_world" many 70 40 66 || exit 1
"$NTK_BIN_DIR/../tests/tests_profiler_rank_world" few 6 40 1 || exit 1
neuron-profile analyze -d many --json --what-if rank66.run=5 joined >out 2>err || complain "analyze failed"
[ -s err ] && complain "analyze expected nothing on stderr"
holds '.joined | .unknown == null and .numbered and .collective_count == 40 and .partial_count == 0 and (.workers | length) == 70'
holds '[.joined.workers[].number] == [range(70)]'
holds '[.joined.hosts[] | [.worker_count, .clock_ahead_ns]] | sort == [[6, 2000000], [32, 0], [32, 1000000]]'
holds 'all(.joined.over_time[]; .latest_worker_gid == 2)' # rank 66 is the third of its machine
holds '.joined.workers[66] | .last_count == 39 and .parts_ns.wait == 0 and .path_ns.run > 0'
holds '.joined | .overlapped_ns == 0 and .in_collectives_ns == ([.workers[].exposed_ns] | add)'
holds '.joined.estimate_ns < .joined.unchanged_ns / 2'
neuron-profile analyze -d many joined >out 2>err || complain "analyze as text failed"
grep -q '^70 workers joined at 40 collectives; critical path ' out || complain "unexpected text"
grep -q '^host-2, 6 workers: its clock is 2000.0 us ahead of that of host-0, ' out || complain "the clock of a host is missing"

meta many
grep -q 'many has 70 processes or traces of more than 512 MiB: showing only one row per rank' err || complain "unexpected list of omitted parts"
holds '[.tracks[].name] == ["Critical path"] + [range(70) | "Rank \(.)"]'
holds '[.whats[].name] | index("rank 66") != null and index("compute, critical path") != null'
jq -e '.value.collective_count == 40 and (.value.workers | length) == 70' joined >/dev/null || complain "the ranks of the tab differ"
meta few
[ -s err ] && complain "the page of few expected nothing on stderr"
holds '[.tracks[] | select(.kind == "rank") | .name] == ["Critical path"] + [range(6) | "Rank \(.)"]'
holds '([.tracks[] | select(.kind == "host")] | length) == 6 and ([.groups[] | select(.folded)] | length) == 6'
