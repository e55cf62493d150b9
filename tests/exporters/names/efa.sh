#!/bin/bash
# efa - counters of EFA adapters, from files of the kernel to a report, a page and a pipe, by our names and by
# Observer's. Counters that an adapter lacks are absent, and files that are not counters are ignored.
. "$(dirname "$0")/../../e2e/lib.sh"
needs curl jq

# adapter NAME VENDOR DEVICE
adapter() {
    mkdir -p "tree/class/infiniband/$1/device" "tree/class/infiniband/$1/ports/1/hw_counters"
    echo "$2" >"tree/class/infiniband/$1/device/vendor"
    echo "$3" >"tree/class/infiniband/$1/device/device"
}
# counter ADAPTER PORT NAME VALUE
counter() {
    mkdir -p "tree/class/infiniband/$1/ports/$2/hw_counters"
    echo "$4" >"tree/class/infiniband/$1/ports/$2/hw_counters/$3"
}
adapter rdmap0s6 0x1d0f 0xefa2
adapter rdmap1s6 0x1d0f 0xefa1
adapter mlx5_0 0x15b3 0x1017
adapter broken 0x1d0f 0xefa3
counter rdmap0s6 1 tx_bytes 1000
counter rdmap0s6 1 rx_drops 7
counter rdmap0s6 1 lifespan 12
counter rdmap0s6 2 tx_bytes 2000
counter rdmap1s6 1 tx_bytes 18446744073709551615 # the maximum of a counter
counter rdmap1s6 1 retrans_bytes 5
counter mlx5_0 1 tx_bytes 3000
# None of this is a number, and none of it blocks.
counter broken 1 tx_bytes 18446744073709551616
counter broken 1 rx_bytes -1
counter broken 1 tx_pkts ''
counter broken 1 rx_pkts 12x
mkdir tree/class/infiniband/broken/ports/1/hw_counters/send_bytes tree/class/infiniband/broken/ports/x
mkfifo tree/class/infiniband/broken/ports/1/hw_counters/recv_bytes
head -c 1000000 /dev/zero >tree/class/infiniband/broken/ports/1/hw_counters/send_wrs

neuron-monitor --no-imds --verbose 1 --sysfs-root tree --prometheus 127.0.0.1:0 --names own,observer,otel --period 300ms >reports 2>agent.log &
agent=$!
is_listening() { grep -q ' port [1-9]' "$1" && echo yes; }
port_of() { sed -n 's/.* port //p' "$1"; }
page() { curl -sf --max-time "$patience" "http://127.0.0.1:$(port_of "$1")/metrics" >"$2"; }
wait_for is_listening agent.log
# has PAGE NAME LABELS VALUE: as text, or as the number that a double makes of it.
has() { grep -E "^$2\{.*$3.*\} " "$1" | awk -v want="$4" '{ n++; ok = $NF + 0 == want + 0 } END { exit !(n == 1 && ok) }'; }
first='efa_device="rdmap0s6",efa_port="1"'
is_reported() { page agent.log "$1" && has "$1" neuron_efa_bytes_total "counter=\"tx_bytes\",$first" "$2" && echo yes; }
wait_for is_reported page 1000
has page neuron_efa_events_total "counter=\"rx_drops\",$first" 7 || fail "unexpected number of drops: $(grep efa page)"
has page neuron_efa_bytes_total 'counter="tx_bytes",efa_device="rdmap0s6",efa_port="2"' 2000 || fail "unexpected bytes of port 2: $(grep efa page)"
has page neuron_efa_bytes_total 'counter="tx_bytes",efa_device="rdmap1s6",efa_port="1"' 18446744073709551615 || fail "unexpected value of the largest counter: $(grep efa page)"
has page neuron_efa_tx_bytes_total "$first" 1000 || fail "unexpected value under Observer's name: $(grep efa page)"
has page neuron_efa_rx_drops_total "$first" 7 || fail "unexpected value under Observer's name: $(grep efa page)"
port='hw_id="rdmap0s6/1",hw_name="rdmap0s6",hw_type="network",hw_vendor="AWS"'
has page hw_network_io_bytes_total "$port.*network_io_direction=\"transmit\"" 1000 || fail "unexpected value under OpenTelemetry's name: $(grep ^hw_ page)"
has page hw_errors_total "error_type=\"rx_drops\",$port.*network_io_direction=\"receive\"" 7 || fail "unexpected value under OpenTelemetry's name: $(grep ^hw_ page)"
[ "$(grep -c '^neuron_efa_.*{' page)" = 10 ] || fail "expected ten series of five counters: $(grep efa page)"
! grep -E 'mlx5_0|broken|lifespan' page || fail "an invalid value is reported as a metric"

# The report has the exact value; a pipe shows what the agent shows.
jq -es 'map(.neuron_ext.efa // empty) | last == [
    {device: "rdmap0s6", port: 1, hw_counters: {tx_bytes: 1000, rx_drops: 7}}, {device: "rdmap0s6", port: 2, hw_counters: {tx_bytes: 2000}},
    {device: "rdmap1s6", port: 1, hw_counters: {tx_bytes: 9223372036854775807, retrans_bytes: 5}}]' reports >/dev/null ||
    fail "the report: $(tail -1 reports | jq -c .neuron_ext.efa)"
neuron-monitor --no-imds --sysfs-root tree --period 300ms > >(neuron-monitor-prometheus --port 0 --address 127.0.0.1 >pipe.out 2>pipe.err) 2>/dev/null &
wait_for is_listening pipe.out
is_piped() { page pipe.out piped && has piped neuron_efa_bytes_total "counter=\"tx_bytes\",$first" 1000 && echo yes; }
wait_for is_piped

# Counters continue, restart when the driver is loaded again, and end with their adapter.
counter rdmap0s6 1 tx_bytes 1500
wait_for is_reported page 1500
counter rdmap0s6 1 tx_bytes 3
wait_for is_reported page 3
rm -r tree/class/infiniband/rdmap0s6
is_gone() { page agent.log page && ! grep -q rdmap0s6 page && has page neuron_efa_bytes_total 'counter="retrans_bytes",efa_device="rdmap1s6",efa_port="1"' 5 && echo yes; }
wait_for is_gone
kill "$agent"
wait "$agent" || fail "the agent failed"
