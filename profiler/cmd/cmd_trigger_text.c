/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/cmd_trigger_text.h"

#include <stdio.h>

const char *ntk_trigger_executions_text(uint64_t first, uint64_t last, char *buf, size_t buf_bytes)
{
    if (first == last) {
        (void)snprintf(buf, buf_bytes, "execution %llu", (unsigned long long)first);
    } else {
        (void)snprintf(buf, buf_bytes, "executions %llu to %llu", (unsigned long long)first,
                       (unsigned long long)last);
    }
    return buf;
}

void ntk_trigger_say_next(const char *folder, bool has_host_threads)
{
    fprintf(stderr, "neuron-profile: to see the timeline: neuron-profile view -d %s\n", folder);
    if (has_host_threads) {
        fprintf(stderr,
                "neuron-profile: to see why cores were idle: neuron-profile analyze -d %s "
                "host-threads\n",
                folder);
    }
}
