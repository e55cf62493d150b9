/* SPDX-License-Identifier: MIT */
/*
 * What observing one execution costs a job that is already running: probes at entry and return of a
 * function that does nothing, by the function's first instruction. Requires the privileges of
 * neuron-monitor attach.
 */
#include <inttypes.h>
#include <stdio.h>

#include "runtime-hooks/attach/attach_cost.h"
#include "tests/bench/rounds.h"

#define TRIES ROUNDS_SIZE(5, 1)

int main(void)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t cost_ns[NTK_ATTACH_FIRST_COUNT];
        struct ntk_err err = { 0 };

        if (ntk_attach_cost_measure(cost_ns, &err) < 0) {
            rounds_skip(err.text);
        }
        (void)printf("push %" PRIu64 " ns, other %" PRIu64 " ns\n", cost_ns[NTK_ATTACH_FIRST_PUSH],
                     cost_ns[NTK_ATTACH_FIRST_OTHER]);
    }
    return 0;
}
