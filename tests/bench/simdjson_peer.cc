// SPDX-License-Identifier: MIT
// simdjson_peer - Chrome JSON events read by simdjson's DOM parser: what reading the same capture as text costs.
#include "tests/bench/simdjson_peer.h"

#include <simdjson.h>

int simdjson_peer_read(const char *path, uint64_t *out_events, uint64_t *out_sum)
{
    simdjson::dom::parser parser;
    simdjson::dom::element trace;
    simdjson::dom::array events;
    uint64_t count = 0;
    uint64_t sum = 0;

    if (parser.load(path).get(trace) || trace["traceEvents"].get(events)) {
        return -1;
    }
    for (simdjson::dom::element event : events) {
        std::string_view phase;
        double start = 0;
        double duration = 0;

        if (event["ph"].get(phase) || phase[0] == 'M' || event["ts"].get(start)) {
            continue;
        }
        if (event["dur"].get(duration)) {
            duration = 0;
        }
        sum += static_cast<uint64_t>(start + duration);
        count++;
    }
    *out_events = count;
    *out_sum = sum;
    return 0;
}
