/* SPDX-License-Identifier: MIT */
/*
 * One record of ours against one of LTTng-UST with as many bytes, alternating in one process.
 * bench_hooks_lttng.sh runs it inside a snapshot session.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/hooks_so.h"
#include "tests/bench/rounds.h"

#define EVENTS ROUNDS_SIZE(300000u, 300u)

ROUNDS_MEASURE(measure_ours, EVENTS, bench_so_mark(i, i))
ROUNDS_MEASURE(measure_lttng, EVENTS, lttng_ust_tracepoint(ntk_bench, mark, i, i))

int main(int argc, char **argv)
{
    struct rounds_subject subjects[] = {
        { .name = "one record of ours", .measure = measure_ours },
        { .name = "one record of LTTng-UST, snapshot mode", .measure = measure_lttng },
    };

    rounds_options(argc, argv);
    if (!lttng_ust_tracepoint_enabled(ntk_bench, mark)) {
        rounds_skip("no session records the tracepoint");
    }
    rounds_require(bench_so_attach() == 0, "cannot attach");
    (void)rounds_pin(0);
    rounds_run(subjects, 2, 9);
    rounds_print(&subjects[0], "ns");
    rounds_print(&subjects[1], "ns");
    rounds_print_ratio("E1 ours / LTTng-UST", &subjects[0], &subjects[1], 0.125);
    bench_so_detach();
    return rounds_result();
}
