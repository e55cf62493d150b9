/* SPDX-License-Identifier: MIT */
/*
 * day_link - the messages between the test of a day and its agent, over a socket of packets.
 *
 * The agent's clock advances only during DAY_RUN. Each command has one answer;
 * the last one comes before the agent exits.
 */
#ifndef NTK_TESTS_E2E_DAY_LINK_H
#define NTK_TESTS_E2E_DAY_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "exporters/transport/output_counts.h"
#include "tests/e2e/day/day_emitted.h"

#define DAY_LINK_FD 3

enum day_action {
    DAY_RUN,  /* the clock advances by ns */
    DAY_STEP, /* the time since 1970 jumps by ns */
    DAY_STOP, /* as by SIGTERM */
};

struct day_command {
    enum day_action action;
    int64_t ns;
};

struct day_answer {
    uint64_t now_ns;
    uint64_t heap_bytes; /* allocated */
    size_t output_count;
    struct ntk_output_counts outputs[NTK_OUTPUT_COUNTS_MAX];
    size_t emitted_count;
    struct day_emitted emitted[DAY_EMITTED_MAX];
};

#endif
